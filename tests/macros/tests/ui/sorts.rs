use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let t = load(x, i);
    store(y, i, sort(t));
    store(y, i, sort(load(x, arange(48)), 0));
    store(y, i, sort(t > 0.0, 0).to::<f32>());
    store(y, i, sort(t, 0).descending().descending());
    store(y, i, sum(t).descending());
    store(y, i, topk(t, 3, 0));
    store(y, i, topk(t, 128, 0));
    store(y, i, sort((t, arange(32)), 0).0);
}

fn main() {}
