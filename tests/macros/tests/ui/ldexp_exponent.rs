use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, ldexp(load(x, i), 2.0));
}

fn main() {}
