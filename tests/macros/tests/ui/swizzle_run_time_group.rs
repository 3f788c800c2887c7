use tilewright::tile_kernel;

#[tile_kernel(grid = [8])]
fn k(y: &mut [f32], group: usize) {
    let (i, j) = swizzle2d(program_id(0), (4, 2), group);
    store(y, i + j, 1.0);
}

fn main() {}
