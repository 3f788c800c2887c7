//! Products of which both operands are computed: warpgroups keep the left one in registers and write the right one to
//! shared memory, once for all products that take it.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{Element, bf16, f16};
use tilewright_language_tests::matrix::{Matrix, exact};
use tilewright_language_tests::run::{compared, taken, with};
use tilewright_language_tests::{view, view_mut};

/// `max(a, -2) (b - 1)`.
#[tile_kernel(
    types(T = [f16, bf16]),
    tune(BM = [64], BN = [64], BK = [64], TA = [0, 1], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [32], BK = [32], TA = [0], TB = [1], warps = [8], stages = [2], arch = [90]),
    tune(BM = [64], BN = [128], BK = [32], TA = [1], TB = [0], warps = [8], arch = [90]),
    tune(BM = [64], BN = [8], BK = [64], TA = [0], TB = [1], warps = [4], arch = [90]),
    grid = [2],
    emulate = all,
)]
fn both<T: Float, const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        for at in (0..k).step_by(BK) {
            let l = if TA == 1 { trans(a.tile([at, i * BM], [BK, BM])) } else { a.tile([i * BM, at], [BM, BK]) };
            let r = if TB == 1 { trans(b.tile([j * BN, at], [BN, BK])) } else { b.tile([at, j * BN], [BK, BN]) };
            let left = where_(l.to::<f32>() < -2.0, -2.0, l.to::<f32>()).to::<T>();
            acc = dot(left, (r.to::<f32>() - 1.0).to::<T>(), acc);
        }
        c.store([i * BM, j * BN], acc);
    }
}

/// Of bytes and, in tf32, of f32: `(a - 3) (b + 1)` and `2 x (y - 1)`.
#[tile_kernel(
    tune(BM = [64], BN = [32], BK = [32], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [64], TB = [0, 1], warps = [8], stages = [2], arch = [90]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn of_other_sizes<const BM: usize, const BN: usize, const BK: usize, const TB: usize>(
    a: View<i8, 2>,
    b: View<i8, 2>,
    x: View<f32, 2>,
    y: View<f32, 2>,
    mut c: ViewMut<i32, 2>,
    mut z: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<i32>([BM, BN]);
    let mut sums = zeros::<f32>([BM, BN]);
    for at in (0..k).step_by(BK) {
        let r = if TB == 1 { trans(b.tile([j, at], [BN, BK])) } else { b.tile([at, j], [BK, BN]) };
        acc = dot(a.tile([i, at], [BM, BK]) - 3, r + 1, acc);
        let s = if TB == 1 { trans(y.tile([j, at], [BN, BK])) } else { y.tile([at, j], [BK, BN]) };
        sums = dot(x.tile([i, at], [BM, BK]) * 2.0, s - 1.0, sums).tf32();
    }
    c.store([i, j], acc);
    z.store([i, j], sums);
}

/// One computed right operand of two products, and one of a loop's products that is computed before the loop. WAY: 0
/// a chain of two products; 1 two products in different blocks; 2 a loop.
#[tile_kernel(tune(B = [64], WAY = [0, 1, 2], warps = [4, 8], arch = [90]), grid = [1], emulate = all)]
fn right_of_several<const B: usize, const WAY: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
    which: usize,
) {
    let mut acc = zeros::<f32>([B, B]);
    if WAY == 2 {
        let right = b.tile([0, 0], [B, B]) * 2.0.to::<f16>();
        for at in range(0, k, B) {
            acc = dot(a.tile([0, at], [B, B]) + 1.0.to::<f16>(), right, acc);
        }
    } else {
        for at in range(0, k, B) {
            let right = b.tile([at, 0], [B, B]) * 2.0.to::<f16>();
            let l = a.tile([0, at], [B, B]);
            if WAY == 0 {
                acc = dot(l + 1.0.to::<f16>(), right, acc);
                acc = dot(l - 2.0.to::<f16>(), right, acc);
            } else {
                if at / B % 2 == which {
                    acc = dot(l + 1.0.to::<f16>(), right, acc);
                }
                acc = dot(l - 2.0.to::<f16>(), right, acc * 0.5);
            }
        }
    }
    c.store([0, 0], acc);
}

