use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    let t = load(x, i);
    store(y, i, cumsum(t, 0).reverse().reverse());
    store(y, i, cumsum(t, 0).reverse(true));
    store(y, i, cumsum(t, 0).exclusive());
    store(y, i, cumsum(t, 0).exclusive(0));
    store(y, i, cumsum(t, 0).exclusive(t));
    store(y, i, cumsum(t, 0).exclusive((0.0, 0.0)));
    store(y, i, cumsum(t, 0).mask(i < 3));
    store(y, i, exp(t).reverse());
    store(y, 0, sum(t).exclusive(0.0));
    store(y, i, associative_scan(t, 0, |a, b| a + b));
}

fn main() {}
