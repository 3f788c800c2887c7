use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    let t = (1.0, 2.0);
    t.0 = 3.0;
    store(y, 0, t.0);
}

fn main() {}
