//! Losses and layers of training: values and gradients.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{near, values};

#[tile_module(use tilewright::random)]
mod kernels {
    pub enum Divergence {
        Forward,
        Reverse,
        Mixed,
    }

    /// Divergences of distributions whose logarithms are given, and the gradient of the first one's; rows whose label
    /// is `ignored` have none.
    #[tile_kernel(
        kernel(kl_of_logits, KIND = Forward),
        kernel(reverse_kl_of_logits, KIND = Reverse),
        kernel(js_of_logits, KIND = Mixed),
        tune(COLUMNS = [64], warps = [2]),
        requires = [x.dim(1) <= COLUMNS],
        grid = [x.dim(0)],
        emulate = all,
    )]
    pub fn divergence<const COLUMNS: usize, const KIND: Divergence>(
        x: View<f32, 2>,
        y: View<f32, 2>,
        labels: Option<&[i32]>,
        mut gradient: ViewMut<f32, 2>,
        losses: &mut [f32],
        beta: f32,
        ignored: i32,
    ) {
        let row = program_id(0);
        if let Some(labels) = labels {
            if load(labels, row) == ignored {
                gradient.store([row, 0], zeros::<f32>([1, COLUMNS]));
                store(losses, row, 0.0);
                return;
            }
        }
        let log_p = x.tile([row, 0], [1, COLUMNS]).other(f32::NEG_INFINITY);
        let log_q = y.tile([row, 0], [1, COLUMNS]).other(f32::NEG_INFINITY);
        let is_in = arange(COLUMNS).expand(0) < x.dim(1);
        let (p, q) = (exp(log_p), exp(log_q));
        let (loss, slope) = match KIND {
            Divergence::Forward => (q * (log_q - log_p), -q),
            Divergence::Reverse => (p * (log_p - log_q), p * (log_p - log_q + 1.0)),
            Divergence::Mixed => {
                let m = beta * q + (1.0 - beta) * p;
                let log_m = log(m);
                let loss = beta * q * (log_q - log_m) + (1.0 - beta) * p * (log_p - log_m);
                (loss, (1.0 - beta) * p * (log_p - log_m))
            }
        };
        store(losses, row, sum(where_(is_in, loss, 0.0)));
        gradient.store([row, 0], slope);
    }

    /// The gradient of `silu(a) * b`, in place: `a` and `b` become their gradients, the gradient becomes the result.
    #[tile_kernel(tune(BLOCK = [128], warps = [2]), grid = [cdiv(a.len(), BLOCK)], emulate = all)]
    pub fn swiglu_backward<const BLOCK: usize>(gradient: &mut [f32], a: &mut [f32], b: &mut [f32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let (d, x, y) = (load(gradient, i), load(a, i), load(b, i));
        let s = sigmoid(x);
        let silu = x * s;
        store(gradient, i, silu * y);
        store(a, i, d * y * s * (1.0 + x * (1.0 - s)));
        store(b, i, d * silu);
    }

    /// `gamma * tanh(alpha * x) + beta`, and the terms of its gradients.
    #[tile_kernel(
        tune(COLUMNS = [64], warps = [2]),
        requires = [x.dim(1) <= COLUMNS],
        grid = [cdiv(x.dim(0), 4)],
        emulate = all,
    )]
    pub fn dyt<const COLUMNS: usize>(
        x: View<f32, 2>,
        alpha: f32,
        gamma: Option<&[f32]>,
        beta: Option<&[f32]>,
        mut y: ViewMut<f32, 2>,
        sums: &mut [f32],
    ) {
        let (row, j) = (program_id(0) * 4, arange(COLUMNS));
        let t = tanh(alpha * x.tile([row, 0], [4, COLUMNS]));
        let mut v = match gamma {
            Some(gamma) => t * load(gamma, j).expand(0),
            None => t,
        };
        if let Some(beta) = beta {
            v += load(beta, j).expand(0);
        }
        y.store([row, 0], v);
        atomic_add(sums, j, sum(t, 0)).mask(j < x.dim(1)).relaxed();
    }

    /// Dropout by four random numbers for each offset, whose mask is kept as bits.
    #[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(x.len(), 4 * BLOCK)], emulate = all)]
    pub fn dropout<const BLOCK: usize>(x: &[f32], y: &mut [f32], bits: &mut [u32], p: f32, seed: u64) {
        let quad = program_id(0) * BLOCK + arange(BLOCK);
        let (a, b, c, d) = rand4x(seed, quad.to::<u32>());
        let u = reshape(join(join(a, c), join(b, d)), [4 * BLOCK]);
        let i = program_id(0) * (4 * BLOCK) + arange(4 * BLOCK);
        let is_kept = u > p;
        store(y, i, where_(is_kept, load(x, i) / (1.0 - p), 0.0));
        let words = reshape(is_kept.to::<u32>() << (arange(4 * BLOCK) % 32).to::<u32>(), [BLOCK / 8, 32]);
        store(bits, program_id(0) * (BLOCK / 8) + arange(BLOCK / 8), reduce(words, 1, |a, b| a | b));
    }

    /// Means and variances of the channels of `[n, channels, h, w]`, by Welford's algorithm, and normalized elements.
    #[tile_kernel(tune(W = [16], warps = [2]), requires = [x.dim(3) <= W], grid = [x.dim(1)], emulate = all)]
    pub fn batch_norm<const W: usize>(
        x: View<f32, 4>,
        mut y: ViewMut<f32, 4>,
        mean: &mut [f32],
        variance: &mut [f32],
        epsilon: f32,
    ) {
        let channel = program_id(0);
        let mut count = zeros::<f32>([8, W]);
        let mut average = zeros::<f32>([8, W]);
        let mut squares = zeros::<f32>([8, W]);
        for n in 0..x.dim(0) {
            for row in (0..x.dim(2)).step_by(8) {
                let t = reshape(x.tile([n, channel, row, 0], [1, 1, 8, W]), [8, W]);
                let is_in = ((row + arange(8)).expand(1) < x.dim(2)) & (arange(W).expand(0) < x.dim(3));
                let more = count + 1.0;
                let from = t - average;
                let moved = average + from / more;
                squares = where_(is_in, squares + from * (t - moved), squares);
                average = where_(is_in, moved, average);
                count = where_(is_in, more, count);
            }
        }
        let flat = (reshape(count, [8 * W]), reshape(average, [8 * W]), reshape(squares, [8 * W]));
        let (n, m, s) = reduce(flat, 0, |(n, a, s), (k, b, t)| {
            let all = n + k;
            let part = where_(all == 0.0, 0.0, k / all);
            (all, a + (b - a) * part, s + t + (b - a) * (b - a) * n * part)
        });
        let scale = rsqrt(s / n + epsilon);
        store(mean, channel, m);
        store(variance, channel, s / n);
        for n in 0..x.dim(0) {
            for row in (0..x.dim(2)).step_by(8) {
                let t = x.tile([n, channel, row, 0], [1, 1, 8, W]);
                y.store([n, channel, row, 0], (t - m) * scale);
            }
        }
    }

    /// The negative log-likelihood of labels with weights: sums of losses and of weights by the last program.
    #[tile_kernel(tune(ROWS = [32], warps = [1]), grid = [cdiv(labels.len(), ROWS)], emulate = all)]
    pub fn nll<const ROWS: usize>(
        x: View<f32, 2>,
        labels: &[i32],
        weights: Option<&[f32]>,
        sums: &mut [f32],
        arrived: &mut [u32],
        mean: &mut [f32],
    ) {
        let row = program_id(0) * ROWS + arange(ROWS);
        let label = load(labels, row).other(-1);
        let is_in = label >= 0;
        let picked = row * x.stride(0) + label.to::<usize>() * x.stride(1);
        let w = match weights {
            Some(weights) => load(weights, label).mask(is_in),
            None => is_in.to::<f32>(),
        };
        // A view is read as tiles: the column of each row is found by a comparison.
        let mut logit = zeros::<f32>([ROWS]);
        for j in (0..x.dim(1)).step_by(16) {
            let t = x.tile([program_id(0) * ROWS, j], [ROWS, 16]);
            let at = (row.expand(1) * x.stride(0)) + (j + arange(16)).expand(0) * x.stride(1);
            logit += sum(where_(at == picked.expand(1), t, 0.0), 1);
        }
        atomic_add(sums, 0, sum(-w * logit)).relaxed();
        atomic_add(sums, 1, sum(w)).relaxed();
        if atomic_add(arrived, 0, 1) as usize == num_programs(0) - 1 {
            store(mean, 0, atomic_load(sums, 0) / atomic_load(sums, 1));
        }
    }
}

