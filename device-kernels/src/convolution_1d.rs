//! `y[o] = sum over k of x[o + k] * w[k]`, "valid" and not flipped, for any kernel length.

use tilewright_macros::tile_module;

// A program makes B * A outputs: o = base + A*b + a, with a across the threads and b in registers. The taps of one
// remainder r are k = r + A*q, so output (b, q) reads x[base + r + A*(b + q) + a]: loads with equal b + q have equal
// addresses. Unrolled over Q values of q they merge, and B * Q multiply-adds take B + Q - 1 coalesced loads of x and Q
// uniform loads of w. The taps of the last, incomplete group are added one by one: a zero tap in their place would turn
// an infinite signal value into NaN.
/// The convolution, with checked and unchecked loads.
#[tile_module]
pub mod convolution {
    /// The sums of a program's outputs `o`. With CHECKED of 0 every read is inside.
    fn convolve<const A: usize, const B: usize, const Q: usize, const CHECKED: usize>(
        x: &[f32],
        w: &[f32],
        o: Tile<usize>,
    ) -> Tile<f32> {
        let taps = w.len();
        let mut acc = zeros::<f32>([B, A]);
        for r in 0..min(A, taps) {
            let of_r = cdiv(taps - r, A);
            let grouped = of_r / Q * Q;
            for first in (0..grouped).step_by(Q) {
                let k = r + A * first;
                for q in static_range(0..Q) {
                    if CHECKED == 0 {
                        acc = fma(load(x, k + o + A * q).unchecked(), load(w, k + A * q).unchecked(), acc);
                    } else {
                        acc = fma(load(x, k + o + A * q), load(w, k + A * q), acc);
                    }
                }
            }
            for q in grouped..of_r {
                let k = r + A * q;
                acc = fma(load(x, o + k), load(w, k), acc);
            }
        }
        acc
    }

    /// The last program moves back to end where the outputs end, and repeats outputs of its neighbor, so that no
    /// program reads outside and none is slower than the others.
    ///
    /// # Safety
    /// `y.len() + w.len() - 1 == x.len()`.
    #[tile_kernel(
        tune(A = [128], B = [16], Q = [16, 8], warps = [4]),
        tune(A = [128], B = [8], Q = [8], warps = [4]),
        tune(A = [256], B = [16], Q = [8], warps = [8]),
        tune(A = [32], B = [8], Q = [4], warps = [1]),
        grid = [cdiv(y.len(), A * B)],
    )]
    pub unsafe fn convolution_1d<const A: usize, const B: usize, const Q: usize>(x: &[f32], w: &[f32], y: &mut [f32]) {
        let mine = program_id(0) * (A * B);
        let within = arange(B).expand(1) * A + arange(A).expand(0);
        if A * B <= y.len() {
            let o = min(mine, y.len() - A * B) + within;
            store(y, o, convolve::<A, B, Q, 0>(x, w, o)).mask(o >= mine);
        } else {
            store(y, within, convolve::<A, B, Q, 1>(x, w, within));
        }
    }
}
