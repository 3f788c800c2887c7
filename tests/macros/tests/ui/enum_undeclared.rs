use tilewright::{tile_kernel, tile_module};

enum Scheduler {
    Grid,
}

#[tile_kernel(tune(SCHEDULER = [Grid]), grid = [1])]
fn k<const SCHEDULER: Scheduler>(y: &mut [f32]) {
    store(y, 0, 1.0);
}

#[tile_module]
mod kernels {
    fn scheduled<const SCHEDULER: Scheduler>(y: &mut [f32]) {
        store(y, 0, 1.0);
    }

    #[tile_kernel(grid = [1])]
    fn k(y: &mut [f32]) {
        scheduled::<1>(y);
    }
}

fn main() {}