/// Rows of logarithms of shares.
fn log_shares(m: usize, n: usize, seed: u32) -> Vec<f32> {
    let x = values(m * n, seed, |v| 3.0 * v);
    let sums: Vec<f32> = x.chunks(n).map(|row| row.iter().map(|v| v.exp()).sum::<f32>().ln()).collect();
    (0..m * n).map(|at| x[at] - sums[at / n]).collect()
}

#[test]
fn divergences_of_distributions() {
    let (m, n, beta) = (6, 45, 0.3f32);
    let (x, y) = (log_shares(m, n, 1), log_shares(m, n, 2));
    let labels = [3, 1, -100, 4, 5, 0];
    macro_rules! check {
        ($kernel:ident, $of:expr) => {
            for with_labels in [false, true] {
                let run = |rt: &Runtime, options: &LaunchOptions| {
                    let (x, y) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &y)?);
                    let of = Buffer::from_slice(rt, &labels)?;
                    let (mut d, mut losses) = (Buffer::<f32>::zeros(rt, m * n)?, Buffer::<f32>::zeros(rt, m)?);
                    let (a, b) = (x.view([m, n])?, y.view([m, n])?);
                    let of = with_labels.then_some(&of);
                    let call = kernels::$kernel(a, b, of, d.view_mut([m, n])?, &mut losses, beta, -100);
                    rt.launch_with(rt.stream(), call, options)?;
                    Ok((d.to_vec()?, losses.to_vec()?))
                };
                let of: fn(f64, f64, f64) -> (f64, f64) = $of;
                everywhere(kernels::$kernel::DESCS[usize::from(with_labels)], run, |(d, losses), what| {
                    for row in 0..m {
                        let is_left_out = with_labels && row == 2;
                        let terms: Vec<(f64, f64)> = (row * n..row * n + n)
                            .map(|at| of(f64::from(x[at]), f64::from(y[at]), f64::from(beta)))
                            .map(|term| if is_left_out { (0.0, 0.0) } else { term })
                            .collect();
                        let wanted: f64 = terms.iter().map(|t| t.0).sum();
                        assert!((f64::from(losses[row]) - wanted).abs() < 1e-5, "{what}: row {row}");
                        for (j, term) in terms.iter().enumerate() {
                            let found = f64::from(d[row * n + j]);
                            assert!((found - term.1).abs() < 1e-5, "{what}: {row}, {j}: {found}, {}", term.1);
                        }
                    }
                });
            }
        };
    }
    check!(kl_of_logits, |p, q, _| (q.exp() * (q - p), -q.exp()));
    check!(reverse_kl_of_logits, |p, q, _| (p.exp() * (p - q), p.exp() * (p - q + 1.0)));
    check!(js_of_logits, |p, q, beta| {
        let m = (beta * q.exp() + (1.0 - beta) * p.exp()).ln();
        let slope = (1.0 - beta) * p.exp() * (p - m);
        (beta * q.exp() * (q - m) + slope, slope)
    });
}

