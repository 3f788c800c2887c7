//! Weights and activations in few bits: group scales that are powers of two, tables, packed orders, and products of
//! them.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::{bf16, f8e4m3, f16};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{exact, near, values};

#[tile_module]
mod kernels {
    /// Groups of 64 as fp8, whose scales are powers of two: the least that brings the greatest number to 448.
    #[tile_kernel(tune(GROUPS = [4], warps = [1]), grid = [cdiv(scales.len(), GROUPS)], emulate = all)]
    pub fn groups_as_fp8<const GROUPS: usize>(x: &[bf16], y: &mut [f8e4m3], scales: &mut [u8]) {
        let group = program_id(0) * GROUPS + arange(GROUPS);
        let i = group.expand(1) * 64 + arange(64).expand(0);
        let t = load(x, i).to::<f32>();
        let scale = to_e8m0(maximum(max(abs(t), 1), 1e-10) / 448.0 * 1.999_999_9);
        store(y, i, clamp(t / from_e8m0::<f32>(scale).expand(1), -448.0, 448.0).to::<f8e4m3>());
        store(scales, group, scale);
    }

    /// Rows as e2m1 with scales of MX, as the left operand of a product has them.
    #[tile_kernel(tune(ROWS = [16], warps = [2]), grid = [cdiv(x.dim(0), ROWS), x.dim(1) / 64], emulate = all)]
    pub fn rows_as_mxfp4<const ROWS: usize>(x: View<f32, 2>, mut q: ViewMut<u8, 2>, mut scales: ViewMut<u8, 2>) {
        let (row, k) = (program_id(0) * ROWS, program_id(1) * 64);
        let t = reshape(x.tile([row, k], [ROWS, 64]), [ROWS, 2, 32]);
        let scale = to_e8m0(max(abs(t), 2) * 0.25);
        let q4 = pack_e2m1(t / from_e8m0::<f32>(scale).expand(2), 2);
        q.store([row, k / 2], reshape(q4, [ROWS, 32]));
        scales.store([row, k / 32], scale);
    }

