use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    for i in static_range(0..512) {
        for j in static_range(0..512) {
            store(y, i * 512 + j, 1.0);
        }
    }
}

fn main() {}
