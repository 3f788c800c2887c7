use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
unsafe fn k(list: &[u64], x: &[f32], y: &mut [f32]) {
    let p = load(list, 0) as *const f32;
    store(y, arange(64), load(p.add(arange(64))) * load(x, arange(64)));
}

fn main() {}
