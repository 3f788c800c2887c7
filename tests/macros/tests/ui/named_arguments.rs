use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32], n: usize) {
    let i = arange(64);
    let v = load(x, i, mask = i < n, other = 0.0);
    let z = zeros([64], dtype = f32);
    store(y, program_id(axis = 0), sum(v + z, axis = 0));
}

fn main() {}
