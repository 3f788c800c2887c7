//! Batches by warpgroups: tensor maps copy a box of several matrices, and warpgroups have products of their own or
//! share them.

use super::batch;
use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, Element, f16};
use tilewright_language_tests::matrix::exact;
use tilewright_language_tests::run::{compared, taken, with};

/// WAY: 0 operands in memory; 1 both computed, `(2 a) (b - 1)`; 2 one right matrix for the whole batch.
#[tile_kernel(
    types(T = [f16]),
    tune(B = [2], BM = [64], BN = [32], BK = [32], TA = [0, 1], TB = [0, 1], WAY = [0, 1], warps = [4], arch = [90]),
    tune(B = [1, 4], BM = [64], BN = [64], BK = [64], TA = [0], TB = [1], WAY = [0], warps = [8], stages = [2], arch = [90]),
    tune(B = [4], BM = [64], BN = [16], BK = [32], TA = [1], TB = [0], WAY = [1, 2], warps = [8], arch = [90]),
    tune(B = [2], BM = [128], BN = [64], BK = [64], TA = [1], TB = [0], WAY = [0, 1], warps = [16], arch = [90]),
    tune(B = [2], BM = [64], BN = [128], BK = [32], TA = [0], TB = [0], WAY = [0], warps = [16], arch = [90]),
    tune(B = [2], BM = [64], BN = [96], BK = [32], TA = [0], TB = [1], WAY = [0], warps = [8], arch = [90]),
    tune(B = [4], BM = [128], BN = [16], BK = [32], TA = [0], TB = [0], WAY = [0], warps = [8], arch = [90]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn of_halves<
    T: Float,
    const B: usize,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TA: usize,
    const TB: usize,
    const WAY: usize,
>(
    a: View<T, 3>,
    b: View<T, 3>,
    mut c: ViewMut<f32, 3>,
    k: usize,
) {
    let (z, i, j) = (program_id(2) * B, program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([B, BM, BN]);
    for at in (0..k).step_by(BK) {
        let x = if TA == 1 { trans(a.tile([z, at, i], [B, BK, BM])) } else { a.tile([z, i, at], [B, BM, BK]) };
        if WAY == 2 {
            let one = reshape(b.tile([0, at, j], [1, BK, BN]), [BK, BN]);
            acc = dot(x, one.expand(0).broadcast([B, BK, BN]), acc);
        } else {
            let y = if TB == 1 { trans(b.tile([z, j, at], [B, BN, BK])) } else { b.tile([z, at, j], [B, BK, BN]) };
            if WAY == 1 {
                acc = dot((x.to::<f32>() * 2.0).to::<T>(), (y.to::<f32>() - 1.0).to::<T>(), acc);
            } else {
                acc = dot(x, y, acc);
            }
        }
    }
    c.store([z, i, j], acc);
}

/// P: 1 tf32, 2 tf32x3, with sums of its own for each step.
#[tile_kernel(
    tune(P = [1], B = [2], BM = [64], BN = [32], BK = [32], TA = [0, 1], TB = [1], warps = [4, 8], arch = [90]),
    tune(P = [2], B = [2], BM = [64], BN = [32], BK = [32], TA = [0, 1], TB = [0, 1], warps = [4], arch = [90]),
    tune(P = [1, 2], B = [4], BM = [64], BN = [16], BK = [16], TA = [1], TB = [1], warps = [8], stages = [2], arch = [90]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn of_singles<
    const P: usize,
    const B: usize,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TA: usize,
    const TB: usize,
>(
    a: View<f32, 3>,
    b: View<f32, 3>,
    mut c: ViewMut<f32, 3>,
    k: usize,
) {
    let (z, i, j) = (program_id(2) * B, program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([B, BM, BN]);
    for at in (0..k).step_by(BK) {
        let x = if TA == 1 { trans(a.tile([z, at, i], [B, BK, BM])) } else { a.tile([z, i, at], [B, BM, BK]) };
        let y = if TB == 1 { trans(b.tile([z, j, at], [B, BN, BK])) } else { b.tile([z, at, j], [B, BK, BN]) };
        if P == 1 {
            acc = dot(x, y, acc).tf32();
        } else {
            acc += dot(x, y, zeros::<f32>([B, BM, BN])).tf32x3();
        }
    }
    c.store([z, i, j], acc);
}

#[tile_kernel(
    tune(B = [2, 4], BM = [64], BN = [16], BK = [32, 64], TB = [1], warps = [4, 8], arch = [90]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn of_bytes<const B: usize, const BM: usize, const BN: usize, const BK: usize, const TB: usize>(
    a: View<i8, 3>,
    b: View<i8, 3>,
    mut c: ViewMut<f32, 3>,
    k: usize,
) {
    let (z, i, j) = (program_id(2) * B, program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<i32>([B, BM, BN]);
    for at in (0..k).step_by(BK) {
        let y = if TB == 1 { trans(b.tile([z, j, at], [B, BN, BK])) } else { b.tile([z, at, j], [B, BK, BN]) };
        acc = dot(a.tile([z, i, at], [B, BM, BK]), y, acc);
    }
    c.store([z, i, j], acc.to::<f32>());
}

/// Scores and values of several heads: the second product's left operand is the result of the first one.
#[tile_kernel(
    tune(B = [2], M = [64], N = [32], D = [64], warps = [4, 8], arch = [90]),
    grid = [cdiv(c.dim(0), B)],
    emulate = all,
)]
fn in_a_row<const B: usize, const M: usize, const N: usize, const D: usize>(
    a: View<f16, 3>,
    b: View<f16, 3>,
    mut c: ViewMut<f32, 3>,
    k: usize,
) {
    let z = program_id(0) * B;
    let q = a.tile([z, 0, 0], [B, M, D]);
    let mut acc = zeros::<f32>([B, M, D]);
    for at in (0..k).step_by(N) {
        let s = dot(q, trans(b.tile([z, at, 0], [B, N, D])), zeros::<f32>([B, M, N]));
        acc = dot(maximum(s, 0.0).to::<f16>(), b.tile([z, at, 0], [B, N, D]), acc * 0.5);
    }
    c.store([z, 0, 0], acc);
}

/// Full tiles and ragged ones: batch, rows, columns, K. Rows are multiples of 16 bytes.
const SIZES: [[usize; 4]; 4] = [[4, 64, 32, 64], [3, 72, 48, 112], [1, 16, 16, 16], [5, 136, 24, 48]];

macro_rules! by_views {
    ($desc:expr, $kernel:expr, $of:expr) => {
        for config in $desc.configs {
            for [z, m, n, depth] in SIZES {
                let flip =
                    |name: &str, r: usize, c: usize| if config.id.contains(name) { [z, c, r] } else { [z, r, c] };
                let (a, a_dims, a_strides) = batch(flip("TA=1", m, depth), 0, 1, $of);
                let (b, b_dims, b_strides) = batch(flip("TB=1", depth, n), 0, 2, $of);
                // The last of these is a loop of no iteration.
                for k in [depth, 0] {
                    let run = |rt: &Runtime| {
                        let (mut c, dims, strides) = batch::<f32>([z, m, n], 0, 3, |_| 9.0);
                        let call = $kernel(
                            a.as_slice().as_slice_arg().strided(a_dims, a_strides).expect("fits"),
                            b.as_slice().as_slice_arg().strided(b_dims, b_strides).expect("fits"),
                            c.as_mut_slice().as_slice_mut_arg().strided(dims, strides).expect("fits"),
                            k,
                        );
                        assert_eq!(taken(&call, config.id), "tma", "{}", config.id);
                        rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c)
                    };
                    compared(&format!("{} {z} {m} {n} {k}", config.id), run, |what, x, y| exact(what, x, y));
                }
            }
        }
    };
}

/// Whole numbers, whose sums every way has exactly, among them some that are none.
fn odd(x: f32) -> f32 {
    if x > 0.998 {
        f32::INFINITY
    } else if x < -0.998 {
        f32::NAN
    } else {
        (x * 4.0).round()
    }
}

fn halves<T: Element>(of: impl Fn(f32) -> T + Copy)
where
    (T,): of_halves::Types,
{
    by_views!(<(T,) as of_halves::Types>::DESC, of_halves::<T>, |x| of(odd(x)));
}

#[test]
fn warpgroups_multiply_batches_of_halves() {
    halves(f16::from_f32);
}

#[test]
fn warpgroups_multiply_batches_of_singles() {
    // Whole numbers that tf32 has exactly.
    by_views!(of_singles::DESCS[0], of_singles, |x| (x * 8.0).round());
}

#[test]
fn warpgroups_multiply_batches_of_bytes() {
    by_views!(of_bytes::DESCS[0], of_bytes, |x| (x * 127.0) as i8);
}

#[test]
fn warpgroups_multiply_what_a_batch_of_products_gave() {
    let whole = |x: f32| f16::from_f32((x * 2.0).round());
    let (z, d) = (3, 64);
    for config in in_a_row::DESCS[0].configs {
        for (m, keys) in [(64, 64), (40, 72)] {
            let (a, a_dims, a_strides) = batch([z, m, d], 0, 1, whole);
            let (b, b_dims, b_strides) = batch([z, keys, d], 0, 2, whole);
            let run = |rt: &Runtime| {
                let (mut c, dims, strides) = batch::<f32>([z, m, d], 0, 3, |_| 9.0);
                let call = in_a_row(
                    a.as_slice().as_slice_arg().strided(a_dims, a_strides).expect("fits"),
                    b.as_slice().as_slice_arg().strided(b_dims, b_strides).expect("fits"),
                    c.as_mut_slice().as_slice_mut_arg().strided(dims, strides).expect("fits"),
                    keys,
                );
                assert_eq!(taken(&call, config.id), "tma", "{}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c)
            };
            compared(&format!("{} {m} {keys}", config.id), run, |what, x, y| exact(what, x, y));
        }
    }
}
