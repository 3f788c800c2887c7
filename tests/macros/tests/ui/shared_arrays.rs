use tilewright::{tile_kernel, tile_module};

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32], n: usize) {
    let i = arange(64);
    let a = shared_array::<f32>(n);
    let b = shared_array::<f32>(0);
    let c = shared_array::<f64>(8193);
    let d = shared_array::<f32>([8, 8]);
    let mut s = shared_array::<f32>(64);
    store(s, load(x, i));
    store(s, i);
    store(s, i, i);
    store(y, i, load(s));
    store(y, i, s);
    store(y, i, load(s, i).unchecked());
    store(y, i, load(s.add(i)));
    atomic_and(s, i, 1.0);
    let t = s.tile([0], [64]);
}

#[tile_kernel(tune(warps = [4], ctas = [2], arch = [90]), grid = [1])]
fn of_two_blocks(y: &mut [f32]) {
    let mut s = shared_array::<f32>(64);
    store(y, arange(64), load(s, arange(64)));
}

#[tile_kernel(grid = [1])]
fn too_many(y: &mut [f32]) {
    let mut s = shared_array::<f32>(10000);
    let mut t = shared_array::<u8>(30000);
    store(y, arange(64), load(s, arange(64)));
}

#[tile_module(use tilewright::grid)]
mod programs {
    #[tile_kernel(types(T = [f16]), grid = [1])]
    pub fn halves<T: Float>(x: &[T], words: &mut [u64], counter: &mut [u32]) {
        let order = begin_order(counter);
        look_back(words, order, load(x, order), 0.0, |a, b| a + b, |before| store(words, 0, 1));
    }
}

fn main() {}