    /// A layer whose weights are MX e2m1, by rows of its outputs, and whose activations are fp8 or bf16.
    #[tile_kernel(
        types(T = [f8e4m3, bf16]),
        tune(BM = [64], BN = [32], warps = [4]),
        grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
        emulate = all,
    )]
    pub fn mx_linear<T: Float, const BM: usize, const BN: usize>(
        a: View<T, 2>,
        a_scale: Option<View<u8, 2>>,
        w: View<u8, 2>,
        w_scale: View<u8, 2>,
        bias: &[f32],
        mut c: ViewMut<bf16, 2>,
    ) {
        let (i, j) = (program_id(0) * BM, program_id(1) * BN);
        let mut sums = broadcast(load(bias, j + arange(BN)).expand(0), [BM, BN]);
        for k in (0..a.dim(1)).step_by(64) {
            let x = a.tile([i, k], [BM, 64]);
            let y = trans(w.tile([j, k / 2], [BN, 32]));
            let t = w_scale.tile([j, k / 32], [BN, 2]);
            sums = match a_scale {
                Some(s) => dot_scaled(x, s.tile([i, k / 32], [BM, 2]), y, t, sums),
                None => dot_scaled(x, None, y, t, sums),
            };
        }
        c.store([i, j], sums.to::<bf16>());
    }

    /// Numbers of a table of 16 by halves of bytes, the upper half first, with a scale for 64 of them.
    #[tile_kernel(tune(BLOCK = [128], warps = [2]), grid = [cdiv(q.len(), BLOCK)], emulate = all)]
    pub fn of_nf4<const BLOCK: usize>(q: &[u8], table: &[f32], scales: &[f32], y: &mut [f16]) {
        let at = program_id(0) * BLOCK + arange(BLOCK);
        let b = load(q, at);
        let code = interleave(b >> 4, b & 15).to::<i32>();
        let number = gather(load(table, arange(16)), code, 0);
        let i = program_id(0) * (2 * BLOCK) + arange(2 * BLOCK);
        store(y, i, (number * load(scales, i / 64)).to::<f16>());
    }

    /// Eight numbers of 4 bits of a word in the order 0, 2, 4, 6, 1, 3, 5, 7, with zeros in the same way: AWQ.
    #[tile_kernel(
        tune(ROWS = [16], WORDS = [8], warps = [2]),
        grid = [cdiv(q.dim(1), WORDS), cdiv(q.dim(0), ROWS)],
        emulate = all,
    )]
    pub fn of_awq<const ROWS: usize, const WORDS: usize>(
        q: View<u32, 2>,
        zeros_of: View<u32, 2>,
        scales: View<f16, 2>,
        mut y: ViewMut<f16, 2>,
        group: usize,
    ) {
        let (word, row) = (program_id(0) * WORDS, program_id(1) * ROWS);
        // Number n of a word is at 4 · (n / 2) bits, and 16 more if it is odd.
        let n = arange(8).to::<u32>();
        let shift = ((n >> 1) + (n & 1) * 4) * 4;
        let unpacked = |words: Tile<u32>| {
            let rows = words.dim(0);
            let all = (words.expand(2) >> shift.expand(0).expand(0)) & 15;
            reshape(all, [rows, 8 * WORDS]).to::<i32>()
        };
        // All rows of a program are of one group.
        let zero = unpacked(zeros_of.tile([row / group, word], [1, WORDS]));
        let scale = scales.tile([row / group, 8 * word], [1, 8 * WORDS]);
        let t = unpacked(q.tile([row, word], [ROWS, WORDS])) - zero;
        y.store([row, 8 * word], t.to::<f16>() * scale);
    }

    /// A product of int8 with a scale for each row and each column, and zero points of the rows.
    #[tile_kernel(
        tune(BM = [32], BN = [32], BK = [32], warps = [2]),
        grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
        emulate = all,
    )]
    pub fn int8_linear<const BM: usize, const BN: usize, const BK: usize>(
        a: View<i8, 2>,
        b: View<i8, 2>,
        rows: &[f32],
        columns: &[f32],
        zero_points: Option<&[i32]>,
        sums_of_b: &[i32],
        bias: Option<&[f32]>,
        mut c: ViewMut<f32, 2>,
    ) {
        let (i, j) = (program_id(0) * BM + arange(BM), program_id(1) * BN + arange(BN));
        let mut acc = zeros::<i32>([BM, BN]);
        for k in range(0, a.dim(1), BK) {
            acc = dot(a.tile([program_id(0) * BM, k], [BM, BK]), b.tile([k, program_id(1) * BN], [BK, BN]), acc);
        }
        if let Some(z) = zero_points {
            acc -= load(z, i).expand(1) * load(sums_of_b, j).expand(0);
        }
        let mut t = acc.to::<f32>() * load(rows, i).expand(1) * load(columns, j).expand(0);
        if let Some(bias) = bias {
            t += load(bias, j).expand(0);
        }
        c.store([program_id(0) * BM, program_id(1) * BN], t);
    }

    /// The keys and values of new tokens into their slots of a cache of int8, with a scale for each token and head.
    #[tile_kernel(
        tune(HEADS = [4], D = [32], warps = [1]),
        requires = [x.dim(1) <= HEADS, x.dim(2) == D],
        grid = [x.dim(0)],
        emulate = all,
    )]
    pub fn into_int8_cache<const HEADS: usize, const D: usize>(
        x: View<f16, 3>,
        slots: &[i64],
        mut cache: ViewMut<i8, 3>,
        mut scales: ViewMut<f16, 2>,
    ) {
        let token = program_id(0);
        let slot = load(slots, token);
        if slot < 0 {
            return;
        }
        let t = x.tile([token, 0, 0], [1, HEADS, D]).to::<f32>();
        let scale = max(abs(t), 2) / 127.0;
        let q = rint(t / maximum(scale, 1e-8).expand(2));
        cache.store([slot as usize, 0, 0], q.to::<i8>());
        scales.store([slot as usize, 0], scale.to::<f16>());
    }
}

