use tilewright::{tile_kernel, tile_module};

#[tile_kernel(map)]
fn k(x: Tile<f32>, out: f32) -> Tile<f32> {
    x * out
}

#[tile_module]
mod kernels {
    #[tile_kernel(map)]
    pub fn k(out: Tile<f32>) -> Tile<f32> {
        exp(out)
    }
}

fn main() {}
