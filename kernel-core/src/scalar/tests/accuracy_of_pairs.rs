//! Functions of two numbers, as the device computes them, against references of twice the precision (`f32`) or `pxfm`
//! (`f64`).

use super::super::approx;
use super::super::{approx64, math, word};
use super::accuracy::{Exact, Off, arguments, ulp32, ulp64};

const SPECIAL: [f64; 13] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, 1e9, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// Pairs of all exponents, and of numbers whose functions are finite, and of special ones.
fn pairs() -> impl Iterator<Item = (f64, f64)> {
    let some = || arguments().step_by(4001).map(f64::from);
    let all = some().flat_map(move |x| some().map(move |y| (x, y)));
    let near = (1..350).flat_map(|i| (-300..300).map(move |j| (i as f64 * 0.0274, j as f64 * 0.2931)));
    let close = (0..1000).flat_map(|i| (0..40).map(move |j| (1.0 + (i - 500) as f64 * 1e-5, (j - 20) as f64 * 411.7)));
    let special = SPECIAL.into_iter().flat_map(|x| SPECIAL.into_iter().map(move |y| (x, y)));
    all.chain(near).chain(close).chain(special)
}

/// The same sign, too: of zeros and infinities.
fn signs_differ(a: f64, b: f64) -> bool {
    !a.is_nan() && a.is_sign_negative() != b.is_sign_negative()
}

#[track_caller]
fn check32(name: &str, bound: f64, f: impl Fn(f32, f32) -> f32, reference: impl Fn(f64, f64) -> f64) {
    let mut worst = (0.0, (0.0, 0.0));
    for (x, y) in pairs().map(|(x, y)| (x as f32, y as f32)) {
        let (r, wanted) = (f(x, y), reference(x as f64, y as f64));
        let error = ulp32(r, wanted);
        assert!(!signs_differ(r as f64, wanted), "{name}({x:e}, {y:e}) is {r:e}, not {wanted:e}");
        if error > worst.0 {
            worst = (error, (x, y));
        }
    }
    println!("{name}: {:.3} ulp at {:e}, {:e}", worst.0, worst.1.0, worst.1.1);
    assert!(worst.0 <= bound, "{name}: {} ulp at {:?}", worst.0, worst.1);
}

#[track_caller]
fn check64(name: &str, bound: f64, f: impl Fn(f64, f64) -> f64, reference: impl Fn(f64, f64) -> f64) {
    let mut worst = (0.0, (0.0, 0.0));
    for (x, y) in pairs().flat_map(|(x, y)| [(x, y), (x * 1.000_123, y * 1.000_037)]) {
        let (r, wanted) = (f(x, y), reference(x, y));
        let error = ulp64(r, wanted);
        assert!(!signs_differ(r, wanted), "{name}({x:e}, {y:e}) is {r:e}, not {wanted:e}");
        if error > worst.0 {
            worst = (error, (x, y));
        }
    }
    println!("{name}: {} ulp at {:e}, {:e}", worst.0, worst.1.0, worst.1.1);
    assert!(worst.0 <= bound, "{name}: {} ulp at {:?}", worst.0, worst.1);
}

#[test]
fn pow() {
    let reference = |x: f64, y: f64| {
        let plain = |v: f64| v.is_finite() && v != 0.0;
        if plain(x) && plain(y) { pxfm::f_pow(x, y) } else { libm::pow(x, y) }
    };
    check32("pow", 1.3, word::m32::pow, reference);
    check64("pow of f64", 1.0, word::m64::pow, reference);
}

#[test]
fn atan2() {
    check32("atan2, exact primitives", 1.6, approx::atan2::<Exact>, pxfm::f_atan2);
    check32("atan2, primitives too high", 1.6, approx::atan2::<Off<2, 1>>, pxfm::f_atan2);
    check64("atan2 of f64", 1.0, approx64::atan2, pxfm::f_atan2);
}

#[test]
fn hypot() {
    check32("hypot", 1.0, word::m32::hypot, pxfm::f_hypot);
    check64("hypot of f64", 1.0, word::m64::hypot, pxfm::f_hypot);
}

/// Rounded once, for any number of steps.
#[test]
fn ldexp() {
    let exponents = [-2200, -1075, -1074, -1030, -1022, -300, -151, -150, -149, -127, -126, -103, -25, -1];
    let exponents = exponents.into_iter().flat_map(|n| [n, -n]).chain([0, i32::MIN, i32::MAX]);
    for n in exponents {
        for x in arguments().step_by(97) {
            let wanted = if (-300..300).contains(&n) {
                (x as f64 * 2f64.powi(n)) as f32
            } else {
                libm::ldexp(x as f64, n) as f32
            };
            let r = word::m32::ldexp(x, n);
            assert!(
                r.to_bits() == wanted.to_bits() || r.is_nan() && x.is_nan(),
                "{x:e} 2^{n} is {r:e}, not {wanted:e}"
            );
            for x in [x as f64, x as f64 * 1.000_000_3e-300] {
                let (r, wanted) = (word::m64::ldexp(x, n), libm::ldexp(x, n));
                assert!(r.to_bits() == wanted.to_bits() || r.is_nan(), "{x:e} 2^{n} is {r:e}, not {wanted:e}");
            }
        }
    }
}

/// The host's functions go by the same rules.
#[test]
fn special_powers_on_the_host() {
    for (x, y) in SPECIAL.into_iter().flat_map(|x| SPECIAL.into_iter().map(move |y| (x, y))) {
        let (r, wanted) = (math::m64::pow(x, y), word::m64::pow(x, y));
        assert!(ulp64(r, wanted) <= 1.0 && !signs_differ(r, wanted), "pow({x}, {y}): {r} {wanted}");
        let (r, wanted) = (math::m64::atan2(x, y), approx64::atan2(x, y));
        assert!(ulp64(r, wanted) <= 1.0 && !signs_differ(r, wanted), "atan2({x}, {y}): {r} {wanted}");
    }
}
