use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32], n: usize) {
    let mut sums = [zeros::<f32>([4]); 2];
    for i in 0..n {
        sums[i] += 1.0;
    }
    store(y, arange(4), sums[0]);
}

fn main() {}
