//! Products that warpgroups make as the transpose of the transposed product: of few rows, of a right operand that is
//! MN-major and has 4-byte elements, and of a computed right operand. The sums meet epilogues, reductions, other
//! products and stores of every kind.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{Element, f16};
use tilewright_language_tests::matrix::{Matrix, exact, near, values};
use tilewright_language_tests::run::{compared, taken, with};
use tilewright_language_tests::{view, view_mut};

/// Few rows, every order of the operands, and a leaky ReLU that is an `if`; rows of a program shared by two blocks.
#[tile_kernel(
    types(T = [f16]),
    tune(BM = [16], BN = [64], BK = [64], TA = [0, 1], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [32], BN = [128], BK = [32], TA = [0], TB = [0, 1], warps = [8], arch = [90]),
    tune(BM = [64], BN = [64], BK = [64], TA = [0], TB = [0], warps = [4], ctas = [2], arch = [90]),
    grid = [2],
    emulate = all,
)]
fn few_rows<T: Float, const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    mut c: ViewMut<T, 2>,
    k: usize,
    slope: f32,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        for at in (0..k).step_by(BK) {
            let x = if TA == 1 { trans(a.tile([at, i * BM], [BK, BM])) } else { a.tile([i * BM, at], [BM, BK]) };
            let y = if TB == 1 { trans(b.tile([j * BN, at], [BN, BK])) } else { b.tile([at, j * BN], [BK, BN]) };
            acc = dot(x, y, acc);
        }
        let done = if slope != 1.0 { where_(acc < 0.0, slope * acc, acc) } else { acc };
        c.store([i * BM, j * BN], done.to::<T>());
    }
}

fn check_few_rows<T: Element>(of: impl Fn(f32) -> T + Copy, to: impl Fn(T) -> f32 + Copy)
where
    (T,): few_rows::Types,
{
    for config in <(T,) as few_rows::Types>::DESC.configs {
        let is = |name: &'static str| config.consts.contains(&(name, 1));
        for ([m, n, k], slope) in [([16, 64, 64], 0.5), ([40, 136, 200], 1.0), ([8, 72, 64], 0.25)] {
            let (a_dims, b_dims) = (if is("TA") { [k, m] } else { [m, k] }, if is("TB") { [n, k] } else { [k, n] });
            let (a, b) = (Matrix::new(a_dims, a_dims[1], 1, of), Matrix::new(b_dims, b_dims[1], 2, of));
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, of);
                let call = few_rows::<T>(view!(a), view!(b), view_mut!(c), k, slope);
                let variant = taken(&call, config.id);
                assert!(variant.starts_with("tma"), "{}: {variant}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id))
                    .map(|()| c.data.into_iter().map(to).collect::<Vec<f32>>())
            };
            compared(&format!("{} {m} {n} {k}", config.id), run, |what, x, y| near(what, x, y));
        }
    }
}

#[test]
fn products_of_few_rows() {
    check_few_rows(f16::from_f32, f16::to_f32);
}

/// `alpha (a b + rows + columns) + beta c` of tf32: the sums begin as one bias, to which the other one and `c` are
/// added. Beside it the sums of the rows and of the columns, and the largest of each row.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [32], warps = [4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [32], warps = [4], arch = [90]),
    tune(BM = [16], BN = [128], BK = [32], warps = [8], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn epilogues<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f32, 2>,
    b: View<f32, 2>,
    rows: &[f32],
    columns: &[f32],
    mut c: ViewMut<f32, 2>,
    by_row: &mut [f32],
    by_column: &mut [f32],
    largest: &mut [u32],
    alpha: f32,
    beta: f32,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let (r, s) = (i + arange(BM), j + arange(BN));
    let mut acc = load(rows, r).expand(1).broadcast([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc).tf32();
    }
    let sums = acc + load(columns, s).expand(0);
    let seen = where_((s < c.dim(1)).expand(0), sums, -1e30);
    store(by_row, program_id(1) * c.dim(0) + r, max(seen, 1)).mask(r < c.dim(0));
    store(largest, program_id(1) * c.dim(0) + r, argmax(seen, 1) as u32).mask(r < c.dim(0));
    let seen = where_((r < c.dim(0)).expand(1), sums, 0.0);
    store(by_column, program_id(0) * c.dim(1) + s, sum(seen, 0)).mask(s < c.dim(1));
    if beta != 0.0 {
        c.store([i, j], alpha * sums + beta * c.tile([i, j], [BM, BN]));
    } else {
        c.store([i, j], alpha * sums);
    }
}

