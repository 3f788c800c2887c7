use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    device_assert!(True);
    store(y, i, transpose(softmax(load(x, i))));
    assert!(i < 64);
    let v = load(x, i) ** 2.0;
    debug_barrier();
}

fn main() {}
