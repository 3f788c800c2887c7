use tilewright::tile_kernel;

#[tile_kernel(tune(N = [16, 32]), emulate = [0, 2], grid = [1])]
fn few<const N: usize>(y: &mut [f32]) {
    store(y, arange(N), full([N], 1.0));
}

#[tile_kernel(kernel(twice, T = [f16, f32, f16]), grid = [1])]
fn any<T>(y: &mut [T]) {
    store(y, arange(16), full([16], 1.0));
}

fn main() {}
