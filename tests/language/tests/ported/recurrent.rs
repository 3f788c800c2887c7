//! Models with a state, and attention of other kinds: the step of a chunk of tokens, and the step of one token.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{near, values};

#[tile_module]
mod kernels {
    /// The inverse of `1 + L` for the strictly lower part `L` of each block of 16 rows, row by row.
    #[tile_kernel(tune(N = [16], warps = [1]), grid = [cdiv(a.dim(0), N), a.dim(2)], emulate = all)]
    pub fn solve_tril<const N: usize>(a: View<f32, 3>, mut y: ViewMut<f32, 3>) {
        let (first, head) = (program_id(0) * N, program_id(1));
        let (i, j) = (arange(N).expand(1), arange(N).expand(0));
        let t = reshape(a.tile([first, 0, head], [N, N, 1]), [N, N]);
        let lower = where_(i > j, -t, 0.0);
        let mut x = lower;
        for row in 2..N {
            // This row of the inverse so far, times the rows above.
            let own = sum(where_(i == row, lower, 0.0), 0);
            let all = own + sum(own.expand(1) * x, 0);
            x = where_(i == row, all.expand(0), x);
        }
        y.store([first, 0, head], reshape(x + where_(i == j, 1.0, 0.0), [N, N, 1]));
    }

    /// The delta rule: for each token the state forgets its old value for the key and learns the new one.
    #[tile_kernel(tune(D = [16], warps = [1]), grid = [q.dim(1)], emulate = all)]
    pub fn delta_rule<const D: usize>(
        q: View<f32, 3>,
        k: View<f32, 3>,
        v: View<f32, 3>,
        beta: View<f32, 2>,
        begin: Option<View<f32, 3>>,
        mut o: ViewMut<f32, 3>,
        mut end: ViewMut<f32, 3>,
    ) {
        let head = program_id(0);
        let mut state = match begin {
            Some(begin) => reshape(begin.tile([head, 0, 0], [1, D, D]), [D, D]),
            None => zeros::<f32>([D, D]),
        };
        for t in 0..q.dim(0) {
            let key = reshape(k.tile([t, head, 0], [1, 1, D]), [D]);
            let query = reshape(q.tile([t, head, 0], [1, 1, D]), [D]) * rsqrt(D as f32);
            let value = reshape(v.tile([t, head, 0], [1, 1, D]), [D]);
            let rate = sum(reshape(beta.tile([t, head], [1, 1]), [1]));
            let held = sum(state * key.expand(1), 0);
            state += key.expand(1) * (rate * (value - held)).expand(0);
            o.store([t, head, 0], reshape(sum(state * query.expand(1), 0), [1, 1, D]));
        }
        end.store([head, 0, 0], reshape(state, [1, D, D]));
    }

    /// A chunk of a state-space model: the share of its own tokens, and the share of the state before it.
    #[tile_kernel(tune(L = [32], P = [16], N = [16], warps = [2]), grid = [cdiv(x.dim(0), L)], emulate = all)]
    pub fn chunk_scan<const L: usize, const P: usize, const N: usize>(
        x: View<f16, 2>,
        b: View<f16, 2>,
        c: View<f16, 2>,
        dt: &[f32],
        rate: f32,
        states: View<f16, 3>,
        mut y: ViewMut<f32, 2>,
    ) {
        let (chunk, first) = (program_id(0), program_id(0) * L);
        let i = first + arange(L);
        let step = load(dt, i);
        let decay = cumsum(step * rate, 0);
        let (rows, inner) = (c.tile([first, 0], [L, N]), b.tile([first, 0], [L, N]));
        let mut weights = dot(rows, trans(inner), zeros::<f32>([L, L]));
        let from = decay.expand(1) - decay.expand(0);
        let is_before = arange(L).expand(1) >= arange(L).expand(0);
        weights = where_(is_before, weights * exp(from) * step.expand(0), 0.0);
        let mut out = dot(weights.to::<f16>(), x.tile([first, 0], [L, P]), zeros::<f32>([L, P]));
        let state = reshape(states.tile([chunk, 0, 0], [1, N, P]), [N, P]);
        out += exp(decay).expand(1) * dot(rows, state, 0.0);
        y.store([first, 0], out);
    }

