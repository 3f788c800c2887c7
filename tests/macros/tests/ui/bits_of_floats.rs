use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [i32]) {
    let i = arange(64);
    store(y, i, popc(load(x, i)));
}

fn main() {}
