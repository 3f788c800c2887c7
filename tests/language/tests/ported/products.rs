//! Products inside of other work: scales of blocks, halves of bytes, tables of matrices, losses, gradients of
//! attention.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::{bf16, f8e4m3, f16};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{near, values};

#[tile_module]
mod kernels {
    /// fp8 with a scale for 64 of a row of `a`, and for 64 × 64 of `b`: each block of K is a product of its own.
    #[tile_kernel(
        tune(BM = [64], BN = [32], warps = [4]),
        grid = [cdiv(c.dim(1), BN), cdiv(c.dim(0), BM)],
        emulate = all,
    )]
    pub fn block_scaled<const BM: usize, const BN: usize>(
        a: View<f8e4m3, 2>,
        a_scale: View<f32, 2>,
        b: View<f8e4m3, 2>,
        b_scale: View<f32, 2>,
        mut c: ViewMut<bf16, 2>,
    ) {
        let (i, j) = (program_id(1) * BM, program_id(0) * BN);
        let mut sums = zeros::<f32>([BM, BN]);
        for k in 0..a_scale.dim(1) {
            let part = dot(a.tile([i, k * 64], [BM, 64]), trans(b.tile([j, k * 64], [BN, 64])), zeros::<f32>([BM, BN]));
            let of_b = sum(reshape(b_scale.tile([j / 64, k], [1, 1]), [1]));
            sums += part * (a_scale.tile([i, k], [BM, 1]) * of_b);
        }
        c.store([i, j], sums.to::<bf16>());
    }

    /// Weights of 4 bits with a sign, two along K in a byte: even and odd columns of `a` are multiplied apart.
    #[tile_kernel(
        tune(BM = [32], BN = [32], BK = [64], warps = [2]),
        grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
        emulate = all,
    )]
    pub fn int4_product<const BM: usize, const BN: usize, const BK: usize>(
        a: View<bf16, 2>,
        b: View<i8, 2>,
        mut c: ViewMut<f32, 2>,
    ) {
        let (i, j) = (program_id(0) * BM, program_id(1) * BN);
        let mut sums = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            let (even, odd) = split(reshape(a.tile([i, k], [BM, BK]), [BM, BK / 2, 2]));
            let packed = b.tile([k / 2, j], [BK / 2, BN]);
            sums = dot(even, ((packed << 4) >> 4).to::<bf16>(), sums);
            sums = dot(odd, (packed >> 4).to::<bf16>(), sums);
        }
        c.store([i, j], sums);
    }

    struct Problem {
        m: usize,
        n: usize,
        k: usize,
    }

    fn problem(sizes: &[i32], g: usize) -> Problem {
        let at = |i: usize| load(sizes, g * 3 + i) as usize;
        Problem { m: at(0), n: at(1), k: at(2) }
    }

    /// Products of matrices of a table, whose tiles programs take in turn.
    #[tile_kernel(tune(BM = [32], BN = [32], BK = [32], warps = [2]), grid = [num_sms()], emulate = all)]
    pub unsafe fn grouped_products<const BM: usize, const BN: usize, const BK: usize>(
        left: &[u64],
        right: &[u64],
        out: &[u64],
        sizes: &[i32],
    ) {
        let mut tile = program_id(0);
        let mut last = 0usize;
        for g in 0..left.len() {
            let p = problem(sizes, g);
            let columns = cdiv(p.n, BN);
            let tiles = cdiv(p.m, BM) * columns;
            let a = view(load(left, g) as *const f16, [p.m, p.k], [p.k, 1]);
            let b = view(load(right, g) as *const f16, [p.k, p.n], [p.n, 1]);
            let c = view(load(out, g) as *mut f16, [p.m, p.n], [p.n, 1]);
            while tile < last + tiles {
                let (i, j) = ((tile - last) / columns * BM, (tile - last) % columns * BN);
                let mut sums = zeros::<f16>([BM, BN]);
                for k in range(0, p.k, BK) {
                    sums = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), sums);
                }
                c.store([i, j], sums);
                tile += num_programs(0);
            }
            last += tiles;
        }
    }

    /// The losses of a layer of logits that are never stored: a product, and a sum of exponentials over its columns.
    #[tile_kernel(tune(BM = [32], BN = [32], BK = [32], warps = [2]), grid = [cdiv(x.dim(0), BM)], emulate = all)]
    pub fn linear_cross_entropy<const BM: usize, const BN: usize, const BK: usize>(
        x: View<bf16, 2>,
        w: View<bf16, 2>,
        labels: &[i64],
        losses: &mut [f32],
    ) {
        let row = program_id(0) * BM + arange(BM);
        let label = load(labels, row).other(-1);
        let (mut best, mut total) = (full([BM], f32::NEG_INFINITY), zeros::<f32>([BM]));
        let mut picked = zeros::<f32>([BM]);
        for j in range(0, w.dim(0), BN) {
            let mut logits = zeros::<f32>([BM, BN]);
            for k in range(0, x.dim(1), BK) {
                let y = w.tile([j, k], [BN, BK]);
                logits = dot(x.tile([program_id(0) * BM, k], [BM, BK]), trans(y), logits);
            }
            let column = (j + arange(BN)).expand(0);
            let seen = where_(column < w.dim(0), logits, f32::NEG_INFINITY);
            let now = maximum(best, max(seen, 1));
            total = total * exp(best - now) + sum(exp(seen - now.expand(1)), 1);
            best = now;
            picked += sum(where_(column.to::<i64>() == label.expand(1), logits, 0.0), 1);
        }
        store(losses, row, where_(label < 0, 0.0, log(total) + best - picked));
    }

    /// Gradients of attention for one block of keys: those of the queries are summed by atomics.
    #[tile_kernel(
        tune(BM = [16], BN = [16], D = [32], CAUSAL = [false, true], warps = [2]),
        grid = [cdiv(k.dim(0), BN)],
        emulate = all,
    )]
    pub fn attention_backward<const BM: usize, const BN: usize, const D: usize, const CAUSAL: bool>(
        q: View<f16, 2>,
        k: View<f16, 2>,
        v: View<f16, 2>,
        gradient: View<f16, 2>,
        log_sums: &[f32],
        deltas: &[f32],
        dq: &mut [f32],
        mut dk: ViewMut<f32, 2>,
        mut dv: ViewMut<f32, 2>,
    ) {
        let first = program_id(0) * BN;
        let (y, z) = (k.tile([first, 0], [BN, D]), v.tile([first, 0], [BN, D]));
        let (mut of_keys, mut of_values) = (zeros::<f32>([BN, D]), zeros::<f32>([BN, D]));
        let scale = rsqrt(D as f32);
        let column = (first + arange(BN)).expand(0);
        for i in range(if CAUSAL { first / BM * BM } else { 0 }, q.dim(0), BM) {
            let row = i + arange(BM);
            let (x, d) = (q.tile([i, 0], [BM, D]), gradient.tile([i, 0], [BM, D]));
            let scores = dot(x, trans(y), 0.0) * scale;
            let mut is_seen = (column < k.dim(0)) & (row < q.dim(0)).expand(1);
            if CAUSAL {
                is_seen &= column <= row.expand(1);
            }
            let p = where_(is_seen, exp(scores - load(log_sums, row).expand(1)), 0.0);
            of_values = dot(trans(p).to::<f16>(), d, of_values);
            let dp = dot(d, trans(z), 0.0);
            let ds = (p * (dp - load(deltas, row).expand(1)) * scale).to::<f16>();
            of_keys = dot(trans(ds), x, of_keys);
            let at = row.expand(1) * D + arange(D).expand(0);
            atomic_add(dq, at, dot(ds, y, 0.0)).mask((row < q.dim(0)).expand(1)).relaxed();
        }
        dk.store([first, 0], of_keys);
        dv.store([first, 0], of_values);
    }
}