    /// A convolution of each channel over the last `WIDTH` tokens, with the tokens that an earlier call left.
    #[tile_kernel(
        tune(WIDTH = [4], CHANNELS = [32], SILU = [true], warps = [1]),
        grid = [cdiv(x.dim(1), CHANNELS)],
        emulate = all,
    )]
    pub fn causal_conv<const WIDTH: usize, const CHANNELS: usize, const SILU: bool>(
        x: View<f32, 2>,
        weights: View<f32, 2>,
        bias: Option<&[f32]>,
        mut state: ViewMut<f32, 2>,
        mut y: ViewMut<f32, 2>,
    ) {
        let channel = program_id(0) * CHANNELS;
        let mut last = [zeros::<f32>([1, CHANNELS]); 3];
        for k in static_range(0..WIDTH - 1) {
            last[k] = state.tile([k, channel], [1, CHANNELS]);
        }
        for t in 0..x.dim(0) {
            let now = x.tile([t, channel], [1, CHANNELS]);
            let mut sums = match bias {
                Some(bias) => load(bias, channel + arange(CHANNELS)).expand(0),
                None => zeros::<f32>([1, CHANNELS]),
            };
            for k in static_range(0..WIDTH - 1) {
                sums += last[k] * weights.tile([k, channel], [1, CHANNELS]);
            }
            sums += now * weights.tile([WIDTH - 1, channel], [1, CHANNELS]);
            y.store([t, channel], if SILU { sums * sigmoid(sums) } else { sums });
            for k in static_range(0..WIDTH - 2) {
                last[k] = last[k + 1];
            }
            last[WIDTH - 2] = now;
        }
        for k in static_range(0..WIDTH - 1) {
            state.store([k, channel], last[k]);
        }
    }

    /// Attention in a window of keys, with scores that are capped by `tanh` in hardware, a slope for the distance, and
    /// a sink for each head.
    #[tile_kernel(
        tune(BM = [32], BN = [32], D = [32], warps = [2]),
        grid = [cdiv(q.dim(2), BM), q.dim(1) * q.dim(0)],
        emulate = all,
    )]
    pub unsafe fn window_attention<const BM: usize, const BN: usize, const D: usize>(
        q: View<f16, 4>,
        k: View<f16, 4>,
        v: View<f16, 4>,
        sinks: Option<&[f32]>,
        slopes: Option<&[f32]>,
        mut o: ViewMut<f16, 4>,
        window: usize,
        cap: f32,
    ) {
        let (batch, head) = (program_id(1) / q.dim(1), program_id(1) % q.dim(1));
        let group = q.dim(1) / k.dim(1);
        let first = program_id(0) * BM;
        let row = (first + arange(BM)).expand(1);
        let x = reshape(q.tile([batch, head, first, 0], [1, 1, BM, D]), [BM, D]);
        let sink = match sinks {
            Some(sinks) => load(sinks, head),
            None => f32::NEG_INFINITY,
        };
        let mut best = full([BM], sink);
        let mut total = full([BM], if sinks.is_some() { 1.0 } else { 0.0 });
        let mut sums = zeros::<f32>([BM, D]);
        let begin = if first + 1 > window { (first + 1 - window) / BN * BN } else { 0 };
        for start in (begin..min(first + BM, k.dim(2))).step_by(BN) {
            let y = reshape(k.tile([batch, head / group, start, 0], [1, 1, BN, D]), [BN, D]);
            let scores = dot(x, trans(y), zeros::<f32>([BM, BN])) * rsqrt(D as f32);
            let mut scores = cap * asm("tanh.approx.f32 {0}, {1};", scores / cap, |x| tanh(x));
            let column = (start + arange(BN)).expand(0);
            if let Some(slopes) = slopes {
                scores -= load(slopes, head) * (row - column).to::<i64>().to::<f32>();
            }
            let is_seen = (column <= row) & (row < column + window) & (column < k.dim(2));
            let scores = where_(is_seen, scores, f32::NEG_INFINITY);
            let now = maximum(best, max(scores, 1));
            let shift = where_(now == f32::NEG_INFINITY, 0.0, now);
            let e = exp(scores - shift.expand(1));
            let scale = exp(best - shift);
            let z = reshape(v.tile([batch, head / group, start, 0], [1, 1, BN, D]), [BN, D]);
            sums = dot(e.to::<f16>(), z, sums * scale.expand(1));
            total = total * scale + sum(e, 1);
            best = now;
        }
        let out = sums / where_(total == 0.0, 1.0, total).expand(1);
        o.store([batch, head, first, 0], reshape(out.to::<f16>(), [1, 1, BM, D]));
    }

    /// Attention without a softmax, of sequences side by side that begin at `offsets`.
    #[tile_kernel(
        tune(BM = [32], BN = [32], D = [16], warps = [2]),
        grid = [cdiv(longest, BM), offsets.len() - 1],
        emulate = all,
    )]
    pub fn jagged_silu_attention<const BM: usize, const BN: usize, const D: usize>(
        q: View<f16, 2>,
        k: View<f16, 2>,
        v: View<f16, 2>,
        offsets: &[i64],
        mut o: ViewMut<f32, 2>,
        longest: usize,
    ) {
        let sequence = program_id(1);
        let (begin, end) = (load(offsets, sequence) as usize, load(offsets, sequence + 1) as usize);
        let first = begin + program_id(0) * BM;
        if first >= end {
            return;
        }
        let row = first + arange(BM);
        let x = q.tile([first, 0], [BM, D]);
        let mut sums = zeros::<f32>([BM, D]);
        for start in range(begin, min(first + BM, end), BN) {
            let column = start + arange(BN);
            let scores = dot(x, trans(k.tile([start, 0], [BN, D])), 0.0) / D as f32;
            let silu = scores * sigmoid(scores);
            let is_seen = (column.expand(0) <= row.expand(1)) & (column < end).expand(0);
            let weights = where_(is_seen, silu / longest as f32, 0.0);
            sums = dot(weights.to::<f16>(), v.tile([start, 0], [BN, D]), sums);
        }
        o.store([first, 0], sums).mask((row < end).expand(1));
    }
}

