//! The functions of floats: by `host`, `std` and `libm` on the host, by `approx`, `word` and PTX on the device.

use super::{BF16, F16, Num, word};

macro_rules! float {
    (
        unary { $($unary:ident)+ }
        binary { $($binary:ident)+ }
    ) => {
        /// Floats. 16-bit ones compute in `f32` and round.
        pub trait Float: Num {
            $(
                #[doc = concat!("As the function `", stringify!($unary), "` of [`scalar`](super).")]
                fn $unary(x: Self) -> Self;
            )+
            $(
                #[doc = concat!("As the function `", stringify!($binary), "` of [`scalar`](super).")]
                fn $binary(a: Self, b: Self) -> Self;
            )+
            /// As the function `ldexp` of [`scalar`](super).
            fn ldexp(x: Self, n: i32) -> Self;
            /// As the function `nextafter` of [`scalar`](super).
            fn nextafter(x: Self, to: Self) -> Self;
        }
        float! { @words [$($unary)+] [$($binary)+] f32 m32 u32 f64 m64 u64 }
        float! { @halves [$($unary)+] [$($binary)+] F16 BF16 }
    };
    (@words $unary:tt $binary:tt $($t:ident $m:ident $bits:ident)+) => { $(
        impl Float for $t {
            float! { @unary $unary x, $m, x, |r| r }
            float! { @binary $binary a b, $m, a, b, |r| r }
            #[inline(always)]
            fn ldexp(x: Self, n: i32) -> Self {
                word::$m::ldexp(x, n)
            }
            float! { @bits $bits }
        }
    )+ };
    (@halves $unary:tt $binary:tt $($t:ident)+) => { $(
        impl Float for $t {
            float! { @unary $unary x, m32, x.to_f32(), |r| $t::from_f32(r) }
            float! { @binary $binary a b, m32, a.to_f32(), b.to_f32(), |r| $t::from_f32(r) }
            #[inline(always)]
            fn ldexp(x: Self, n: i32) -> Self {
                $t::from_f32(word::m32::ldexp(x.to_f32(), n))
            }
            float! { @bits u16 }
        }
    )+ };
    (@unary [$($f:ident)+] $x:ident, $m:ident, $value:expr, |$r:ident| $back:expr) => { $(
        #[inline(always)]
        fn $f($x: Self) -> Self {
            let $r = $m::$f($value);
            $back
        }
    )+ };
    (@binary [$($f:ident)+] $a:ident $b:ident, $m:ident, $first:expr, $second:expr, |$r:ident| $back:expr) => { $(
        #[inline(always)]
        fn $f($a: Self, $b: Self) -> Self {
            let $r = $m::$f($first, $second);
            $back
        }
    )+ };
    (@bits $bits:ident) => {
        #[allow(clippy::eq_op)]
        #[inline(always)]
        fn nextafter(x: Self, to: Self) -> Self {
            const SIGN: $bits = 1 << ($bits::BITS - 1);
            let bits = x.to_bits();
            let away = (x < to) == (bits & SIGN == 0);
            let next = match (bits & !SIGN, away) {
                (0, _) => to.to_bits() & SIGN | 1, // the least number of that sign
                (_, true) => bits + 1,
                (_, false) => bits - 1,
            };
            if x != x {
                x
            } else if to != to || x == to {
                to
            } else {
                Self::from_bits(next)
            }
        }
    };
}
float! {
    unary {
        floor ceil trunc rint round sqrt rsqrt recip cbrt exp exp2 exp10 expm1 log log2 log10 log1p
        sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma tgamma sigmoid
    }
    binary { pow atan2 hypot copysign }
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! by_std {
    ($t:ident: $($f:ident $method:ident)+) => { $(
        #[inline(always)]
        pub fn $f(x: $t) -> $t {
            x.$method()
        }
    )+ };
}

/// By `libm`: the same on every machine.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! by_libm {
    ($($f:ident($($a:ident),+) $libm:ident)+) => { $(
        #[inline(always)]
        pub fn $f($($a: f64),+) -> f64 {
            libm::$libm($($a),+)
        }
    )+ };
}

