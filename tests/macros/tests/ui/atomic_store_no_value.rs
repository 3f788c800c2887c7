use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [u32]) {
    atomic_store(y, 0).relaxed();
}

fn main() {}
