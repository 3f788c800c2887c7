//! Conversions between all dtypes, and of bits.

use tilewright::{Runtime, tile_kernel};
use tilewright_core::{bf16, f8e4m3, f8e5m2, f16};
use tilewright_language_tests::everywhere::everywhere;

#[tile_kernel(
    types(A = [f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool]),
    tune(BLOCK = [32], warps = [1]),
    grid = [cdiv(x.len(), BLOCK)],
)]
fn converted<A: Element, const BLOCK: usize>(
    x: &[A],
    y0: &mut [f32],
    y1: &mut [f64],
    y2: &mut [f16],
    y3: &mut [bf16],
    y4: &mut [f8e4m3],
    y5: &mut [f8e5m2],
    y6: &mut [bool],
) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    store(y0, i, v.to::<f32>());
    store(y1, i, v.to::<f64>());
    store(y2, i, v.to::<f16>());
    store(y3, i, v.to::<bf16>());
    store(y4, i, v.to::<f8e4m3>());
    store(y5, i, v.to::<f8e5m2>());
    store(y6, i, v.to::<bool>());
}

#[tile_kernel(
    types(A = [f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool]),
    tune(BLOCK = [32], warps = [1]),
    grid = [cdiv(x.len(), BLOCK)],
)]
fn to_integers<A: Element, const BLOCK: usize>(
    x: &[A],
    y0: &mut [i8],
    y1: &mut [i16],
    y2: &mut [i32],
    y3: &mut [i64],
    y4: &mut [u8],
    y5: &mut [u16],
    y6: &mut [u32],
    y7: &mut [u64],
) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    store(y0, i, v.to::<i8>());
    store(y1, i, v.to::<i16>());
    store(y2, i, v.to::<i32>());
    store(y3, i, v.to::<isize>());
    store(y4, i, v.to::<u8>());
    store(y5, i, v.to::<u16>());
    store(y6, i, v.to::<u32>());
    store(y7, i, v.to::<usize>());
}

/// The converted values, and the results as bits.
trait Source: tilewright_core::Element + std::fmt::Debug {
    fn some() -> Vec<Self>;
    fn wanted(self) -> [u64; 15];
}

/// By way of `w`, which is a number of Rust and holds the value, or f64, which does so too.
macro_rules! wanted {
    ($w:expr, $wide:expr) => {{
        let (w, wide): (_, f64) = ($w, $wide);
        let small = |s: fn(f32) -> u8| s(wide as f32) as u64;
        [
            (w as f32).to_bits() as u64,
            wide.to_bits(),
            f16::from_f64(wide).to_bits() as u64,
            bf16::from_f64(wide).to_bits() as u64,
            small(|x| f8e4m3::from_f32(x).to_bits()),
            small(|x| f8e5m2::from_f32(x).to_bits()),
            (wide != 0.0) as u64,
            (w as i8) as u8 as u64,
            (w as i16) as u16 as u64,
            (w as i32) as u32 as u64,
            (w as i64) as u64,
            w as u8 as u64,
            w as u16 as u64,
            w as u32 as u64,
            w as u64,
        ]
    }};
}

macro_rules! integers { ($($t:ident)+) => { $(
    impl Source for $t {
        fn some() -> Vec<$t> {
            // Of 24 bits at most, then ends: rounded numbers are far from the middle of two results.
            let mut some = vec![0, 1, 2, 17, 100, $t::MAX, $t::MIN, $t::MAX - 1, $t::MIN + 1, $t::MAX / 3, 0 as $t - (($t::MIN != 0) as $t)];
            some.extend([255u64, 256, 449, 2049, 65503, 65504, 70000, 1 << 24, (1 << 24) + 1, 1 << 40].into_iter().filter_map(|n| $t::try_from(n).ok()));
            some
        }
        fn wanted(self) -> [u64; 15] {
            wanted!(self, self as f64)
        }
    }
)+ } }
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

fn reals() -> Vec<f64> {
    let mut some = vec![
        0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.999, 127.5, -128.5, 255.5, 256.0, 448.0, 465.0, 480.0, 57344.0,
        65503.0, 65519.0, 65520.0, 1e9, -1e9,
    ];
    some.extend([
        1e10,
        -1e10,
        9.3e18,
        -9.3e18,
        1.9e19,
        1e-3,
        1e-8,
        6e-8,
        1e-40,
        3e38,
        -3e38,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]);
    some
}

