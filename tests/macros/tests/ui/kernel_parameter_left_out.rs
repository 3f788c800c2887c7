use tilewright::tile_kernel;

#[tile_kernel(kernel(one, STEP = 1, T = f32), kernel(two, STEP = 2), tune(BLOCK = [64]), grid = [1])]
fn k<T, const STEP: usize, const BLOCK: usize>(y: &mut [T]) {
    store(y, arange(BLOCK) * STEP, full([BLOCK], 1.0).to::<T>());
}

fn main() {}
