use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    let a = 1.0f32;
    a += 1.0;
    store(y, 0, a);
}

fn main() {}
