use tilewright::tile_module;

#[tile_module]
mod kernels {
    fn ones<const N: usize>() -> Tile<f32> {
        full([N], 1.0)
    }

    #[tile_kernel(grid = [1])]
    fn of_an_extent(y: &mut [f32], n: usize) {
        store(y, arange(64), full([if n > 1 { 64 } else { 32 }], 1.0));
    }

    #[tile_kernel(grid = [1])]
    fn of_a_const_argument(y: &mut [f32], n: usize) {
        store(y, arange(64), ones::<{ 2 * if n > 1 { 32 } else { 16 } }>());
    }

    #[tile_kernel(grid = [1])]
    fn of_a_constant(y: &mut [f32], n: usize) {
        const ROWS: usize = if n > 1 { 64 } else { 32 };
        store(y, arange(ROWS), 1.0);
    }

    #[tile_kernel(grid = [1])]
    fn of_a_local(y: &mut [f32], n: usize) {
        let rows = if n > 1 { 64 } else { 32 };
        store(y, arange(rows), 1.0);
    }
}

fn main() {}
