use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn finished(x: Tile<f32>, epilogue: impl Fn(Tile<f32>, usize) -> Tile<f32>) -> Tile<f32> {
        epilogue(x, 0)
    }

    #[tile_kernel(grid = [1])]
    fn handed_over(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), |x| x));
    }

    fn without_place(x: Tile<f32>, epilogue: impl Fn(Tile<f32>, usize) -> Tile<f32>) -> Tile<f32> {
        epilogue(x)
    }

    #[tile_kernel(grid = [1])]
    fn called(y: &mut [f32]) {
        store(y, arange(64), without_place(full([64], 1.0), |x, _| x));
    }

    #[tile_kernel(grid = [1])]
    fn no_closure(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), 2.0));
    }

    #[tile_kernel(grid = [1])]
    fn a_helper(y: &mut [f32]) {
        store(y, arange(64), finished(full([64], 1.0), finished));
    }
}

fn main() {}
