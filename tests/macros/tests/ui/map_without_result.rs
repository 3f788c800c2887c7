use tilewright::tile_kernel;

#[tile_kernel(map)]
fn k(x: Tile<f32>) {
    exp(x);
}

fn main() {}
