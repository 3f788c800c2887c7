//! `dot` lowered in every way there is, on the emulated SM, against the CPU.

use tilewright::tile_kernel;
use tilewright::{LaunchOptions, Runtime};
use tilewright_core::{Call, Element, KernelDesc, ViewArg, ViewMutArg, bf16, f16};
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::{view, view_mut};

mod branches;
mod cluster;
mod computed;
mod cp_async;
mod deep;
mod epilogue;
mod exceptions;
mod reused;
mod swapped;
mod widths;

#[tile_kernel(
    kernel(product, T = f16),
    kernel(product_of_bf16, T = bf16),
    tune(BM = [64], BN = [64], BK = [64], TA = [1], TB = [0], warps = [4], arch = [90], kernels = [product_of_bf16]),
    tune(BM = [32], BN = [32], BK = [32], TA = [0], TB = [1], warps = [4], arch = [80], kernels = [product_of_bf16]),
    tune(BM = [64], BN = [64], BK = [64], TA = [0, 1], TB = [0, 1], warps = [4], arch = [90], kernels = [product]),
    tune(BM = [128], BN = [32], BK = [32], TA = [0], TB = [1], warps = [8], arch = [90], kernels = [product]),
    tune(
        BM = [64], BN = [128], BK = [128], TA = [0], TB = [0],
        warps = [8], stages = [3], arch = [90], kernels = [product]
    ),
    tune(BM = [32], BN = [32], BK = [32], TA = [0, 1], TB = [0, 1], warps = [4], arch = [80], kernels = [product]),
    tune(BM = [64], BN = [16], BK = [16], TA = [0], TB = [0], warps = [8], arch = [80], kernels = [product]),
    tune(
        BM = [64], BN = [128], BK = [32], TA = [0], TB = [0, 1],
        warps = [8], stages = [4], arch = [80], kernels = [product]
    ),
    tune(
        BM = [128], BN = [64], BK = [64], TA = [0, 1], TB = [0],
        warps = [4], stages = [2], arch = [80], kernels = [product]
    ),
    tune(BM = [64], BN = [192], BK = [64], TA = [0], TB = [0, 1], warps = [4], arch = [90], kernels = [product]),
    tune(BM = [128], BN = [96], BK = [64], TA = [1], TB = [0, 1], warps = [8], arch = [90], kernels = [product]),
    tune(BM = [64], BN = [16, 32], BK = [64], TA = [1], TB = [0], warps = [4], arch = [90], kernels = [product]),
    tune(BM = [64], BN = [192], BK = [32], TA = [0], TB = [1], warps = [8], arch = [90], kernels = [product]),
    tune(BM = [64], BN = [160], BK = [64], TA = [0], TB = [0, 1], warps = [4], arch = [90], kernels = [product]),
    tune(BM = [128], BN = [224], BK = [32], TA = [1], TB = [0], warps = [8], arch = [90], kernels = [product]),
    tune(BM = [64], BN = [112], BK = [32], TA = [0], TB = [1], warps = [4], arch = [90], kernels = [product]),
    tune(BM = [80], BN = [64], BK = [32], TA = [0], TB = [0], warps = [4], arch = [90], kernels = [product]),
    tune(BM = [32], BN = [40, 48], BK = [32], TA = [0], TB = [0, 1], warps = [4], arch = [80], kernels = [product]),
    grid = [2],
    emulate = all,
)]
fn product_of<T: Float, const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    mut c: ViewMut<T, 2>,
    k: usize,
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
        c.store([i * BM, j * BN], acc.to::<T>());
    }
}

/// K-major operands of 8-bit floats.
#[tile_kernel(
    types(T = [f8e4m3, f8e5m2]),
    tune(BM = [64], BN = [32], BK = [64], warps = [4], arch = [90]),
    tune(BM = [32], BN = [16], BK = [32], warps = [2], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn narrow<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for at in (0..a.dim(1)).step_by(BK) {
        let y = trans(b.tile([j, at], [BN, BK]));
        acc = dot(a.tile([i, at], [BM, BK]), y, acc);
    }
    c.store([i, j], acc);
}

