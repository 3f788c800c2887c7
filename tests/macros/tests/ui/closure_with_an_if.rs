use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn scanned(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let (v, _) = scan((load(x, i), i), 0, |(a, i), (b, j)| if b > a { (b, j) } else { (a, i) });
    store(y, i, v);
}

#[tile_kernel(grid = [1])]
fn reduced(x: &[f32], y: &mut [f32]) {
    store(y, 0, reduce(load(x, arange(64)), 0, |a, b| if a > b { a } else { b }));
}

fn main() {}
