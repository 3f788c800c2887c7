use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn stored(mut y: ViewMut<f32, 3>) {
    y.store([0, 0, 0], zeros::<f32>([64]));
}

#[tile_kernel(grid = [1])]
fn stored_to_a_row(mut y: ViewMut<f32, 2>) {
    y.store([0, 0], zeros::<f32>([1, 1, 64]));
}

#[tile_kernel(grid = [1])]
fn loaded(x: View<f32, 2>, y: &mut [f32]) {
    store(y, 0, sum(x.tile([0, 0], [64])));
}

#[tile_kernel(grid = [1])]
fn row_to_a_slice(x: View<f32, 2>, y: &mut [f32]) {
    store(y, arange(64), x.tile([0, 0], [1, 64]));
}

fn main() {}