macro_rules! floats { ($($t:ident $of:expr, $w:ident => $to:expr;)+) => { $(
    impl Source for $t {
        fn some() -> Vec<$t> {
            reals().into_iter().map($of).collect()
        }
        fn wanted(self) -> [u64; 15] {
            let $w = self;
            wanted!($to, f64::from($to))
        }
    }
)+ } }
floats! {
    f32 |x| x as f32, x => x;
    f64 |x| x, x => x;
    f16 f16::from_f64, x => x.to_f32();
    bf16 bf16::from_f64, x => x.to_f32();
    f8e4m3 |x| f8e4m3::from_f32(x as f32), x => x.to_f32();
    f8e5m2 |x| f8e5m2::from_f32(x as f32), x => x.to_f32();
}

impl Source for bool {
    fn some() -> Vec<bool> {
        vec![false, true, true, false, true]
    }
    fn wanted(self) -> [u64; 15] {
        wanted!(self as u8, self as u8 as f64)
    }
}

/// The bits of results. All NaNs have the same bits.
macro_rules! bits {
    ($y:expr, $i:ident) => {{
        let (y, z) = &$y;
        [
            y.0[$i].to_bits() as u64,
            y.1[$i].to_bits(),
            y.2[$i].to_bits() as u64,
            y.3[$i].to_bits() as u64,
            y.4[$i].to_bits() as u64,
            y.5[$i].to_bits() as u64,
            y.6[$i] as u64,
            z.0[$i] as u8 as u64,
            z.1[$i] as u16 as u64,
            z.2[$i] as u32 as u64,
            z.3[$i] as u64,
            z.4[$i] as u64,
            z.5[$i] as u64,
            z.6[$i] as u64,
            z.7[$i],
        ]
    }};
}

/// Whether bits are a NaN of the dtype whose number this is.
fn is_nan(dtype: usize, bits: u64) -> bool {
    match dtype {
        0 => f32::from_bits(bits as u32).is_nan(),
        1 => f64::from_bits(bits).is_nan(),
        2 => f16::from_bits(bits as u16).is_nan(),
        3 => bf16::from_bits(bits as u16).is_nan(),
        4 => f8e4m3::from_bits(bits as u8).to_f32().is_nan(),
        5 => f8e5m2::from_bits(bits as u8).to_f32().is_nan(),
        _ => false,
    }
}

fn converted_of<A: Source>()
where
    (A,): converted::Types + to_integers::Types,
{
    let x = A::some();
    let n = x.len();
    everywhere(
        <(A,) as converted::Types>::DESC,
        |rt, options| {
            let (e4, e5) = (f8e4m3::from_bits(0), f8e5m2::from_bits(0));
            let mut y = (
                vec![0f32; n],
                vec![0f64; n],
                vec![f16::ZERO; n],
                vec![bf16::ZERO; n],
                vec![e4; n],
                vec![e5; n],
                vec![false; n],
            );
            let call = converted::<A>(&x, &mut y.0, &mut y.1, &mut y.2, &mut y.3, &mut y.4, &mut y.5, &mut y.6);
            rt.launch_with(rt.stream(), call, options)?;
            let mut z = (
                vec![0i8; n],
                vec![0i16; n],
                vec![0i32; n],
                vec![0i64; n],
                vec![0u8; n],
                vec![0u16; n],
                vec![0u32; n],
                vec![0u64; n],
            );
            let call =
                to_integers::<A>(&x, &mut z.0, &mut z.1, &mut z.2, &mut z.3, &mut z.4, &mut z.5, &mut z.6, &mut z.7);
            rt.launch_with(rt.stream(), call, options).map(|()| (y, z))
        },
        |y, title| {
            for (i, x) in x.iter().enumerate() {
                let (found, wanted) = (bits!(y, i), x.wanted());
                for (d, (f, w)) in found.into_iter().zip(wanted).enumerate() {
                    assert!(
                        f == w || is_nan(d, f) && is_nan(d, w),
                        "{title}: result {d} of {:?} is {f:#x}, not {w:#x}",
                        x
                    );
                }
            }
        },
    );
}

#[test]
fn every_dtype_to_every_other() {
    converted_of::<f32>();
    converted_of::<f64>();
    converted_of::<f16>();
    converted_of::<bf16>();
    converted_of::<f8e4m3>();
    converted_of::<f8e5m2>();
    converted_of::<i8>();
    converted_of::<i16>();
    converted_of::<i32>();
    converted_of::<i64>();
    converted_of::<u8>();
    converted_of::<u16>();
    converted_of::<u32>();
    converted_of::<u64>();
    converted_of::<bool>();
}

#[tile_kernel(types(A = [f32, u32], B = [f32, i32]), tune(BLOCK = [64], warps = [2]), grid = [1])]
fn words<A: Element, B: Element, const BLOCK: usize>(x: &[A], y: &mut [B]) {
    store(y, arange(BLOCK), bitcast::<B>(load(x, arange(BLOCK))));
}

