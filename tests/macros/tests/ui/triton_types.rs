use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn cast(x: &[f16], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, i).to(tl.float32));
}

#[tile_kernel(grid = [1])]
fn turbofish(x: &[f16], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, i).to::<float32>());
}

#[tile_kernel(grid = [1])]
fn name(y: &mut [f32]) {
    store(y, arange(64), zeros([64], float32));
}

#[tile_kernel(grid = [1])]
fn parameter(x: &[float16]) {}

#[tile_kernel(types(T = [bfloat16]), grid = [1])]
fn list<T>(x: &[T]) {}

fn main() {}
