use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [cdiv(x.len(), BLOCK)])]
fn k<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let mut s = 0.0;
    for i in range(program_id(0), 100, num_programs(0)) {
        s += sum(load(x, i * BLOCK + arange(BLOCK)));
    }
    store(y, program_id(0), s);
}

fn main() {}
