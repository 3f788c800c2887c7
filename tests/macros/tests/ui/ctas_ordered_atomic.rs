use tilewright::tile_kernel;

#[tile_kernel(tune(N = [128], ctas = [2], arch = [90]), grid = [1])]
fn k<const N: usize>(x: &[f32], y: &mut [f32]) {
    atomic_add(y, 0, sum(load(x, arange(N))));
}

fn main() {}
