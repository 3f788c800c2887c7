use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
fn of_a_closure(x: &[f32], y: &mut [f32]) {
    store(y, 0, reduce(load(x, arange(64)), 0, |a, b| a * b));
}

#[tile_kernel(backward, grid = [1])]
fn product_of_a_scan(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), cumprod(load(x, arange(64)), 0));
}

#[tile_kernel(backward, grid = [1])]
fn sorted(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), sort(load(x, arange(64)), 0));
}

#[tile_kernel(backward, grid = [1])]
fn of_bits(x: &[f32], y: &mut [f32]) {
    let bits = bitcast::<u32>(load(x, arange(64)));
    store(y, arange(64), bitcast::<f32>(bits & 0xffff0000));
}

#[tile_kernel(backward, grid = [1])]
unsafe fn assembly(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), asm("neg.f32 {0}, {1};", load(x, arange(64)), |x| -x));
}

#[tile_kernel(backward, grid = [1])]
fn gamma(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), lgamma(load(x, arange(64))));
}

#[tile_kernel(backward, grid = [1])]
fn gathered_rows(x: View<f32, 2>, y: &mut [f32]) {
    let t = gather(x.tile([0, 0], [8, 8]), zeros::<i32>([8, 8]), 1);
    store(y, arange(64), reshape(t, [64]));
}

fn main() {}
