use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
fn three_gradients(a: Option<&[f32]>, b: Option<&[f32]>, c: Option<&[f32]>, y: &mut [f32]) {
    if let Some(a) = a {
        store(y, 0, load(a, 0));
    }
}

#[tile_kernel(kernel(one, N = 1), kernel(one_backward, N = 2), backward, grid = [1])]
fn named<const N: usize>(x: &[f32], y: &mut [f32]) {
    store(y, arange(N), load(x, arange(N)));
}

fn main() {}