/// K-major operands of 8 bits.
#[tile_kernel(
    tune(BM = [64], BN = [32, 56, 96, 160], BK = [64], warps = [4], arch = [90]),
    tune(BM = [32], BN = [16, 24], BK = [32], warps = [2], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn integers<const BM: usize, const BN: usize, const BK: usize>(a: View<i8, 2>, b: View<i8, 2>, mut c: ViewMut<f32, 2>) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<i32>([BM, BN]);
    for at in (0..a.dim(1)).step_by(BK) {
        let y = trans(b.tile([j, at], [BN, BK]));
        acc = dot(a.tile([i, at], [BM, BK]), y, acc);
    }
    c.store([i, j], acc.to::<f32>());
}

/// f32 in all precisions: 0 IEEE, 1 tf32, 2 tf32x3, 3 tf32x3 of parts that were split before.
#[tile_kernel(
    tune(P = [1, 3], BM = [64], BN = [32], BK = [32], warps = [4], arch = [90]),
    tune(P = [0, 1, 2], BM = [32], BN = [32], BK = [16], warps = [4], arch = [80]),
    tune(P = [0], BM = [8], BN = [4], BK = [4], warps = [1], arch = [80]),
    tune(P = [1], BM = [64], BN = [24, 40], BK = [32], warps = [4], arch = [90]),
    tune(P = [0, 2], BM = [32], BN = [12, 20, 24], BK = [16], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn single<const P: usize, const BM: usize, const BN: usize, const BK: usize>(
    a: View<f32, 2>,
    b: View<f32, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros([BM, BN]);
    for at in (0..a.dim(1)).step_by(BK) {
        let x = a.tile([i, at], [BM, BK]);
        let y = trans(b.tile([j, at], [BN, BK]));
        acc = if P == 0 {
            dot(x, y, acc)
        } else if P == 1 {
            dot(x, y, acc).tf32()
        } else if P == 2 {
            dot(x, y, acc).tf32x3()
        } else {
            let z = trans(b.tile([j, at], [BN, BK]));
            dot(x, z, dot(x, y, acc).tf32()).tf32() * 0.5
        };
    }
    c.store([i, j], acc);
}

/// A kernel of these operands and of K.
trait Product<T>: for<'a> Fn(ViewArg<'a, T, 2>, ViewArg<'a, T, 2>, ViewMutArg<'a, T, 2>, usize) -> Call<'a> {}
impl<T, F> Product<T> for F where
    F: for<'a> Fn(ViewArg<'a, T, 2>, ViewArg<'a, T, 2>, ViewMutArg<'a, T, 2>, usize) -> Call<'a>
{
}

fn run<T: Element>(
    kernel: &impl Product<T>,
    rt: &Runtime,
    config: &str,
    [m, n, k]: [usize; 3],
    (ta, tb): (bool, bool),
    pad: [usize; 3],
    of: impl Fn(f32) -> T + Copy,
) -> Result<Vec<T>, tilewright::Error> {
    let shape = |flip: bool, r: usize, c: usize| if flip { [c, r] } else { [r, c] };
    let (sa, sb) = (shape(ta, m, k), shape(tb, k, n));
    let a = Matrix::new(sa, sa[1] + pad[0], 1, of);
    let b = Matrix::new(sb, sb[1] + pad[1], 2, of);
    let mut c = Matrix::new([m, n], n + pad[2], 3, of);
    let call = kernel(view!(a), view!(b), view_mut!(c), k);
    if config.contains("arch=90") && ([m, n, k], pad) == ([64; 3], [0; 3]) {
        // Columns that are no power of two are not partitioned among warpgroups.
        let by_warps = config.contains("BM=64,BN=192") && config.contains("warps=8");
        assert_eq!(tilewright_language_tests::run::taken(&call, config) == "tma", !by_warps, "{config}");
    }
    rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config))?;
    Ok(c.data)
}

