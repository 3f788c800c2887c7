use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    for i in (0..x.len()).step_by(64).warp_specialize(1) {
        store(y, i + arange(64), load(x, i + arange(64)));
    }
}

fn main() {}
