//! Sums of two floats, and the functions that need them or that are the same for both types of floats.

use core::ops::{Add, Div, Mul, Neg, Sub};

use super::{approx, approx64, math};

/// `f32` and `f64`.
pub(super) trait Word:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const HALF: Self;
    const INFINITY: Self;
    const NAN: Self;
    /// log(2) as a sum of two.
    const LN_2: Double<Self>;
    /// 2/3 as a sum of two.
    const TWO_THIRDS: Double<Self>;
    /// Beyond this no power of e is finite and not 0.
    const EXP_LIMIT: Self;

    /// `a * b + c`, rounded once.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    fn trunc(self) -> Self;
    fn abs(self) -> Self;
    fn is_negative(self) -> bool;
    /// `x` = m 2^e with m near 1: m - 1 and e, for a positive finite x.
    fn split(x: Self) -> (Self, Self);
    /// 2/5 + 2/7 z + 2/9 z^2 ..
    fn atanh_series(z: Self) -> Self;
    /// The integer nearest x / log(2).
    fn nearest(x: Self) -> Self;
    /// (e^r - 1 - r) / r^2, for |r| <= log(2)/2.
    fn exp_series(r: Self) -> Self;
    /// x 2^n, for x near 1.
    fn scale(x: Self, n: Self) -> Self;
}

/// An unevaluated sum, in which `low` is at most half an ulp of `high`.
#[derive(Clone, Copy)]
pub(super) struct Double<F> {
    pub high: F,
    pub low: F,
}

impl<F: Word> Double<F> {
    /// The sum, exactly; |a| >= |b|, or a = 0.
    #[inline(always)]
    fn ordered(a: F, b: F) -> Self {
        let high = a + b;
        Double { high, low: b - (high - a) }
    }

    /// The sum, exactly.
    #[inline(always)]
    fn sum(a: F, b: F) -> Self {
        let high = a + b;
        let of_b = high - a;
        Double { high, low: (a - (high - of_b)) + (b - of_b) }
    }

