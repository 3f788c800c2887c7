use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    let sums = [zeros::<f32>([4]); 2];
    store(y, arange(4), sums[2]);
}

fn main() {}