#[test]
fn epilogues_and_reductions() {
    for config in epilogues::DESCS[0].configs {
        for ([m, n, k], beta) in [([64, 128, 64], 0.0), ([40, 72, 36], 0.5)] {
            // Tensor cores cut bits off that these have not got.
            let whole = |v: f32| (v * 4.0).round();
            let (a, b) = (Matrix::new([m, k], k, 1, whole), Matrix::new([k, n], n, 2, whole));
            let (rows, columns) = (values(m, 4, whole), values(n, 5, |v| v));
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, whole);
                let (mut by_row, mut by_column) = (vec![0f32; m * n.div_ceil(32)], vec![0f32; n * m.div_ceil(16)]);
                let mut largest = vec![0u32; m * n.div_ceil(32)];
                let call = epilogues(
                    view!(a),
                    view!(b),
                    &rows[..],
                    &columns[..],
                    view_mut!(c),
                    &mut by_row[..],
                    &mut by_column[..],
                    &mut largest[..],
                    2.0,
                    beta,
                );
                assert!(config.id.contains("arch=80") || taken(&call, config.id).starts_with("tma"), "{}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| (c.data, by_row, by_column, largest))
            };
            compared(&format!("{} {m} {n} {k}", config.id), run, |what, x, y| {
                near(what, &x.0, &y.0);
                near(what, &x.1, &y.1);
                near(what, &x.2, &y.2);
                exact(what, &x.3, &y.3);
            });
        }
    }
}

/// `a w` of bytes in 16-bit floats, exact sums of which are added as integers. Programs share K: each leaves
/// its sums in a slot, row by row, and the last one to come adds them up.
#[tile_kernel(
    tune(BM = [16], BN = [64], BK = [64], warps = [4], arch = [90]),
    tune(BM = [32], BN = [128], BK = [64], warps = [8], arch = [90]),
    tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]),
    grid = [2],
    emulate = all,
)]
unsafe fn shared<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    w: View<i8, 2>,
    workspace: &mut [i32],
    semaphores: &mut [u32],
    mut c: ViewMut<i32, 2>,
) {
    let half = cdiv(a.dim(1), BK * 2) * BK;
    let me = program_id(0);
    let at = arange(BM).expand(1) * BN + arange(BN).expand(0);
    let mut sums = zeros::<i32>([BM, BN]);
    for first in range(me * half, min(me * half + half, a.dim(1)), BK * 2) {
        let mut part = zeros::<f32>([BM, BN]);
        for k in range(first, min(first + BK * 2, min(me * half + half, a.dim(1))), BK) {
            part = dot(a.tile([0, k], [BM, BK]), w.tile([k, 0], [BK, BN]).to::<f16>(), part);
        }
        sums += part.to::<i32>();
    }
    store(workspace, me * (BM * BN) + at, sums).unchecked();
    if atomic_add(semaphores, 0, 1) == 1 {
        let mut all = zeros::<i32>([BM, BN]);
        for p in range(0, 2, 1) {
            all += load(workspace, p * (BM * BN) + at).unchecked();
        }
        c.store([0, 0], all);
    }
}

#[test]
fn sums_that_programs_share() {
    for config in shared::DESCS[0].configs {
        for [m, n, k] in [[16, 64, 512], [13, 48, 336]] {
            let a = Matrix::new([m, k], k, 1, |v| f16::from_f32((v * 100.0).round()));
            let w = Matrix::new([k, n], n, 2, |v| (v * 100.0) as i8);
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, |v| v as i32);
                let (mut workspace, mut semaphores) = (vec![0i32; 2 * 64 * 128], [0u32]);
                // SAFETY: the workspace holds two tiles of the largest kind.
                let call = unsafe { shared(view!(a), view!(w), &mut workspace[..], &mut semaphores[..], view_mut!(c)) };
                assert!(taken(&call, config.id).starts_with("tma"), "{}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c.data)
            };
            compared(&format!("{} {m} {n} {k}", config.id), run, |what, x, y| exact(what, x, y));
        }
    }
}

