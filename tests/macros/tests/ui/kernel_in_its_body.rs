use tilewright::tile_kernel;

// A mistake is told once, though two kernels have it, and both can be called.
#[tile_kernel(kernel(one, STEP = 1, T = f32), kernel(two, STEP = 2, T = [f16, bf16]), tune(BLOCK = [64]), grid = [1])]
fn k<T, const STEP: usize, const BLOCK: usize>(y: &mut [T]) {
    store(y, arange(BLOCK) * STEPS, full([BLOCK], 1.0).to::<T>());
}

fn main() {
    let mut y = [0.0f32; 64];
    one(&mut y[..]);
    let mut y = [half::f16::ZERO; 64];
    two::<_, half::f16>(&mut y[..]);
}
