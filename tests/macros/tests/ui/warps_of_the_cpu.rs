use tilewright::tile_kernel;

#[tile_kernel(tune(BLOCK = [64]), tune(BLOCK = [64], warps = [1], arch = [cpu]), grid = [1])]
fn k<const BLOCK: usize>(y: &mut [f32]) {
    store(y, arange(BLOCK), 1.0);
}

fn main() {}
