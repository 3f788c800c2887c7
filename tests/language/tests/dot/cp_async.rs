//! Loops pipelined with `cp.async`: loads of every kind, and other statements of a body.

use tilewright::tile_kernel;
use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::{Element, KernelDesc, emulator, f16};
use tilewright_language_tests::matrix::{Matrix, values};
use tilewright_language_tests::{view, view_mut};

/// Loads by index and mask.
#[tile_kernel(
    types(T = [f16, f32]),
    tune(BM = [32], BN = [32], BK = [32], warps = [4], stages = [1, 2, 3, 4], arch = [80]),
    tune(BM = [16], BN = [8], BK = [16], warps = [4], arch = [80]),
    tune(BM = [48], BN = [32], BK = [16], warps = [1], arch = [80]),
    grid = [cdiv(m, BM), cdiv(n, BN)],
    emulate = all,
)]
fn indexed<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: &[T],
    b: &[T],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
) {
    let row = (program_id(0) * BM + arange(BM)).expand(1);
    let col = (program_id(1) * BN + arange(BN)).expand(0);
    let mut acc = zeros::<f32>([BM, BN]);
    for at in (0..k).step_by(BK) {
        let (across, down) = ((at + arange(BK)).expand(0), (at + arange(BK)).expand(1));
        let x = load(a, row * k + across).mask((row < m) & (across < k));
        let y = load(b, down * n + col).mask((down < k) & (col < n)).other(0.0.to::<T>());
        acc = dot(x, y, acc);
    }
    store(c, row * n + col, acc).mask((row < m) & (col < n));
}

/// Indices that the body moves on; B lies by columns.
#[tile_kernel(
    types(T = [f16, f32]),
    tune(BM = [32], BN = [16], BK = [32], warps = [2], stages = [2, 3], arch = [80]),
    grid = [cdiv(m, BM), cdiv(n, BN)],
    emulate = all,
)]
fn moving<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: &[T],
    b: &[T],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
) {
    let row = (program_id(0) * BM + arange(BM)).expand(1);
    let col = (program_id(1) * BN + arange(BN)).expand(0);
    let (across, down) = (arange(BK).expand(0), arange(BK).expand(1));
    let (mut i, mut j, mut left) = (row * k + across, col * k + down, k);
    let mut acc = zeros::<f32>([BM, BN]);
    for _ in 0..cdiv(k, BK) {
        let x = load(a, i).mask((row < m) & (across < left));
        let y = load(b, j).mask((col < n) & (down < left));
        i += BK;
        j += BK;
        left = max(left, BK) - BK;
        acc = dot(x, y, acc);
    }
    store(c, row * n + col, acc).mask((row < m) & (col < n));
}

/// Rows of A in an order that is loaded; a batch's tile; two products of one tile, one of them now and then, one of
/// them with an operand that is computed.
#[tile_kernel(tune(BM = [32], BN = [32], BK = [16], warps = [4], arch = [80]), grid = [cdiv(m, BM), cdiv(n, BN)])]
fn several<const BM: usize, const BN: usize, const BK: usize>(
    order: &[u32],
    a: &[f16],
    b: View<f16, 3>,
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
) {
    let row = (program_id(0) * BM + arange(BM)).expand(1);
    let col = (program_id(1) * BN + arange(BN)).expand(0);
    let from = load(order, program_id(0) * BM + arange(BM)).to::<usize>().expand(1);
    let (mut acc, mut odd) = (zeros::<f32>([BM, BN]), zeros::<f32>([BM, BN]));
    for at in range(0, k, BK).stages(3) {
        let across = (at + arange(BK)).expand(0);
        let x = load(a, from * k + across).mask((row < m) & (across < k));
        let y = trans(reshape(b.tile([1, program_id(1) * BN, at], [1, BN, BK]), [BN, BK]));
        let z = trans(reshape(b.tile([0, program_id(1) * BN, at], [1, BN, BK]), [BN, BK]));
        acc = dot(x, y, acc);
        if at % (2 * BK) == BK {
            odd = dot(x, (z.to::<f32>() * 2.0).to::<f16>(), odd);
        }
    }
    store(c, row * n + col, acc + odd).mask((row < m) & (col < n));
}

