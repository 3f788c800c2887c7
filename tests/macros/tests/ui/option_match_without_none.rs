use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(bias: Option<&[f32]>, y: &mut [f32]) {
    match bias {
        Some(bias) => store(y, 0, load(bias, 0)),
    }
}

fn main() {}
