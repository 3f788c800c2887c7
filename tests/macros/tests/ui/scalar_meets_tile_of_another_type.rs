use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn wider_scalar(x: &[f16], y: &mut [f16], a: f32) {
    let i = arange(64);
    store(y, i, a * load(x, i));
}

#[tile_kernel(grid = [1])]
fn narrower_scalar(x: &[f32], y: &mut [f32], a: f16) {
    let i = arange(64);
    store(y, i, load(x, i) * a);
}

#[tile_kernel(grid = [1])]
fn integer_scalar(x: &[f32], y: &mut [f32], n: usize) {
    let i = arange(64);
    store(y, i, load(x, i) / (n + 1));
}

#[tile_kernel(grid = [1])]
fn unsigned_scalar(x: &[i32], y: &mut [i32], n: u32) {
    let i = arange(64);
    store(y, i, n + load(x, i));
}

#[tile_kernel(grid = [1])]
fn long_operand(x: &[f16], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, maximum(load(y, i), load(x, i + 64) * load(x, i + 128) + load(x, i + 192)));
}

fn main() {}
