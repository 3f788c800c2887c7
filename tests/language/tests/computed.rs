//! Operands of products that are computed: of tiles that are copied ahead, of other products, on either side, of any
//! type.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{Element, bf16, f16};
use tilewright_language_tests::matrix::{Matrix, near, values};
use tilewright_language_tests::run::{backends, seeds, with};
use tilewright_language_tests::{view, view_mut};

/// `max(x·a, 0) b` in `BK` of K at a time, `a` or `b` lying across.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], TA = [0, 1], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [32], BK = [32], TA = [0], TB = [1], warps = [8], arch = [90]),
    tune(BM = [64], BN = [128], BK = [32], TA = [0], TB = [0], warps = [8], stages = [3], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], TA = [0, 1], TB = [0], warps = [4], arch = [80]),
    tune(BM = [64], BN = [96], BK = [64], TA = [0], TB = [0, 1], warps = [4], arch = [90]),
    grid = [2],
    emulate = all,
)]
fn left<const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    k: usize,
    x: f32,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        for at in (0..k).step_by(BK) {
            let l = if TA == 1 { trans(a.tile([at, i * BM], [BK, BM])) } else { a.tile([i * BM, at], [BM, BK]) };
            let r = if TB == 1 { trans(b.tile([j * BN, at], [BN, BK])) } else { b.tile([at, j * BN], [BK, BN]) };
            acc = dot(maximum(x * l.to::<f32>(), 0.0).to::<f16>(), r, acc);
        }
        c.store([i * BM, j * BN], acc.to::<f16>());
    }
}

/// `a w`, of weights of 8 bits and a scale for each of their columns; and the sums of squares of the rows of `a`, whose
/// tiles the products take from shared memory. With EACH of 1 the loop takes the sums of the product as well, which
/// keeps its operands from being swapped.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], TB = [0, 1], EACH = [0, 1], warps = [4], arch = [90]),
    tune(BM = [64], BN = [128], BK = [32], TB = [0, 1], EACH = [0, 1], warps = [8], arch = [90]),
    tune(BM = [128], BN = [32], BK = [32], TB = [0, 1], EACH = [0], warps = [8], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], TB = [0, 1], EACH = [0], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn right<const BM: usize, const BN: usize, const BK: usize, const TB: usize, const EACH: usize>(
    a: View<f16, 2>,
    w: View<i8, 2>,
    scale: &[f32],
    mut c: ViewMut<f16, 2>,
    squares: &mut [f32],
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    let mut sums = zeros::<f32>([BM]);
    for at in (0..a.dim(1)).step_by(BK) {
        let l = a.tile([i, at], [BM, BK]);
        let r = if TB == 1 { trans(w.tile([j, at], [BN, BK])) } else { w.tile([at, j], [BK, BN]) };
        acc = dot(l, (r.to::<f32>() * load(scale, j + arange(BN)).expand(0)).to::<f16>(), acc);
        sums += sum(l.to::<f32>() * l.to::<f32>(), 1);
        if EACH == 1 {
            sums += max(acc, 1);
        }
    }
    let rows = i + arange(BM);
    store(squares, program_id(1) * c.dim(0) + rows, sums).mask(rows < c.dim(0));
    c.store([i, j], acc.to::<f16>());
}

/// `a w`, of weights of 4 bits. A byte has two neighbors along K, the first one in its low half.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [32], BK = [32], TB = [0, 1], warps = [8], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], TB = [0, 1], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn halves_of_bytes<const BM: usize, const BN: usize, const BK: usize, const TB: usize>(
    a: View<f16, 2>,
    w: View<u8, 2>,
    scale: &[f32],
    mut c: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for at in (0..a.dim(1)).step_by(BK) {
        let l = a.tile([i, at], [BM, BK]);
        let bytes = if TB == 1 { w.tile([j, at / 2], [BN, BK / 2]) } else { w.tile([at / 2, j], [BK / 2, BN]) };
        let both = join(bytes & 15, bytes >> 4).to::<f32>() - 8.0;
        let r = if TB == 1 { trans(both.reshape([BN, BK])) } else { both.permute([0, 2, 1]).reshape([BK, BN]) };
        acc = dot(l, (r * load(scale, j + arange(BN)).expand(0)).to::<f16>(), acc);
    }
    c.store([i, j], acc.to::<f16>());
}

