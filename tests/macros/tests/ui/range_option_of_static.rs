use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    for i in static_range(0..4).stages(2) {
        store(y, i, load(x, i));
    }
}

fn main() {}
