use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    if let 1 = 2 {
        store(y, 0, 1.0);
    }
}

fn main() {}
