use tilewright::{tile_kernel, tile_module};

#[tile_module(use tilewright::random)]
mod kernels {
    #[tile_kernel(grid = [1])]
    fn signed(x: &[i32], y: &mut [f32]) {
        let i = arange(64);
        store(y, i, rand(1, load(x, i)));
    }

    #[tile_kernel(grid = [1])]
    fn float(x: &[f32], y: &mut [f32]) {
        let i = arange(64);
        store(y, i, rand(1, load(x, i)));
    }

    #[tile_kernel(grid = [1])]
    fn seed(seed: u32, y: &mut [f32]) {
        let i = arange(64);
        store(y, i, rand(seed, i));
    }
}

#[tile_kernel(grid = [1])]
fn alone(y: &mut [f32]) {
    let i = arange(64);
    store(y, i, rand(1, i));
}

fn main() {}
