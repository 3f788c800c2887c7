use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[u32], y: &mut [u32]) {
    store(y, 0, atomic_load(x, 0));
}

fn main() {}