/// Products of products. WAY: 0 the sums of one are the right operand of another; 1 those of two meet, of which one
/// has the other's rows as its beginning; 2 the sums of one are the left operand of another, as in attention, which
/// goes by warps.
#[tile_kernel(
    tune(M = [32], WAY = [0, 1, 2], warps = [4], arch = [90]),
    tune(M = [16], WAY = [1, 2], warps = [4], arch = [90]),
    grid = [1],
    emulate = all,
)]
fn products_of_products<const M: usize, const WAY: usize>(
    x: View<f16, 2>,
    y: View<f16, 2>,
    mut z: ViewMut<f32, 2>,
    k: usize,
) {
    if WAY == 0 {
        let mut acc = zeros::<f32>([64, 64]);
        for at in range(0, k, 64) {
            let inner = dot(x.tile([0, at], [M, 64]), y.tile([at, 0], [64, 64]), zeros::<f32>([M, 64]));
            acc = dot(x.tile([0, at], [64, M]), (inner * 0.125).to::<f16>(), acc);
        }
        z.store([0, 0], acc);
    } else if WAY == 1 {
        let (mut one, mut other) = (zeros::<f32>([M, 64]), zeros::<f32>([M, 64]));
        for at in range(0, k, 64) {
            let (l, r) = (x.tile([0, at], [M, 64]), y.tile([at, 0], [64, 64]));
            one = dot(l, r, one);
            if at % 128 == 0 {
                other = dot(x.tile([M, at], [M, 64]), r, one * 0.5 + other);
            }
        }
        let gated = one * (1.0 / (1.0 + exp(-other)));
        z.store([0, 0], gated);
        z.store([M, 0], gated - (sum(gated, 1) / 64.0).expand(1));
    } else {
        let mut acc = zeros::<f32>([M, 64]);
        for at in range(0, k, 64) {
            let s = dot(x.tile([0, 0], [M, 64]), trans(y.tile([at, 0], [64, 64])), zeros::<f32>([M, 64]));
            let p = exp(s - max(s, 1).expand(1));
            acc = dot(p.to::<f16>(), y.tile([at, 0], [64, 64]), acc);
        }
        z.store([0, 0], acc);
    }
}

#[test]
fn products_of_swapped_products() {
    let k = 256;
    let (x, y) = (Matrix::new([64, k], k, 1, f16::from_f32), Matrix::new([k, 64], 64, 2, f16::from_f32));
    for config in products_of_products::DESCS[0].configs {
        let run = |rt: &Runtime| {
            let mut z = Matrix::new([64, 64], 64, 3, |v| v);
            let call = products_of_products(view!(x), view!(y), view_mut!(z), k);
            assert_eq!(taken(&call, config.id).starts_with("tma"), !config.id.contains("WAY=2"), "{}", config.id);
            rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| z.data)
        };
        compared(config.id, run, |what, x, y| near(what, x, y));
    }
}

/// Few rows of matrices in slices, which all threads copy.
#[tile_kernel(
    tune(BM = [16], BN = [64], BK = [32], warps = [4], arch = [90]),
    tune(BM = [32], BN = [128], BK = [64], warps = [8], arch = [90]),
    grid = [cdiv(n, BN)],
    emulate = all,
)]
fn of_slices<const BM: usize, const BN: usize, const BK: usize>(
    a: &[f16],
    b: &[f16],
    from: &[u32],
    c: &mut [f32],
    n: usize,
    k: usize,
) {
    let (r, s) = (arange(BM), program_id(0) * BN + arange(BN));
    let page = load(from, 0) as usize;
    let mut acc = zeros::<f32>([BM, BN]);
    for at in range(0, k, BK) {
        let depth = at + arange(BK);
        let x = load(a, (page + r).expand(1) * k + depth.expand(0)).mask((depth < k).expand(0));
        let y = load(b, depth.expand(1) * n + s.expand(0)).mask((s < n).expand(0));
        acc = dot(x, y, acc);
    }
    store(c, r.expand(1) * n + s.expand(0), acc).mask((s < n).expand(0));
}

#[test]
fn products_of_slices() {
    for config in of_slices::DESCS[0].configs {
        for [n, k] in [[128, 128], [200, 64]] {
            let (a, b) = (values(40 * k, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
            let from: Vec<u32> = std::iter::repeat_n(8, 4).collect();
            let run = |rt: &Runtime| {
                let mut c = vec![0f32; 32 * n];
                let call = of_slices(&a[..], &b[..], &from[..], &mut c[..], n, k);
                assert_eq!(taken(&call, config.id), "wgmma_cp_async", "{}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c)
            };
            compared(config.id, run, |what, x, y| near(what, x, y));
        }
    }
}
