use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn k<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let mut last = shared_array::<f32>(BLOCK);
    for i in range(program_id(0), n, num_programs(0)) {
        let v = load(x, i * BLOCK + arange(BLOCK));
        store(y, i * BLOCK + arange(BLOCK), v + load(last, arange(BLOCK)));
        store(last, arange(BLOCK), v);
    }
}

fn main() {}
