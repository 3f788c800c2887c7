//! Kernels that may begin before the launch in front has ended: what they read until they wait for it.

use kernel_macros::tile_kernel;
use tile_host::Runtime;
use tile_language_tests::run::seeds;

/// `x` may be read at once; `y` only after the wait, although it is only read as well.
#[tile_kernel(tune(warps = [2]), grid = [2], early = [x])]
fn early_sum(x: &[f32], y: &[f32], z: &mut [f32]) {
    let i = program_id(0) * 128 + arange(128);
    let first = load(x, i);
    let second = load(y, i);
    store(z, i, first + second);
}

#[test]
fn what_is_not_declared_early_is_read_after_the_wait() {
    let (x, y) = (vec![1.0f32; 200], vec![2.0f32; 200]);
    for rt in seeds().into_iter().chain([Runtime::cpu()]) {
        let mut z = vec![0.0f32; 200];
        rt.launch(early_sum(&x, &y, &mut z)).expect("it waits where it must");
        assert_eq!(z, [3.0; 200]);
    }
}