#[tile_kernel(types(A = [f64, i64], B = [f64, u64]), tune(BLOCK = [64], warps = [2]), grid = [1])]
fn long_words<A: Element, B: Element, const BLOCK: usize>(x: &[A], y: &mut [B]) {
    store(y, arange(BLOCK), load(x, arange(BLOCK)).bitcast::<B>());
}

#[tile_kernel(types(A = [f16, bf16], B = [i16, u16]), tune(BLOCK = [64], warps = [1]), grid = [1])]
fn short_words<A: Element, B: Element, const BLOCK: usize>(x: &[A], y: &mut [B]) {
    store(y, arange(BLOCK), bitcast::<B>(load(x, arange(BLOCK))));
}

#[tile_kernel(types(A = [f8e4m3, i8], B = [f8e5m2, u8]), tune(BLOCK = [64], warps = [1]), grid = [1])]
fn bytes<A: Element, B: Element, const BLOCK: usize>(x: &[A], y: &mut [B]) {
    store(y, arange(BLOCK), bitcast::<B>(load(x, arange(BLOCK))));
}

/// A slice of numbers that any bits are, as another such.
fn as_type<A: tilewright_core::Element, const N: usize>(bytes: &[[u8; N]]) -> Vec<A> {
    assert!(size_of::<A>() == N && A::DTYPE != tilewright_core::DType::Bool);
    // SAFETY: A is an element of N bytes, and of all but `bool` any bits are one.
    bytes.iter().map(|b| unsafe { std::ptr::read_unaligned(b.as_ptr().cast::<A>()) }).collect()
}

macro_rules! bitcasts {
    ($kernel:ident $size:literal: $($a:ident => $($b:ident)+;)+) => { $($(
        let bits: Vec<[u8; $size]> = (0..64u32).map(|i| std::array::from_fn(|k| (i.wrapping_mul(0x9e3779b1) >> (8 * (k % 4))) as u8 ^ k as u8)).collect();
        everywhere(
            <($a, $b) as $kernel::Types>::DESC,
            |rt, options| {
                let mut y = as_type::<$b, $size>(&[[0; $size]; 64]);
                rt.launch_with(rt.stream(), $kernel::<$a, $b>(&as_type::<$a, $size>(&bits), &mut y), options).map(|()| y)
            },
            |y, title| {
                // SAFETY: numbers without padding.
                let found = unsafe { std::slice::from_raw_parts(y.as_ptr().cast::<[u8; $size]>(), 64) };
                assert_eq!(found, bits, "{title}");
            },
        );
    )+)+ };
}

#[test]
fn bits_of_one_size() {
    bitcasts! { words 4: f32 => f32 i32; u32 => f32 i32; }
    bitcasts! { long_words 8: f64 => f64 u64; i64 => f64 u64; }
    bitcasts! { short_words 2: f16 => i16 u16; bf16 => i16 u16; }
    bitcasts! { bytes 1: f8e4m3 => f8e5m2 u8; i8 => f8e5m2 u8; }
}

