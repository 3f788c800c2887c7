//! Rows: Welford's norm, a loss with smoothed labels, rotary positions.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::values;

#[tile_module]
mod kernels {
    /// Mean, sum of squares about it, and count of two parts as one.
    fn merged(a: (f32, f32, f32), b: (f32, f32, f32)) -> (f32, f32, f32) {
        let (mean_a, m2_a, n_a) = a;
        let (mean_b, m2_b, n_b) = b;
        let n = n_a + n_b;
        let weight = where_(n == 0.0, 0.0, n_b / n);
        let delta = mean_b - mean_a;
        (mean_a + delta * weight, m2_a + m2_b + delta * delta * n_a * weight, n)
    }

    /// The norm of rows of any length by Welford's sums: a tile of them along the row, then all as one.
    #[tile_kernel(types(T = [f32, f16]), tune(BLOCK = [64], warps = [1, 2]), grid = [x.dim(0)], emulate = all)]
    pub fn layer_norm<T: Float, const BLOCK: usize>(
        x: View<T, 2>,
        weight: &[T],
        bias: Option<&[T]>,
        mut y: ViewMut<T, 2>,
        eps: f32,
    ) {
        let row = program_id(0);
        let (mut mean, mut m2, mut count) = (zeros::<f32>([BLOCK]), zeros::<f32>([BLOCK]), zeros::<f32>([BLOCK]));
        for at in range(0, x.dim(1), BLOCK) {
            let v = reshape(x.tile([row, at], [1, BLOCK]), [BLOCK]).to::<f32>();
            let one = (at + arange(BLOCK) < x.dim(1)).to::<f32>();
            count += one;
            let delta = (v - mean) * one;
            mean += delta / maximum(count, 1.0);
            m2 += delta * (v - mean);
        }
        let (mean, m2, count) = reduce((mean, m2, count), 0, |a, b| merged(a, b));
        let scale = rsqrt(m2 / count + eps);
        for at in range(0, x.dim(1), BLOCK) {
            let i = at + arange(BLOCK);
            let v = reshape(x.tile([row, at], [1, BLOCK]), [BLOCK]).to::<f32>();
            let mut out = (v - mean) * scale * load(weight, i).to::<f32>();
            if let Some(bias) = bias {
                out += load(bias, i).to::<f32>();
            }
            y.store([row, at], out.to(y.dtype()).expand(0));
        }
    }

    /// The loss of rows of logits, with a share of it spread over all tokens, and its gradient. A label below 0 is left
    /// out.
    #[tile_kernel(tune(BLOCK = [32], warps = [1, 4]), grid = [x.dim(0)], emulate = all)]
    pub fn cross_entropy<const BLOCK: usize>(
        x: View<f32, 2>,
        labels: &[i32],
        losses: &mut [f32],
        mut gradient: ViewMut<f32, 2>,
        smoothing: f32,
    ) {
        let (row, n) = (program_id(0), x.dim(1));
        let label = load(labels, row);
        if label < 0 {
            store(losses, row, 0.0);
            for at in range(0, n, BLOCK) {
                gradient.store([row, at], zeros::<f32>([1, BLOCK]));
            }
            return;
        }
        let (mut best, mut total, mut of_all, mut of_label) = (f32::NEG_INFINITY, 0.0f32, 0.0f32, 0.0f32);
        for at in range(0, n, BLOCK) {
            let v = x.tile([row, at], [1, BLOCK]).other(f32::NEG_INFINITY);
            let i = (at + arange(BLOCK)).expand(0);
            let higher = max(best, max(v));
            total = total * exp(best - higher) + sum(exp(v - higher));
            best = higher;
            of_all += sum(where_(i < n, v, 0.0));
            of_label += sum(where_(i == label as usize, v, 0.0));
        }
        let log_sum = best + log(total);
        let share = smoothing / n.to::<f32>();
        store(losses, row, log_sum - (1.0 - smoothing) * of_label - share * of_all);
        for at in range(0, n, BLOCK) {
            let i = (at + arange(BLOCK)).expand(0);
            let p = exp(x.tile([row, at], [1, BLOCK]) - log_sum);
            gradient.store([row, at], p - share - where_(i == label as usize, 1.0 - smoothing, 0.0));
        }
    }

    /// Rotary positions: pairs of numbers are rotated, side by side or a half of the row apart.
    #[tile_kernel(tune(D = [16], INTERLEAVED = [false, true], warps = [1, 2]), grid = [x.dim(0)], emulate = all)]
    pub fn rotary<const D: usize, const INTERLEAVED: bool>(
        x: View<f32, 2>,
        cos: View<f32, 2>,
        sin: View<f32, 2>,
        mut y: ViewMut<f32, 2>,
    ) {
        const HALF: usize = D / 2;
        let row = program_id(0);
        let t = x.tile([row, 0], [1, D]);
        let (c, s) = (cos.tile([row, 0], [1, HALF]), sin.tile([row, 0], [1, HALF]));
        if INTERLEAVED {
            let (a, b) = split(reshape(t, [1, HALF, 2]));
            y.store([row, 0], interleave(a * c - b * s, a * s + b * c));
        } else {
            let (a, b) = (slice(t, 1, 0..HALF), slice(t, 1, HALF..D));
            y.store([row, 0], cat(a * c - b * s, a * s + b * c, 1));
        }
    }
}

