//! The device's algorithms on the host, and the host's, against references of twice the precision (`f32`), `std` or
//! `pxfm` (`f64`).

use super::super::approx::{self, Primitives};
use super::super::{approx64, math, math::m64, word};

/// Primitives that are off by this many ulp: the hardware's documented bounds are 2 for `ex2`, 1 for `rcp`.
pub(super) struct Off<const EX2: i32, const RCP: i32>;
pub(super) type Exact = Off<0, 0>;

fn step(x: f32, ulp: i32) -> f32 {
    if x.is_normal() { f32::from_bits(x.to_bits().wrapping_add_signed(ulp)) } else { x }
}

impl<const EX2: i32, const RCP: i32> Primitives for Off<EX2, RCP> {
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    fn fma_sat(a: f32, b: f32, c: f32) -> f32 {
        let r = a.mul_add(b, c);
        if r.is_nan() { 0.0 } else { r.clamp(0.0, 1.0) }
    }
    fn ex2(x: f32) -> f32 {
        let r = (x as f64).exp2() as f32;
        if r.is_subnormal() { 0.0 } else { step(r, EX2) }
    }
    fn rcp(x: f32) -> f32 {
        // `rcp.approx.ftz` takes denormals for 0, and gives 0 for them.
        let flushed = |v: f32| if v.is_subnormal() { 0.0f32.copysign(v) } else { v };
        flushed(step((1.0 / flushed(x) as f64) as f32, RCP))
    }
}

/// Error in units of the last place that an `f32` near the reference has.
pub(super) fn ulp32(got: f32, reference: f64) -> f64 {
    let rounded = reference as f32;
    if got == rounded || (got.is_nan() && reference.is_nan()) {
        return 0.0;
    }
    if got.is_nan() != reference.is_nan() {
        return f64::INFINITY;
    }
    if !got.is_finite() || !rounded.is_finite() {
        // The greatest number and infinity are one ulp apart.
        let finite = |v: f32| if v.is_infinite() { 2f64.powi(128).copysign(v as f64) } else { v as f64 };
        return (finite(got) - finite(rounded)).abs() / 2f64.powi(104);
    }
    let exponent = (reference.abs().log2().floor() as i32).max(-126);
    (got as f64 - reference).abs() / 2f64.powi(exponent - 23)
}

pub(super) fn ulp64(got: f64, reference: f64) -> f64 {
    if got == reference || (got.is_nan() && reference.is_nan()) {
        return 0.0;
    }
    if got.is_nan() != reference.is_nan() {
        return f64::INFINITY;
    }
    let order = |v: f64| if v < 0.0 { -((v.to_bits() << 1 >> 1) as i64) } else { v.to_bits() as i64 };
    order(got).abs_diff(order(reference)) as f64
}

/// All exponents and signs, the specials, and points around where algorithms switch.
pub(super) fn arguments() -> impl Iterator<Item = f32> {
    let strided = (0..=u32::MAX).step_by(3989).map(f32::from_bits);
    let around =
        [0.55f32, 0.927_734_4, 65536.0, 88.0, 88.722_84, 104.0, 1.0, 0.666_666_7, 1.333_333_3, f32::MIN_POSITIVE]
            .into_iter()
            .flat_map(|x| (0..2000u32).map(move |d| f32::from_bits(x.to_bits() - 1000 + d)))
            .flat_map(|x| [x, -x]);
    let dense = (-500_000..500_000).map(|i| i as f32 * 2.44e-4); // the main range of most functions
    strided.chain(around).chain(dense).chain([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN])
}

#[track_caller]
fn check32(name: &str, bound: f64, f: impl Fn(f32) -> f32, reference: impl Fn(f64) -> f64) {
    let (worst, at) = arguments()
        .map(|x| (ulp32(f(x), reference(x as f64)), x))
        .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    println!("{name}: {worst:.3} ulp at {at:e}");
    assert!(worst <= bound, "{name}: {worst} ulp at {at:e}: {} instead of {}", f(at), reference(at as f64));
}

