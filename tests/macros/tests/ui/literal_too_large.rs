use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[u8], y: &mut [u8]) {
    let i = arange(64);
    store(y, i, load(x, i) + 300);
}

#[tile_kernel(grid = [1])]
fn floats(x: &mut [f32]) {
    store(x, arange(64), -3.5e38);
}

#[tile_kernel(grid = [1])]
fn halves(x: &[f16], y: &mut [f16]) {
    let i = arange(64);
    store(y, i, load(x, i) * 65520.0);
}

#[tile_kernel(grid = [1])]
fn suffixed(x: &mut [f32]) {
    store(x, arange(64), 1e39f32);
}

#[tile_kernel(grid = [1])]
fn none(z: &mut [f64]) {
    store(z, arange(64), 1e400);
}

fn main() {}
