use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [cdiv(x.len(), BLOCK)])]
fn k<const BLOCK: usize>(x: &[f32], n: &mut [u32], y: &mut [f32]) {
    let first = program_id(0) * BLOCK;
    if atomic_load(n, 0) == 0 {
        store(y, program_id(0), sum(load(x, first + arange(BLOCK))));
    }
}

fn main() {}
