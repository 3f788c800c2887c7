use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32], n: usize) {
    store(y, arange(n), 1.0);
}

fn main() {}
