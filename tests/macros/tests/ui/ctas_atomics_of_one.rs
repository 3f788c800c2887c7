use tilewright::tile_kernel;

#[tile_kernel(tune(N = [128], ctas = [2], arch = [90]), grid = [1])]
fn k<const N: usize>(x: &[u32], c: &mut [u32]) {
    atomic_max(c, 0, max(load(x, arange(N)))).relaxed();
    atomic_store(c, 1, 7).relaxed();
}

fn main() {}
