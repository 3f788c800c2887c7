use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    match load(y, 0) {
        0 => store(y, 0, 1.0),
        _ => store(y, 0, 2.0),
    }
}

fn main() {}
