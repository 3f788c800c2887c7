use tilewright::tile_kernel;

#[tile_kernel(tune(A = [64]), grid = [1])]
fn k<const A: usize, const B: usize>(y: &mut [f32]) {
    store(y, arange(A), 1.0);
}

fn main() {}
