use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], n: &[i32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, i) + load(n, i));
}

fn main() {}
