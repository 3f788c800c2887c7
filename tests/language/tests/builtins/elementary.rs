//! Elementary and special functions of floats, kinds of floats, and functions of two floats.

use super::floats::{Function, Precision};
use super::{everywhere, results, room, same};
use tilewright::tile_kernel;
use tilewright_core::{bf16, f16};

#[tile_kernel(types(T = [f32, f64, f16, bf16]), tune(warps = [2]), grid = [cdiv(x.len(), 64)])]
fn elementary<T: Float>(x: &[T], y: &mut [T], kinds: &mut [bool]) {
    let v = load(x, program_id(0) * 64 + arange(64));
    let o = program_id(0) * (21 * 64) + arange(64);
    store(y, o, trunc(v));
    store(y, o + 1 * 64, rint(v));
    store(y, o + 2 * 64, round(v));
    store(y, o + 3 * 64, cbrt(v));
    store(y, o + 4 * 64, exp10(v));
    store(y, o + 5 * 64, expm1(v));
    store(y, o + 6 * 64, log10(v));
    store(y, o + 7 * 64, log1p(v));
    store(y, o + 8 * 64, tan(v));
    store(y, o + 9 * 64, asin(v));
    store(y, o + 10 * 64, acos(v));
    store(y, o + 11 * 64, atan(v));
    store(y, o + 12 * 64, sinh(v));
    store(y, o + 13 * 64, cosh(v));
    store(y, o + 14 * 64, asinh(v));
    store(y, o + 15 * 64, acosh(v));
    store(y, o + 16 * 64, atanh(v));
    store(y, o + 17 * 64, v.erfc());
    store(y, o + 18 * 64, v.erfinv());
    store(y, o + 19 * 64, v.lgamma());
    store(y, o + 20 * 64, v.tgamma());
    let o = program_id(0) * (3 * 64) + arange(64);
    store(kinds, o, isnan(v));
    store(kinds, o + 1 * 64, isinf(v));
    store(kinds, o + 2 * 64, isfinite(v));
}

const FUNCTIONS: [Function; 21] = [
    ("trunc", f64::trunc),
    ("rint", f64::round_ties_even),
    ("round", f64::round),
    ("cbrt", pxfm::f_cbrt),
    ("exp10", pxfm::f_exp10),
    ("expm1", pxfm::f_expm1),
    ("log10", pxfm::f_log10),
    ("log1p", pxfm::f_log1p),
    ("tan", pxfm::f_tan),
    ("asin", pxfm::f_asin),
    ("acos", pxfm::f_acos),
    ("atan", pxfm::f_atan),
    // The reference has one zero for these two.
    ("sinh", |x| if x == 0.0 { x } else { pxfm::f_sinh(x) }),
    ("cosh", pxfm::f_cosh),
    ("asinh", pxfm::f_asinh),
    ("acosh", pxfm::f_acosh),
    ("atanh", pxfm::f_atanh),
    ("erfc", pxfm::f_erfc),
    ("erfinv", |x| if x == 0.0 { x } else { pxfm::f_erfinv(x) }),
    ("lgamma", pxfm::f_lgamma),
    // The reference has one infinity for both zeros.
    ("tgamma", |x| if x == 0.0 { 1.0 / x } else { pxfm::f_tgamma(x) }),
];

const SPECIAL: [f64; 24] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.5,
    3.5,
    -3.0,
    3e4,
    -3e4,
    1e-3,
    1e-7,
    -1e-7,
    1e-40, // denormal in f32
    1e-310,
    0.999,
    -0.999,
    88.0,
    -104.0,
    60.0,
];

/// The same number within the error of a rounding to `T` and some ulp of the function.
fn near<T: Precision>(found: f64, wanted: f64) -> bool {
    let (found_ulp, half) = (T::EPSILON * wanted.abs(), size_of::<T>() == 2);
    let off = f64::max(if half { found_ulp } else { 10.0 * found_ulp }, 2.0 * T::TINY * T::EPSILON);
    let sign = found.is_sign_negative() == wanted.is_sign_negative();
    (found == wanted || (found - wanted).abs() <= off) && sign || (found.is_nan() && wanted.is_nan())
}

