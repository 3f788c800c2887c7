use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f8e4m3], y: &mut [f8e4m3]) {
    let i = arange(64);
    store(y, i, load(x, i) * load(x, i));
}

fn main() {}