/// The softmax of `q kᵀ` times `v`, without ever storing all of it: a second product takes the result of the first
/// one.
#[tile_kernel(
    types(T = [f16, bf16]),
    tune(BM = [64], BN = [64], D = [64], warps = [4], arch = [90]),
    tune(BM = [128], BN = [32], D = [64], warps = [8], stages = [2], arch = [90]),
    tune(BM = [32], BN = [32], D = [64], warps = [4], arch = [80]),
    grid = [cdiv(o.dim(0), BM)],
    emulate = all,
)]
fn attention<T: Float, const BM: usize, const BN: usize, const D: usize>(
    q: View<T, 2>,
    k: View<T, 2>,
    v: View<T, 2>,
    mut o: ViewMut<T, 2>,
    scale: f32,
) {
    let i = program_id(0) * BM;
    let query = (q.tile([i, 0], [BM, D]).to::<f32>() * scale).to::<T>();
    let mut acc = zeros::<f32>([BM, D]);
    let mut top = full([BM], -1e30);
    let mut all = zeros::<f32>([BM]);
    for at in (0..k.dim(0)).step_by(BN) {
        let seen = (at + arange(BN) < k.dim(0)).expand(0);
        let s = where_(seen, dot(query, trans(k.tile([at, 0], [BN, D])), zeros::<f32>([BM, BN])), -1e30);
        let higher = maximum(top, max(s, 1));
        let p = exp(s - higher.expand(1));
        let fade = exp(top - higher);
        all = all * fade + sum(p, 1);
        acc = dot(p.to::<T>(), v.tile([at, 0], [BN, D]), acc * fade.expand(1));
        top = higher;
    }
    o.store([i, 0], (acc / all.expand(1)).to::<T>());
}

/// `(a - 3) (2·b)ᵀ`, of numbers that are four bytes, or one.
#[tile_kernel(
    tune(BM = [64], BN = [32], BK = [32], warps = [4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [32], warps = [8], stages = [2], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn odd_sizes<const BM: usize, const BN: usize, const BK: usize>(
    a: View<i8, 2>,
    b: View<i8, 2>,
    x: View<f32, 2>,
    y: View<f32, 2>,
    mut c: ViewMut<i32, 2>,
    mut z: ViewMut<f32, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<i32>([BM, BN]);
    let mut sums = zeros::<f32>([BM, BN]);
    for at in (0..a.dim(1)).step_by(BK) {
        let left = a.tile([i, at], [BM, BK]) - 3;
        acc = dot(left, trans(b.tile([j, at], [BN, BK])), acc);
        let right = y.tile([at, j], [BK, BN]) * 2.0;
        sums = dot(x.tile([i, at], [BM, BK]), right, sums).tf32();
        let half = x.tile([i, at], [BM, BK]) * 0.5;
        sums = dot(half, trans(y.tile([j, at], [BN, BK])), sums).tf32();
    }
    c.store([i, j], acc);
    z.store([i, j], sums);
}

/// Products that follow each other on the same sums, with other work between. WAY: 0 two of a loop that nothing chains;
/// 1 a chain of two whose first operand is looked at once more; 2 a reduction to a scalar between them; 3 sums that are
/// operands.
#[tile_kernel(
    tune(B = [64], WAY = [0, 1, 2, 3], warps = [4], arch = [90]),
    grid = [1],
    emulate = all,
)]
fn in_turn<const B: usize, const WAY: usize>(
    x: View<f16, 2>,
    y: View<f16, 2>,
    mut z: ViewMut<f32, 2>,
    sums: &mut [f32],
    k: usize,
) {
    let mut acc = zeros::<f32>([B, B]);
    let mut s = zeros::<f32>([B]);
    let mut top = 0.0;
    for at in (0..k).step_by(B) {
        let (l, r) = (x.tile([0, at], [B, B]), y.tile([at, 0], [B, B]));
        if WAY == 0 {
            acc = dot(l, r, acc);
            acc = dot(x.tile([B, at], [B, B]), y.tile([at, B], [B, B]), acc);
        } else if WAY == 1 {
            s += sum(l.to::<f32>(), 1);
            let (l1, r1) = (x.tile([B, at], [B, B]), y.tile([at, B], [B, B]));
            acc = dot(l, r, acc);
            acc = dot(l1, r1, acc);
            s = maximum(s, max(l, 1).to::<f32>());
        } else if WAY == 2 {
            let (l1, r1) = (x.tile([B, at], [B, B]), y.tile([at, B], [B, B]));
            let e = dot(l, r1, zeros::<f32>([B, B]));
            let first = dot(l, r, acc);
            top = max(top, max(e));
            acc = dot(l1, r1, first);
        } else {
            let e = dot(l, r, zeros::<f32>([B, B]));
            acc = dot((e * 0.1).to::<f16>(), y.tile([at, B], [B, B]), dot(l, y.tile([at, 0], [B, B]), acc));
        }
    }
    store(sums, arange(B), s + top);
    z.store([0, 0], acc);
}