#[track_caller]
fn check64(name: &str, bound: f64, f: impl Fn(f64) -> f64, reference: impl Fn(f64) -> f64) {
    let arguments = || {
        let strided = (0..400_000u64).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let dense = (-400_000..400_000).map(|i| i as f64 * 3.000_001e-4);
        let wide = (-200_000..200_000).map(|i| i as f64 * 4.000_1e-3);
        strided.chain(dense).chain(wide).chain(arguments().step_by(7).map(|x| x as f64))
    };
    let (worst, at) =
        arguments().map(|x| (ulp64(f(x), reference(x)), x)).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    println!("{name}: {worst} ulp at {at:e}");
    assert!(worst <= bound, "{name}: {worst} ulp at {at:e}: {} instead of {}", f(at), reference(at));
}

macro_rules! functions32 {
    ($($f:ident: $exact:literal, $off:literal, $reference:expr;)+) => { $(
        #[test]
        fn $f() {
            check32(concat!(stringify!($f), ", exact primitives"), $exact, approx::$f::<Exact>, $reference);
            check32(concat!(stringify!($f), ", primitives too high"), $off, approx::$f::<Off<2, 1>>, $reference);
            check32(concat!(stringify!($f), ", primitives too low"), $off, approx::$f::<Off<-2, -1>>, $reference);
        }
    )+ };
}

functions32! {
    exp: 1.1, 4.6, f64::exp;
    log: 1.0, 1.0, f64::ln;
    log2: 2.0, 2.0, f64::log2;
    sin: 1.5, 1.5, f64::sin;
    cos: 1.5, 1.5, f64::cos;
    tanh: 2.0, 3.0, f64::tanh;
    erf: 1.5, 2.0, libm::erf;
    sigmoid: 3.0, 7.6, m64::sigmoid;
    exp10: 1.1, 4.6, pxfm::f_exp10;
    expm1: 1.5, 1.5, pxfm::f_expm1;
    log10: 1.9, 1.9, pxfm::f_log10;
    log1p: 1.5, 1.5, pxfm::f_log1p;
    tan: 3.0, 3.0, pxfm::f_tan;
    asin: 2.3, 2.3, pxfm::f_asin;
    acos: 1.3, 1.3, pxfm::f_acos;
    atan: 1.3, 1.9, pxfm::f_atan;
    sinh: 1.7, 5.8, pxfm::f_sinh;
    cosh: 1.7, 3.8, pxfm::f_cosh;
    asinh: 1.8, 1.9, pxfm::f_asinh;
    acosh: 1.9, 2.0, pxfm::f_acosh;
    atanh: 1.8, 2.0, pxfm::f_atanh;
    erfc: 3.5, 6.9, pxfm::f_erfc;
    erfinv: 3.0, 3.1, pxfm::f_erfinv;
}

#[test]
fn round() {
    arguments().chain((1..4_000_000).map(|i| f32::from_bits(i * 1021))).for_each(|x| {
        let (r, wanted) = (approx::round(x), x.round());
        assert!(r.to_bits() == wanted.to_bits() || r.is_nan() && x.is_nan(), "{x:e}: {r}, not {wanted}");
        for x in [x as f64, x as f64 + 0.499_999_999_99, x as f64 * 0.499_999_999_999_999_94] {
            let (r, wanted) = (approx64::round(x), x.round());
            assert!(r.to_bits() == wanted.to_bits() || r.is_nan() && x.is_nan(), "{x:e}: {r}, not {wanted}");
        }
    });
}

#[test]
fn cbrt() {
    check32("cbrt", 0.8, word::m32::cbrt, pxfm::f_cbrt);
}

macro_rules! host32 {
    ($($name:ident $f:ident: $bound:literal, $reference:expr;)+) => { $(
        #[test]
        fn $name() {
            check32(stringify!($name), $bound, math::m32::$f, $reference);
        }
    )+ };
}

