use tilewright::tile_kernel;

#[tile_kernel(grid = [8])]
fn k(y: &mut [f32]) {
    let (i, j) = swizzle2d(program_id(0), 8, 4);
    store(y, i + j, 1.0);
}

fn main() {}
