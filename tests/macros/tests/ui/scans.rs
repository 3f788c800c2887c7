use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let t = load(x, i);
    store(y, i, cumsum(t));
    store(y, i, cumsum(t, 1));
    store(y, i, cumsum(2.0, 0));
    store(y, i, cumsum(t > 0.0, 0).to::<f32>());
    store(y, i, scan(t, 0, 1.0));
    store(y, i, scan(t, 0, |a, b| a + load(x, 0) + b));
    store(y, i, scan((t, t), 0, |a, b| 1.0).0);
    let (a, b) = scan((t, arange(32)), 0, |(a, i), (b, j)| (a + b, i + j));
    let (a, b) = reduce((t, i), |(a, i), (b, j)| (a + b, a));
}

fn main() {}
