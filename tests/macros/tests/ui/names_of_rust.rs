use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn fused(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, i).mul_add(2.0, 1.0));
}

#[tile_kernel(grid = [1])]
fn sign(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, i).signum());
}

#[tile_kernel(grid = [1])]
fn rolled(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, roll(load(x, i), 1));
}

#[tile_kernel(grid = [1])]
fn synchronized(y: &mut [f32]) {
    let s = shared_array::<f32>(64);
    store(s, arange(64), 1.0);
    sync();
    store(y, arange(64), load(s, arange(64)));
}

fn main() {}
