//! What programs compute with values, on the emulated SM and on the CPU.

use kernel_core::{AsSlice, AsSliceMut};
use kernel_macros::tile_kernel;
use tile_host::{LaunchOptions, Runtime};

/// Of tiles and of scalars, in a loop; the last one of a tuple is read before it is written.
#[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [1])]
fn change_places<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let (mut a, mut b) = (load(x, arange(BLOCK)), load(x, BLOCK + arange(BLOCK)));
    let (mut f, mut g) = (0u32, 1u32);
    for _ in 0..n {
        (a, b) = (b, a);
        (f, (g, a)) = (g, (f + g, a + 1.0));
    }
    store(y, arange(BLOCK), a * 1000.0 + f.to::<f32>());
    store(y, BLOCK + arange(BLOCK), b);
}

#[test]
fn tuples_are_assigned_at_once() {
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    for n in [0usize, 1, 2, 7] {
        let (mut a, mut b, mut f, mut g) = (0.0, 64.0, 0u32, 1u32);
        for _ in 0..n {
            (a, b) = (b, a);
            (f, (g, a)) = (g, (f + g, a + 1.0));
        }
        for rt in [Runtime::cpu(), Runtime::emulator(3)] {
            let mut y = vec![0.0f32; 128];
            rt.launch(change_places(x.as_slice().as_slice_arg(), y.as_mut_slice().as_slice_mut_arg(), n as u64)).expect("it runs");
            assert_eq!((y[0], y[64]), (a * 1000.0 + f as f32, b), "{n} rounds");
            assert_eq!(y[5], (a + 5.0) * 1000.0 + f as f32);
        }
    }
}

/// The same by programs in a row, or in two dimensions.
#[tile_kernel(
    tune(BLOCK = [32], FLAT = [0, 1], warps = [1]),
    grid = [if FLAT == 1 { cdiv(n, BLOCK) } else { min(2, cdiv(n, BLOCK)) }, if FLAT == 1 { 1 } else { cdiv(n, 2 * BLOCK) }],
    emulate = [0, 1],
)]
fn number<const BLOCK: usize, const FLAT: usize>(y: &mut [f32], n: usize) {
    let t = if FLAT == 1 { program_id(0) } else { program_id(1) * 2 + program_id(0) };
    let i = t * BLOCK + arange(BLOCK);
    store(y, i, (i + 1000 * num_programs(1)).to::<f32>());
}

#[test]
fn a_grid_may_depend_on_the_configuration() {
    let n = 100;
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        for (config, rows) in [("BLOCK=32,FLAT=0,warps=1", 2), ("BLOCK=32,FLAT=1,warps=1", 1)] {
            let mut y = vec![0.0f32; n];
            let options = LaunchOptions { config: Some(config), ..Default::default() };
            rt.launch_with(rt.stream(), number(y.as_mut_slice().as_slice_mut_arg(), n as u64), &options).expect("it runs");
            assert!(y.iter().enumerate().all(|(i, &v)| v == (i + 1000 * rows) as f32), "{config}: {y:?}");
        }
    }
}
