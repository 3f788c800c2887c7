use tilewright::tile_module;

#[tile_module(use tiles)]
mod kernels {
    #[tile_kernel(grid = [1])]
    pub fn k(y: &mut [f32]) {
        store(y, arange(64), 1.0);
    }
}

fn main() {}
