use kernel_macros::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[u8], y: &mut [u8]) {
    let i = arange(64);
    store(y, i, load(x, i) + 300);
}

fn main() {}