host32! {
    host_exp exp: 0.501, f64::exp;
    host_exp2 exp2: 0.501, |x| if x < -126.0 { 0.0 } else { x.exp2() };
    host_log log: 0.501, f64::ln;
    host_log2 log2: 0.501, f64::log2;
    host_tanh tanh: 0.501, f64::tanh;
    host_sigmoid sigmoid: 0.501, m64::sigmoid;
    host_rsqrt rsqrt: 0.501, m64::rsqrt;
    host_recip recip: 0.501, normal_recip;
    host_erf erf: 1.1, libm::erf;
    host_exp10 exp10: 0.501, pxfm::f_exp10;
    host_expm1 expm1: 0.501, pxfm::f_expm1;
    host_log10 log10: 0.501, pxfm::f_log10;
    host_log1p log1p: 0.501, pxfm::f_log1p;
    host_cbrt cbrt: 0.501, pxfm::f_cbrt;
    host_tan tan: 0.501, pxfm::f_tan;
    host_asin asin: 0.501, pxfm::f_asin;
    host_acos acos: 0.501, pxfm::f_acos;
    host_atan atan: 0.501, pxfm::f_atan;
    host_sinh sinh: 0.501, pxfm::f_sinh;
    host_cosh cosh: 0.501, pxfm::f_cosh;
    host_asinh asinh: 0.501, pxfm::f_asinh;
    host_acosh acosh: 0.501, pxfm::f_acosh;
    host_atanh atanh: 0.501, pxfm::f_atanh;
    host_erfc erfc: 0.501, pxfm::f_erfc;
    host_lgamma lgamma: 0.501, pxfm::f_lgamma;
    host_tgamma tgamma: 0.501, |x| if x == 0.0 { 1.0 / x } else { pxfm::f_tgamma(x) };
    host_erfinv erfinv: 0.501, pxfm::f_erfinv;
}

/// The host's function is within the unit that the language promises, although its polynomials are those of the device.
#[test]
fn host_erf_densely() {
    // From 2^-10 to 4, where the result is 1.
    let arguments = (0x3a80_0000..0x4080_0000u32).step_by(67).map(f32::from_bits);
    let (worst, at) = arguments
        .map(|x| (ulp32(math::m32::erf(x), libm::erf(x as f64)), x))
        .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    println!("erf of the host: {worst:.3} ulp at {at:e}");
    assert!(worst <= 1.0, "{worst} ulp at {at:e}");
}

/// 1 / x where denormals are 0.
fn normal_recip(x: f64) -> f64 {
    let normal = |v: f64| if v.abs() < f32::MIN_POSITIVE as f64 { 0.0f64.copysign(v) } else { v };
    normal(1.0 / normal(x))
}

macro_rules! functions64 {
    ($($name:ident $f:ident: $bound:literal, $reference:expr;)+) => { $(
        #[test]
        fn $name() {
            check64(stringify!($name), $bound, approx64::$f, $reference);
        }
    )+ };
}

// The references are within an ulp themselves.
functions64! {
    exp_f64 exp: 1.0, f64::exp;
    exp2_f64 exp2: 1.0, f64::exp2;
    log_f64 log: 1.0, f64::ln;
    log2_f64 log2: 2.0, f64::log2;
    sin_f64 sin: 1.0, f64::sin;
    cos_f64 cos: 1.0, f64::cos;
    tanh_f64 tanh: 2.0, f64::tanh;
    erf_f64 erf: 1.0, libm::erf;
    sigmoid_f64 sigmoid: 3.0, m64::sigmoid;
    exp10_f64 exp10: 1.0, |x| if x < -307.0 { libm::exp10(x) } else { pxfm::f_exp10(x) };
    expm1_f64 expm1: 2.0, pxfm::f_expm1;
    log10_f64 log10: 1.0, pxfm::f_log10;
    log1p_f64 log1p: 1.0, pxfm::f_log1p;
    tan_f64 tan: 2.0, pxfm::f_tan;
    asin_f64 asin: 1.0, pxfm::f_asin;
    acos_f64 acos: 1.0, pxfm::f_acos;
    atan_f64 atan: 1.0, pxfm::f_atan;
    sinh_f64 sinh: 2.0, pxfm::f_sinh;
    cosh_f64 cosh: 1.0, pxfm::f_cosh;
    asinh_f64 asinh: 1.0, pxfm::f_asinh;
    acosh_f64 acosh: 1.0, pxfm::f_acosh;
    atanh_f64 atanh: 1.0, pxfm::f_atanh;
    erfc_f64 erfc: 3.0, pxfm::f_erfc;
    erfinv_f64 erfinv: 2.0, pxfm::f_erfinv;
    tgamma_f64 tgamma: 10.0, |x| if x > 171.6 { libm::tgamma(x) } else { pxfm::f_tgamma(x) };
}

#[test]
fn cbrt_f64() {
    check64("cbrt", 1.0, word::m64::cbrt, pxfm::f_cbrt);
}