fn of_halves<T: Element>(of: impl Fn(f32) -> T + Copy)
where
    (T,): both::Types,
{
    // Whole numbers, whose sums every way has exactly; then some that are none.
    let whole = |x: f32| of((x * 4.0).round());
    let odd = |x: f32| {
        of(if x > 0.98 {
            f32::INFINITY
        } else if x < -0.99 {
            f32::NAN
        } else {
            (x * 4.0).round()
        })
    };
    for config in <(T,) as both::Types>::DESC.configs {
        let is = |name: &'static str| config.consts.contains(&(name, 1));
        for ([m, n, depth], special) in
            [([128, 64, 128], false), ([136, 72, 200], false), ([40, 8, 320], false), ([72, 40, 136], true)]
        {
            let (a_dims, b_dims) =
                (if is("TA") { [depth, m] } else { [m, depth] }, if is("TB") { [n, depth] } else { [depth, n] });
            let matrix = |dims: [usize; 2], seed| {
                if special { Matrix::new(dims, dims[1], seed, odd) } else { Matrix::new(dims, dims[1], seed, whole) }
            };
            let (a, b) = (matrix(a_dims, 1), matrix(b_dims, 2));
            // The last of these is a loop of no iteration.
            for k in [depth, 0] {
                let run = |rt: &Runtime| {
                    let mut c = Matrix::new([m, n], n, 3, |_| 9.0f32);
                    let call = both::<T>(view!(a), view!(b), view_mut!(c), k);
                    // A transposed result is stored by threads: its variant is `tma_general`.
                    assert!(taken(&call, config.id).starts_with("tma"), "{}", config.id);
                    rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c.data)
                };
                compared(&format!("{} {m} {n} {k}", config.id), run, |what, x, y| exact(what, x, y));
            }
        }
    }
}

#[test]
fn both_operands_are_computed() {
    of_halves(f16::from_f32);
    of_halves(bf16::from_f32);
}

#[test]
fn both_operands_of_other_sizes_are_computed() {
    for config in of_other_sizes::DESCS[0].configs {
        let flipped = config.consts.contains(&("TB", 1));
        for [m, n, k] in [[64, 64, 64], [72, 80, 208]] {
            let dims = if flipped { [n, k] } else { [k, n] };
            let (byte, whole) = (|x: f32| (x * 100.0) as i8, |x: f32| (x * 8.0).round());
            let (a, b) = (Matrix::new([m, k], k, 1, byte), Matrix::new(dims, dims[1], 2, byte));
            let (x, y) = (Matrix::new([m, k], k, 3, whole), Matrix::new(dims, dims[1], 4, whole));
            // The last of these is a loop of no iteration.
            for k in [k, 0] {
                let run = |rt: &Runtime| {
                    let (mut c, mut z) = (Matrix::new([m, n], n, 5, |_| 9), Matrix::new([m, n], n, 6, |_| 9.0f32));
                    let call = of_other_sizes(view!(a), view!(b), view!(x), view!(y), view_mut!(c), view_mut!(z), k);
                    // A transposed result is stored by threads: its variant is `tma_general`.
                    assert!(taken(&call, config.id).starts_with("tma"), "{}", config.id);
                    rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| (c.data, z.data))
                };
                compared(&format!("{} {m} {n} {k}", config.id), run, |what, x, y| {
                    exact(what, &x.0, &y.0);
                    exact(what, &x.1, &y.1);
                });
            }
        }
    }
}

#[test]
fn a_computed_right_operand_is_written_once_for_several_products() {
    let whole = |x: f32| f16::from_f32((x * 3.0).round());
    let (a, b) = (Matrix::new([64, 320], 320, 1, whole), Matrix::new([320, 64], 64, 2, whole));
    for config in right_of_several::DESCS[0].configs {
        for (k, which) in [(320, 0), (320, 1), (64, 1), (0, 0)] {
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([64, 64], 64, 3, |_| 9.0f32);
                let call = right_of_several(view!(a), view!(b), view_mut!(c), k, which);
                assert_eq!(taken(&call, config.id), "tma", "{}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c.data)
            };
            compared(config.id, run, |what, x, y| exact(what, x, y));
        }
    }
}