/// Two products of computed left operands that follow each other on the same sums: one chain, of which each link has
/// words of its own in registers.
#[tile_kernel(tune(B = [64], K = [32, 64], warps = [4], arch = [90]), grid = [1], emulate = all)]
fn chain_of_computed<const B: usize, const K: usize>(
    x: View<f16, 2>,
    y: View<f16, 2>,
    mut z: ViewMut<f32, 2>,
    k: usize,
) {
    let mut acc = zeros::<f32>([B, B]);
    for at in range(0, k, K) {
        let first = (x.tile([0, at], [B, K]).to::<f32>() * 2.0).to::<f16>();
        let second = (x.tile([B, at], [B, K]).to::<f32>() + 1.0).to::<f16>();
        acc = dot(first, y.tile([at, 0], [K, B]), acc);
        acc = dot(second, y.tile([at, B], [K, B]), acc);
    }
    z.store([0, 0], acc);
}

/// A tile that is an operand and, with another one, part of the stored tile.
#[tile_kernel(tune(B = [64], warps = [4], arch = [90]), grid = [1])]
fn stored_with<const B: usize>(x: View<f16, 2>, w: View<f16, 2>, y: View<f16, 2>, mut z: ViewMut<f16, 2>) {
    for i in range(0, z.dim(0), B) {
        let l = x.tile([i, 0], [B, B]);
        let acc = dot(l, w.tile([0, 0], [B, B]), zeros::<f32>([B, B]));
        let r = y.tile([i, 0], [B, B]);
        z.store([i, 0], (acc + l.to::<f32>() + r.to::<f32>()).to::<f16>());
    }
}

fn as_f32(x: Vec<f16>) -> Vec<f32> {
    x.into_iter().map(f16::to_f32).collect()
}

#[test]
fn left_operands() {
    for config in left::DESCS[0].configs {
        let is = |name: &'static str| config.consts.contains(&(name, 1));
        for [m, n, k] in [[128, 64, 128], [136, 72, 200], [40, 72, 64]] {
            let (a_dims, b_dims) = (if is("TA") { [k, m] } else { [m, k] }, if is("TB") { [n, k] } else { [k, n] });
            let (a, b) =
                (Matrix::new(a_dims, a_dims[1], 1, f16::from_f32), Matrix::new(b_dims, b_dims[1], 2, f16::from_f32));
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
                rt.launch_with(rt.stream(), left(view!(a), view!(b), view_mut!(c), k, 0.5), &with(config.id))
                    .unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id));
                as_f32(c.data)
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| near(&format!("{} {m} {n} {k}", config.id), &run(rt), &wanted));
        }
    }
}

#[test]
fn right_operands() {
    for config in right::DESCS[0].configs {
        for [m, n, k] in [[64, 128, 128], [136, 80, 208]] {
            let w_dims = if config.consts.contains(&("TB", 1)) { [n, k] } else { [k, n] };
            let a = Matrix::new([m, k], k, 1, f16::from_f32);
            let w = Matrix::new(w_dims, w_dims[1], 2, |x| (x * 100.0) as i8);
            let scale = values(n, 5, |x| x / 64.0);
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
                let mut squares = vec![0.0f32; m * n.div_ceil(32)];
                let call = right(view!(a), view!(w), &scale[..], view_mut!(c), &mut squares[..]);
                rt.launch_with(rt.stream(), call, &with(config.id))
                    .unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id));
                (as_f32(c.data), squares)
            };
            let wanted = run(&Runtime::cpu());
            for rt in &seeds() {
                let found = run(rt);
                near(&format!("{} {m} {n} {k}", config.id), &found.0, &wanted.0);
                near(&format!("squares {} {m} {n} {k}", config.id), &found.1, &wanted.1);
            }
        }
    }
}

#[test]
fn weights_of_4_bits() {
    for config in halves_of_bytes::DESCS[0].configs {
        for [m, n, k] in [[64, 128, 128], [136, 80, 208]] {
            let transposed = config.consts.contains(&("TB", 1));
            let w_dims = if transposed { [n, k / 2] } else { [k / 2, n] };
            let a = Matrix::new([m, k], k, 1, f16::from_f32);
            let w = Matrix::new(w_dims, w_dims[1], 2, |x| (x * 100.0) as i8 as u8);
            let scale = values(n, 5, |x| x / 64.0);
            let weight = |l: usize, j: usize| {
                let byte = w.data[if transposed { j * (k / 2) + l / 2 } else { l / 2 * n + j }];
                f16::from_f32((f32::from(byte >> (4 * (l % 2)) & 15) - 8.0) * scale[j]).to_f32()
            };
            let sum = |i: usize, j: usize| (0..k).map(|l| a.data[i * k + l].to_f32() * weight(l, j)).sum::<f32>();
            let wanted: Vec<f32> = (0..m * n).map(|e| sum(e / n, e % n)).collect();
            for rt in &backends() {
                let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
                let call = halves_of_bytes(view!(a), view!(w), &scale[..], view_mut!(c));
                rt.launch_with(rt.stream(), call, &with(config.id))
                    .unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id));
                near(&format!("{} {m} {n} {k} on {}", config.id, rt.name()), &as_f32(c.data), &wanted);
            }
        }
    }
}