/// An operand whose place moves on in every other iteration alone.
#[tile_kernel(tune(warps = [2], stages = [2, 3], arch = [80]), grid = [1], emulate = all)]
fn now_and_then(a: &[f16], b: &[f16], c: &mut [f32], k: usize) {
    let (row, col) = (arange(16).expand(1), arange(16).expand(0));
    let mut acc = zeros::<f32>([16, 16]);
    let mut from = 0u64;
    for at in (0..k).step_by(16) {
        let x = load(a, row * k + (from + arange(16)).expand(0));
        let y = load(b, (at + arange(16)).expand(1) * 16 + col);
        acc = dot(x, y, acc);
        if at % 32 == 16 {
            from += 16;
        }
    }
    store(c, row * 16 + col, acc);
}

/// Two loops, one behind the other, the stages of which have different sizes.
#[tile_kernel(
    tune(FIRST = [16], SECOND = [64], warps = [2], arch = [80]),
    tune(FIRST = [64], SECOND = [16], warps = [2], arch = [80]),
    grid = [cdiv(c.dim(0), 32), cdiv(c.dim(1), 32)],
    emulate = all,
)]
fn one_after_another<const FIRST: usize, const SECOND: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * 32, program_id(1) * 32);
    let mut acc = zeros::<f32>([32, 32]);
    for at in (0..k).step_by(FIRST) {
        acc = dot(a.tile([i, at], [32, FIRST]), b.tile([at, j], [FIRST, 32]), acc);
    }
    acc = acc * 2.0;
    for at in (0..k).step_by(SECOND) {
        acc = dot(a.tile([i, at], [32, SECOND]), b.tile([at, j], [SECOND, 32]), acc);
    }
    c.store([i, j], acc);
}