/// In `f64`, and rounded once more.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! by_f64 {
    ($($f:ident($($a:ident),+))+) => { $(
        #[inline(always)]
        pub fn $f($($a: f32),+) -> f32 {
            super::m64::$f($($a as f64),+) as f32
        }
    )+ };
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod m32 {
    pub use super::super::host::{erf, exp, exp2, log, log2, recip, rsqrt, sigmoid, tanh};

    by_std! {
        f32: floor floor ceil ceil trunc trunc rint round_ties_even round round sqrt sqrt sin sin cos cos
    }
    by_f64! {
        cbrt(x) exp10(x) expm1(x) log10(x) log1p(x) tan(x) asin(x) acos(x) atan(x) sinh(x) cosh(x) asinh(x) acosh(x)
        atanh(x) erfc(x) erfinv(x) lgamma(x) tgamma(x) pow(x, y) atan2(y, x) hypot(x, y)
    }

    #[inline(always)]
    pub fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    pub fn copysign(x: f32, sign: f32) -> f32 {
        x.copysign(sign)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod m64 {
    pub use super::super::approx64::{erfinv, exp10};

    by_std! {
        f64: floor floor ceil ceil trunc trunc rint round_ties_even round round sqrt sqrt recip recip
            exp exp exp2 exp2 log ln log2 log2 sin sin cos cos tanh tanh
    }
    by_libm! {
        cbrt(x) cbrt expm1(x) expm1 log10(x) log10 log1p(x) log1p tan(x) tan asin(x) asin acos(x) acos
        atan(x) atan sinh(x) sinh cosh(x) cosh asinh(x) asinh atanh(x) atanh erf(x) erf erfc(x) erfc
        lgamma(x) lgamma tgamma(x) tgamma pow(x, y) pow atan2(y, x) atan2 hypot(x, y) hypot
    }

    #[inline(always)]
    pub fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    pub fn copysign(x: f64, sign: f64) -> f64 {
        x.copysign(sign)
    }

    /// That of `libm` is a number for some negative ones.
    #[inline(always)]
    pub fn acosh(x: f64) -> f64 {
        if x < 1.0 { f64::NAN } else { libm::acosh(x) }
    }

    #[inline(always)]
    pub fn rsqrt(x: f64) -> f64 {
        1.0 / x.sqrt()
    }

    #[inline(always)]
    pub fn sigmoid(x: f64) -> f64 {
        let z = (-x.abs()).exp(); // never overflows
        (if x < 0.0 { z } else { 1.0 }) / (1.0 + z)
    }
}

#[cfg(target_arch = "nvptx64")]
pub mod m32 {
    pub use super::super::approx::round;
    pub use super::super::ptx::f32::{ceil, exp2, floor, fma, rcp_ftz as recip, rint, rsqrt, sqrt, trunc};
    pub use super::super::word::m32::{cbrt, hypot, pow};

    macro_rules! by_approx {
        ($($f:ident($($a:ident),+))+) => { $(
            #[inline(always)]
            pub fn $f($($a: f32),+) -> f32 {
                super::super::approx::$f::<super::super::ptx::Ptx>($($a),+)
            }
        )+ };
    }
    by_approx! {
        exp(x) exp10(x) expm1(x) log(x) log2(x) log10(x) log1p(x) sin(x) cos(x) tan(x) asin(x) acos(x) atan(x)
        sinh(x) cosh(x) tanh(x) asinh(x) acosh(x) atanh(x) erf(x) erfc(x) erfinv(x) sigmoid(x) atan2(y, x)
    }

    macro_rules! by_f64 {
        ($($f:ident)+) => { $(
            #[inline(always)]
            pub fn $f(x: f32) -> f32 {
                super::super::approx64::$f(x as f64) as f32
            }
        )+ };
    }
    by_f64! { lgamma tgamma }

    #[inline(always)]
    pub fn copysign(x: f32, sign: f32) -> f32 {
        x.copysign(sign)
    }
}

#[cfg(target_arch = "nvptx64")]
pub mod m64 {
    pub use super::super::approx64::{
        acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, erf, erfc, erfinv, exp, exp2, exp10, expm1, lgamma,
        log, log1p, log2, log10, round, sigmoid, sin, sinh, tan, tanh, tgamma,
    };
    pub use super::super::ptx::f64::{ceil, floor, fma, recip, rint, rsqrt, sqrt, trunc};
    pub use super::super::word::m64::{cbrt, hypot, pow};

    #[inline(always)]
    pub fn copysign(x: f64, sign: f64) -> f64 {
        x.copysign(sign)
    }
}
