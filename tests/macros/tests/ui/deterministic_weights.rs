use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [1])]
fn k<const BLOCK: usize>(bins: &[i32], x: &[f32], y: &mut [f32]) {
    store(y, arange(16), histogram(load(bins, arange(BLOCK)), 16).weights(load(x, arange(BLOCK))));
}

fn main() {}
