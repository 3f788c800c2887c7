use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let v = load(x, arange(64));
    if v > 0.0 {
        store(y, arange(64), v);
    }
}

fn main() {}
