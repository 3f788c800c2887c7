//! Cross entropy of rows of logits, and its gradient. Logits of 16 bits are computed in f32.
//!
//! Exponentials are powers of two of differences times log2(e), one instruction each.

use tilewright_macros::tile_module;

pub use rows::*;

/// Losses of the rows of a row-major matrix. A row whose target is negative is ignored.
#[tile_module]
pub mod rows {
    // Literals: kernels know no other constants.
    #[allow(clippy::approx_constant)]
    const LOG2_E: f32 = 1.442_695;
    #[allow(clippy::approx_constant)]
    const LN_2: f32 = 0.693_147_2;

    /// `lse`, the logarithm of a row's sum of exponentials, and that less the logit of the row's target.
    ///
    /// A program has ROWS rows of at most LANES classes. With LONG it has one row of any length, which it reads in
    /// blocks of ROWS by LANES elements. Each lane keeps a maximum and a sum of its own until the row ends.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [128], LANES = [4], warps = [4]),
        tune(ROWS = [64], LANES = [16], warps = [4]),
        tune(ROWS = [32], LANES = [32], warps = [4]),
        tune(ROWS = [16], LANES = [64], warps = [4]),
        tune(ROWS = [8], LANES = [128, 256], warps = [4]),
        tune(ROWS = [4], LANES = [512, 1024], warps = [4]),
        tune(ROWS = [2], LANES = [2048], warps = [4]),
        tune(LONG = [true], ROWS = [4], LANES = [1024], warps = [4]),
        tune(LONG = [true], ROWS = [8], LANES = [2048], warps = [8]),
        requires = [LONG || classes <= LANES],
        grid = [if LONG { rows } else { cdiv(rows, ROWS) }],
    )]
    pub fn cross_entropy<T: Float, const ROWS: usize, const LANES: usize, const LONG: bool = false>(
        logits: &[T],
        targets: &[i32],
        losses: &mut [f32],
        lse: &mut [f32],
        rows: usize,
        classes: usize,
    ) {
        if LONG {
            let row = program_id(0) * classes;
            let c = arange(ROWS).expand(1) * LANES + arange(LANES).expand(0);
            let mut m = full([1, LANES], f32::MIN);
            let mut s = zeros::<f32>([1, LANES]);
            for start in (0..classes).step_by(ROWS * LANES) {
                let inside = start + c < classes;
                let v = where_(inside, load(logits, row + start + c).mask(inside).to::<f32>(), f32::NEG_INFINITY);
                let higher = maximum(m, max(v, 0).expand(0));
                s = s * exp2((m - higher) * LOG2_E) + sum(exp2((v - higher) * LOG2_E), 0).expand(0);
                m = higher;
            }
            let m_i = max(m);
            let log_sum = log2(sum(s * exp2((m - m_i) * LOG2_E))) * LN_2;
            let target = load(targets, program_id(0));
            let mut loss = 0.0;
            if target >= 0 {
                loss = f32::NAN;
                if (target as usize) < classes {
                    // The greatest logit first: its sum with a logarithm is rounded.
                    loss = (m_i - load(logits, row + target as usize).to::<f32>()) + log_sum;
                }
            }
            store(losses, program_id(0), loss);
            store(lse, program_id(0), m_i + log_sum);
        } else {
            let (r, c) = (program_id(0) * ROWS + arange(ROWS), arange(LANES).expand(0));
            let inside = (r.expand(1) < rows) & (c < classes);
            let v = load(logits, r.expand(1) * classes + c).mask(inside).to::<f32>();
            let v = where_(inside, v, f32::NEG_INFINITY);
            let m = maximum(max(v, 1), f32::MIN);
            let log_sum = log2(sum(exp2((v - m.expand(1)) * LOG2_E), 1)) * LN_2;
            let target = load(targets, r).mask(r < rows).other(-1);
            let is_class = (target >= 0) & (target.to::<i64>() < classes as i64);
            let at = r * classes + target.to::<usize>();
            let loss = (m - load(logits, at).mask(is_class).to::<f32>()) + log_sum;
            store(losses, r, where_(target < 0, 0.0, where_(is_class, loss, f32::NAN))).mask(r < rows);
            store(lse, r, m + log_sum).mask(r < rows);
        }
    }

    /// The gradient of the logits: `d_losses` of the row times the softmax of the row, less one at the target. A
    /// program has BLOCK classes of ROWS rows, with LONG of rows that are longer.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [128], BLOCK = [4], warps = [4]),
        tune(ROWS = [64], BLOCK = [16], warps = [4]),
        tune(ROWS = [32], BLOCK = [32], warps = [4]),
        tune(ROWS = [16], BLOCK = [64], warps = [4]),
        tune(ROWS = [8], BLOCK = [128, 256], warps = [4]),
        tune(ROWS = [4], BLOCK = [512], warps = [4]),
        tune(LONG = [true], BLOCK = [1024, 2048], warps = [4]),
        requires = [LONG || classes <= BLOCK],
        grid = [cdiv(rows, ROWS), cdiv(classes, BLOCK)],
        alias(logits, d_logits),
    )]
    pub fn cross_entropy_gradient<T: Float, const BLOCK: usize, const ROWS: usize = 1, const LONG: bool = false>(
        logits: &[T],
        targets: &[i32],
        lse: &[f32],
        d_losses: &[f32],
        d_logits: &mut [T],
        rows: usize,
        classes: usize,
    ) {
        let r = program_id(0) * ROWS + arange(ROWS);
        let target = load(targets, r).mask(r < rows).other(-1);
        let scale = where_(target.to::<i64>() >= classes as i64, f32::NAN, load(d_losses, r).mask(r < rows));
        let c = (program_id(1) * BLOCK + arange(BLOCK)).expand(0);
        let inside = (r < rows).expand(1) & (c < classes);
        let v = load(logits, r.expand(1) * classes + c).mask(inside).to::<f32>();
        let p = exp2((v - load(lse, r).mask(r < rows).expand(1)) * LOG2_E);
        // One number for each row says all of its target: a tile of it and of `c` has a sign.
        let ahead = c.to::<i64>() - target.to::<i64>().expand(1);
        let d = (p - where_(ahead == 0, 1.0, 0.0)) * scale.expand(1);
        let d = where_(ahead > c.to::<i64>(), 0.0, d);
        store(d_logits, r.expand(1) * classes + c, d.to::<T>()).mask(inside);
    }
}
