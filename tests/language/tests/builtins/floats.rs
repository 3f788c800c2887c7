//! Functions and arithmetic of floats.

use super::{Number, everywhere, results, room, same};
use tilewright::tile_kernel;
use tilewright_core::{bf16, f16};

#[tile_kernel(types(T = [f32, f64, f16, bf16]), tune(warps = [2]), grid = [cdiv(x.len(), 64)])]
fn functions<T: Float>(x: &[T], y: &mut [T]) {
    let v = load(x, program_id(0) * 64 + arange(64));
    let o = program_id(0) * (16 * 64) + arange(64);
    store(y, o, floor(v));
    store(y, o + 1 * 64, ceil(v));
    store(y, o + 2 * 64, sqrt(v));
    store(y, o + 3 * 64, rsqrt(v));
    store(y, o + 4 * 64, recip(v));
    store(y, o + 5 * 64, exp(v));
    store(y, o + 6 * 64, exp2(v));
    store(y, o + 7 * 64, log(v));
    store(y, o + 8 * 64, log2(v));
    store(y, o + 9 * 64, sin(v));
    store(y, o + 10 * 64, cos(v));
    store(y, o + 11 * 64, tanh(v));
    store(y, o + 12 * 64, erf(v));
    store(y, o + 13 * 64, sigmoid(v));
    store(y, o + 14 * 64, abs(v));
    store(y, o + 15 * 64, (-v));
}

/// A name and its meaning.
pub(super) type Function = (&'static str, fn(f64) -> f64);

const FUNCTIONS: [Function; 16] = [
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("sqrt", f64::sqrt),
    ("rsqrt", |x| 1.0 / x.sqrt()),
    ("recip", |x| 1.0 / x),
    ("exp", f64::exp),
    ("exp2", f64::exp2),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tanh", f64::tanh),
    ("erf", erf),
    ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
    ("abs", f64::abs),
    ("neg", |x| -x),
];

/// By a series of positive terms.
fn erf(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 6.0 {
        return if x.is_nan() { x } else { x.signum() };
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / (2 * n + 1) as f64;
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// The difference of 1 and the next greater number, and the least normal number.
pub(super) trait Precision: Number {
    const EPSILON: f64;
    const TINY: f64;
    fn fma(self, b: Self, c: Self) -> Self;
}

macro_rules! precisions { ($($t:ident $epsilon:expr, $tiny:expr;)+) => { $(
    impl Precision for $t {
        const EPSILON: f64 = $epsilon;
        const TINY: f64 = $tiny;
        fn fma(self, b: Self, c: Self) -> Self {
            precisions!(@fma $t self b c)
        }
    }
)+ };
    (@fma f32 $a:ident $b:ident $c:ident) => { $a.mul_add($b, $c) };
    (@fma f64 $a:ident $b:ident $c:ident) => { $a.mul_add($b, $c) };
    (@fma $t:ident $a:ident $b:ident $c:ident) => { $t::from_f32($a.to_f32().mul_add($b.to_f32(), $c.to_f32())) };
}
precisions! {
    f32 f32::EPSILON as f64, f32::MIN_POSITIVE as f64;
    f64 f64::EPSILON, f64::MIN_POSITIVE;
    f16 1.0 / 1024.0, 1.0 / 16384.0;
    bf16 1.0 / 128.0, f32::MIN_POSITIVE as f64;
}

fn functions_of<T: Precision>()
where
    (T,): functions::Types,
{
    let special = [
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
        3e4,
        -3e4,
        1e-3,
        1e-30,
        90.0,
        -90.0,
        710.0,
        -746.0,
    ];
    let x: Vec<T> = special.into_iter().chain((-80..80).map(|i| i as f64 * 0.17)).map(T::of).collect();
    let n = x.len();
    let check = |y: Vec<T>, title: &str| {
        for (row, (name, f)) in FUNCTIONS.iter().enumerate() {
            for (&x, found) in x.iter().zip(&y[row * n..]) {
                let (wanted, found) = (T::of(f(x.number())).number(), found.number());
                // Of f32 these two are one instruction each, for which denormals are 0.
                let least = if matches!(*name, "recip" | "exp2") { T::TINY } else { T::TINY * T::EPSILON };
                let near = (found - wanted).abs()
                    <= 6.0 * f64::max(T::EPSILON * wanted.abs() / if size_of::<T>() == 2 { 6.0 } else { 1.0 }, least);
                assert!(
                    found == wanted || near || (found.is_nan() && wanted.is_nan()),
                    "{title}: {name}({x:?}) is {found}, not {wanted}"
                );
            }
        }
    };
    everywhere(
        <(T,) as functions::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); room(16, n)];
            rt.launch_with(rt.stream(), functions::<T>(&x, &mut y), options).map(|()| results(&y, 16, n))
        },
        check,
    );
}

