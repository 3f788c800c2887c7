use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let t = load(x, arange(8));
    store(y, 0, t[0]);
}

fn main() {}
