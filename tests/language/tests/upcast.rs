//! Operands that are loaded as 8 bits and multiplied as 16, on either side, in both orders, by warpgroups.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{Call, Element, KernelDesc, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16};
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::run::{seeds, taken, with};
use tilewright_language_tests::{view, view_mut};

/// LEFT and RIGHT say which operand has 8 bits, TA and TB which is MN-major.
#[tile_kernel(
    kernel(upcast, S = [i8, u8, f8e4m3, f8e5m2], T = f16),
    kernel(upcast_to_bf16, S = [i8, f8e4m3], T = bf16),
    tune(BM = [64], BN = [64], BK = [64], LEFT = [1], RIGHT = [0], TA = [0, 1], TB = [0], warps = [4], arch = [90]),
    tune(BM = [64], BN = [64], BK = [64], LEFT = [0], RIGHT = [1], TA = [0], TB = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [32], BK = [32], LEFT = [1], RIGHT = [1], TA = [0, 1], TB = [0], warps = [8], arch = [90]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn upcast_of<
    S: Element,
    T: Float,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const LEFT: usize,
    const RIGHT: usize,
    const TA: usize,
    const TB: usize,
>(
    a: View<S, 2>,
    b: View<S, 2>,
    x: View<T, 2>,
    y: View<T, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for at in (0..k).step_by(BK) {
        let l = if LEFT == 0 {
            x.tile([i, at], [BM, BK])
        } else if TA == 1 {
            trans(a.tile([at, i], [BK, BM])).to::<T>()
        } else {
            a.tile([i, at], [BM, BK]).to::<T>()
        };
        let r = if RIGHT == 0 {
            y.tile([at, j], [BK, BN])
        } else if TB == 1 {
            trans(b.tile([j, at], [BN, BK])).to::<T>()
        } else {
            b.tile([at, j], [BK, BN]).to::<T>()
        };
        acc = dot(l, r, acc);
    }
    c.store([i, j], acc);
}

/// A kernel of the operands of 8 bits, those of 16 bits, and K.
trait Upcast<S, T>:
    for<'a> Fn(
    ViewArg<'a, S, 2>,
    ViewArg<'a, S, 2>,
    ViewArg<'a, T, 2>,
    ViewArg<'a, T, 2>,
    ViewMutArg<'a, f32, 2>,
    usize,
) -> Call<'a>
{
}
impl<S, T, F> Upcast<S, T> for F where
    F: for<'a> Fn(
        ViewArg<'a, S, 2>,
        ViewArg<'a, S, 2>,
        ViewArg<'a, T, 2>,
        ViewArg<'a, T, 2>,
        ViewMutArg<'a, f32, 2>,
        usize,
    ) -> Call<'a>
{
}

macro_rules! check {
    ($kernel:ident, $s:ty, $narrow:expr, $wide:expr) => {
        check(<($s,) as $kernel::Types>::DESC, |a, b, x, y, c, k| $kernel::<$s>(a, b, x, y, c, k), $narrow, $wide)
    };
}

/// `narrow` and `wide` make an element of a number from -1 to 1: whole numbers, whose sums every way has exactly, or
/// none.
fn check<S: Element, T: Element>(
    desc: &KernelDesc,
    kernel: impl Upcast<S, T>,
    narrow: impl Fn(f32) -> S + Copy,
    wide: impl Fn(f32) -> T + Copy,
) {
    for config in desc.configs {
        let is = |name: &'static str| config.consts.contains(&(name, 1));
        for [m, n, depth] in [[128, 64, 128], [80, 48, 208]] {
            let a_dims = if is("TA") { [depth, m] } else { [m, depth] };
            let b_dims = if is("TB") { [n, depth] } else { [depth, n] };
            let (a, b) = (Matrix::new(a_dims, a_dims[1], 1, narrow), Matrix::new(b_dims, b_dims[1], 2, narrow));
            let (x, y) = (Matrix::new([m, depth], depth, 3, wide), Matrix::new([depth, n], n, 4, wide));
            // The last of these is a loop of no iteration.
            for k in [depth, 0] {
                let run = |rt: &Runtime| {
                    let mut c = Matrix::new([m, n], n, 5, |_| 9.0f32);
                    let call = kernel(view!(a), view!(b), view!(x), view!(y), view_mut!(c), k);
                    // Swapped sums are stored by single elements, for which alignment is nothing.
                    assert!(taken(&call, config.id).starts_with("tma"), "{}", config.id);
                    rt.launch_with(rt.stream(), call, &with(config.id))
                        .unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id));
                    c.data
                };
                let wanted = run(&Runtime::cpu());
                for rt in &seeds() {
                    for (i, (x, y)) in run(rt).iter().zip(&wanted).enumerate() {
                        let same = x == y || x.is_nan() && y.is_nan();
                        assert!(same, "{} {m} {n} {k}: element {i} is {x}, not {y}", config.id);
                    }
                }
            }
        }
    }
}

fn whole(x: f32) -> f32 {
    (x * 4.0).round()
}

/// The same with some that are no numbers.
fn odd(x: f32) -> f32 {
    if x > 0.995 { f32::NAN } else { whole(x) }
}

#[test]
fn bytes_are_multiplied_as_halves() {
    check!(upcast, i8, |x| (x * 127.0) as i8, |x| f16::from_f32(whole(x)));
    check!(upcast, u8, |x| (x * 127.0 + 127.0) as u8, |x| f16::from_f32(whole(x)));
    check!(upcast_to_bf16, i8, |x| (x * 127.0) as i8, |x| bf16::from_f32(whole(x)));
}

#[test]
fn floats_of_8_bits_are_multiplied_as_halves() {
    check!(upcast, f8e4m3, |x| f8e4m3::from_f32(odd(x)), |x| f16::from_f32(whole(x)));
    check!(upcast, f8e5m2, |x| f8e5m2::from_f32(odd(x)), |x| f16::from_f32(whole(x)));
    check!(upcast_to_bf16, f8e4m3, |x| f8e4m3::from_f32(odd(x)), |x| bf16::from_f32(whole(x)));
}
