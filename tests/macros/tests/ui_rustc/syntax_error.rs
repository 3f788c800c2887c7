use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    let i = arange(64)
    store(y, i, 1.0);
}

fn main() {}
