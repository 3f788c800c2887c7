use tilewright::tile_kernel;

#[tile_kernel(tune(B = [64]), grid = [1])]
fn k<const B: usize>(x: &[f32], y: &mut [f32], off: i32) {
    let i = program_id(0) * B + arange(B) + off;
    store(y, i, load(x, i));
}

fn main() {}
