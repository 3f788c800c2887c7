use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn loaded(pages: View<i32, 2>, y: &mut [i32]) {
    store(y, 0, pages.load([0, 1]));
}

#[tile_kernel(grid = [1])]
fn gathered(x: View<f32, 3>, y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, [0, 0, i]));
}

#[tile_kernel(grid = [1])]
fn offset(x: View<f32, 2>, y: &mut [f32]) {
    store(y, 0, sum(x.tile([0, arange(64)], [1, 64])));
}

fn main() {}
