//! Operations whose output is an input, as C and Python allow: the bits are those of an output of its own. On the
//! emulated SM, which reports races, too; on the GPU where there is one.

use tilewright::kernel::{SliceArg, SliceMutArg};
use tilewright::ops::{self, ExecOptions, Executor, Rope};
use tilewright::{AsSlice, AsSliceMut, Buffer};

/// A buffer as an input and as an output.
///
/// # Safety
/// The operation allows that both are the same memory.
unsafe fn twice(x: &mut Buffer<f32>) -> (SliceArg<'_, f32>, SliceMutArg<'_, f32>) {
    let (addr, len, device) = (x.addr(), x.len(), x.device());
    // SAFETY: the buffer lives, and the caller's contract.
    unsafe { (SliceArg::from_raw(addr, len, device), SliceMutArg::from_raw(addr, len, device)) }
}

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    (0..n as u32)
        .map(|i| (i.wrapping_add(seed).wrapping_mul(2654435761) >> 9) as f32 / (1 << 23) as f32 - 0.5)
        .collect()
}

type Operation<'a> = &'a dyn Fn(&ExecOptions, SliceArg<f32>, SliceMutArg<f32>) -> tilewright::Result<()>;

/// Runs an operation on `n` elements with an output of its own, and in place.
fn check(what: &str, n: usize, run: Operation) {
    for rt in crate::backends(5) {
        let on = ExecOptions::new(&rt);
        let mut x = Buffer::from_slice(&rt, &numbers(n, 0)).unwrap();
        let mut y = Buffer::<f32>::zeros(&rt, n).unwrap();
        run(&on, x.as_slice_arg(), y.as_slice_mut_arg()).unwrap();
        // SAFETY: each operation below says that it may.
        let (read, written) = unsafe { twice(&mut x) };
        run(&on, read, written).unwrap_or_else(|e| panic!("{what} on {:?}: {e}", rt.kind()));
        let (apart, same) = (y.to_vec().unwrap(), x.to_vec().unwrap());
        assert!(apart.iter().any(|v| *v != 0.0), "{what}: results are 0");
        let differ = apart.iter().zip(&same).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        assert_eq!(differ, 0, "{what} on {:?}", rt.kind());
    }
}

#[test]
fn elements() {
    check("dropout", 5000, &|on, x, y| ops::dropout(on, x, y, 0.5, 7));
    check("relu", 5000, &|on, x, y| ops::relu(on, x, y));
    check("swiglu over the gate", 5000, &|on, x, y| {
        let up = Buffer::from_slice(on.runtime(), &numbers(5000, 1))?;
        ops::swiglu(on, x, &up, y)
    });
    check("swiglu over up", 5000, &|on, x, y| {
        let gate = Buffer::from_slice(on.runtime(), &numbers(5000, 1))?;
        ops::swiglu(on, &gate, x, y)
    });
}

#[test]
fn gradients_of_softmax() {
    // The last row is longer than any tile.
    for [rows, cols] in [[40, 30], [5, 700], [1, 17_001]] {
        check(&format!("{rows} x {cols}"), rows * cols, &|on, dy, dx| {
            let y = Buffer::from_slice(on.runtime(), &numbers(rows * cols, 1))?;
            ops::softmax_rows_backward(on, &y, dy, dx, rows, cols)
        });
    }
}

#[test]
fn gradients_of_losses() {
    // Rows in one tile, and a row in several.
    for [rows, classes] in [[40, 3], [2, 5000]] {
        check(&format!("the gradient of {rows} x {classes} logits"), rows * classes, &|on, logits, d_logits| {
            let lse = Buffer::from_slice(on.runtime(), &vec![9.0f32; rows])?;
            let targets = Buffer::from_slice(on.runtime(), &vec![1i32; rows])?;
            ops::cross_entropy_backward(on, logits, &targets, &lse, &lse, d_logits)
        });
    }
}

#[test]
fn rotations() {
    // Pairs in one tile and in several, and elements behind them.
    for (heads, columns, half) in [(3, 64, 32), (9, 130, 64), (2, 300, 140)] {
        for interleaved in [false, true] {
            check(&format!("rope of {columns}"), 5 * heads * columns, &|on, x, y| {
                let angles = Buffer::from_slice(on.runtime(), &numbers(5 * half, 1))?;
                Rope::new(&angles, &angles, half).interleaved(interleaved).launch(on, x, y, heads, columns)
            });
        }
    }
}