#[test]
fn functions_of_floats() {
    functions_of::<f32>();
    functions_of::<f64>();
    functions_of::<f16>();
    functions_of::<bf16>();
}

#[tile_kernel(types(T = [f32, f64, f16, bf16]), tune(warps = [2]), grid = [cdiv(a.len(), 64)])]
fn arithmetic<T: Float>(a: &[T], b: &[T], c: &[T], y: &mut [T], flags: &mut [bool]) {
    let i = program_id(0) * 64 + arange(64);
    let (o, set) = (program_id(0) * (11 * 64) + arange(64), program_id(0) * (7 * 64) + arange(64));
    let (a, b, c) = (load(a, i), load(b, i), load(c, i));
    store(y, o, (a + b));
    store(y, o + 1 * 64, (a - b));
    store(y, o + 2 * 64, (a * b));
    store(y, o + 3 * 64, (a / b));
    store(y, o + 4 * 64, (a % b));
    store(y, o + 5 * 64, maximum(a, b));
    store(y, o + 6 * 64, minimum(a, b));
    store(y, o + 7 * 64, clamp(a, b, c));
    store(y, o + 8 * 64, fma(a, b, c));
    store(y, o + 9 * 64, where_(a < b, c, -c));
    let mut sum = a;
    sum += b;
    sum -= c;
    sum *= 2.0;
    store(y, o + 10 * 64, sum);
    store(flags, set, (a == b));
    store(flags, set + 1 * 64, (a != b));
    store(flags, set + 2 * 64, (a < b));
    store(flags, set + 3 * 64, (a <= b));
    store(flags, set + 4 * 64, (a > b));
    store(flags, set + 5 * 64, (a >= b));
    store(flags, set + 6 * 64, ((a < b) & !(b < c) | (a == c) ^ true));
}

/// `a * b + c` as it is written.
#[tile_kernel(types(T = [f32, f64]), tune(BLOCK = [64], warps = [1]), grid = [1])]
fn contracted<T: Float, const BLOCK: usize>(a: &[T], b: &[T], c: &[T], y: &mut [T]) {
    let i = arange(BLOCK);
    let (a, b, c) = (load(a, i), load(b, i), load(c, i));
    store(y, i, a * b + c);
    store(y, BLOCK + i, c - a * b);
    store(y, 2 * BLOCK + i, a * b - c);
}

