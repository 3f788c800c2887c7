use tilewright::tile_kernel;

#[tile_kernel(tune(warps = [1]), grid = [1])]
fn k(x: &[f32]) {
    device_print!("x is {}", load(x, 0));
}

fn main() {}
