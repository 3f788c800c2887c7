use tilewright::tile_kernel;

#[tile_kernel(kernel(one, T = 1), grid = [1])]
fn k<T>(y: &mut [T]) {
    store(y, arange(64), full([64], 1.0).to::<T>());
}

fn main() {}