#[test]
fn inverses_of_triangles() {
    let (blocks, heads, n) = (3, 2, 16);
    let a = values(blocks * n * n * heads, 3, |v| v * 0.5);
    let at = |block: usize, i: usize, j: usize, head: usize| ((block * n + i) * n + j) * heads + head;
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let a = Buffer::from_slice(rt, &a)?;
        let mut y = Buffer::<f32>::zeros(rt, blocks * n * n * heads)?;
        let dims = [blocks * n, n, heads];
        rt.launch_with(rt.stream(), kernels::solve_tril(a.view(dims)?, y.view_mut(dims)?), options)?;
        y.to_vec()
    };
    everywhere(kernels::solve_tril::DESCS[0], run, |y, what| {
        for (block, head, i, j) in
            (0..blocks * heads * n * n).map(|x| (x / (heads * n * n), x / (n * n) % heads, x / n % n, x % n))
        {
            let one = |i: usize, l: usize| match i.cmp(&l) {
                std::cmp::Ordering::Greater => a[at(block, i, l, head)],
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Less => 0.0,
            };
            let found: f32 = (0..n).map(|l| one(i, l) * y[at(block, l, j, head)]).sum();
            let wanted = if i == j { 1.0 } else { 0.0 };
            assert!((found - wanted).abs() < 1e-3, "{what}: block {block}, {i}, {j}: {found}");
        }
    });
}

#[test]
fn states_by_the_delta_rule() {
    let [tokens, heads, d] = [9, 3, 16];
    let [q, k, v] = [1, 2, 3].map(|seed| values(tokens * heads * d, seed, |v| v * 0.5));
    let beta = values(tokens * heads, 4, |v| (v + 1.0) / 2.0);
    let before = values(heads * d * d, 5, |v| v);
    for with_state in [false, true] {
        let (mut state, mut out) = (vec![0.0; heads * d * d], vec![0.0; tokens * heads * d]);
        if with_state {
            state.clone_from(&before);
        }
        for (t, h) in (0..tokens * heads).map(|x| (x / heads, x % heads)) {
            let s = &mut state[h * d * d..][..d * d];
            let row = |x: &[f32], i: usize| x[(t * heads + h) * d + i];
            for j in 0..d {
                let held: f32 = (0..d).map(|i| s[i * d + j] * row(&k, i)).sum();
                let learned = beta[t * heads + h] * (row(&v, j) - held);
                (0..d).for_each(|i| s[i * d + j] += row(&k, i) * learned);
                out[(t * heads + h) * d + j] = (0..d).map(|i| s[i * d + j] * row(&q, i) / 4.0).sum();
            }
        }
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (q, k, v) = (Buffer::from_slice(rt, &q)?, Buffer::from_slice(rt, &k)?, Buffer::from_slice(rt, &v)?);
            let (beta, before) = (Buffer::from_slice(rt, &beta)?, Buffer::from_slice(rt, &before)?);
            let (mut o, mut end) =
                (Buffer::<f32>::zeros(rt, tokens * heads * d)?, Buffer::<f32>::zeros(rt, heads * d * d)?);
            let (dims, of_state) = ([tokens, heads, d], [heads, d, d]);
            let begin = if with_state { Some(before.view(of_state)?) } else { None };
            let (q, k, v) = (q.view(dims)?, k.view(dims)?, v.view(dims)?);
            let (beta, o_view) = (beta.view([tokens, heads])?, o.view_mut(dims)?);
            let call = kernels::delta_rule(q, k, v, beta, begin, o_view, end.view_mut(of_state)?);
            rt.launch_with(rt.stream(), call, options)?;
            Ok((o.to_vec()?, end.to_vec()?))
        };
        everywhere(kernels::delta_rule::DESCS[usize::from(with_state)], run, |(o, end), what| {
            near(what, &o, &out);
            near(what, &end, &state);
        });
    }
}

