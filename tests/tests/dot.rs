//! `dot` lowered in every way there is, on the emulated SM, against the CPU.

use kernel_core::{Element, bf16, f16};
use kernel_macros::tile_kernel;
use tile_host::{LaunchOptions, Runtime};

#[tile_kernel(
    types(T = [f16, bf16]),
    tune(BM = [64], BN = [64], BK = [64], TA = [0, 1], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [32], BK = [32], TA = [0], TB = [1], warps = [8], arch = [90]),
    tune(BM = [64], BN = [128], BK = [128], TA = [0], TB = [0], warps = [8], stages = [3], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], TA = [0, 1], TB = [0, 1], warps = [4], arch = [80]),
    tune(BM = [64], BN = [16], BK = [16], TA = [0], TB = [0], warps = [8], arch = [80]),
    grid = [2],
    emulate = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
)]
fn product<T: Float, const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize>(a: View<T, 2>, b: View<T, 2>, mut c: ViewMut<T, 2>, k: usize) {
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

fn values<T: Element>(n: usize, seed: u32, of: impl Fn(f32) -> T) -> Vec<T> {
    let mut s = seed;
    let mut next = move || {
        s = s.wrapping_mul(1664525).wrapping_add(1013904223);
        (s >> 16) as f32 / 32768.0 - 1.0
    };
    (0..n).map(|_| of(next())).collect()
}

/// Row-major with rows of `stride` elements.
struct Matrix<T> {
    data: Vec<T>,
    dims: [u64; 2],
    stride: u64,
}

impl<T: Element> Matrix<T> {
    fn new([m, n]: [usize; 2], stride: usize, seed: u32, of: impl Fn(f32) -> T) -> Self {
        Matrix { data: values(m.max(1) * stride, seed, of), dims: [m as u64, n as u64], stride: stride as u64 }
    }
}

macro_rules! view {
    ($m:expr) => {{
        use kernel_core::AsSlice;
        $m.data.as_slice().as_slice_arg().strided($m.dims, [$m.stride, 1]).expect("fits")
    }};
}
macro_rules! view_mut {
    ($m:expr) => {{
        use kernel_core::AsSliceMut;
        $m.data.as_mut_slice().as_slice_mut_arg().strided($m.dims, [$m.stride, 1]).expect("fits")
    }};
}

fn run<T: Element>(rt: &Runtime, config: &str, [m, n, k]: [usize; 3], (ta, tb): (bool, bool), pad: [usize; 3], of: impl Fn(f32) -> T + Copy) -> Result<Vec<T>, tile_host::Error>
where
    (T,): product::Types,
    T: kernel_core::Element,
{
    let shape = |flip: bool, r: usize, c: usize| if flip { [c, r] } else { [r, c] };
    let (sa, sb) = (shape(ta, m, k), shape(tb, k, n));
    let a = Matrix::new(sa, sa[1] + pad[0], 1, of);
    let b = Matrix::new(sb, sb[1] + pad[1], 2, of);
    let mut c = Matrix::new([m, n], n + pad[2], 3, of);
    let call = product::<T>(view!(a), view!(b), view_mut!(c), k as u64);
    rt.launch_with(rt.stream(), call, &LaunchOptions { config: Some(config), ..Default::default() })?;
    Ok(c.data)
}

fn compare<T: Element>(of: impl Fn(f32) -> T + Copy, to: impl Fn(T) -> f32)
where
    (T,): product::Types,
{
    let desc = <(T,) as product::Types>::DESC;
    for config in desc.configs {
        let flag = |name: &str| config.consts.iter().any(|&(n, v)| n == name && v == 1);
        let flips = (flag("TA"), flag("TB"));
        for (sizes, pad) in [([64, 64, 64], [0; 3]), ([136, 72, 200], [0; 3]), ([72, 40, 24], [8, 16, 0]), ([65, 33, 48], [7, 15, 0]), ([9, 17, 1], [0; 3]), ([130, 70, 96], [0, 0, 3])] {
            let wanted = run::<T>(&Runtime::cpu(), config.id, sizes, flips, pad, of).expect("the CPU runs it");
            let found = match run::<T>(&Runtime::emulator(7), config.id, sizes, flips, pad, of) {
                Err(tile_host::Error::CannotLaunch { why, .. }) => {
                    assert!(config.id.contains("arch=90"), "{}: {why}", config.id);
                    continue;
                }
                r => r.unwrap_or_else(|e| panic!("{} {sizes:?} {pad:?}: {e}", config.id)),
            };
            for (i, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
                let (x, y) = (to(x), to(y));
                assert!((x - y).abs() <= 0.02 * y.abs().max(1.0), "{} {sizes:?} {pad:?}: element {i} is {x}, not {y}", config.id);
            }
        }
    }
}

#[test]
fn halves() {
    compare(f16::from_f32, f16::to_f32);
    compare(bf16::from_f32, bf16::to_f32);
}
