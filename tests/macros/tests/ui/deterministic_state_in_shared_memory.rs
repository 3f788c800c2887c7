use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn last<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let mut last = shared_array::<f32>(BLOCK);
    for i in range(program_id(0), n, num_programs(0)) {
        let v = load(x, i * BLOCK + arange(BLOCK));
        store(y, i * BLOCK + arange(BLOCK), v + load(last, arange(BLOCK)));
        store(last, arange(BLOCK), v);
    }
}

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn counts<const BLOCK: usize>(x: &[u32], y: &mut [u32], n: usize) {
    let mut counts = shared_array::<u32>(BLOCK);
    for i in range(program_id(0), n, num_programs(0)) {
        atomic_add(counts, load(x, i * BLOCK + arange(BLOCK)), 1u32);
        store(y, i * BLOCK + arange(BLOCK), load(counts, arange(BLOCK)));
    }
}

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn stored_at_first<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let mut last = shared_array::<f32>(BLOCK);
    for i in range(program_id(0), n, num_programs(0)) {
        if i == 0 {
            store(last, arange(BLOCK), full([BLOCK], 1.0));
        }
        let v = load(x, i * BLOCK + arange(BLOCK));
        store(y, i * BLOCK + arange(BLOCK), v + load(last, arange(BLOCK)));
        store(last, arange(BLOCK), v);
    }
}

fn main() {}