const E2M1: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn of_e2m1(code: u8) -> f32 {
    let size = E2M1[usize::from(code & 7)];
    if code & 8 == 0 { size } else { -size }
}

fn power(x: u8) -> f32 {
    2.0f32.powi(i32::from(x) - 127)
}

#[test]
fn scales_that_are_powers_of_two() {
    let groups = 11;
    let x = values(groups * 64, 3, |v| bf16::from_f32(v * 900.0));
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut y, mut scales) = (vec![f8e4m3::from_f32(1.0); groups * 64], vec![0; groups]);
        rt.launch_with(rt.stream(), kernels::groups_as_fp8(&x, &mut y, &mut scales), options)?;
        Ok((y, scales))
    };
    everywhere(kernels::groups_as_fp8::DESCS[0], run, |(y, scales), what| {
        for (g, scale) in scales.iter().enumerate() {
            let all = &x[g * 64..][..64];
            let most = all.iter().fold(0.0f32, |a, v| a.max(v.to_f32().abs())) / 448.0;
            assert!((most..2.0 * most).contains(&power(*scale)), "{what}: group {g}: {} for {most}", power(*scale));
            for (x, y) in all.iter().zip(&y[g * 64..]) {
                exact(what, &[y.to_f32()], &[f8e4m3::from_f32(x.to_f32() / power(*scale)).to_f32()]);
            }
        }
    });
}

/// Rows as the kernel packs them, and the numbers that they stand for.
fn mxfp4(x: &[f32]) -> (Vec<u8>, Vec<u8>, Vec<f32>) {
    let (mut q, mut scales, mut numbers) = (vec![], vec![], vec![]);
    for group in x.chunks(32) {
        let most = group.iter().fold(0.0f32, |a, v| a.max(v.abs()));
        let scale = (most.log2().floor() - 2.0).exp2();
        scales.push((scale.log2() + 127.0) as u8);
        let code = |v: f32| {
            let distance = |c: &u8| (E2M1[usize::from(*c)] - (v / scale).abs().min(6.0)).abs();
            let nearest = (0..8u8).min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2))));
            nearest.expect("there are 8") | if v.is_sign_negative() { 8 } else { 0 }
        };
        let codes: Vec<u8> = group.iter().map(|&v| code(v)).collect();
        q.extend(codes.chunks(2).map(|pair| pair[0] | pair[1] << 4));
        numbers.extend(codes.iter().map(|&c| of_e2m1(c) * scale));
    }
    (q, scales, numbers)
}

#[test]
fn rows_in_mx_formats() {
    let (m, k) = (21, 128);
    let x = values(m * k, 3, |v| v * 7.0);
    let (q, scales, _) = mxfp4(&x);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut q, mut s) = (Buffer::<u8>::zeros(rt, m * k / 2)?, Buffer::<u8>::zeros(rt, m * k / 32)?);
        let call = kernels::rows_as_mxfp4(x.view([m, k])?, q.view_mut([m, k / 2])?, s.view_mut([m, k / 32])?);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((q.to_vec()?, s.to_vec()?))
    };
    everywhere(kernels::rows_as_mxfp4::DESCS[0], run, |found, what| {
        assert_eq!(found, (q.clone(), scales.clone()), "{what}");
    });
}