#[test]
fn chunks_of_a_state_space() {
    let [tokens, p, n, l, rate] = [70, 16, 16, 32, 0];
    let rate = -0.5 - rate as f32;
    let of = |v: f32| f16::from_f32(v);
    let (x, b, c) = (values(tokens * p, 1, of), values(tokens * n, 2, of), values(tokens * n, 3, of));
    let dt = values(tokens, 4, |v| (v + 1.5) * 0.1);
    let chunks = tokens.div_ceil(l);
    let states = values(chunks * n * p, 5, of);
    let element = |at: usize| {
        let (i, j) = (at / p, at % p);
        let (chunk, first) = (i / l, i / l * l);
        let decay = |from: usize| (from..=i).map(|t| dt[t] * rate).sum::<f32>().exp();
        let inner = |t: usize| (0..n).map(|s| c[i * n + s].to_f32() * b[t * n + s].to_f32()).sum::<f32>();
        let own: f32 = (first..=i).map(|t| inner(t) * decay(t + 1) * dt[t] * x[t * p + j].to_f32()).sum();
        let before = (0..n).map(|s| c[i * n + s].to_f32() * states[(chunk * n + s) * p + j].to_f32()).sum::<f32>();
        own + decay(first) * before
    };
    let wanted: Vec<f32> = (0..tokens * p).map(element).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (x, b, c) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &b)?, Buffer::from_slice(rt, &c)?);
        let (dt, states) = (Buffer::from_slice(rt, &dt)?, Buffer::from_slice(rt, &states)?);
        let mut y = Buffer::<f32>::zeros(rt, tokens * p)?;
        let (x, b, c) = (x.view([tokens, p])?, b.view([tokens, n])?, c.view([tokens, n])?);
        let call = kernels::chunk_scan(x, b, c, &dt, rate, states.view([chunks, n, p])?, y.view_mut([tokens, p])?);
        rt.launch_with(rt.stream(), call, options)?;
        y.to_vec()
    };
    everywhere(kernels::chunk_scan::DESCS[0], run, |y, what| near(what, &y, &wanted));
}

#[test]
fn convolutions_go_on_where_they_ended() {
    let [tokens, channels, width] = [11, 45, 4];
    let x = values(tokens * channels, 1, |v| v);
    let weights = values(width * channels, 2, |v| v);
    let (bias, before) = (values(channels, 3, |v| v), values(3 * channels, 4, |v| v));
    for with_bias in [false, true] {
        let at = |t: usize, c: usize| if t < 3 { before[t * channels + c] } else { x[(t - 3) * channels + c] };
        let of = |at_y: usize| {
            let (t, c) = (at_y / channels, at_y % channels);
            let sum: f32 = (0..width).map(|k| at(t + k, c) * weights[k * channels + c]).sum();
            let v = sum + if with_bias { bias[c] } else { 0.0 };
            v / (1.0 + (-v).exp())
        };
        let wanted: Vec<f32> = (0..tokens * channels).map(of).collect();
        let left: Vec<f32> = (0..3 * channels).map(|i| at(tokens + i / channels, i % channels)).collect();
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (x, weights) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &weights)?);
            let (bias, mut state) = (Buffer::from_slice(rt, &bias)?, Buffer::from_slice(rt, &before)?);
            let mut y = Buffer::<f32>::zeros(rt, tokens * channels)?;
            let (x, w) = (x.view([tokens, channels])?, weights.view([width, channels])?);
            let (s, out) = (state.view_mut([3, channels])?, y.view_mut([tokens, channels])?);
            let call = kernels::causal_conv(x, w, with_bias.then_some(&bias), s, out);
            rt.launch_with(rt.stream(), call, options)?;
            Ok((y.to_vec()?, state.to_vec()?))
        };
        everywhere(kernels::causal_conv::DESCS[usize::from(with_bias)], run, |(y, state), what| {
            near(what, &y, &wanted);
            near(what, &state, &left);
        });
    }
}