fn arithmetic_of<T: Precision>()
where
    (T,): arithmetic::Types,
{
    let special =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.5, 2.5, 3.0, -7.0, 1e-3, 1e-7, 300.0, 6e4];
    let pairs = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y)));
    let (a, b): (Vec<T>, Vec<T>) = pairs.map(|(x, y)| (T::of(x), T::of(y))).unzip();
    let n = a.len();
    let c: Vec<T> = (0..n).map(|i| T::of(special[i * 5 % 13 + 1])).collect();
    // Of f16 to f32 one operation in f64, rounded, is the rounded operation.
    let each = |f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<T> {
        (0..n).map(|i| T::of(f(a[i].number(), b[i].number(), c[i].number()))).collect()
    };
    let rounded = |x: f64| T::of(x).number();
    let wanted = [
        each(&|a, b, _| a + b),
        each(&|a, b, _| a - b),
        each(&|a, b, _| a * b),
        each(&|a, b, _| a / b),
        each(&|a, b, _| a % b),
        each(&|a, b, _| a.max(b)),
        each(&|a, b, _| a.min(b)),
        each(&|a, b, c| a.max(b).min(c)),
        (0..n).map(|i| a[i].fma(b[i], c[i])).collect(),
        each(&|a, b, c| if a < b { c } else { -c }),
        each(&|a, b, c| 2.0 * rounded(rounded(a + b) - c)),
    ];
    let flag = |f: &dyn Fn(f64, f64, f64) -> bool| -> Vec<bool> {
        (0..n).map(|i| f(a[i].number(), b[i].number(), c[i].number())).collect()
    };
    let flags = [
        flag(&|a, b, _| a == b),
        flag(&|a, b, _| a != b),
        flag(&|a, b, _| a < b),
        flag(&|a, b, _| a <= b),
        flag(&|a, b, _| a > b),
        flag(&|a, b, _| a >= b),
        flag(&|a, b, c| {
            let less = b < c;
            (a < b) & !less | (a == c) ^ true
        }),
    ];
    everywhere(
        <(T,) as arithmetic::Types>::DESC,
        |rt, options| {
            let (mut y, mut set) = (vec![T::default(); room(11, n)], vec![false; room(7, n)]);
            rt.launch_with(rt.stream(), arithmetic::<T>(&a, &b, &c, &mut y, &mut set), options)
                .map(|()| (results(&y, 11, n), results(&set, 7, n)))
        },
        |(y, set), title| {
            for (row, wanted) in wanted.iter().enumerate() {
                same(&y[row * n..][..n], wanted, &format!("{title}: row {row}"));
            }
            assert_eq!(set, flags.concat(), "{title}");
        },
    );
}

#[test]
fn arithmetic_of_floats() {
    arithmetic_of::<f32>();
    arithmetic_of::<f64>();
    arithmetic_of::<f16>();
    arithmetic_of::<bf16>();
}

fn contracted_of<T: Precision>()
where
    (T,): contracted::Types,
{
    // Squares of numbers near 1: only their last bits remain after c is added.
    let a: Vec<T> = (0..64).map(|i| T::of(1.0 + (2 * i + 1) as f64 * T::EPSILON)).collect();
    let c: Vec<T> = (0..64).map(|i| T::of(-1.0 - (4 * i + 2) as f64 * T::EPSILON)).collect();
    let negative = |x: T| T::of(-x.number());
    let wanted: Vec<T> = (0..192)
        .map(|i| (i / 64, a[i % 64], c[i % 64]))
        .map(|(row, a, c)| match row {
            0 => a.fma(a, c),
            1 => negative(a).fma(a, c),
            _ => a.fma(a, negative(c)),
        })
        .collect();
    assert!(wanted[..64].iter().all(|x| x.number() != 0.0), "two roundings leave nothing");
    everywhere(
        <(T,) as contracted::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); 192];
            rt.launch_with(rt.stream(), contracted::<T>(&a, &a, &c, &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn multiply_adds_are_fused() {
    contracted_of::<f32>();
    contracted_of::<f64>();
}

/// The constants of types.
#[tile_kernel(types(T = [f32, f64, f16, bf16]), tune(warps = [1]), grid = [1], emulate = all)]
fn limits_of_types<T: Float>(y: &mut [T]) {
    store(y, 0, T::EPSILON);
    store(y, 1, T::MIN_POSITIVE);
    store(y, 2, T::MAX);
    store(y, 3, T::MIN);
}

fn limits_of<T: Number>(wanted: [f64; 4])
where
    (T,): limits_of_types::Types,
{
    let wanted = wanted.map(T::of);
    everywhere(
        <(T,) as limits_of_types::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); 4];
            rt.launch_with(rt.stream(), limits_of_types::<T>(&mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn types_know_their_limits() {
    limits_of::<f32>([f32::EPSILON, f32::MIN_POSITIVE, f32::MAX, f32::MIN].map(f64::from));
    limits_of::<f64>([f64::EPSILON, f64::MIN_POSITIVE, f64::MAX, f64::MIN]);
    limits_of::<f16>([2f64.powi(-10), 2f64.powi(-14), 65504.0, -65504.0]);
    let greatest = (2.0 - 2f64.powi(-7)) * 2f64.powi(127);
    limits_of::<bf16>([2f64.powi(-7), 2f64.powi(-126), greatest, -greatest]);
}