fn elementary_of<T: Precision>()
where
    (T,): elementary::Types,
{
    let x: Vec<T> = SPECIAL.into_iter().chain((-80..80).map(|i| i as f64 * 0.1137)).map(T::of).collect();
    let n = x.len();
    let kinds: [fn(f64) -> bool; 3] = [f64::is_nan, f64::is_infinite, f64::is_finite];
    let kinds: Vec<bool> = kinds.iter().flat_map(|f| x.iter().map(|x| f(x.number()))).collect();
    everywhere(
        <(T,) as elementary::Types>::DESC,
        |rt, options| {
            let (mut y, mut kinds) = (vec![T::default(); room(21, n)], vec![false; room(3, n)]);
            rt.launch_with(rt.stream(), elementary::<T>(&x, &mut y, &mut kinds), options)
                .map(|()| (results(&y, 21, n), results(&kinds, 3, n)))
        },
        |(y, found_kinds), title| {
            for (row, (name, f)) in FUNCTIONS.iter().enumerate() {
                for (&x, found) in x.iter().zip(&y[row * n..]) {
                    let (wanted, found) = (T::of(f(x.number())).number(), found.number());
                    // Near its zeros below 0 the absolute error counts.
                    let near_zero = *name == "lgamma" && (found - wanted).abs() <= 8.0 * T::EPSILON;
                    assert!(
                        near::<T>(found, wanted) || near_zero,
                        "{title}: {name}({x:?}) is {found:e}, not {wanted:e}"
                    );
                }
            }
            assert_eq!(found_kinds, kinds, "{title}");
        },
    );
}

#[test]
fn elementary_functions() {
    elementary_of::<f32>();
    elementary_of::<f64>();
    elementary_of::<f16>();
    elementary_of::<bf16>();
}

#[tile_kernel(types(T = [f32, f64, f16, bf16]), tune(warps = [2]), grid = [cdiv(a.len(), 64)])]
fn pairs<T: Float>(a: &[T], b: &[T], n: &[i32], y: &mut [T]) {
    let i = program_id(0) * 64 + arange(64);
    let o = program_id(0) * (9 * 64) + arange(64);
    let (a, b, n) = (load(a, i), load(b, i), load(n, i));
    store(y, o, pow(a, b));
    store(y, o + 1 * 64, atan2(a, b));
    store(y, o + 2 * 64, hypot(a, b));
    store(y, o + 3 * 64, copysign(a, b));
    store(y, o + 4 * 64, nextafter(a, b));
    store(y, o + 5 * 64, ldexp(a, n));
    store(y, o + 6 * 64, maximum(a, b).propagate_nan());
    store(y, o + 7 * 64, minimum(a, b).propagate_nan());
    store(y, o + 8 * 64, a.clamp(-1.0, 2.0).propagate_nan());
}

fn pairs_of<T: Precision + tilewright_core::Element>(next: impl Fn(T, T) -> T)
where
    (T,): pairs::Types,
{
    let all = SPECIAL.iter().flat_map(|&x| SPECIAL.iter().map(move |&y| (x, y)));
    let (a, b): (Vec<T>, Vec<T>) = all.map(|(x, y)| (T::of(x), T::of(y))).unzip();
    let exponents = [0, 1, -1, 10, -10, 130, -130, -150, 1100, -1074, i32::MAX, i32::MIN];
    let n: Vec<i32> = (0..a.len()).map(|i| exponents[i % exponents.len()]).collect();
    let len = a.len();
    let nan = |x: f64, y: f64, r: f64| if x.is_nan() || y.is_nan() { f64::NAN } else { r };
    let plain = |v: f64| v.is_finite() && v != 0.0;
    let wanted: [&dyn Fn(f64, f64, i32) -> f64; 8] = [
        // The reference does not follow C's rules for NaN and infinities.
        &|x, y, _| if plain(x) && plain(y) { pxfm::f_pow(x, y) } else { x.powf(y) },
        &|x, y, _| x.atan2(y),
        &|x, y, _| pxfm::f_hypot(x, y),
        &|x, y, _| x.copysign(y),
        &|x, _, n| {
            // In two steps, since 2^n may be no number.
            let (n, half) = (n.clamp(-2200, 2200), n.clamp(-2200, 2200) / 2);
            if plain(x) { x * 2f64.powi(half) * 2f64.powi(n - half) } else { x }
        },
        &|x, y, _| nan(x, y, x.max(y)),
        &|x, y, _| nan(x, y, x.min(y)),
        &|x, _, _| nan(x, x, x.clamp(-1.0, 2.0)),
    ];
    let rows = [0, 1, 2, 3, 5, 6, 7, 8];
    let neighbors: Vec<T> = a.iter().zip(&b).map(|(&a, &b)| next(a, b)).collect();
    everywhere(
        <(T,) as pairs::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); room(9, len)];
            rt.launch_with(rt.stream(), pairs::<T>(&a, &b, &n, &mut y), options).map(|()| results(&y, 9, len))
        },
        |y, title| {
            for (row, f) in rows.into_iter().zip(wanted) {
                for i in 0..len {
                    let (x, other) = (a[i].number(), b[i].number());
                    let (wanted, found) = (T::of(f(x, other, n[i])).number(), y[row * len + i].number());
                    // Either zero may be the greater one.
                    let zeros = row >= 6 && found == 0.0 && wanted == 0.0;
                    assert!(
                        near::<T>(found, wanted) || zeros,
                        "{title}: row {row} of {x:e}, {other:e}, {}: {found:e}, not {wanted:e}",
                        n[i]
                    );
                }
            }
            same(&y[4 * len..5 * len], &neighbors, title);
        },
    );
}

