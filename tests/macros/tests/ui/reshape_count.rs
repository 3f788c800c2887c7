use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let t = reshape(load(x, arange(64)), [8, 4]);
    store(y, 0, sum(t));
}

fn main() {}
