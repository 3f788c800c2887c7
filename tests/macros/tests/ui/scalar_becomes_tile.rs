use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let mut a = 0.0f32;
    a += load(x, arange(64));
    store(y, 0, a);
}

fn main() {}