    /// The product, exactly.
    #[inline(always)]
    fn product(a: F, b: F) -> Self {
        let high = a * b;
        Double { high, low: F::fma(a, b, -high) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let sum = Self::sum(self.high, other.high);
        Self::ordered(sum.high, sum.low + (self.low + other.low))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let cross = F::fma(self.high, other.low, self.low * other.high);
        Self::ordered(product.high, product.low + cross)
    }

    #[inline(always)]
    fn by(self, x: F) -> Self {
        let product = Self::product(self.high, x);
        Self::ordered(product.high, F::fma(self.low, x, product.low))
    }
}

/// log(x) for a positive finite x: e log(2) + 2 atanh(s), where s = (m - 1) / (m + 1).
#[inline(always)]
fn log<F: Word>(x: F) -> Double<F> {
    let (f, e) = F::split(x);
    let divisor = Double::ordered(F::ONE + F::ONE, f);
    let inverse = F::ONE / divisor.high;
    let high = f * inverse;
    let rest = F::fma(-divisor.low, high, F::fma(-divisor.high, high, f));
    let s = Double::ordered(high, rest * inverse);
    let z = s.high * s.high;
    let series = F::TWO_THIRDS.plus(Double::ordered(z * F::atanh_series(z), F::ZERO));
    let cube = s.times(s).times(s);
    let twice = Double { high: s.high + s.high, low: s.low + s.low };
    F::LN_2.by(e).plus(twice.plus(cube.times(series)))
}

/// e^x.
#[inline(always)]
fn exp<F: Word>(x: Double<F>) -> F {
    if x.high > F::EXP_LIMIT {
        return F::INFINITY;
    }
    if x.high < -F::EXP_LIMIT {
        return F::ZERO;
    }
    let n = F::nearest(x.high);
    let r = F::fma(-n, F::LN_2.low, F::fma(-n, F::LN_2.high, x.high)) + x.low;
    F::scale(F::ONE + F::fma(F::exp_series(r) * r, r, r), n)
}

/// x^y, by C's rules for NaN, infinities and zeros.
#[inline(always)]
pub(super) fn pow<F: Word>(x: F, y: F) -> F {
    let a = x.abs();
    if y == F::ZERO || x == F::ONE {
        return F::ONE;
    }
    #[allow(clippy::eq_op)]
    if a != a || y != y {
        return F::NAN;
    }
    let r = if a == F::ONE {
        F::ONE
    } else if a == F::ZERO || a == F::INFINITY || y.abs() == F::INFINITY {
        if (a > F::ONE) == (y > F::ZERO) { F::INFINITY } else { F::ZERO }
    } else {
        // A product that overflows has no second part.
        let log = log(a);
        let product = log.high * y;
        exp(if product.abs() > F::EXP_LIMIT { Double { high: product, low: F::ZERO } } else { log.by(y) })
    };
    let half = y * F::HALF;
    let is_whole = y == y.trunc();
    match (x.is_negative(), is_whole) {
        (false, _) => r,
        (true, true) => {
            if half == half.trunc() {
                r
            } else {
                -r
            }
        }
        (true, false) => {
            if a == F::ZERO || a == F::INFINITY {
                r
            } else {
                F::NAN
            }
        }
    }
}

macro_rules! words {
    ($(
        $f:ident $bits:ident $m:ident $fraction:literal
        $split:expr, $ln_2:expr, $third:expr, $limit:literal, $atanh:expr, $series:expr;
    )+) => { $(
        impl Word for $f {
            const ZERO: $f = 0.0;
            const ONE: $f = 1.0;
            const HALF: $f = 0.5;
            const INFINITY: $f = $f::INFINITY;
            const NAN: $f = $f::NAN;
            const LN_2: Double<$f> = Double { high: core::$f::consts::LN_2, low: $ln_2 };
            const TWO_THIRDS: Double<$f> = Double { high: 2.0 / 3.0, low: $third };
            const EXP_LIMIT: $f = $limit;

            #[inline(always)]
            fn fma(a: $f, b: $f, c: $f) -> $f {
                math::$m::fma(a, b, c)
            }
            #[inline(always)]
            fn trunc(self) -> $f {
                math::$m::trunc(self)
            }
            #[inline(always)]
            fn abs(self) -> $f {
                $f::abs(self)
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            #[inline(always)]
            fn split(x: $f) -> ($f, $f) {
                $split(x)
            }
            #[inline(always)]
            fn atanh_series(z: $f) -> $f {
                $atanh.into_iter().fold(0.0, |r, c| math::$m::fma(r, z, 2.0 / c))
            }
            #[inline(always)]
            fn nearest(x: $f) -> $f {
                math::$m::rint(x * core::$f::consts::LOG2_E)
            }
            #[inline(always)]
            fn exp_series(r: $f) -> $f {
                $series(r)
            }
            #[inline(always)]
            fn scale(x: $f, n: $f) -> $f {
                $m::ldexp(x, n as i32)
            }
        }

        /// The functions of this type.
        pub mod $m {
            use crate::scalar::math;

            const BIAS: i32 = $f::MAX_EXP - 1;
            const FRACTION: u32 = $fraction;

            /// 2^n, for n of normal numbers.
            #[inline(always)]
            const fn power(n: i32) -> $f {
                $f::from_bits(((n + BIAS) as $bits) << FRACTION)
            }

            #[inline(always)]
            pub fn pow(x: $f, y: $f) -> $f {
                super::pow(x, y)
            }

            /// x 2^n, rounded once: a product with several powers of two, whose last multiplication alone rounds.
            #[inline(always)]
            pub fn ldexp(x: $f, n: i32) -> $f {
                // Far enough for every result to be infinite or 0.
                const FAR: i32 = 2 * BIAS + FRACTION as i32 + 3;
                // If an earlier step gives a denormal number, the last one gives 0: no digits are rounded twice.
                const DOWN: i32 = -(BIAS - 1) + FRACTION as i32 + 1;
                let mut n = n.clamp(-FAR, FAR);
                let mut x = x;
                let mut i = 0;
                while i < 3 {
                    let step = if n > BIAS {
                        BIAS
                    } else if n < -(BIAS - 1) {
                        DOWN
                    } else {
                        0
                    };
                    x *= power(step);
                    n -= step;
                    i += 1;
                }
                x * power(n)
            }

            /// sqrt(x^2 + y^2): of the two times a power of two, so that no square overflows or vanishes.
            #[inline(always)]
            pub fn hypot(x: $f, y: $f) -> $f {
                let (x, y) = (x.abs(), y.abs());
                let (high, low) = if x < y { (y, x) } else { (x, y) };
                let exponent = (high.to_bits() >> FRACTION) as i32 - BIAS;
                let exponent = exponent.clamp(2 - BIAS, BIAS - 2);
                let (a, b) = (high * power(-exponent), low * power(-exponent));
                let r = math::$m::sqrt(math::$m::fma(a, a, b * b)) * power(exponent);
                if x == $f::INFINITY || y == $f::INFINITY { $f::INFINITY } else { r }
            }

            /// The real cube root: a third of the exponent, and Halley's iterations.
            #[inline(always)]
            pub fn cbrt(x: $f) -> $f {
                // A number of the middle, whose cubes are as well.
                const FAR: i32 = 3 * (FRACTION as i32 + 1);
                let a = x.abs();
                let (scaled, back) = if a < power(-BIAS / 2) {
                    (a * power(FAR), power(-FAR / 3))
                } else if a > power(BIAS / 2) {
                    (a * power(-FAR), power(FAR / 3))
                } else {
                    (a, 1.0)
                };
                // Two thirds of the bias; a little less is nearest on the whole.
                const OFFSET: $bits = ((BIAS as $bits) * 2 << FRACTION) / 3 - (1 << FRACTION) / 32;
                let mut t = $f::from_bits(scaled.to_bits() / 3 + OFFSET);
                let mut i = 0;
                while i < if FRACTION > 23 { 2 } else { 1 } {
                    let cube = t * t * t;
                    t *= (cube + 2.0 * scaled) / (2.0 * cube + scaled);
                    i += 1;
                }
                let square = t * t;
                let error = math::$m::fma(square, t, -scaled);
                let t = math::$m::fma(-t, error / (3.0 * scaled + 2.0 * error), t);
                if a == 0.0 || a == $f::INFINITY || a.is_nan() { x } else { (t * back).copysign(x) }
            }
        }
    )+ };
}
words! {
    f32 u32 m32 23 approx::split, -1.904_654_2e-9, -1.986_821_6e-8, 200.0,
        [13.0f32, 11.0, 9.0, 7.0, 5.0],
        |r| approx::EXP_SERIES.into_iter().reduce(|p, c| math::m32::fma(p, r, c)).unwrap_or(0.0);
    f64 u64 m64 52 |x| {
            let (f, k) = approx64::split(x);
            (f, k as f64)
        }, 2.319_046_813_846_3e-17, 3.700_743_415_417_188e-17, 1500.0,
        [29.0f64, 27.0, 25.0, 23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0],
        approx64::exp_series;
}
