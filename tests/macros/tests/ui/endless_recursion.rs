use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn again(x: f32) -> f32 {
        again(x)
    }

    #[tile_kernel(grid = [1])]
    pub fn k(y: &mut [f32]) {
        store(y, 0, again(1.0));
    }
}

fn main() {}
