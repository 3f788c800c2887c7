use tilewright::tile_kernel;

#[tile_kernel(grid = [load(y, 0)])]
fn k(y: &mut [f32]) {
    store(y, arange(64), 1.0);
}

#[tile_kernel(grid = [y.len() as f32])]
fn floats(y: &mut [f32]) {
    store(y, arange(64), 1.0);
}

fn main() {}
