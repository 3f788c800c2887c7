use tilewright::tile_kernel;

#[tile_kernel(tune(N = [128], ctas = [2], arch = [90]), grid = [1])]
fn k<const N: usize>(x: &[f32], y: &mut [f32]) {
    let v = load(x, arange(N));
    store(y, arange(N).expand(1) * N + arange(N).expand(0), v.expand(1) * v.expand(0));
}

fn main() {}
