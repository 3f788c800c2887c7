use tilewright::tile_kernel;

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn neighbor<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    for i in range(program_id(0), n, num_programs(0)) {
        let at = i * BLOCK + arange(BLOCK);
        store(y, at, load(x, at) + load(y, at - BLOCK));
    }
}

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn sum_of_a_program<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let p = program_id(0);
    for i in range(p, n, num_programs(0)) {
        store(y, p, load(y, p) + sum(load(x, i * BLOCK + arange(BLOCK))));
    }
}

#[tile_kernel(deterministic, tune(BLOCK = [64]), grid = [2])]
fn read_behind_the_loop<const BLOCK: usize>(x: &[f32], y: &mut [f32], z: &mut [f32], n: usize) {
    for i in range(program_id(0), n, num_programs(0)) {
        store(y, i * BLOCK + arange(BLOCK), load(x, i * BLOCK + arange(BLOCK)));
    }
    store(z, arange(BLOCK), load(y, arange(BLOCK)));
}

fn main() {}
