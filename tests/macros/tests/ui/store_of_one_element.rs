use tilewright::tile_kernel;

#[tile_kernel(grid = [x.dim(0)])]
fn k(x: View<f32, 2>, y: &mut [f32]) {
    let row = program_id(0);
    store(y, row, sum(x.tile([row, 0], [1, 64]), 1));
}

fn main() {}
