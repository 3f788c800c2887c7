//! Losses: a mean over elements or over rows, in one launch.

use tilewright::tile_module;

pub use advantages::*;
pub use means::*;

#[tile_module(use tilewright::grid, use crate::kernels::sums::totals)]
pub mod means {
    /// An advantage times a ratio of probabilities that is clipped to within `clip` of 1: the lesser of both products.
    fn surrogate(advantage: Tile<f32>, ratio: Tile<f32>, clip: f32) -> Tile<f32> {
        let clipped = clamp(ratio, 1.0 - clip, 1.0 + clip).propagate_nan();
        minimum(ratio * advantage, clipped * advantage).propagate_nan()
    }

    #[tile_kernel(
        tune(BLOCK = [2048], PER_SM = [8], warps = [8]),
        tune(BLOCK = [4096], PER_SM = [4], warps = [8]),
        grid = [max(1, min(min(cdiv(advantages.len(), BLOCK), num_sms() * PER_SM), words.len()))],
    )]
    pub fn ppo<const BLOCK: usize, const PER_SM: usize>(
        advantages: &[f32],
        log_pi: &[f32],
        log_pi_old: &[f32],
        clip: f32,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [f32],
    ) {
        let n = advantages.len();
        let term = |i| surrogate(load(advantages, i), exp(load(log_pi, i) - load(log_pi_old, i)), clip);
        total::<f32, BLOCK>((0, n), 0.0, words, counter, term, |all| store(y, 0, -(all / n as f32)));
    }

    #[tile_kernel(
        tune(BLOCK = [1024], PER_SM = [8], warps = [4]),
        grid = [max(1, min(min(cdiv(chosen.len(), BLOCK), num_sms() * PER_SM), words.len()))],
    )]
    pub fn dpo<const BLOCK: usize, const PER_SM: usize>(
        chosen: &[f32],
        rejected: &[f32],
        chosen_ref: &[f32],
        rejected_ref: &[f32],
        beta: f32,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [f32],
    ) {
        let n = chosen.len();
        let term = |i| {
            let margin = (load(chosen, i) - load(rejected, i)) - (load(chosen_ref, i) - load(rejected_ref, i));
            let x = beta * margin;
            // The logarithm of the sigmoid, of which neither part overflows.
            minimum(x, 0.0).propagate_nan() - log1p(exp(-abs(x)))
        };
        total::<f32, BLOCK>((0, n), 0.0, words, counter, term, |all| store(y, 0, -(all / n as f32)));
    }

    /// Each row of `columns` tokens has one advantage.
    #[tile_kernel(
        tune(ROWS = [1], COLS = [2048], PER_SM = [8], warps = [8]),
        tune(ROWS = [16], COLS = [128], PER_SM = [8], warps = [8]),
        grid = [max(
            1,
            min(min(cdiv(advantages.len(), ROWS) * cdiv(columns, COLS), num_sms() * PER_SM), words.len()),
        )],
    )]
    pub fn grpo<const ROWS: usize, const COLS: usize, const PER_SM: usize>(
        advantages: &[f32],
        log_pi: &[f32],
        log_pi_old: &[f32],
        log_ref: &[f32],
        columns: usize,
        clip: f32,
        beta: f32,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [f32],
    ) {
        let rows = advantages.len();
        let term = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            let i = r * columns + c;
            let new = load(log_pi, i).mask(inside);
            let gain = surrogate(load(advantages, r), exp(new - load(log_pi_old, i).mask(inside)), clip);
            let d = load(log_ref, i).mask(inside) - new;
            gain - beta * (exp(d) - d - 1.0)
        };
        let n = (rows * columns) as f32;
        total_of_rows::<f32, ROWS, COLS>(rows, (0, columns), 0.0, words, counter, term, |all| {
            store(y, 0, -(all / n));
        });
    }

    /// The mean over rows of the logarithm of the sum of exponentials, less the logit of the label. A label that is no
    /// column gives NaN. A row that fits a tile is read once.
    #[tile_kernel(
        tune(ROWS = [1], BLOCK = [1024], PER_SM = [16], warps = [4]),
        tune(ROWS = [1], BLOCK = [4096], PER_SM = [8], warps = [8]),
        tune(ROWS = [16], BLOCK = [64], PER_SM = [16], warps = [4]),
        grid = [max(1, min(min(cdiv(labels.len(), ROWS), num_sms() * PER_SM), words.len()))],
    )]
    pub fn cross_entropy<const ROWS: usize, const BLOCK: usize, const PER_SM: usize>(
        logits: &[f32],
        labels: &[i32],
        columns: usize,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [f32],
    ) {
        let order = begin_order(counter);
        let rows = labels.len();
        let mut losses = zeros::<f32>([ROWS, 1]);
        for first in range(program_id(0) * ROWS, rows, num_programs(0) * ROWS) {
            let (r, c) = ((first + arange(ROWS)).expand(1), arange(BLOCK).expand(0));
            // The greatest number and the sum of exponentials so far. f32::MIN is "none yet".
            let mut m_i = full([ROWS, 1], f32::MIN);
            let mut whole = zeros::<f32>([ROWS, 1]);
            for start in (0..columns).step_by(BLOCK) {
                let inside = (r < rows) & (start + c < columns);
                let v = load(logits, r * columns + start + c).mask(inside).other(f32::NEG_INFINITY);
                let higher = maximum(m_i, max(v, 1).expand(1));
                whole = whole * exp(m_i - higher) + sum(exp(v - higher), 1).expand(1);
                m_i = higher;
            }
            let label = load(labels, r);
            let at = r * columns + label.to::<usize>();
            let is_column = (r < rows) & (label >= 0) & (label.to::<usize>() < columns);
            let logit = load(logits, at).mask(is_column).other(f32::NAN);
            losses += where_(r < rows, m_i - logit + log(whole), 0.0);
        }
        reduce_programs(words, order, sum(losses), 0.0, |a, b| a + b, |all| store(y, 0, all / rows as f32));
    }
}

#[tile_module(use tilewright_kernels::norms::moments)]
pub mod advantages {
    /// Each row less its mean, over its deviation and `eps`. Rows of equals are zeros: the first element is subtracted
    /// before anything is rounded.
    #[tile_kernel(
        tune(ROWS = [16], BLOCK = [16], warps = [4]),
        tune(ROWS = [1], BLOCK = [1024], warps = [4]),
        grid = [cdiv(rows, ROWS)],
    )]
    pub fn standardized<const ROWS: usize, const BLOCK: usize>(
        x: &[f32],
        y: &mut [f32],
        rows: usize,
        columns: usize,
        eps: f32,
    ) {
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            where_(inside, load(x, r * columns + c).mask(inside) - load(x, r * columns), 0.0)
        };
        normalize::<f32, true, ROWS, BLOCK>(
            rows,
            columns,
            |s| 1.0 / (sqrt(s) + eps),
            value,
            |r, start, c, inside, v| {
                store(y, r * columns + c, v).mask(inside);
            },
        );
    }
}
