use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(p: *const f32, y: &mut [f32]) {
    store(y, arange(64), load(p.add(arange(64))));
}

fn main() {}
