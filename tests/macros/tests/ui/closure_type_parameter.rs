use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn finished<F: Fn(Tile<f32>) -> Tile<f32>>(x: Tile<f32>, epilogue: F) -> Tile<f32> {
        epilogue(x)
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), |x| x));
    }
}

#[tile_module]
mod no_closure {
    fn finished(x: impl Iterator) -> Tile<f32> {
        full([64], 1.0)
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        store(y, arange(64), finished(1));
    }
}

fn main() {}
