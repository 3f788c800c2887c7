use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[u8], w: &[f32], y: &mut [i32], n: usize) {
    let i = arange(64);
    let t = load(x, i);
    store(y, i, histogram(t));
    store(y, i, histogram(n, 64));
    store(y, i, histogram(load(w, i), 64));
    store(y, i, histogram(reshape(t, [8, 8]), 64));
    store(y, i, histogram(t, n));
    store(y, i, histogram(t, 0));
    store(y, i, histogram(t, 20000).weights(i));
    store(y, i, histogram(t, 64).weights(t));
    store(y, i, histogram(t, 64).weights(load(w, arange(32))));
    store(y, i, histogram(t, 64).mask(t));
    store(y, i, histogram(t, 64).mask(i < n).mask(i < 7));
    store(y, i, histogram(t, 64).other(1));
    store(y, i, sum(t.to::<i32>()).weights(i));
}

fn main() {}
