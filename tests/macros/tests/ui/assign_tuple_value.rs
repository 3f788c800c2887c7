use tilewright::tile_kernel;

#[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [1])]
fn turns<const BLOCK: usize>(y: &mut [i32]) {
    let (mut a, mut b) = (1, 2);
    (a, b) = a + b;
    store(y, arange(BLOCK), full([BLOCK], a + b));
}

fn main() {}
