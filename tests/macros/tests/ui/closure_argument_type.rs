use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn finished(x: Tile<f32>, epilogue: impl Fn(Tile<f32>, (usize, usize)) -> Tile<f32>) -> Tile<f32> {
        epilogue(x, (0, 1))
    }

    #[tile_kernel(grid = [1])]
    fn another_element_type(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), |x: Tile<f16>, _| x.to::<f32>()));
    }

    #[tile_kernel(grid = [1])]
    fn another_tuple(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), |x, (i, j, k)| x));
    }

    fn of_halves(x: Tile<f32>, epilogue: impl Fn(Tile<f16>) -> Tile<f32>) -> Tile<f32> {
        epilogue(x)
    }

    #[tile_kernel(grid = [1])]
    fn called(y: &mut [f32]) {
        store(y, arange(64), of_halves(full([64], 1.0), |x| x.to::<f32>()));
    }

    fn handed_on(x: Tile<f32>, map: impl Fn(Tile<f32>) -> Tile<f32>) -> Tile<f32> {
        of_halves(x, map)
    }

    #[tile_kernel(grid = [1])]
    fn twice(y: &mut [f32]) {
        store(y, arange(64), handed_on(full([64], 1.0), |x| x));
    }
}

fn main() {}