#[test]
fn gradients_in_place() {
    let n = 300;
    let [d, a, b] = [1, 2, 3].map(|seed| values(n, seed, |v| 2.0 * v));
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut d, mut a, mut b) = (d.clone(), a.clone(), b.clone());
        rt.launch_with(rt.stream(), kernels::swiglu_backward(&mut d, &mut a, &mut b), options)?;
        Ok([d, a, b])
    };
    let silu = |x: f32| x / (1.0 + (-x).exp());
    everywhere(kernels::swiglu_backward::DESCS[0], run, |found, what| {
        let slope = |x: f32| (silu(x + 1e-2) - silu(x - 1e-2)) / 2e-2;
        near(what, &found[0], &(0..n).map(|i| silu(a[i]) * b[i]).collect::<Vec<_>>());
        near(what, &found[1], &(0..n).map(|i| d[i] * b[i] * slope(a[i])).collect::<Vec<_>>());
        near(what, &found[2], &(0..n).map(|i| d[i] * silu(a[i])).collect::<Vec<_>>());
    });
}

#[test]
fn a_layer_with_optional_parameters() {
    let (m, n, alpha) = (10, 50, 0.7);
    let x = values(m * n, 1, |v| 3.0 * v);
    let (gamma, beta) = (values(n, 2, |v| v), values(n, 3, |v| v));
    for (which, desc) in kernels::dyt::DESCS.iter().enumerate() {
        let (has_gamma, has_beta) = (desc.types.contains("gamma"), desc.types.contains("beta"));
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let x = Buffer::from_slice(rt, &x)?;
            let (g, b) = (Buffer::from_slice(rt, &gamma)?, Buffer::from_slice(rt, &beta)?);
            let (mut y, mut sums) = (Buffer::<f32>::zeros(rt, m * n)?, Buffer::<f32>::zeros(rt, n)?);
            let (g, b) = (has_gamma.then_some(&g), has_beta.then_some(&b));
            let call = kernels::dyt(x.view([m, n])?, alpha, g, b, y.view_mut([m, n])?, &mut sums);
            rt.launch_with(rt.stream(), call, options)?;
            Ok((y.to_vec()?, sums.to_vec()?))
        };
        everywhere(desc, run, |(y, sums), what| {
            let t: Vec<f32> = x.iter().map(|x| (alpha * x).tanh()).collect();
            let of = |at: usize| {
                let j = at % n;
                t[at] * if has_gamma { gamma[j] } else { 1.0 } + if has_beta { beta[j] } else { 0.0 }
            };
            near(&format!("{which} {what}"), &y, &(0..m * n).map(of).collect::<Vec<_>>());
            near(what, &sums, &(0..n).map(|j| (0..m).map(|i| t[i * n + j]).sum()).collect::<Vec<f32>>());
        });
    }
}

