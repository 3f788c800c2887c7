use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    for i in range(0, x.len(), 0) {
        store(y, i + arange(64), load(x, i + arange(64)));
    }
}

fn main() {}
