use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let mut n = 1.0f32;
    while n < 100.0 {
        n = n * load(x, 0);
    }
    store(y, 0, n);
}

fn main() {}
