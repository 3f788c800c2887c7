use tilewright::tile_kernel;

const BLOCK: usize = 64;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    store(y, arange(BLOCK), 1.0);
}

fn main() {}