/// The neighbor, by the order of the bits.
macro_rules! neighbor {
    ($t:ident, $bits:ident) => {
        |x: $t, to: $t| {
            const SIGN: $bits = 1 << ($bits::BITS - 1);
            let (a, b) = (x.number(), to.number());
            if a.is_nan() || b.is_nan() {
                return $t::of(f64::NAN);
            }
            if a == b {
                return to;
            }
            // Ordered as the numbers are, with one zero.
            let order = |v: $t| {
                let bits = v.to_bits();
                if bits & SIGN == 0 { i128::from(bits) } else { -i128::from(bits & !SIGN) }
            };
            let next = order(x) + if a < b { 1 } else { -1 };
            let bits = next.unsigned_abs() as $bits | if next < 0 { SIGN } else { 0 };
            $t::from_bits(bits)
        }
    };
}

#[test]
fn functions_of_two_floats() {
    use super::Number;
    pairs_of::<f32>(neighbor!(f32, u32));
    pairs_of::<f64>(neighbor!(f64, u64));
    pairs_of::<f16>(neighbor!(f16, u16));
    pairs_of::<bf16>(neighbor!(bf16, u16));
}

/// Reductions in which NaN is not passed over, of whole tiles and of padded ones.
#[tile_kernel(types(T = [f32, f64, f16, bf16]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn extremes<T: Float>(x: &[T], y: &mut [T]) {
    let t = load(x, arange(6).expand(1) * 64 + arange(64).expand(0));
    store(y, arange(6), max(t, 1).propagate_nan());
    store(y, 6 + arange(6), min(t, 1).propagate_nan());
    store(y, 12, max(t).propagate_nan());
    store(y, 13, min(max(t), t.max()).propagate_nan());
    store(y, 14 + arange(64), t.min(0).propagate_nan());
}

fn extremes_of<T: Precision>()
where
    (T,): extremes::Types,
{
    let mut x: Vec<T> = (0..6 * 64).map(|i| T::of(f64::from(i * 37 % 101) - 50.0)).collect();
    x[2 * 64 + 17] = T::of(f64::NAN);
    let fold = |list: Vec<f64>, f: fn(f64, f64) -> f64| {
        list.into_iter().reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { f(a, b) }).expect("elements")
    };
    let row = |r: usize| x[r * 64..][..64].iter().map(|x| x.number()).collect::<Vec<_>>();
    let column = |c: usize| (0..6).map(|r| x[r * 64 + c].number()).collect::<Vec<_>>();
    let most = x.iter().map(|x| x.number()).fold(f64::MIN, f64::max);
    let wanted: Vec<T> = (0..6)
        .map(|r| fold(row(r), f64::max))
        .chain((0..6).map(|r| fold(row(r), f64::min)))
        .chain([f64::NAN, most])
        .chain((0..64).map(|c| fold(column(c), f64::min)))
        .map(T::of)
        .collect();
    assert_eq!(wanted.iter().filter(|w| w.number().is_nan()).count(), 4);
    everywhere(
        <(T,) as extremes::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); 78];
            rt.launch_with(rt.stream(), extremes::<T>(&x, &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn extremes_with_nan() {
    extremes_of::<f32>();
    extremes_of::<f64>();
    extremes_of::<f16>();
    extremes_of::<bf16>();
}