#[test]
fn attention_in_a_window() {
    let [b, h, kv, n, d, window] = [1, 4, 2, 75, 32, 40];
    let cap = 5.0;
    let of = |v: f32| f16::from_f32(v * 2.0);
    let (q, k, v) = (values(b * h * n * d, 1, of), values(b * kv * n * d, 2, of), values(b * kv * n * d, 3, of));
    let (sinks, slopes) = (values(h, 4, |v| v), values(h, 5, |v| (v + 1.0) * 0.1));
    for desc in kernels::window_attention::DESCS {
        let (has_sinks, has_slopes) = (desc.types.contains("sinks"), desc.types.contains("slopes"));
        let mut wanted = vec![0.0; b * h * n * d];
        for (head, i) in (0..b * h * n).map(|x| (x / n, x % n)) {
            let of = head / (h / kv);
            let keys: Vec<usize> = (0..=i).filter(|j| i < j + window).collect();
            let score = |j: usize| {
                let dot: f32 =
                    (0..d).map(|l| q[(head * n + i) * d + l].to_f32() * k[(of * n + j) * d + l].to_f32()).sum();
                let slope = if has_slopes { slopes[head] * (i - j) as f32 } else { 0.0 };
                cap * (dot / (d as f32).sqrt() / cap).tanh() - slope
            };
            let weights: Vec<f32> = keys.iter().map(|&j| score(j).exp()).collect();
            let total = weights.iter().sum::<f32>() + if has_sinks { sinks[head].exp() } else { 0.0 };
            for l in 0..d {
                let sum: f32 = keys.iter().zip(&weights).map(|(&j, w)| w * v[(of * n + j) * d + l].to_f32()).sum();
                wanted[(head * n + i) * d + l] = sum / total;
            }
        }
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (q, k, v) = (Buffer::from_slice(rt, &q)?, Buffer::from_slice(rt, &k)?, Buffer::from_slice(rt, &v)?);
            let (sinks, slopes) = (Buffer::from_slice(rt, &sinks)?, Buffer::from_slice(rt, &slopes)?);
            let mut o = Buffer::<f16>::zeros(rt, b * h * n * d)?;
            let (sinks, slopes) = (has_sinks.then_some(&sinks), has_slopes.then_some(&slopes));
            let (q, k, v) = (q.view([b, h, n, d])?, k.view([b, kv, n, d])?, v.view([b, kv, n, d])?);
            // SAFETY: its assembly is the hyperbolic tangent.
            let call =
                unsafe { kernels::window_attention(q, k, v, sinks, slopes, o.view_mut([b, h, n, d])?, window, cap) };
            rt.launch_with(rt.stream(), call, options)?;
            o.to_vec()
        };
        everywhere(desc, run, |o, what| near(what, &o.iter().map(|x| x.to_f32()).collect::<Vec<_>>(), &wanted));
    }
}

#[test]
fn attention_of_sequences_side_by_side() {
    let (offsets, d, longest) = ([0i64, 37, 37, 45, 130], 16, 85);
    let n = offsets[4] as usize;
    let of = |v: f32| f16::from_f32(v * 3.0);
    let (q, k, v) = (values(n * d, 1, of), values(n * d, 2, of), values(n * d, 3, of));
    let element = |at: usize| {
        let (i, l) = (at / d, at % d);
        let begin = offsets.iter().rev().find(|&&o| o as usize <= i).map_or(0, |&o| o as usize);
        let weight = |j: usize| {
            let s = (0..d).map(|e| q[i * d + e].to_f32() * k[j * d + e].to_f32()).sum::<f32>() / d as f32;
            s / (1.0 + (-s).exp()) / longest as f32
        };
        (begin..=i).map(|j| weight(j) * v[j * d + l].to_f32()).sum::<f32>()
    };
    let wanted: Vec<f32> = (0..n * d).map(element).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (q, k, v) = (Buffer::from_slice(rt, &q)?, Buffer::from_slice(rt, &k)?, Buffer::from_slice(rt, &v)?);
        let (offsets, mut o) = (Buffer::from_slice(rt, &offsets)?, Buffer::<f32>::zeros(rt, n * d)?);
        let (q, k, v) = (q.view([n, d])?, k.view([n, d])?, v.view([n, d])?);
        let call = kernels::jagged_silu_attention(q, k, v, &offsets, o.view_mut([n, d])?, longest);
        rt.launch_with(rt.stream(), call, options)?;
        o.to_vec()
    };
    everywhere(kernels::jagged_silu_attention::DESCS[0], run, |o, what| near(what, &o, &wanted));
}
