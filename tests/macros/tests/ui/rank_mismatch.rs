use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let m = zeros::<f32>([8, 64]) + load(x, arange(64));
    store(y, arange(8).expand(1) + arange(64).expand(0), m);
}

fn main() {}