/// The bits of f16, bf16, f8e4m3 and f8e5m2 that numbers become; the references are numbers, and no conversions.
fn small_floats_of<A: Source>(x: &[A], wanted: &[[u64; 4]])
where
    (A,): converted::Types,
{
    let n = x.len();
    assert_eq!(n, wanted.len());
    everywhere(
        <(A,) as converted::Types>::DESC,
        |rt, options| {
            let (e4, e5) = (f8e4m3::from_bits(0), f8e5m2::from_bits(0));
            let mut y = (
                vec![0f32; n],
                vec![0f64; n],
                vec![f16::ZERO; n],
                vec![bf16::ZERO; n],
                vec![e4; n],
                vec![e5; n],
                vec![false; n],
            );
            let call = converted::<A>(x, &mut y.0, &mut y.1, &mut y.2, &mut y.3, &mut y.4, &mut y.5, &mut y.6);
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| {
            for (i, wanted) in wanted.iter().enumerate() {
                let halves = [y.2[i].to_bits() as u64, y.3[i].to_bits() as u64];
                let found = [halves[0], halves[1], y.4[i].to_bits() as u64, y.5[i].to_bits() as u64];
                for (d, (&f, &w)) in found.iter().zip(wanted).enumerate() {
                    let nan = is_nan(d + 2, f) && is_nan(d + 2, w);
                    assert!(f == w || nan, "{title}: result {d} of {:?} is {f:#x}, not {w:#x}", x[i]);
                }
            }
        },
    );
}

#[test]
fn ties_go_to_even() {
    let ties: [f32; 6] = [1.0625, 1.1875, 1.125, 1.375, -1.125, -1.1875];
    small_floats_of(
        &ties,
        &[
            [0x3c40, 0x3f88, 0x38, 0x3c],
            [0x3cc0, 0x3f98, 0x3a, 0x3d],
            [0x3c80, 0x3f90, 0x39, 0x3c],
            [0x3d80, 0x3fb0, 0x3b, 0x3e],
            [0xbc80, 0xbf90, 0xb9, 0xbc],
            [0xbcc0, 0xbf98, 0xba, 0xbd],
        ],
    );
}

#[test]
fn every_nan_stays_one() {
    let nans = [0x7fff_ffff, 0xffff_ffff, 0x7f80_0001, 0xff80_0001].map(f32::from_bits);
    small_floats_of(&nans, &[[0x7e00, 0x7fc0, 0x7f, 0x7f]; 4]);
}

/// Numbers so close to the middle of two results that an earlier rounding to f32 or f64 would hit it.
#[test]
fn numbers_are_rounded_once() {
    let bit = |n: i32| 2f64.powi(n);
    small_floats_of(
        &[2049.0 + bit(-30), 257.0 + bit(-30), 17.0 + bit(-40), 18.0 + bit(-40), -(18.0 + bit(-40))],
        &[
            [0x6801, 0x4500, 0x7e, 0x68],
            [0x5c04, 0x4381, 0x78, 0x5c],
            [0x4c40, 0x4188, 0x59, 0x4c],
            [0x4c80, 0x4190, 0x59, 0x4d],
            [0xcc80, 0xc190, 0xd9, 0xcd],
        ],
    );
    small_floats_of(&[(1u64 << 63) + (1 << 55) + 1], &[[0x7c00, 0x5f01, 0x7e, 0x7b]]);
    small_floats_of(&[-((1i64 << 62) + (1 << 54) + 1)], &[[0xfc00, 0xde81, 0xfe, 0xfb]]);
}

/// Numbers that are known at compile time.
#[tile_kernel(tune(warps = [1]), grid = [1], emulate = all)]
fn constants(y: &mut [f64]) {
    let a: f16 = 0.1;
    store(y, 0, a.to::<f64>());
    store(y, 1, (1000.0 as f8e4m3) as f64);
    store(y, 2, (1e300 as f32) as f64);
    store(y, 3, (16777217 as f32) as f64);
    store(y, 4, (0.1 as f32 * 3.0) as f64);
    store(y, 5, 0.1);
    store(y, 6, (f32::consts::PI as bf16) as f64);
}

#[test]
fn constants_are_rounded() {
    let pi = bf16::from_f32(core::f32::consts::PI).to_f64();
    let wanted = [0.0999755859375, 448.0, f64::INFINITY, 16777216.0, f64::from(0.1f32 * 3.0), 0.1, pi];
    everywhere(
        constants::DESCS[0],
        |rt, options| {
            let mut y = [0.0; 7];
            rt.launch_with(rt.stream(), constants(&mut y), options).map(|()| y)
        },
        |y, title| assert_eq!(y, wanted, "{title}"),
    );
}

/// Constants are those of the same arithmetic at run time.
#[tile_kernel(tune(BLOCK = [32], warps = [1]), grid = [1])]
fn folded_constants<const BLOCK: usize>(y: &mut [f32], n: u64, x: f32) {
    static_assert!((1.5 * 4.0) as usize == 6 && -2.5 as i32 == -2 && 1e30 as u8 == 255 && -1.0 as u8 == 0);
    static_assert!(300 as u8 == 44 && -1i32 as u32 == u32::MAX && 200u8 as i8 == -56);
    static_assert!(16777217.0 == 16777216.0 && 16777217.0f64 != 16777216.0);
    static_assert!(((257u64 << 55) + 1) as bf16 as f64 == (258u64 << 55) as f64);
    static_assert!(!0u32 == u32::MAX && !5i8 == -6 && 0.25 > 0.0 && 0.5f32 <= 0.5);
    let folded = [9007199791611905u64 as f32, 7.75 as i32 as f32];
    store(y, 0, folded[0]);
    store(y, 1, n.to::<f32>());
    store(y, 2, folded[1]);
    store(y, 3, x.to::<i32>().to::<f32>());
}

#[test]
fn constants_are_those_of_run_time() {
    for rt in [Runtime::cpu(), Runtime::emulator(7)] {
        let mut y = [9.0; 4];
        rt.launch(folded_constants(&mut y, 9007199791611905, 7.75)).expect("it runs");
        assert_eq!(y, [9007199791611905u64 as f32, 9007199791611905u64 as f32, 7.0, 7.0]);
    }
}
