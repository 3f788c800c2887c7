//! What kernels mean: their CPU functions, on small cases whose results are known.

use kernel_core::cpu::launch;
use kernel_core::{Call, GridCtx};
use kernel_macros::tile_kernel;

fn run(call: Call) {
    let config = &call.desc().configs[0];
    let grid = (config.grid)(&GridCtx { slots: call.slots(), num_sms: 4 });
    // SAFETY: the slots are those of the call, whose buffers are borrowed.
    unsafe { launch(config.cpu, grid, call.slots()) };
}

#[tile_kernel(grid = [rows * columns])]
fn order(at: &mut [u64], rows: usize, columns: usize) {
    let t = program_id(0);
    let (i, j) = swizzle2d(t, (rows, columns), 3);
    store(at, t, i * 1000 + j);
}

#[test]
fn swizzled_tiles() {
    for (rows, columns) in [(1, 1), (3, 4), (7, 5), (2, 9), (8, 1)] {
        let mut at = vec![0; rows * columns];
        run(order(&mut at, rows as u64, columns as u64));
        let mut expected = vec![];
        for first in (0..rows).step_by(3) {
            for j in 0..columns {
                expected.extend((first..rows.min(first + 3)).map(|i| (i * 1000 + j) as u64));
            }
        }
        assert_eq!(at, expected, "{rows} by {columns}");
    }
}
