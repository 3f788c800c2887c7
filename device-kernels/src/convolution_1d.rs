//! `y[o] = sum over k of x[o + k] * w[k]`, "valid" and not flipped, for any kernel length.

use kernel_macros::tile_module;

// A program makes B * A outputs: o = base + A*b + a, with a across the threads and b in registers. The taps of one
// remainder r are k = r + A*q, so output (b, q) reads x[base + r + A*(b + q) + a]: loads with equal b + q have equal
// addresses. Unrolled over Q values of q they merge, and B * Q multiply-adds take B + Q - 1 coalesced loads of x and
// Q uniform loads of w. What the last, incomplete group leaves is done tap by tap: a zero tap in its place would turn
// an infinite signal value into NaN.
#[tile_module]
pub mod convolution {
    /// Bounds are checked once a program: all but the last read only inside.
    ///
    /// # Safety
    /// `y.len() + w.len() - 1 == x.len()`.
    #[tile_kernel(
        tune(A = [128], B = [16], Q = [16], warps = [4]),
        tune(A = [128], B = [16], Q = [8], warps = [4]),
        tune(A = [128], B = [8], Q = [8], warps = [4]),
        tune(A = [256], B = [16], Q = [8], warps = [8]),
        tune(A = [32], B = [8], Q = [4], warps = [1]),
        grid = [cdiv(y.len(), A * B)],
    )]
    pub unsafe fn convolution_1d<const A: usize, const B: usize, const Q: usize>(x: &[f32], w: &[f32], y: &mut [f32]) {
        // The minimum changes nothing but what is known of the alignment of `base`: stores of whole vectors would put
        // four neighbouring outputs into one thread, and the loads of x, a hundred times as many, would not coalesce.
        let base = min(program_id(0) * (A * B), y.len() - 1);
        let o = base + arange(B).expand(1) * A + arange(A).expand(0);
        let taps = w.len();
        let mut acc = zeros::<f32>([B, A]);
        if base + (A * B) <= y.len() {
            for r in 0..min(A, taps) {
                let of_r = cdiv(taps - r, A);
                let grouped = of_r / Q * Q;
                for first in (0..grouped).step_by(Q) {
                    let k0 = r + A * first;
                    for q in static_range(0..Q) {
                        acc = fma(load(x, k0 + o + A * q).unchecked(), load(w, k0 + A * q).unchecked(), acc);
                    }
                }
                for q in grouped..of_r {
                    let k = r + A * q;
                    acc = fma(load(x, o + k).unchecked(), load(w, k).unchecked(), acc);
                }
            }
        } else {
            for k in 0..taps {
                acc = fma(load(x, o + k), load(w, k), acc);
            }
        }
        store(y, o, acc);
    }
}
