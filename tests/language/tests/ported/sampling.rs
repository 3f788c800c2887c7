//! Sampling of tokens: the most likely ones up to a share of all, one of them by chance.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::values;

#[tile_module(use tilewright::random)]
mod kernels {
    /// Of the `k` most likely tokens of a row the first ones whose shares reach `p`, and one of these by chance.
    #[tile_kernel(
        tune(TOKENS = [128], warps = [1, 4]),
        requires = [logits.dim(1) <= TOKENS],
        grid = [logits.dim(0)],
        emulate = all,
    )]
    pub fn sample<const TOKENS: usize>(
        logits: View<f32, 2>,
        tokens: &mut [i32],
        mut kept: ViewMut<f32, 2>,
        k: usize,
        p: f32,
        seed: u64,
    ) {
        let row = program_id(0);
        let x = logits.tile([row, 0], [1, TOKENS]).other(f32::NEG_INFINITY);
        let numbers = arange(TOKENS).to::<i32>().expand(0);
        let (x, token) = sort((x, numbers), 1).descending();
        let e = exp(x - max(x, 1).expand(1));
        let share = e / sum(e, 1).expand(1);
        let before = cumsum(share, 1).exclusive(0.0);
        let is_kept = (before < p) & (arange(TOKENS).expand(0) < k);
        let share = where_(is_kept, share, 0.0);
        kept.store([row, 0], share);
        let upto = cumsum(share, 1);
        let u = rand(seed, row.to::<u32>()) * sum(share);
        // The first whose sum is beyond the number; rounding may leave none.
        let is_beyond = (upto > u) & is_kept;
        let place = min(where_(is_beyond, numbers, TOKENS as i32), 1);
        let last = max(where_(is_kept, numbers, 0), 1);
        let place = minimum(place, last);
        let chosen = sum(where_(numbers == place.expand(1), token, 0), 1);
        store(tokens, row + arange(1), chosen);
    }
}

#[test]
fn tokens_are_of_those_that_are_kept() {
    let (rows, n, k, p) = (40, 100, 20, 0.7f32);
    let x = values(rows * n, 9, |v| v * 4.0);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut tokens, mut kept) = (Buffer::<i32>::zeros(rt, rows)?, Buffer::<f32>::zeros(rt, rows * 128)?);
        let call = kernels::sample(x.view([rows, n])?, &mut tokens, kept.view_mut([rows, 128])?, k, p, 5);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((tokens.to_vec()?, kept.to_vec()?))
    };
    everywhere(kernels::sample::DESCS[0], run, |(tokens, kept), what| {
        let mut firsts = 0;
        for row in 0..rows {
            let x = &x[row * n..][..n];
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&i, &j| x[j].total_cmp(&x[i]));
            let sum: f32 = x.iter().map(|v| (v - x[order[0]]).exp()).sum();
            let (mut before, mut count) = (0.0, 0);
            while count < k && before < p - 1e-5 {
                let share = (x[order[count]] - x[order[0]]).exp() / sum;
                assert!((kept[row * 128 + count] - share).abs() < 1e-5, "{what}: row {row}, place {count}");
                before += share;
                count += 1;
            }
            assert!(kept[row * 128 + count + 1..][..n - count].iter().all(|&v| v == 0.0), "{what}: row {row}");
            let place = order.iter().position(|&i| i as i32 == tokens[row]).expect("a token of the row");
            assert!(place <= count, "{what}: row {row} has the token at {place} of {count}");
            firsts += usize::from(place == 0);
        }
        assert!((2..rows - 2).contains(&firsts), "{what}: the most likely token {firsts} times");
    });
}
