use tilewright::tile_kernel;

#[tile_kernel(grid = [cdiv(x.len(), 64)])]
fn axpy(a: f32, x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * 64 + arange(64);
    store(y, i, a * load(x, i) + load(y, i));
}

fn main() {
    let mut y = vec![1.0f32; 64];
    let _call = axpy(2.0, &y, &mut y);
}
