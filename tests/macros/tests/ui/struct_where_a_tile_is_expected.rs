use tilewright::tile_module;

#[tile_module]
mod kernels {
    struct State {
        best: Tile<f32>,
        total: Tile<f32>,
    }

    fn f(s: State) -> Tile<f32> {
        s.best
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        store(y, arange(4), f(zeros::<f32>([4])));
    }
}

fn main() {}
