use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn scale<T>(x: Tile<T>, by: T) -> Tile<T> {
        x * by
    }

    #[tile_kernel(grid = [1])]
    pub fn k(x: &[f32], y: &mut [f32]) {
        let i = arange(64);
        store(y, i, scale(load(x, i)));
    }
}

fn main() {}
