use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32], n: usize) {
    for i in 0..n {
        store(y, i, 1.0);
        continue 'rows;
    }
}

fn main() {}
