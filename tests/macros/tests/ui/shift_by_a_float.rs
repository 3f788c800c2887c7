use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[i32], y: &mut [i32]) {
    let v = load(x, arange(32));
    store(y, arange(32), v << 1.5);
}

#[tile_kernel(grid = [1])]
fn of_tiles(x: &[i32], y: &mut [i32]) {
    let v = load(x, arange(32));
    store(y, arange(32), v >> v.to::<f32>());
}

fn main() {}
