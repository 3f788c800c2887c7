use tilewright::{tile_kernel, tile_module};

#[tile_kernel(tune(BIAS = [0, 1]), grid = [1])]
fn a_number_for_a_bool<const BIAS: bool>(y: &mut [f32]) {
    store(y, 0, 1.0);
}

#[tile_kernel(tune(BLOCK = [true]), grid = [1])]
fn a_bool_for_a_number<const BLOCK: usize>(y: &mut [f32]) {
    store(y, 0, 1.0);
}

#[tile_kernel(kernel(one, BIAS = [true, false]), grid = [1])]
fn a_list<const BIAS: bool>(y: &mut [f32]) {
    store(y, 0, 1.0);
}

#[tile_module]
mod kernels {
    fn biased<const BIAS: bool>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(grid = [1])]
    fn const_argument(y: &mut [f32]) {
        biased::<1>(y);
    }

    #[tile_kernel(grid = [1])]
    fn run_time_argument(y: &mut [f32], n: usize) {
        biased::<{ n == 1 }>(y);
    }

    #[tile_kernel(grid = [1])]
    fn one_too_many(y: &mut [f32]) {
        biased::<true, 2>(y);
    }
}

fn main() {}
