use tilewright::tile_kernel;

#[tile_kernel(tune(BLOCK = [64]), requires = [x.len() + BLOCK], grid = [1])]
fn k<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    store(y, arange(BLOCK), load(x, arange(BLOCK)));
}

fn main() {}