#[test]
fn layers_in_mx_formats() {
    let [m, n, k] = [70, 40, 128];
    let (w, w_scale, w_numbers) = mxfp4(&values(n * k, 5, |v| v));
    let bias = values(n, 6, |v| v);
    let a_scale: Vec<u8> = (0..m * k / 32).map(|i| 125 + (i % 4) as u8).collect();
    macro_rules! check {
        ($t:ident) => {
            let a = values(m * k, 7, |v| $t::from_f32(v));
            for desc in kernels::mx_linear::DESCS.iter().filter(|d| d.types.starts_with(stringify!($t))) {
                let has_scale = desc.types.contains("a_scale");
                let run = |rt: &Runtime, options: &LaunchOptions| {
                    let (a, s) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &a_scale)?);
                    let (w, t) = (Buffer::from_slice(rt, &w)?, Buffer::from_slice(rt, &w_scale)?);
                    let bias = Buffer::from_slice(rt, &bias)?;
                    let mut c = Buffer::<bf16>::zeros(rt, m * n)?;
                    let s = if has_scale { Some(s.view([m, k / 32])?) } else { None };
                    let (a, w, t) = (a.view([m, k])?, w.view([n, k / 2])?, t.view([n, k / 32])?);
                    let call = kernels::mx_linear::<$t>(a, s, w, t, &bias, c.view_mut([m, n])?);
                    rt.launch_with(rt.stream(), call, options)?;
                    c.to_vec()
                };
                let of = |at: usize| {
                    let (i, j) = (at / n, at % n);
                    let scale = |l: usize| if has_scale { power(a_scale[i * (k / 32) + l / 32]) } else { 1.0 };
                    let sum: f32 = (0..k).map(|l| a[i * k + l].to_f32() * scale(l) * w_numbers[j * k + l]).sum();
                    sum + bias[j]
                };
                let wanted: Vec<f32> = (0..m * n).map(of).collect();
                everywhere(desc, run, |c, what| {
                    near(what, &c.iter().map(|x| x.to_f32()).collect::<Vec<_>>(), &wanted);
                });
            }
        };
    }
    check!(f8e4m3);
    check!(bf16);
}

#[test]
fn numbers_of_a_table() {
    let table: Vec<f32> = (0..16).map(|i| ((i as f32 - 7.5) / 7.5).powi(3)).collect();
    let q: Vec<u8> = (0..500).map(|i| (i * 37 % 256) as u8).collect();
    let scales = values(1000usize.div_ceil(64), 2, |v| v + 2.0);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = vec![f16::ZERO; 1000];
        rt.launch_with(rt.stream(), kernels::of_nf4(&q, &table, &scales, &mut y), options)?;
        Ok(y)
    };
    let code = |i: usize| if i % 2 == 0 { q[i / 2] >> 4 } else { q[i / 2] & 15 };
    let wanted: Vec<f16> = (0..1000).map(|i| f16::from_f32(table[usize::from(code(i))] * scales[i / 64])).collect();
    everywhere(kernels::of_nf4::DESCS[0], run, |y, what| exact(what, &y, &wanted));
}

#[test]
fn packed_words_in_another_order() {
    let (m, words, group) = (48, 10, 16);
    let some = |n: usize, seed: u32| (0..n as u32).map(|i| (i + seed).wrapping_mul(0x9E37_79B9)).collect::<Vec<u32>>();
    let (q, zeros) = (some(m * words, 1), some(m / group * words, 77));
    let scales = values(m / group * words * 8, 3, f16::from_f32);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (q, zeros) = (Buffer::from_slice(rt, &q)?, Buffer::from_slice(rt, &zeros)?);
        let scales = Buffer::from_slice(rt, &scales)?;
        let mut y = Buffer::<f16>::zeros(rt, m * words * 8)?;
        let (q, z) = (q.view([m, words])?, zeros.view([m / group, words])?);
        let s = scales.view([m / group, words * 8])?;
        rt.launch_with(rt.stream(), kernels::of_awq(q, z, s, y.view_mut([m, words * 8])?, group), options)?;
        y.to_vec()
    };
    let number = |word: u32, n: usize| (word >> ([0, 4, 1, 5, 2, 6, 3, 7][n] * 4) & 15) as f32;
    let of = |at: usize| {
        let (i, j) = (at / (words * 8), at % (words * 8));
        let zero = number(zeros[i / group * words + j / 8], j % 8);
        let t = f16::from_f32(number(q[i * words + j / 8], j % 8) - zero);
        f16::from_f32(t.to_f32() * scales[i / group * words * 8 + j].to_f32())
    };
    let wanted: Vec<f16> = (0..m * words * 8).map(of).collect();
    everywhere(kernels::of_awq::DESCS[0], run, |y, what| exact(what, &y, &wanted));
}

