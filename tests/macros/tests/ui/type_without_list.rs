use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k<T: Float>(x: &[T], y: &mut [T]) {
    store(y, arange(64), load(x, arange(64)));
}

fn main() {}
