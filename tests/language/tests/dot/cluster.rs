//! Programs of several thread blocks, a cluster: each block has its rows, and copies its part of the shared operand.

use tilewright::tile_kernel;
use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::{Element, f16};
use tilewright_language_tests::matrix::{Matrix, values};
use tilewright_language_tests::{view, view_mut};

/// `c = max(x·(a b) + old + bias + column, 0)`, and the sums of the rows of `a b`.
#[tile_kernel(
    types(T = [f16]),
    tune(BM = [128], BN = [64], BK = [64], TA = [0, 1], TB = [0, 1], warps = [4], ctas = [2], arch = [90]),
    tune(BM = [256], BN = [128], BK = [64], TA = [0], TB = [0, 1], warps = [4], ctas = [4], arch = [90]),
    tune(BM = [256], BN = [64], BK = [32], TA = [0], TB = [1], warps = [8], stages = [3], ctas = [2], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], TA = [0], TB = [0], warps = [4], arch = [80]),
    tune(BM = [128], BN = [96, 192], BK = [64], TA = [0], TB = [0, 1], warps = [4], ctas = [2], arch = [90]),
    grid = [2],
    emulate = all,
)]
fn joined<T: Float, const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    old: View<T, 2>,
    bias: &[f32],
    column: &[f32],
    mut c: ViewMut<T, 2>,
    sums: &mut [f32],
    k: usize,
    x: f32,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        for at in (0..k).step_by(BK) {
            let left = if TA == 1 { trans(a.tile([at, i * BM], [BK, BM])) } else { a.tile([i * BM, at], [BM, BK]) };
            let right = if TB == 1 { trans(b.tile([j * BN, at], [BN, BK])) } else { b.tile([at, j * BN], [BK, BN]) };
            acc = dot(left, right, acc);
        }
        let rows = i * BM + arange(BM);
        store(sums, j * c.dim(0) + rows, sum(acc, 1)).mask(rows < c.dim(0));
        let before = old.tile([i * BM, j * BN], [BM, BN]).to::<f32>();
        let row = load(bias, j * BN + arange(BN)).expand(0);
        c.store([i * BM, j * BN], maximum(x * acc + before + row + load(column, rows).expand(1), 0.0).to::<T>());
    }
}

fn check<T: Element>(of: impl Fn(f32) -> T + Copy, to: impl Fn(T) -> f32)
where
    (T,): joined::Types,
{
    let mut of_clusters = 0;
    for config in <(T,) as joined::Types>::DESC.configs {
        let is = |name: &'static str| config.consts.contains(&(name, 1));
        for [m, n, k] in [[256, 128, 128], [200, 136, 72], [40, 72, 64]] {
            let (a_dims, b_dims) = (if is("TA") { [k, m] } else { [m, k] }, if is("TB") { [n, k] } else { [k, n] });
            let (a, b) = (Matrix::new(a_dims, a_dims[1], 1, of), Matrix::new(b_dims, b_dims[1], 2, of));
            let old = Matrix::new([m, n], n, 4, of);
            let (bias, column) = (values(n, 6, |x| x), values(m, 7, |x| x));
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, of);
                let mut sums = vec![0.0f32; m * n.div_ceil(32)];
                let call = joined::<T>(
                    view!(a),
                    view!(b),
                    view!(old),
                    &bias[..],
                    &column[..],
                    view_mut!(c),
                    &mut sums[..],
                    k,
                    0.5,
                );
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id)).map(|()| (c.data, sums))
            };
            let (wanted, wanted_sums) = run(&Runtime::cpu()).expect("the CPU runs it");
            for seed in [7, 8] {
                let (found, sums) = match run(&Runtime::emulator(seed)) {
                    // Rows that tensor maps do not take.
                    Err(Error::CannotLaunch { .. }) if is("TA") && m % 8 != 0 => continue,
                    r => r.unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id)),
                };
                of_clusters += usize::from(config.id.contains("ctas"));
                for (i, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
                    let (x, y) = (to(x), to(y));
                    assert!(
                        (x - y).abs() <= 0.02 * y.abs().max(1.0),
                        "{} {m} {n} {k}: element {i} is {x}, not {y}",
                        config.id
                    );
                }
                for (i, (&x, &y)) in sums.iter().zip(&wanted_sums).enumerate() {
                    assert!(
                        (x - y).abs() <= 0.02 * y.abs().max(1.0),
                        "{} {m} {n} {k}: sum {i} is {x}, not {y}",
                        config.id
                    );
                }
            }
        }
    }
    assert!(of_clusters > 30);
}

#[test]
fn programs_of_several_thread_blocks() {
    check(f16::from_f32, f16::to_f32);
}

/// Programs that have nothing to do, and others that leave early.
#[tile_kernel(tune(BM = [128], BN = [64], BK = [64], warps = [4], ctas = [2], arch = [90]), grid = [cdiv(c.dim(0), BM) + 1, cdiv(c.dim(1), BN)])]
fn leaving<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    most: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    if i >= c.dim(0) {
        return;
    }
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        if k >= most {
            break;
        }
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    c.store([i, j], acc.to::<f16>());
}

#[test]
fn thread_blocks_leave_together() {
    let [m, n, k] = [200, 72, 200];
    let (a, b) = (Matrix::new([m, k], k, 1, f16::from_f32), Matrix::new([k, n], n, 2, f16::from_f32));
    for most in [0, 64, 1000] {
        let run = |rt: &Runtime| {
            let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
            rt.launch(leaving(view!(a), view!(b), view_mut!(c), most)).unwrap_or_else(|e| panic!("{most}: {e}"));
            c.data
        };
        let wanted = run(&Runtime::cpu());
        for seed in [7, 8] {
            let found = run(&Runtime::emulator(seed));
            assert!(
                found
                    .iter()
                    .zip(&wanted)
                    .all(|(x, y)| (x.to_f32() - y.to_f32()).abs() <= 0.02 * y.to_f32().abs().max(1.0)),
                "{most}"
            );
        }
    }
}

/// Two products, and programs that are done after the first.
#[tile_kernel(tune(BM = [128], BN = [64], BK = [64], warps = [4], ctas = [2], arch = [90]), grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)])]
fn returning<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    mut d: ViewMut<f16, 2>,
    from: usize,
    to: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    c.store([i, j], acc.to::<f16>());
    if program_id(0) >= from && program_id(0) < to {
        return;
    }
    let mut more = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        if k > 64 {
            return;
        }
        more = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), more);
    }
    d.store([i, j], more.to::<f16>());
}

#[test]
fn thread_blocks_return_together_in_the_middle() {
    let [m, n] = [300, 72];
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    // With a K of three tiles the second loop returns as well.
    for (k, from, to) in [(128, 0, 0), (128, 0, 2), (128, 1, 3), (192, 2, 3), (192, 0, 0), (64, 1, 2)] {
        let (a, b) = (Matrix::new([m, k], k, 1, whole), Matrix::new([k, n], n, 2, whole));
        let run = |rt: &Runtime| {
            let [mut c, mut d] = [3, 4].map(|seed| Matrix::new([m, n], n, seed, whole));
            let call = returning(view!(a), view!(b), view_mut!(c), view_mut!(d), from, to);
            rt.launch(call).unwrap_or_else(|e| panic!("{k} {from} {to}: {e}"));
            [c.data, d.data]
        };
        let wanted = run(&Runtime::cpu());
        for seed in [0, 7, 8] {
            assert!(run(&Runtime::emulator(seed)) == wanted, "{k} {from} {to} seed {seed}");
        }
    }
}
