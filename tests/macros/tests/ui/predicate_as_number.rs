use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, isnan(load(x, i)));
}

fn main() {}
