use tilewright::{tile_kernel, tile_module};

#[tile_kernel(grid = [1])]
fn k(y: &mut [f32]) {
    #[cfg(debug_assertions)]
    store(y, 0, 1.0);
}

#[tile_module]
mod kernels {
    #[cfg(debug_assertions)]
    fn one() -> f32 {
        1.0
    }

    #[tile_kernel(grid = [1])]
    pub fn k(y: &mut [f32]) {
        store(y, 0, one());
    }
}

fn main() {}
