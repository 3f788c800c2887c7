//! Functions of `f64` that no available library computes exactly enough, compared with sums of two `f64` (some 100
//! bits).

use super::super::{approx64, math::m64};

/// An unevaluated sum, the larger part first.
#[derive(Clone, Copy)]
struct Double(f64, f64);

impl Double {
    fn sum(a: f64, b: f64) -> Self {
        let s = a + b;
        let c = s - a;
        Double(s, (a - (s - c)) + (b - c))
    }

    fn product(a: f64, b: f64) -> Self {
        let p = a * b;
        Double(p, a.mul_add(b, -p))
    }

    fn add(self, b: Self) -> Self {
        let (high, low) = (Double::sum(self.0, b.0), Double::sum(self.1, b.1));
        let first = Double::sum(high.0, high.1 + low.0);
        Double::sum(first.0, first.1 + low.1)
    }

    fn mul(self, b: Self) -> Self {
        let p = Double::product(self.0, b.0);
        Double::sum(p.0, p.1 + (self.0 * b.1 + self.1 * b.0))
    }

    fn div(self, b: Self) -> Self {
        let mut q = Double(0.0, 0.0);
        let mut rest = self;
        for _ in 0..3 {
            let digit = Double(rest.0 / b.0, 0.0);
            q = q.add(digit);
            let p = b.mul(digit);
            rest = rest.add(Double(-p.0, -p.1));
        }
        q
    }
}

/// e^a as a number near 1 and a power of two.
fn exp(a: f64) -> (Double, i32) {
    const LN_2: [f64; 3] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17, 5.707_708_438_416_212e-34];
    let k = (a / LN_2[0]).round();
    let parts = LN_2.map(|part| Double::product(-k, part));
    let r = Double(a, 0.0).add(parts[0]).add(parts[1]).add(parts[2]);
    let one = Double(1.0, 0.0);
    // 0.35^n / n! of n = 26 is below 2^-125.
    let series = (1..=26).rev().fold(one, |s, n| one.add(r.mul(s).div(Double(f64::from(n), 0.0))));
    (series, k as i32)
}

/// 2^n `x`, exactly where neither is denormal.
fn scaled(x: f64, n: i32) -> f64 {
    let power = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    let half = n / 2;
    x * power(half) * power(n - half)
}

/// The error of `got` in units of the last place, where `m` 2^k is exact.
fn error(got: f64, m: Double, k: i32) -> f64 {
    let exponent = (m.0.to_bits() >> 52) as i32 - 1023;
    let last = (exponent + k - 52).max(-1074);
    let off = Double(scaled(got, -k), 0.0).add(Double(-m.0, -m.1));
    (off.0 / scaled(1.0, last - k)).abs()
}

fn worst(arguments: impl Iterator<Item = f64>, error: impl Fn(f64) -> f64) -> (f64, f64) {
    arguments.map(|x| (error(x), x)).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

#[track_caller]
fn check(name: &str, bound: f64, (worst, at): (f64, f64)) {
    println!("{name}: {worst:.3} ulp at {at:e}");
    assert!(worst <= bound, "{name}: {worst} ulp at {at:e}");
}

/// Well-spread numbers from 0 to 1.
fn spread(n: u64) -> impl Iterator<Item = f64> {
    (0..n).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64)
}

#[test]
fn the_reference_is_exact() {
    for (x, high, low) in [
        // e, and e^-1, to 106 bits.
        (1.0, std::f64::consts::E, 1.445_646_891_729_250_2e-16),
        (-1.0, 0.367_879_441_171_442_33, -1.242_875_367_278_836_3e-17),
    ] {
        let (m, k) = exp(x);
        let off = Double(scaled(m.0, k), scaled(m.1, k)).add(Double(-high, -low));
        assert!(off.0.abs() < 1e-30, "e^{x}: off by {}", off.0);
    }
}

/// Of 1 / sqrt(x) by its square: x r^2 is near 1.
fn error_of_rsqrt(r: f64, x: f64) -> f64 {
    let square = Double::product(r, r);
    let off = square.mul(Double(x, 0.0)).add(Double(-1.0, 0.0));
    let last = f64::from_bits(r.to_bits() & !0 << 52) * f64::EPSILON;
    (r * off.0 / 2.0 / last).abs()
}

#[test]
fn rsqrt() {
    let error = |x: f64| error_of_rsqrt(m64::rsqrt(x), x);
    // All exponents behave as two of them do.
    let near_1 = (1..400_000).map(|i| 1.0 + f64::from(i) * f64::EPSILON);
    check("rsqrt", 1.5, worst(spread(2_000_000).map(|u| 1.0 + 3.0 * u).chain(near_1), error));
    for x in [f64::MIN_POSITIVE, 1e-300, 3e-200, 7e100, 1.1e300, f64::MAX] {
        let r = m64::rsqrt(x);
        // The square root is within half a unit, as is the quotient.
        assert!((r * r * x - 1.0).abs() < 1e-15, "{x:e}: {r:e}");
    }
}

#[test]
fn sigmoid() {
    let arguments = || {
        let near_0 = spread(100_000).map(|u| (u - 0.5) * 8.0);
        let far = spread(100_000).map(|u| (u - 0.5) * 1496.0);
        near_0.chain(far).chain([0.0, 1e-300, -1e-300, 1.0, -1.0, -708.4, -745.0, 710.0])
    };
    let exact = |x: f64| {
        let (z, k) = exp(-x.abs());
        let one = Double(1.0, 0.0);
        // Beside 1, smaller numbers count as much as 2^-500.
        let near = k.max(-500);
        let below = one.add(Double(scaled(z.0, near), scaled(z.1, near)));
        if x < 0.0 { (z.div(below), k) } else { (one.div(below), 0) }
    };
    for (name, bound, f) in [
        ("sigmoid of the host", 3.0, m64::sigmoid as fn(f64) -> f64),
        ("sigmoid of the device", 3.0, approx64::sigmoid),
    ] {
        check(
            name,
            bound,
            worst(arguments(), |x| {
                let (m, k) = exact(x);
                error(f(x), m, k)
            }),
        );
    }
}
