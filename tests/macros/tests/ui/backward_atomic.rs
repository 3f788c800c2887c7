use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [2])]
fn largest(x: &[f32], y: &mut [f32]) {
    atomic_max(y, 0, load(x, program_id(0)));
}

#[tile_kernel(backward, grid = [2])]
fn with_old_value(x: &[f32], y: &mut [f32], z: &mut [f32]) {
    let old = atomic_add(y, 0, load(x, program_id(0)));
    store(z, program_id(0), old);
}

fn main() {}
