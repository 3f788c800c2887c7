use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let v = load(x, i);
    store(y, i, powf(v, 2.0));
    store(y, i, fmod(v, 2.0));
    store(y, i, div_rn(v, 2.0));
    store(y, i, libdevice.finitef(v).to::<f32>());
}

fn main() {}