#[test]
fn products_with_scales_of_blocks() {
    let [m, n, k] = [70, 100, 128];
    let of = |v: f32| f8e4m3::from_f32(v * 8.0);
    let (a, b) = (values(m * k, 1, of), values(n * k, 2, of));
    let (s, t) = (values(m * 2, 3, |v| v + 1.5), values(2 * 2, 4, |v| v + 1.5));
    let element = |at: usize| {
        let (i, j) = (at / n, at % n);
        let term =
            |l: usize| a[i * k + l].to_f32() * b[j * k + l].to_f32() * s[i * 2 + l / 64] * t[j / 64 * 2 + l / 64];
        (0..k).map(term).sum::<f32>()
    };
    let wanted: Vec<f32> = (0..m * n).map(element).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (a, b) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &b)?);
        let (s, t) = (Buffer::from_slice(rt, &s)?, Buffer::from_slice(rt, &t)?);
        let mut c = Buffer::<bf16>::zeros(rt, m * n)?;
        let (a, s, b, t) = (a.view([m, k])?, s.view([m, 2])?, b.view([n, k])?, t.view([2, 2])?);
        rt.launch_with(rt.stream(), kernels::block_scaled(a, s, b, t, c.view_mut([m, n])?), options)?;
        c.to_vec()
    };
    everywhere(kernels::block_scaled::DESCS[0], run, |c, what| {
        near(what, &c.iter().map(|x| x.to_f32()).collect::<Vec<_>>(), &wanted);
    });
}

