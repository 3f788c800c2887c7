//! Programs of kernels that stress the invariants of the thread IR. All programs are verified in debug builds, as tests
//! are: here it is enough that each variant is made.

use tilewright_compiler::driver::lower;
use tilewright_compiler::variant::{Transposed, Variant, Width};
use tilewright_compiler::{MmaPath, thread_ir as ir};

/// Lowers a kernel for each way of its products that is asked for.
fn verified(ways: &[MmaPath], text: &str) {
    let f = crate::common::func(text);
    for &mma in ways {
        for width in [Width::Vectors, Width::Words, Width::Elements] {
            let lowered = lower(&f, Variant { width, mma }, true, &mut ()).expect("the kernel has this variant");
            assert_eq!(ir::verify::verify(&lowered), Ok(()));
        }
    }
}

const TMA: MmaPath = MmaPath::WgmmaTma(Transposed { a: false, b: false });

/// Both loops wait late, and take the stages of one circular buffer.
#[test]
fn loops_that_wait_late_one_after_another() {
    verified(
        &[TMA, MmaPath::MmaSync],
        "#[tile_kernel(tune(warps = [4]), grid = [1])]
         pub fn k(x: View<f16, 2>, a: View<f16, 2>, mut y: ViewMut<f32, 2>, n: usize) {
             for j in 0..n {
                 let mut s = zeros::<f32>([64, 64]);
                 for i in range(0, a.dim(1), 64) {
                     s = dot(x.tile([j, i], [64, 64]), trans(a.tile([0, i], [64, 64])), s);
                 }
                 let mut t = zeros::<f32>([64, 64]);
                 for i in range(0, a.dim(1), 64) {
                     t = dot(a.tile([j, i], [64, 64]), trans(x.tile([0, i], [64, 64])), t);
                 }
                 if j == 3 { continue; }
                 y.store([j, 0], s + t);
                 if j == 7 { return; }
             }
         }",
    );
}

/// Results of atomics are broadcast to threads with copies, in loops that end in the middle.
#[test]
fn exchanges_in_loops_with_jumps() {
    verified(
        &[MmaPath::MmaSync],
        "#[tile_kernel(tune(warps = [4]), grid = [1])]
         pub fn k(x: &[f32], sums: &mut [f32], ticket: &mut [u32], y: &mut [f32], n: usize) {
             let i = arange(32);
             for j in 0..n {
                 let old = atomic_add(sums, i, load(x, i + j));
                 let mut k = atomic_add(ticket, 0, 1);
                 while k > 3 {
                     k = k - 1;
                     let v = sum(load(x, i));
                     store(y, k as usize, v);
                     if v > 1.0 { break; }
                 }
                 store(y, i + j, old + sum(old));
                 if sum(old) < 0.0 { return; }
             }
             let q = load(x, arange(3).expand(1) * 5 + arange(5).expand(0));
             device_assert!(q > 0.0, \"positive\");
             store(y, arange(3), sum(q, 1));
             device_print!(\"q\", q);
         }",
    );
}

/// Both dimensions of the tile have padding, which the condition is not asked of.
#[test]
fn asserts_leave_padding_alone() {
    let f = crate::common::kernel(
        "f32",
        "device_assert!(load(x, arange(3).expand(1) * 5 + arange(5).expand(0)) > 0.0, \"positive\");",
    );
    let variant = Variant { width: Width::Vectors, mma: MmaPath::MmaSync };
    let text = lower(&f, variant, false, &mut ()).expect("for any kernel").text();
    let assert = text.lines().find(|l| l.contains("d::assert")).expect("an assert");
    assert!(assert.contains("!(((") && assert.contains(") & ((") && assert.contains(")) || v"), "{assert}");
}

/// A chain of exchanges that share one buffer.
#[test]
fn large_exchanges() {
    verified(
        &[MmaPath::MmaSync],
        "#[tile_kernel(tune(warps = [8]), grid = [1])]
         pub fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>, n: usize) {
             let mut t = x.tile([0, 0], [64, 128]);
             for i in 0..n {
                 let transposed = trans(t) * trans(x.tile([i, 0], [64, 128]));
                 t = trans(transposed) - sum(transposed, 1).expand(0) + max(transposed, 0).expand(1);
             }
             y.store([0, 0], t);
         }",
    );
}