#[test]
fn dropout_keeps_its_mask() {
    let (n, p) = (1024, 0.3);
    let x = values(n, 1, |v| v + 2.0);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut y, mut bits) = (vec![9.0; n], vec![9; n / 32]);
        rt.launch_with(rt.stream(), kernels::dropout(&x, &mut y, &mut bits, p, 77), options)?;
        Ok((y, bits))
    };
    everywhere(kernels::dropout::DESCS[0], run, |(y, bits), what| {
        for i in 0..n {
            let wanted = if bits[i / 32] >> (i % 32) & 1 == 1 { x[i] / (1.0 - p) } else { 0.0 };
            assert!((y[i] - wanted).abs() < 1e-5, "{what}: {i}");
        }
        let kept = bits.iter().map(|b| b.count_ones()).sum::<u32>() as usize;
        assert!((n * 13 / 20..n * 15 / 20).contains(&kept), "{what}: {kept} of {n} are kept");
    });
}

#[test]
fn channels_are_normalized() {
    let [n, c, h, w] = [3, 4, 11, 13];
    let x = values(n * c * h * w, 5, |v| 100.0 + v);
    let of = |channel: usize| -> Vec<f64> {
        (0..n).flat_map(|z| &x[(z * c + channel) * h * w..][..h * w]).map(|&v| f64::from(v)).collect()
    };
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut y, mut mean) = (Buffer::<f32>::zeros(rt, n * c * h * w)?, Buffer::<f32>::zeros(rt, c)?);
        let mut variance = Buffer::<f32>::zeros(rt, c)?;
        let dims = [n, c, h, w];
        let call = kernels::batch_norm(x.view(dims)?, y.view_mut(dims)?, &mut mean, &mut variance, 1e-5);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((y.to_vec()?, mean.to_vec()?, variance.to_vec()?))
    };
    everywhere(kernels::batch_norm::DESCS[0], run, |(y, mean, variance), what| {
        for channel in 0..c {
            let all = of(channel);
            let m = all.iter().sum::<f64>() / all.len() as f64;
            let v = all.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / all.len() as f64;
            assert!((f64::from(mean[channel]) - m).abs() < 1e-4, "{what}: {channel}");
            assert!((f64::from(variance[channel]) - v).abs() < 1e-4, "{what}: {channel}: {}, {v}", variance[channel]);
            let found = (0..n).flat_map(|z| &y[(z * c + channel) * h * w..][..h * w]);
            for (found, x) in found.zip(&all) {
                assert!((f64::from(*found) - (x - m) / (v + 1e-5).sqrt()).abs() < 1e-3, "{what}: {channel}");
            }
        }
    });
}

#[test]
fn weighted_likelihoods() {
    let (m, n) = (75, 40);
    let x = log_shares(m, n, 8);
    let labels: Vec<i32> = (0..m).map(|i| if i % 9 == 4 { -1 } else { (i * i % n) as i32 }).collect();
    let weights = values(n, 3, |v| v + 1.5);
    for with_weights in [false, true] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let x = Buffer::from_slice(rt, &x)?;
            let (labels, weights) = (Buffer::from_slice(rt, &labels)?, Buffer::from_slice(rt, &weights)?);
            let (mut sums, mut arrived) = (Buffer::<f32>::zeros(rt, 2)?, Buffer::<u32>::zeros(rt, 1)?);
            let mut mean = Buffer::<f32>::zeros(rt, 1)?;
            let weights = with_weights.then_some(&weights);
            let call = kernels::nll(x.view([m, n])?, &labels, weights, &mut sums, &mut arrived, &mut mean);
            rt.launch_with(rt.stream(), call, options)?;
            mean.to_vec()
        };
        let (mut sum, mut all) = (0.0, 0.0);
        for (i, label) in labels.iter().enumerate().filter(|(_, l)| **l >= 0) {
            let w = if with_weights { weights[*label as usize] } else { 1.0 };
            (sum, all) = (sum - w * x[i * n + *label as usize], all + w);
        }
        everywhere(kernels::nll::DESCS[usize::from(with_weights)], run, |mean, what| near(what, &mean, &[sum / all]));
    }
}