#[test]
fn products_of_halves_of_bytes() {
    let [m, n, k] = [40, 45, 128];
    let a = values(m * k, 1, |v| bf16::from_f32((v * 8.0).round()));
    let b = values(k / 2 * n, 2, |v| (v * 127.0) as i8);
    let element = |at: usize| {
        let (i, j) = (at / n, at % n);
        let of = |l: usize| {
            let byte = b[l / 2 * n + j];
            f32::from(if l % 2 == 0 { byte << 4 >> 4 } else { byte >> 4 })
        };
        (0..k).map(|l| a[i * k + l].to_f32() * of(l)).sum::<f32>()
    };
    let wanted: Vec<f32> = (0..m * n).map(element).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (a, b) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &b)?);
        let mut c = Buffer::<f32>::zeros(rt, m * n)?;
        let call = kernels::int4_product(a.view([m, k])?, b.view([k / 2, n])?, c.view_mut([m, n])?);
        rt.launch_with(rt.stream(), call, options)?;
        c.to_vec()
    };
    everywhere(kernels::int4_product::DESCS[0], run, |c, what| near(what, &c, &wanted));
}

#[test]
fn products_of_a_table() {
    let sizes = [[40, 33, 50], [1, 70, 8], [64, 32, 32]];
    let of = |v: f32| f16::from_f32(v);
    let matrix = |m: usize, n: usize, seed: usize| values(m * n, seed as u32, of);
    let left: Vec<_> = sizes.iter().enumerate().map(|(i, &[m, _, k])| matrix(m, k, i)).collect();
    let right: Vec<_> = sizes.iter().enumerate().map(|(i, &[_, n, k])| matrix(k, n, 10 + i)).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let buffers = |all: &[Vec<f16>]| all.iter().map(|a| Buffer::from_slice(rt, a)).collect::<Result<Vec<_>, _>>();
        let (a, b) = (buffers(&left)?, buffers(&right)?);
        let c = sizes.map(|[m, n, _]| vec![f16::ZERO; m * n]).map(|c| Buffer::from_slice(rt, &c));
        let c = c.into_iter().collect::<Result<Vec<_>, _>>()?;
        let table =
            |all: &[Buffer<f16>]| Buffer::from_slice(rt, &all.iter().map(|b| b.raw().addr()).collect::<Vec<_>>());
        let (x, y, z) = (table(&a)?, table(&b)?, table(&c)?);
        let flat: Vec<i32> = sizes.iter().flatten().map(|&n| n as i32).collect();
        let of_sizes = Buffer::from_slice(rt, &flat)?;
        // SAFETY: the addresses are those of matrices of these sizes, which live on, and nothing else is at the last.
        let call = unsafe { kernels::grouped_products(&x, &y, &z, &of_sizes) };
        rt.launch_with(rt.stream(), call, options)?;
        rt.synchronize()?;
        c.iter().map(|c| c.to_vec()).collect::<Result<Vec<_>, _>>()
    };
    everywhere(kernels::grouped_products::DESCS[0], run, |all, what| {
        for (g, &[m, n, k]) in sizes.iter().enumerate() {
            let element = |at: usize| {
                let (i, j) = (at / n, at % n);
                (0..k).map(|l| left[g][i * k + l].to_f32() * right[g][l * n + j].to_f32()).sum::<f32>()
            };
            let found: Vec<f32> = all[g].iter().map(|x| x.to_f32()).collect();
            near(what, &found, &(0..m * n).map(element).collect::<Vec<_>>());
        }
    });
}

