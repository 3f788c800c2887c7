use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [cdiv(x.len(), BLOCK)])]
fn k<const BLOCK: usize>(x: &[f32], n: &mut [u32], y: &mut [f32]) {
    let first = program_id(0) * BLOCK;
    let at = atomic_add(n, 0, 1);
    store(y, at, sum(load(x, first + arange(BLOCK))));
}

fn main() {}
