use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32], n: usize) {
    for i in range(0, n, 0) {
        store(y, i, 1.0);
    }
    for i in (0..n).step_by(0) {
        store(y, i, 1.0);
    }
}

fn main() {}
