use tilewright::tile_kernel;

#[tile_kernel(kernel(one, STEP = 1), tune(BLOCK = [64]), tune(BLOCK = [128], kernels = [two]), grid = [1])]
fn k<const STEP: usize, const BLOCK: usize>(y: &mut [f32]) {
    store(y, arange(BLOCK) * STEP, 1.0);
}

fn main() {}
