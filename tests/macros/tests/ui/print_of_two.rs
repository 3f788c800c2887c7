use tilewright::tile_kernel;

#[tile_kernel(tune(warps = [1]), grid = [1])]
fn k(x: &[f32]) {
    device_print!("first and second", load(x, 0), load(x, 1));
}

fn main() {}
