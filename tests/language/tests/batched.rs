//! Batches: a product for each index of the first dimension.

use tilewright::tile_kernel;
use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::{AsSlice, AsSliceMut, Element, KernelDesc, emulator, f8e4m3, f8e5m2, f16};
use tilewright_language_tests::matrix::values;

mod by_warpgroups;

#[tile_kernel(
    types(T = [f16]),
    tune(B = [1, 2, 4], BM = [32], BN = [16], BK = [32], TA = [0], TB = [1], warps = [4, 8], arch = [80]),
    tune(B = [2], BM = [16], BN = [32], BK = [16], TA = [0, 1], TB = [0], warps = [4], arch = [80]),
    tune(B = [8], BM = [16], BN = [8], BK = [16], TA = [1], TB = [1], warps = [2], arch = [80]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn halves<
    T: Float,
    const B: usize,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TA: usize,
    const TB: usize,
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
        let y =
            if TB == 1 { permute(b.tile([z, j, at], [B, BN, BK]), [0, 2, 1]) } else { b.tile([z, at, j], [B, BK, BN]) };
        acc = dot(x, y, acc);
    }
    c.store([z, i, j], acc);
}

/// f32 in all precisions: 0 IEEE, 1 tf32, 2 tf32x3.
#[tile_kernel(
    types(T = [f32]),
    tune(P = [0, 1, 2], B = [2], BM = [16], BN = [32], BK = [16], TA = [0], TB = [0, 1], warps = [4], arch = [80]),
    tune(P = [0], B = [1, 4], BM = [32], BN = [32], BK = [8], TA = [1], TB = [0], warps = [8], arch = [80]),
    tune(P = [0], B = [16], BM = [2], BN = [4], BK = [4], TA = [0], TB = [0], warps = [1, 2], arch = [80]),
    tune(P = [1], B = [4], BM = [16], BN = [16], BK = [8], TA = [1], TB = [0], warps = [8], arch = [80]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn f32_batches<
    T: Float,
    const P: usize,
    const B: usize,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TA: usize,
    const TB: usize,
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
        let y = if TB == 1 { trans(b.tile([z, j, at], [B, BN, BK])) } else { b.tile([z, at, j], [B, BK, BN]) };
        acc = if P == 0 {
            dot(x, y, acc)
        } else if P == 1 {
            dot(x, y, acc).tf32()
        } else {
            dot(x, y, acc).tf32x3()
        };
    }
    c.store([z, i, j], acc);
}

#[tile_kernel(
    types(T = [i8]),
    tune(B = [1, 4], BM = [16], BN = [16], BK = [32], TA = [0, 1], TB = [0, 1], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn bytes<
    T: Int,
    const B: usize,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TA: usize,
    const TB: usize,
>(
    a: View<T, 3>,
    b: View<T, 3>,
    mut c: ViewMut<f32, 3>,
    k: usize,
) {
    let (z, i, j) = (program_id(2) * B, program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<i32>([B, BM, BN]);
    for at in (0..k).step_by(BK) {
        let x = if TA == 1 { trans(a.tile([z, at, i], [B, BK, BM])) } else { a.tile([z, i, at], [B, BM, BK]) };
        let y = if TB == 1 { trans(b.tile([z, j, at], [B, BN, BK])) } else { b.tile([z, at, j], [B, BK, BN]) };
        acc = dot(x, y, acc);
    }
    c.store([z, i, j], acc.to::<f32>());
}

#[tile_kernel(
    types(T = [f8e4m3, f8e5m2]),
    tune(B = [4], BM = [16], BN = [16], BK = [32], TB = [0, 1], warps = [2], arch = [80]),
    grid = [cdiv(c.dim(1), BM), cdiv(c.dim(2), BN), cdiv(c.dim(0), B)],
    emulate = all,
)]
fn narrow<T: Float, const B: usize, const BM: usize, const BN: usize, const BK: usize, const TB: usize>(
    a: View<T, 3>,
    b: View<T, 3>,
    mut c: ViewMut<f32, 3>,
    k: usize,
) {
    let (z, i, j) = (program_id(2) * B, program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([B, BM, BN]);
    for at in (0..k).step_by(BK) {
        let y = if TB == 1 { trans(b.tile([z, j, at], [B, BN, BK])) } else { b.tile([z, at, j], [B, BK, BN]) };
        acc = dot(a.tile([z, i, at], [B, BM, BK]), y, acc);
    }
    c.store([z, i, j], acc);
}

/// Two products in a row, the second with the result of the first; operands by index, of computed tiles, of one matrix
/// for the whole batch; bias and scale in the accumulator's layout.
#[tile_kernel(
    types(T = [f16, f32]),
    tune(B = [2, 4], M = [16], N = [32], warps = [4, 8], arch = [80]),
    tune(B = [8], M = [32], N = [16], warps = [2], arch = [80]),
    grid = [cdiv(batch, B)],
    emulate = all,
)]
fn chained<T: Float, const B: usize, const M: usize, const N: usize>(
    q: &[T],
    s: &[T],
    bias: &[f32],
    o: &mut [f32],
    batch: usize,
    rounds: usize,
) {
    let z = (program_id(0) * B + arange(B)).expand(1).expand(2);
    let (row, col) = (arange(M).expand(1).expand(0), arange(N).expand(0).expand(0));
    let x = load(q, (z * M + row) * N + col).mask(z < batch);
    let shared = load(s, arange(N).expand(1) * N + arange(N).expand(0)).expand(0).broadcast([B, N, N]);
    let mut out = full([B, M, N], 0.5);
    for r in 0..rounds {
        let y = maximum(load(s, r + arange(N).expand(1).expand(0) + col), 0.0.to::<T>()).broadcast([B, N, N]);
        let p = dot(x, trans(y), load(bias, arange(N)).expand(0).expand(0));
        let top = max(p, 2).expand(2);
        out = dot((p - top).to::<T>(), shared, out * 0.5);
    }
    store(o, (z * M + row) * N + col, out).mask(z < batch);
}