/// Operands of four bytes and of one, in all ways that they may lie.
#[tile_kernel(
    types(T = [f32]),
    tune(P = [0, 1, 2], BM = [32], BN = [32], BK = [16], TA = [0, 1], TB = [0, 1], warps = [4], arch = [80]),
    tune(P = [0], BM = [64], BN = [128], BK = [16], TA = [0, 1], TB = [0, 1], warps = [8], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn crossed<
    T: Float,
    const P: usize,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TA: usize,
    const TB: usize,
>(
    a: View<T, 2>,
    b: View<T, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for at in (0..k).step_by(BK) {
        let x = if TA == 1 { trans(a.tile([at, i], [BK, BM])) } else { a.tile([i, at], [BM, BK]) };
        let y = if TB == 1 { trans(b.tile([j, at], [BN, BK])) } else { b.tile([at, j], [BK, BN]) };
        acc = if P == 0 {
            dot(x, y, acc)
        } else if P == 1 {
            dot(x, y, acc).tf32()
        } else {
            dot(x, y, acc).tf32x3()
        };
    }
    c.store([i, j], acc);
}

#[tile_kernel(
    tune(BM = [32], BN = [32], BK = [32], TA = [0, 1], TB = [0, 1], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn crossed_bytes<const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(
    a: View<i8, 2>,
    b: View<i8, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<i32>([BM, BN]);
    for at in (0..k).step_by(BK) {
        let x = if TA == 1 { trans(a.tile([at, i], [BK, BM])) } else { a.tile([i, at], [BM, BK]) };
        let y = if TB == 1 { trans(b.tile([j, at], [BN, BK])) } else { b.tile([at, j], [BK, BN]) };
        acc = dot(x, y, acc);
    }
    c.store([i, j], acc.to::<f32>());
}

/// With no iteration, one, and more; with full tiles and ragged ones.
const SIZES: [[usize; 3]; 7] =
    [[64, 32, 96], [41, 24, 72], [33, 17, 31], [16, 8, 16], [5, 7, 0], [32, 64, 32], [70, 40, 129]];

/// Elements between rows: none for some sizes, and for others as many as leave rows unaligned.
const GAPS: [usize; 2] = [0, 3];

/// Every configuration on the emulator, where no access may wait for a bank that vectors of 16 bytes need not wait for.
fn check(
    desc: &KernelDesc,
    strict: bool,
    run: impl Fn(&Runtime, &LaunchOptions, [usize; 3], usize) -> Result<Vec<f32>, Error>,
) {
    for config in desc.configs {
        for (sizes, pad) in SIZES.into_iter().flat_map(|s| [(s, GAPS[s[0] % 2]), (s, 16)]) {
            let options = LaunchOptions::new().config(config.id);
            let strict = strict && pad == 16;
            let emulator = Runtime::emulator_with(emulator::Options {
                seed: 5,
                forbid_bank_conflicts: strict,
                ..Default::default()
            });
            let wanted = run(&Runtime::cpu(), &options, sizes, pad).expect("the CPU runs it");
            let found =
                run(&emulator, &options, sizes, pad).unwrap_or_else(|e| panic!("{} {sizes:?} {pad}: {e}", config.id));
            let tolerance = if config.id.contains("P=1") { 2e-2 } else { 1e-4 };
            for (i, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
                assert!(
                    (x - y).abs() <= tolerance * y.abs().max(1.0),
                    "{} {sizes:?} {pad}: element {i} is {x}, not {y}",
                    config.id
                );
            }
        }
    }
}

macro_rules! by_index {
    ($kernel:ident, $t:ty, $of:expr) => {
        check(<($t,) as $kernel::Types>::DESC, false, |rt, options, [m, n, k], _| {
            let (a, b): (Vec<$t>, Vec<$t>) = (values((m * k).max(1), 1, $of), values((k * n).max(1), 2, $of));
            let mut c = vec![9.0; m * n];
            rt.launch_with(rt.stream(), $kernel::<$t>(&a, &b, &mut c, m, n, k), options).map(|()| c)
        })
    };
}

#[test]
fn by_index() {
    by_index!(indexed, f16, f16::from_f32);
    by_index!(indexed, f32, |x| x);
}

#[test]
fn by_an_index_that_moves() {
    by_index!(moving, f16, f16::from_f32);
    by_index!(moving, f32, |x| x);
}

#[test]
fn several_products() {
    check(several::DESCS[0], false, |rt, options, [m, n, k], pad| {
        let a: Vec<f16> = values((m * k).max(1), 1, f16::from_f32);
        let b: Vec<f16> = values(2 * n * (k + pad).max(1), 2, f16::from_f32);
        let order: Vec<u32> = (0..m as u32).rev().collect();
        let mut c = vec![9.0; m * n];
        let stride = k + pad;
        let b = tilewright_core::AsSlice::as_slice_arg(b.as_slice())
            .strided([2, n, k], [n * stride, stride, 1])
            .expect("fits");
        rt.launch_with(rt.stream(), several(&order, &a, b, &mut c, m, n, k), options).map(|()| c)
    });
}

#[test]
fn a_place_that_moves_now_and_then() {
    check(now_and_then::DESCS[0], false, |rt, options, [.., k], _| {
        let k = k / 16 * 16;
        let (a, b): (Vec<f16>, Vec<f16>) =
            (values((16 * k).max(1), 1, f16::from_f32), values((k * 16).max(1), 2, f16::from_f32));
        let mut c = vec![9.0; 256];
        rt.launch_with(rt.stream(), now_and_then(&a, &b, &mut c, k), options).map(|()| c)
    });
}

fn views<T: Element>(
    id: &str,
    [m, n, k]: [usize; 3],
    pad: usize,
    of: impl Fn(f32) -> T + Copy,
) -> (Matrix<T>, Matrix<T>, Matrix<f32>) {
    let shape = |flip: bool, r: usize, c: usize| if flip { [c, r] } else { [r, c] };
    let (sa, sb) = (shape(id.contains("TA=1"), m, k), shape(id.contains("TB=1"), k, n));
    (Matrix::new(sa, sa[1] + pad, 1, of), Matrix::new(sb, sb[1] + pad, 2, of), Matrix::new([m, n], n + pad, 3, |x| x))
}

#[test]
fn loops_with_stages_of_their_own() {
    check(one_after_another::DESCS[0], false, |rt, options, sizes, pad| {
        let (a, b, mut c) = views(options.get_config().expect("set"), sizes, pad, f16::from_f32);
        rt.launch_with(rt.stream(), one_after_another(view!(a), view!(b), view_mut!(c), sizes[2]), options)
            .map(|()| c.data)
    });
}

#[test]
fn across_the_depth() {
    check(<(f32,) as crossed::Types>::DESC, true, |rt, options, sizes, pad| {
        let (a, b, mut c) = views(options.get_config().expect("set"), sizes, pad, |x| x);
        rt.launch_with(rt.stream(), crossed::<f32>(view!(a), view!(b), view_mut!(c), sizes[2]), options)
            .map(|()| c.data)
    });
}

#[test]
fn bytes_across_the_depth() {
    check(crossed_bytes::DESCS[0], true, |rt, options, sizes, pad| {
        let (a, b, mut c) = views(options.get_config().expect("set"), sizes, pad, |x| (x * 127.0) as i8);
        rt.launch_with(rt.stream(), crossed_bytes(view!(a), view!(b), view_mut!(c), sizes[2]), options).map(|()| c.data)
    });
}
