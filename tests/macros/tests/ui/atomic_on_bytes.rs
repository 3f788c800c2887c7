use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [u8]) {
    atomic_add(y, 0, 1);
}

fn main() {}
