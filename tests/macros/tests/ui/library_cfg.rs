use tilewright::{tile_library, tile_module};

#[tile_library]
mod tiles {
    #[cfg(unix)]
    fn twice(x: Tile<f32>) -> Tile<f32> {
        x + x
    }
}

// Nothing more is said of it.
#[tile_module(use tiles)]
mod kernels {
    #[tile_kernel(grid = [1])]
    pub fn k(y: &mut [f32]) {
        store(y, arange(64), 1.0);
    }
}

fn main() {}
