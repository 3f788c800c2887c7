use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn k<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    for i in range(program_id(0), n, num_programs(0)) {
        let at = i * BLOCK + arange(BLOCK);
        store(y, at, load(x, at) + load(y, at - BLOCK));
    }
}

fn main() {}
