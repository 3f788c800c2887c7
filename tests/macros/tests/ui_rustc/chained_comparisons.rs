use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32], m: usize) {
    let i = arange(64);
    store(y, i, load(x, i).mask(i < m & i > 3));
}

fn main() {
    let _ = k(&[0.0f32; 64][..], &mut [0.0f32; 64][..], 5);
}
