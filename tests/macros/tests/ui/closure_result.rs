use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn finished(x: Tile<f32>, epilogue: impl Fn(Tile<f32>) -> Tile<f32>) -> Tile<f32> {
        epilogue(x)
    }

    fn each(x: Tile<f32>, visit: impl Fn(Tile<f32>)) {
        visit(x);
    }

    #[tile_kernel(grid = [1])]
    fn another_element_type(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), |x| x.to::<f16>()));
    }

    #[tile_kernel(grid = [1])]
    fn no_result(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), |x| store(y, arange(64), x)));
    }

    #[tile_kernel(grid = [1])]
    fn a_result(y: &mut [f32]) {
        each(full([64], 1.0), |x| x + 1.0);
    }
}

fn main() {}
