use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let t = load(x, i);
    let u = load(x, arange(48));
    store(y, i, join(1.0, 2.0));
    store(y, i, join(t, u));
    store(y, i, interleave(u, u));
    let (a, b) = split(t);
    store(y, i, slice(t, 0, 3..5));
    store(y, i, slice(t, 0, 0..24));
    store(y, i, slice(t, 0, 32..96));
    store(y, i, slice(t, 0, 32));
    store(y, i, insert(t, 0, 8, load(x, arange(16))));
    store(y, i, insert(t, 0, 64, load(x, arange(16))));
    store(y, i, gather(t, t, 0));
    store(y, i, gather(t, i.expand(0), 0));
    store(y, i, flip(t, 1));
    store(y, 0, flip(2.0, 0));
    let e = t.expand(0).expand(0).expand(0).expand(0).expand(0);
}

fn main() {}
