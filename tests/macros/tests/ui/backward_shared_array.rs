use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let mut s = shared_array::<f32>(64);
    store(s, arange(64), load(x, arange(64)));
    store(y, arange(64), load(s, 63 - arange(64)));
}

fn main() {}