#[test]
fn losses_without_logits() {
    let [m, n, k] = [50, 75, 64];
    let of = |v: f32| bf16::from_f32(v);
    let (x, w) = (values(m * k, 1, of), values(n * k, 2, of));
    let labels: Vec<i64> = (0..m).map(|i| if i == 7 { -1 } else { (i * 31 % n) as i64 }).collect();
    let logit = |i: usize, j: usize| (0..k).map(|l| x[i * k + l].to_f32() * w[j * k + l].to_f32()).sum::<f32>();
    let of = |i: usize| match usize::try_from(labels[i]) {
        Err(_) => 0.0,
        Ok(label) => (0..n).map(|j| logit(i, j).exp()).sum::<f32>().ln() - logit(i, label),
    };
    let wanted: Vec<f32> = (0..m).map(of).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (x, w) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &w)?);
        let (labels, mut losses) = (Buffer::from_slice(rt, &labels)?, Buffer::<f32>::zeros(rt, m)?);
        let call = kernels::linear_cross_entropy(x.view([m, k])?, w.view([n, k])?, &labels, &mut losses);
        rt.launch_with(rt.stream(), call, options)?;
        losses.to_vec()
    };
    everywhere(kernels::linear_cross_entropy::DESCS[0], run, |losses, what| near(what, &losses, &wanted));
}

#[test]
fn gradients_of_attention() {
    let [m, n, d] = [37, 45, 32];
    let of = |v: f32| f16::from_f32(v);
    let [q, g] = [1, 4].map(|seed| values(m * d, seed, of));
    let [k, v] = [2, 3].map(|seed| values(n * d, seed, of));
    let at = |x: &[f16], i: usize, l: usize| x[i * d + l].to_f32();
    let scale = 1.0 / (d as f32).sqrt();
    for config in kernels::attention_backward::DESCS[0].configs {
        let is_causal = config.id.contains("CAUSAL=true");
        let is_seen = |i: usize, j: usize| !is_causal || j <= i;
        let score = |i: usize, j: usize| scale * (0..d).map(|l| at(&q, i, l) * at(&k, j, l)).sum::<f32>();
        let keys = |i: usize| (0..n).filter(move |&j| is_seen(i, j));
        let log_sums: Vec<f32> = (0..m).map(|i| keys(i).map(|j| score(i, j).exp()).sum::<f32>().ln()).collect();
        let share = |i: usize, j: usize| if is_seen(i, j) { (score(i, j) - log_sums[i]).exp() } else { 0.0 };
        let slope = |i: usize, j: usize| (0..d).map(|l| at(&g, i, l) * at(&v, j, l)).sum::<f32>();
        let deltas: Vec<f32> = (0..m).map(|i| keys(i).map(|j| share(i, j) * slope(i, j)).sum()).collect();
        let of_score = |i: usize, j: usize| share(i, j) * (slope(i, j) - deltas[i]) * scale;
        let of_query = |x: usize| (0..n).map(|j| of_score(x / d, j) * at(&k, j, x % d)).sum::<f32>();
        let of_key = |x: usize| (0..m).map(|i| of_score(i, x / d) * at(&q, i, x % d)).sum::<f32>();
        let of_value = |x: usize| (0..m).map(|i| share(i, x / d) * at(&g, i, x % d)).sum::<f32>();
        let one = tilewright_core::KernelParts {
            configs: std::slice::from_ref(config),
            ..**kernels::attention_backward::DESCS[0]
        };
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (q, g) = (Buffer::from_slice(rt, &q)?, Buffer::from_slice(rt, &g)?);
            let (k, v) = (Buffer::from_slice(rt, &k)?, Buffer::from_slice(rt, &v)?);
            let (s, t) = (Buffer::from_slice(rt, &log_sums)?, Buffer::from_slice(rt, &deltas)?);
            let (mut dq, mut dk) = (Buffer::<f32>::zeros(rt, m * d)?, Buffer::<f32>::zeros(rt, n * d)?);
            let mut dv = Buffer::<f32>::zeros(rt, n * d)?;
            let (q, g, k, v) = (q.view([m, d])?, g.view([m, d])?, k.view([n, d])?, v.view([n, d])?);
            let (a, b) = (dk.view_mut([n, d])?, dv.view_mut([n, d])?);
            let call = kernels::attention_backward(q, k, v, g, &s, &t, &mut dq, a, b);
            rt.launch_with(rt.stream(), call, options)?;
            Ok([dq.to_vec()?, dk.to_vec()?, dv.to_vec()?])
        };
        everywhere(&one, run, |[dq, dk, dv], what| {
            near(what, &dq, &(0..m * d).map(of_query).collect::<Vec<_>>());
            near(what, &dk, &(0..n * d).map(of_key).collect::<Vec<_>>());
            near(what, &dv, &(0..n * d).map(of_value).collect::<Vec<_>>());
        });
    }
}