fn compare<T: Element>(
    desc: &KernelDesc,
    kernel: impl Product<T>,
    of: impl Fn(f32) -> T + Copy,
    to: impl Fn(T) -> f32,
) {
    for config in desc.configs {
        let flag = |name: &str| config.consts.iter().any(|&(n, v)| n == name && v == 1);
        let flips = (flag("TA"), flag("TB"));
        for (sizes, pad) in [
            ([64, 64, 64], [0; 3]),
            ([136, 72, 200], [0; 3]),
            ([72, 40, 24], [8, 16, 0]),
            ([65, 33, 48], [7, 15, 0]),
            ([9, 17, 1], [0; 3]),
            ([130, 70, 96], [0, 0, 3]),
            ([70, 200, 96], [0; 3]),
        ] {
            let wanted = run(&kernel, &Runtime::cpu(), config.id, sizes, flips, pad, of).expect("the CPU runs it");
            let found = match run(&kernel, &Runtime::emulator(7), config.id, sizes, flips, pad, of) {
                Err(tilewright::Error::CannotLaunch { why, .. }) => {
                    assert!(config.id.contains("arch=90"), "{}: {why}", config.id);
                    continue;
                }
                r => r.unwrap_or_else(|e| panic!("{} {sizes:?} {pad:?}: {e}", config.id)),
            };
            for (i, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
                let (x, y) = (to(x), to(y));
                assert!(
                    (x - y).abs() <= 0.02 * y.abs().max(1.0),
                    "{} {sizes:?} {pad:?}: element {i} is {x}, not {y}",
                    config.id
                );
            }
        }
    }
}

macro_rules! along_depth {
    ($desc:expr, $kernel:expr, $of:expr, $tolerance:expr) => {
        for config in $desc.configs {
            for ([m, n, k], pad) in [([64, 32, 64], 0), ([72, 80, 160], 0), ([65, 33, 48], 16), ([17, 5, 31], 1)] {
                let a = Matrix::new([m, k], k + pad, 1, $of);
                let b = Matrix::new([n, k], k + pad, 2, $of);
                let run = |rt: &Runtime| {
                    let mut c = Matrix::new([m, n], n + pad, 3, |x| x);
                    let call = $kernel(view!(a), view!(b), view_mut!(c));
                    rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id)).map(|()| c.data)
                };
                let wanted = run(&Runtime::cpu()).expect("the CPU runs it");
                let found = match run(&Runtime::emulator(7)) {
                    Err(tilewright::Error::CannotLaunch { why, .. }) => {
                        assert!(config.id.contains("arch=90") && k % 4 != 0, "{}: {why}", config.id);
                        continue;
                    }
                    r => r.unwrap_or_else(|e| panic!("{} {m} {n} {k} {pad}: {e}", config.id)),
                };
                for (i, (x, y)) in found.iter().zip(&wanted).enumerate() {
                    assert!(
                        (x - y).abs() <= $tolerance(config.id) * y.abs().max(1.0),
                        "{} {m} {n} {k} {pad}: element {i} is {x}, not {y}",
                        config.id
                    );
                }
            }
        }
    };
}

#[test]
fn bytes() {
    along_depth!(integers::DESCS[0], integers, |x| (x * 127.0) as i8, |_| 0.0);
    along_depth!(
        <(tilewright_core::f8e4m3,) as narrow::Types>::DESC,
        narrow::<tilewright_core::f8e4m3>,
        tilewright_core::f8e4m3::from_f32,
        |_| 1e-5
    );
    along_depth!(
        <(tilewright_core::f8e5m2,) as narrow::Types>::DESC,
        narrow::<tilewright_core::f8e5m2>,
        tilewright_core::f8e5m2::from_f32,
        |_| 1e-5
    );
}

#[test]
fn products_of_f32() {
    let tolerance = |id: &str| {
        if id.contains("P=0") {
            1e-6
        } else if id.contains("P=2") {
            1e-5
        } else {
            1e-2
        }
    };
    along_depth!(single::DESCS[0], single, |x| x, tolerance);
}

#[test]
fn products_of_f16_and_bf16() {
    compare(product::DESCS[0], |a, b, c, k| product(a, b, c, k), f16::from_f32, f16::to_f32);
    compare(product_of_bf16::DESCS[0], |a, b, c, k| product_of_bf16(a, b, c, k), bf16::from_f32, bf16::to_f32);
}
