use tilewright::tile_module;

#[tile_module]
mod kernels {
    struct State {
        best: Tile<f32>,
        total: Tile<f32>,
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        let s = Sums { best: zeros::<f32>([4]) };
        store(y, arange(4), s.best);
    }
}

fn main() {}
