use tilewright::tile_kernel;

#[tile_kernel(kernel(one, T = U, U = T), tune(BLOCK = [64]), grid = [1])]
fn k<T, U, const BLOCK: usize>(x: &[T], y: &mut [U]) {
    store(y, arange(BLOCK), load(x, arange(BLOCK)).to::<U>());
}

fn main() {}