#[test]
fn norms_by_welfords_sums() {
    let (m, n) = (3, 150);
    let x = values(m * n, 1, |v| 1000.0 + v);
    let (weight, bias) = (values(n, 2, |v| v), values(n, 3, |v| v));
    for with_bias in [false, true] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let x = Buffer::from_slice(rt, &x)?;
            let mut y = Buffer::<f32>::zeros(rt, m * n)?;
            let bias = with_bias.then_some(&bias);
            let call = kernels::layer_norm(x.view([m, n])?, &weight, bias, y.view_mut([m, n])?, 1e-5);
            rt.launch_with(rt.stream(), call, options)?;
            y.to_vec()
        };
        let desc = kernels::layer_norm::DESCS.iter().find(|d| d.types == if with_bias { "f32,bias" } else { "f32" });
        everywhere(desc.expect("it is built"), run, |y, what| {
            for row in 0..m {
                let x: Vec<f64> = x[row * n..][..n].iter().map(|&v| v.into()).collect();
                let mean = x.iter().sum::<f64>() / n as f64;
                let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
                for i in 0..n {
                    let added = if with_bias { f64::from(bias[i]) } else { 0.0 };
                    let wanted = (x[i] - mean) / (variance + 1e-5).sqrt() * f64::from(weight[i]) + added;
                    let found = f64::from(y[row * n + i]);
                    assert!((found - wanted).abs() < 2e-3, "{what}: {row}, {i}: {found} for {wanted}");
                }
            }
        });
    }
    let of_halves = kernels::layer_norm::DESCS.iter().filter(|d| d.types.starts_with("f16")).count();
    assert_eq!(of_halves, 2, "{}", std::any::type_name::<f16>());
}

#[test]
fn losses_of_smoothed_labels() {
    let (m, n, smoothing) = (4, 75, 0.1f32);
    let x = values(m * n, 1, |v| v * 6.0);
    let labels = [3, 74, -100, 0];
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let mut gradient = Buffer::from_slice(rt, &vec![7.0f32; m * n])?;
        let mut losses = vec![9.0; m];
        let call = kernels::cross_entropy(x.view([m, n])?, &labels, &mut losses, gradient.view_mut([m, n])?, smoothing);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((losses, gradient.to_vec()?))
    };
    everywhere(kernels::cross_entropy::DESCS[0], run, |(losses, gradient), what| {
        for row in 0..m {
            let x: Vec<f64> = x[row * n..][..n].iter().map(|&v| v.into()).collect();
            let log_sum = x.iter().map(|v| v.exp()).sum::<f64>().ln();
            let is_there = labels[row] >= 0;
            let weight = |i: usize| {
                f64::from(smoothing) / n as f64 + if i as i32 == labels[row] { 1.0 - f64::from(smoothing) } else { 0.0 }
            };
            let loss: f64 = (0..n).map(|i| weight(i) * (log_sum - x[i])).sum();
            let wanted = if is_there { loss } else { 0.0 };
            assert!((f64::from(losses[row]) - wanted).abs() < 1e-4, "{what}: row {row}: {} for {wanted}", losses[row]);
            for i in 0..n {
                let wanted = if is_there { (x[i] - log_sum).exp() - weight(i) } else { 0.0 };
                let found = f64::from(gradient[row * n + i]);
                assert!((found - wanted).abs() < 1e-5, "{what}: {row}, {i}: {found} for {wanted}");
            }
        }
    });
}

#[test]
fn rotary_positions() {
    let (m, d) = (5, 16);
    let x = values(m * d, 1, |v| v);
    let angle = |row: usize, i: usize| (row as f32 * 0.3) / (i as f32 + 1.0);
    let of = |f: fn(f32) -> f32| (0..m * d / 2).map(|k| f(angle(k / (d / 2), k % (d / 2)))).collect::<Vec<f32>>();
    let (cos, sin) = (of(f32::cos), of(f32::sin));
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (x, cos, sin) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &cos)?, Buffer::from_slice(rt, &sin)?);
        let mut y = Buffer::<f32>::zeros(rt, m * d)?;
        let half = [m, d / 2];
        let call = kernels::rotary(x.view([m, d])?, cos.view(half)?, sin.view(half)?, y.view_mut([m, d])?);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((options.get_config().expect("one").contains("INTERLEAVED=true"), y.to_vec()?))
    };
    everywhere(kernels::rotary::DESCS[0], run, |(interleaved, y), what| {
        for row in 0..m {
            for i in 0..d / 2 {
                let (first, second) = if interleaved { (2 * i, 2 * i + 1) } else { (i, i + d / 2) };
                let (a, b) = (x[row * d + first], x[row * d + second]);
                let (c, s) = (cos[row * d / 2 + i], sin[row * d / 2 + i]);
                let wanted = [a * c - b * s, a * s + b * c];
                let found = [y[row * d + first], y[row * d + second]];
                assert!((0..2).all(|k| (found[k] - wanted[k]).abs() < 1e-6), "{what}: {row}, {i}");
            }
        }
    });
}
