use tilewright::tile_kernel;

#[tile_kernel(kernel(one, STEP = 1), kernel(two, STEP = 2), tune(BLOCK = [64], STEP = [3]), grid = [1])]
fn k<const STEP: usize, const BLOCK: usize>(y: &mut [f32]) {
    store(y, arange(BLOCK) * STEP, 1.0);
}

fn main() {}