fn attend<T: Element>(of: impl Fn(f32) -> T + Copy, to: impl Fn(T) -> f32 + Copy)
where
    (T,): attention::Types,
{
    for config in <(T,) as attention::Types>::DESC.configs {
        for [m, n] in [[128, 128], [100, 200], [1, 8]] {
            let [q, k, v] = [(m, 1), (n, 2), (n, 3)].map(|(rows, seed)| Matrix::new([rows, 64], 64, seed, of));
            let run = |rt: &Runtime| {
                let mut o = Matrix::new([m, 64], 64, 4, of);
                rt.launch_with(
                    rt.stream(),
                    attention::<T>(view!(q), view!(k), view!(v), view_mut!(o), 0.125),
                    &with(config.id),
                )
                .unwrap_or_else(|e| panic!("{} {m} {n}: {e}", config.id));
                o.data.into_iter().map(to).collect::<Vec<f32>>()
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| near(&format!("{} {m} {n}", config.id), &run(rt), &wanted));
        }
    }
}

#[test]
fn products_of_products() {
    attend(f16::from_f32, f16::to_f32);
    attend(bf16::from_f32, bf16::to_f32);
}

#[test]
fn operands_of_other_sizes() {
    for config in odd_sizes::DESCS[0].configs {
        for [n, k] in [[128, 128], [80, 80]] {
            // One matrix is used across and along.
            let m = 72;
            let (a, b) =
                (Matrix::new([m, k], k, 1, |x| (x * 100.0) as i8), Matrix::new([n, k], k, 2, |x| (x * 100.0) as i8));
            let (x, y) = (Matrix::new([m, k], k, 3, |x| x), Matrix::new([k, k], k, 4, |x| x));
            let run = |rt: &Runtime| {
                let (mut c, mut z) = (Matrix::new([m, n], n, 5, |x| x as i32), Matrix::new([m, n], n, 6, |x| x));
                let call = odd_sizes(view!(a), view!(b), view!(x), view!(y), view_mut!(c), view_mut!(z));
                rt.launch_with(rt.stream(), call, &with(config.id))
                    .unwrap_or_else(|e| panic!("{} {n} {k}: {e}", config.id));
                (c.data, z.data)
            };
            let wanted = run(&Runtime::cpu());
            for rt in &seeds() {
                let found = run(rt);
                assert!(found.0 == wanted.0, "{} {n} {k}", config.id);
                near(&format!("{} {n} {k}", config.id), &found.1, &wanted.1);
            }
        }
    }
}

#[test]
fn products_in_turn() {
    let k = 320;
    let (x, y) = (Matrix::new([128, k], k, 1, f16::from_f32), Matrix::new([k, 128], 128, 2, f16::from_f32));
    for config in in_turn::DESCS[0].configs {
        let run = |rt: &Runtime| {
            let (mut z, mut sums) = (Matrix::new([64, 64], 64, 3, |x| x), vec![0.0f32; 64]);
            let call = in_turn(view!(x), view!(y), view_mut!(z), &mut sums[..], k);
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            [z.data, sums].concat()
        };
        let wanted = run(&Runtime::cpu());
        seeds().iter().for_each(|rt| near(config.id, &run(rt), &wanted));
    }
}

#[test]
fn operands_that_are_stored() {
    let [x, y, w] = [(320, 1), (320, 2), (64, 3)].map(|(rows, seed)| Matrix::new([rows, 64], 64, seed, f16::from_f32));
    let run = |rt: &Runtime| {
        let mut z = Matrix::new([320, 64], 64, 4, f16::from_f32);
        rt.launch(stored_with(view!(x), view!(w), view!(y), view_mut!(z))).expect("it runs");
        as_f32(z.data)
    };
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| near("stored", &run(rt), &wanted));
}

#[test]
fn products_of_computed_operands_in_a_chain() {
    let k = 192;
    let whole = |v: f32| f16::from_f32((v * 4.0).round());
    let (x, y) = (Matrix::new([128, k], k, 1, whole), Matrix::new([k, 128], 128, 2, whole));
    for config in chain_of_computed::DESCS[0].configs {
        let run = |rt: &Runtime| {
            let mut z = Matrix::new([64, 64], 64, 3, |_| f32::NAN);
            let call = chain_of_computed(view!(x), view!(y), view_mut!(z), k);
            assert_eq!(tilewright_language_tests::run::taken(&call, config.id), "tma");
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            z.data
        };
        let wanted = run(&Runtime::cpu());
        seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{}", config.id));
    }
}
