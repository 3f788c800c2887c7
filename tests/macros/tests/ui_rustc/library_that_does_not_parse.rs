use tilewright::{tile_library, tile_module};

#[tile_library]
mod tiles {
    fn first(x: Tile<f32>) -> Tile<f32> {
        x[0]
    }
}

#[tile_module(use tiles)]
mod kernels {
    #[tile_kernel(grid = [1])]
    pub fn k(y: &mut [f32]) {
        store(y, 0, first(1.0));
    }
}

fn main() {
    let _ = kernels::k(&mut [0.0f32; 64][..]);
}
