use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn no_index(x: &[f32], y: &mut [f32]) {
    store(y, load(x, arange(8)));
}

#[tile_kernel(grid = [1])]
unsafe fn pointer(x: *const f32, y: *mut f32) {
    store(y, arange(8), load(x.add(arange(8))));
}

#[tile_kernel(grid = [1])]
fn no_else(y: &mut [f32]) {
    let v = if y.len() > 3 { 1.0 };
    store(y, 0, v);
}

#[tile_kernel(grid = [1])]
fn misspelt(x: &[f32], y: &mut [f32]) {
    store(y, 0, laod(x, 0));
}

fn main() {}