/// Near its zeros below 0 the absolute error counts.
#[test]
fn lgamma_f64() {
    let shown = |x: f64| if x > -60.0 && x < 0.0 { 1e3 + x } else { x };
    check64(
        "lgamma",
        3.0,
        |x| if shown(x) == x { approx64::lgamma(x) } else { 0.0 },
        |x| match shown(x) == x {
            true if x < 1e15 => pxfm::f_lgamma(x),
            true => libm::lgamma(x),
            false => 0.0,
        },
    );
    for i in 1..60_000 {
        let x = i as f64 * -1.003e-3;
        let (r, reference) = (approx64::lgamma(x), pxfm::f_lgamma(x));
        let error = (r - reference).abs() / (f64::EPSILON * f64::max(1.0, reference.abs()));
        assert!(r == reference || error <= 4.0, "lgamma({x}) is {r}, not {reference}: {error}");
    }
}

#[test]
fn zeros_keep_their_sign() {
    use approx::{asin, asinh, atan, atanh, erf, erfinv, expm1, log1p, sin, sinh, tan, tanh};
    for f in [
        sin::<Exact>,
        tanh::<Exact>,
        erf::<Exact>,
        expm1::<Exact>,
        log1p::<Exact>,
        tan::<Exact>,
        asin::<Exact>,
        atan::<Exact>,
        sinh::<Exact>,
        asinh::<Exact>,
        atanh::<Exact>,
        erfinv::<Exact>,
        word::m32::cbrt,
    ] {
        assert_eq!(f(-0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(f(0.0).to_bits(), 0);
    }
    use approx64 as a;
    for f in [
        a::sin,
        a::tanh,
        a::erf,
        a::expm1,
        a::log1p,
        a::tan,
        a::asin,
        a::atan,
        a::sinh,
        a::asinh,
        a::atanh,
        a::erfinv,
        word::m64::cbrt,
    ] {
        assert_eq!(f(-0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(f(0.0).to_bits(), 0);
    }
}

#[test]
fn remainders_are_exact() {
    let some = || arguments().step_by(5501);
    for (x, y) in some().flat_map(|x| some().map(move |y| (x, y))) {
        let (r, reference) = (approx::rem(x, y), x % y);
        assert!(
            r.to_bits() == reference.to_bits() || (r.is_nan() && reference.is_nan()),
            "{x:e} % {y:e}: {r:e}, {reference:e}"
        );
    }
    let some = || {
        (0..700u64)
            .map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .chain([0.0, -0.0, 5e-324, 3.0, 1e300])
    };
    for (x, y) in some().flat_map(|x| some().map(move |y| (x, y))) {
        let (r, reference) = (approx64::rem(x, y), x % y);
        assert!(
            r.to_bits() == reference.to_bits() || (r.is_nan() && reference.is_nan()),
            "{x:e} % {y:e}: {r:e}, {reference:e}"
        );
    }
}

/// The host's `f64` functions: `libm` is held here, too.
#[test]
fn host_f64() {
    check64("exp10", 1.0, m64::exp10, |x| if x < -307.0 { approx64::exp10(x) } else { pxfm::f_exp10(x) });
    check64("expm1", 1.0, m64::expm1, pxfm::f_expm1);
    check64("log10", 1.0, m64::log10, pxfm::f_log10);
    check64("log1p", 1.0, m64::log1p, pxfm::f_log1p);
    check64("cbrt", 1.0, m64::cbrt, pxfm::f_cbrt);
    check64("tan", 1.0, m64::tan, pxfm::f_tan);
    check64("asin", 1.0, m64::asin, pxfm::f_asin);
    check64("acos", 1.0, m64::acos, pxfm::f_acos);
    check64("atan", 1.0, m64::atan, pxfm::f_atan);
    check64("sinh", 2.0, m64::sinh, pxfm::f_sinh);
    check64("cosh", 1.0, m64::cosh, pxfm::f_cosh);
    check64("asinh", 1.0, m64::asinh, pxfm::f_asinh);
    check64("acosh", 1.0, m64::acosh, pxfm::f_acosh);
    check64("atanh", 1.0, m64::atanh, pxfm::f_atanh);
    check64("erfc", 3.0, m64::erfc, pxfm::f_erfc);
    check64(
        "tgamma",
        10.0,
        m64::tgamma,
        |x| if x > 171.6 || x == 0.0 { approx64::tgamma(x) } else { pxfm::f_tgamma(x) },
    );
}
