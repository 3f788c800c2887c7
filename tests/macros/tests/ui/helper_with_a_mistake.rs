use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn doubled(x: Tile<f32>) -> Tile<f32> {
        x[0] + vec![1]
    }

    fn halved(x: Tile<f32>) -> Tile<f32> {
        x * half
    }

    #[tile_kernel(grid = [1])]
    fn first(x: &[f32], y: &mut [f32]) {
        store(y, arange(8), doubled(load(x, arange(8))));
        store(y, arange(8), halved(load(x, arange(8))));
    }

    #[tile_kernel(grid = [1])]
    fn second(x: &[f32], y: &mut [f32]) {
        store(y, arange(8), halved(load(x, arange(8))));
    }
}

fn main() {}
