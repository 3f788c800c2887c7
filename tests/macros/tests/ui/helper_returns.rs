use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn doubled(x: Tile<f32>) -> Tile<i32> {
        x * 2.0
    }

    fn unsaid(x: Tile<f32>) {
        x * 2.0
    }

    fn both(x: Tile<f32>) -> (Tile<f32>, i32) {
        (x, 1.0)
    }

    #[tile_kernel(grid = [1])]
    pub fn a(x: &[f32], y: &mut [i32]) {
        store(y, arange(8), doubled(load(x, arange(8))));
    }

    #[tile_kernel(grid = [1])]
    pub fn b(x: &[f32], y: &mut [f32]) {
        store(y, arange(8), unsaid(load(x, arange(8))));
    }

    #[tile_kernel(grid = [1])]
    pub fn c(x: &[f32], y: &mut [f32]) {
        let (both, _) = both(load(x, arange(8)));
        store(y, arange(8), both);
    }

    #[tile_kernel(grid = [1])]
    pub fn d(x: &[f32], y: &mut [f32]) {
        let v: Tile<i32> = load(x, arange(8));
        let (a, b, c) = (v, v);
        store(y, arange(8), a);
    }
}

fn main() {}