#[test]
fn layers_of_int8() {
    let [m, n, k] = [50, 45, 100];
    let of = |v: f32| (v * 127.0) as i8;
    let (a, b) = (values(m * k, 1, of), values(k * n, 2, of));
    let (rows, columns, bias) = (values(m, 3, |v| v + 2.0), values(n, 4, |v| v + 2.0), values(n, 5, |v| v * 1e4));
    let zero_points: Vec<i32> = (0..m).map(|i| i as i32 % 7 - 3).collect();
    let sums_of_b: Vec<i32> = (0..n).map(|j| (0..k).map(|l| i32::from(b[l * n + j])).sum()).collect();
    for desc in kernels::int8_linear::DESCS {
        let (has_zeros, has_bias) = (desc.types.contains("zero_points"), desc.types.contains("bias"));
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (a, b) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &b)?);
            let (rows, columns) = (Buffer::from_slice(rt, &rows)?, Buffer::from_slice(rt, &columns)?);
            let (z, s) = (Buffer::from_slice(rt, &zero_points)?, Buffer::from_slice(rt, &sums_of_b)?);
            let bias = Buffer::from_slice(rt, &bias)?;
            let mut c = Buffer::<f32>::zeros(rt, m * n)?;
            let (z, bias) = (has_zeros.then_some(&z), has_bias.then_some(&bias));
            let (a, b) = (a.view([m, k])?, b.view([k, n])?);
            let call = kernels::int8_linear(a, b, &rows, &columns, z, &s, bias, c.view_mut([m, n])?);
            rt.launch_with(rt.stream(), call, options)?;
            c.to_vec()
        };
        let of = |at: usize| {
            let (i, j) = (at / n, at % n);
            let zero = if has_zeros { zero_points[i] } else { 0 };
            let sum: i32 = (0..k).map(|l| (i32::from(a[i * k + l]) - zero) * i32::from(b[l * n + j])).sum();
            sum as f32 * rows[i] * columns[j] + if has_bias { bias[j] } else { 0.0 }
        };
        let wanted: Vec<f32> = (0..m * n).map(of).collect();
        everywhere(desc, run, |c, what| near(what, &c, &wanted));
    }
}

#[test]
fn tokens_in_a_cache_of_int8() {
    let [tokens, heads, d, places] = [7, 3, 32, 12];
    let x = values(tokens * heads * d, 9, |v| f16::from_f32(v * 3.0));
    let slots = [3i64, -1, 0, 11, 5, -1, 7];
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (x, slots) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &slots)?);
        let mut cache = Buffer::from_slice(rt, &vec![99i8; places * heads * d])?;
        let mut scales = Buffer::<f16>::zeros(rt, places * heads)?;
        let (x, out) = (x.view([tokens, heads, d])?, cache.view_mut([places, heads, d])?);
        let call = kernels::into_int8_cache(x, &slots, out, scales.view_mut([places, heads])?);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((cache.to_vec()?, scales.to_vec()?))
    };
    everywhere(kernels::into_int8_cache::DESCS[0], run, |(cache, scales), what| {
        for place in 0..places {
            let token = slots.iter().position(|&s| s == place as i64);
            for at in place * heads * d..(place + 1) * heads * d {
                let Some(token) = token else {
                    assert_eq!(cache[at], 99, "{what}: place {place} is of no token");
                    continue;
                };
                let wanted = x[token * heads * d + at % (heads * d)].to_f32();
                let scale = scales[at / d].to_f32();
                assert!((f32::from(cache[at]) * scale - wanted).abs() < 0.6 * scale + 0.002, "{what}: {at}");
            }
        }
    });
}
