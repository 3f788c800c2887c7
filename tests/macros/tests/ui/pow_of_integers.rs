use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[i32], y: &mut [i32]) {
    let i = arange(64);
    store(y, i, pow(load(x, i), 2));
}

fn main() {}