/// Full tiles and ragged ones, of K = 0 too: batch, rows, columns, K.
const SIZES: [[usize; 4]; 5] = [[8, 32, 32, 64], [4, 16, 16, 32], [3, 33, 17, 41], [1, 5, 9, 0], [5, 40, 24, 8]];

fn check(
    desc: &KernelDesc,
    strict: bool,
    tolerance: impl Fn(&str) -> f32,
    run: impl Fn(&Runtime, &LaunchOptions, [usize; 4], usize) -> Result<Vec<f32>, Error>,
) {
    for config in desc.configs {
        for (sizes, pad) in SIZES.into_iter().flat_map(|s| [(s, if s[0] % 2 == 0 { 0 } else { 3 }), (s, 16)]) {
            let options = LaunchOptions::new().config(config.id);
            let emulator = Runtime::emulator_with(emulator::Options {
                seed: 3,
                forbid_bank_conflicts: strict && pad == 16,
                ..Default::default()
            });
            let wanted = run(&Runtime::cpu(), &options, sizes, pad).expect("the CPU runs it");
            let found =
                run(&emulator, &options, sizes, pad).unwrap_or_else(|e| panic!("{} {sizes:?} {pad}: {e}", config.id));
            for (i, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
                assert!(
                    (x - y).abs() <= tolerance(config.id) * y.abs().max(1.0),
                    "{} {sizes:?} {pad}: element {i} is {x}, not {y}",
                    config.id
                );
            }
        }
    }
}

/// Elements of a batch whose rows are `pad` elements apart, and its strides.
pub(super) fn batch<T: Element>(
    [z, m, n]: [usize; 3],
    pad: usize,
    seed: u32,
    of: impl Fn(f32) -> T,
) -> (Vec<T>, [usize; 3], [usize; 3]) {
    let row = n + pad;
    (values(z * m.max(1) * row.max(1), seed, of), [z, m, n], [m * row, row, 1])
}

macro_rules! by_views {
    ($kernel:ident, $t:ty, $of:expr, $strict:expr, $tolerance:expr) => {
        check(<($t,) as $kernel::Types>::DESC, $strict, $tolerance, |rt, options, [z, m, n, k], pad| {
            let id = options.get_config().expect("set");
            let flip = |name: &str, r: usize, c: usize| if id.contains(name) { [z, c, r] } else { [z, r, c] };
            let (a, a_dims, a_strides) = batch::<$t>(flip("TA=1", m, k), pad, 1, $of);
            let (b, b_dims, b_strides) = batch::<$t>(flip("TB=1", k, n), pad, 2, $of);
            let (mut c, dims, strides) = batch::<f32>([z, m, n], pad, 3, |_| 9.0);
            let call = $kernel::<$t>(
                a.as_slice().as_slice_arg().strided(a_dims, a_strides).expect("fits"),
                b.as_slice().as_slice_arg().strided(b_dims, b_strides).expect("fits"),
                c.as_mut_slice().as_slice_mut_arg().strided(dims, strides).expect("fits"),
                k,
            );
            rt.launch_with(rt.stream(), call, options).map(|()| c)
        })
    };
}

#[test]
fn batches_of_halves() {
    by_views!(halves, f16, f16::from_f32, true, |_| 1e-4);
}

#[test]
fn batches_of_singles() {
    by_views!(f32_batches, f32, |x| x, false, |id| if id.contains("P=1") { 2e-2 } else { 1e-5 });
}

#[test]
fn batches_of_bytes() {
    by_views!(bytes, i8, |x| (x * 127.0) as i8, false, |_| 0.0);
    by_views!(narrow, f8e4m3, f8e4m3::from_f32, false, |_| 1e-5);
    by_views!(narrow, f8e5m2, f8e5m2::from_f32, false, |_| 1e-5);
}

macro_rules! in_a_row {
    ($t:ty, $of:expr, $tolerance:expr) => {
        check(
            <($t,) as chained::Types>::DESC,
            false,
            |_| $tolerance,
            |rt, options, [z, m, n, k], _| {
                let (q, s): (Vec<$t>, Vec<$t>) = (values(z * m * n, 1, $of), values(n * n + k, 2, $of));
                let bias: Vec<f32> = values(n, 3, |x| x);
                let mut o = vec![9.0; z * m * n];
                rt.launch_with(rt.stream(), chained::<$t>(&q, &s, &bias, &mut o, z, k % 4), options).map(|()| o)
            },
        )
    };
}

#[test]
fn batches_in_a_row() {
    in_a_row!(f16, f16::from_f32, 2e-2);
    in_a_row!(f32, |x| x, 1e-4);
}
