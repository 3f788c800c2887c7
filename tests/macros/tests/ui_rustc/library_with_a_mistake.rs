use tilewright::{tile_library, tile_module};

#[tile_library]
mod tiles {
    const STEP: usize = 2;

    fn spaced(n: usize) -> Tile<usize> {
        n + arange(64) * STEPS
    }
}

#[tile_module(use tiles)]
mod kernels {
    #[tile_kernel(grid = [1])]
    pub fn k(y: &mut [f32]) {
        store(y, spaced(0), 1.0);
    }
}

fn main() {}
