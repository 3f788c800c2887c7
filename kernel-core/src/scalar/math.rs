//! The functions of floats: by `host` and `std` on the host, by `approx` and PTX on the device.

use super::{BF16, F16, Num};

macro_rules! float {
    ($($f:ident)+) => {
        /// Floats. 16-bit ones compute in `f32` and round.
        pub trait Float: Num {
            $(
                #[doc = concat!("As the function `", stringify!($f), "` of [`scalar`](super).")]
                fn $f(x: Self) -> Self;
            )+
        }
        float! { @impls $($f)+ }
    };
    (@impls $($f:ident)+) => {
        impl Float for f32 { $(
            #[inline(always)]
            fn $f(x: Self) -> Self {
                m32::$f(x)
            }
        )+ }
        impl Float for f64 { $(
            #[inline(always)]
            fn $f(x: Self) -> Self {
                m64::$f(x)
            }
        )+ }
        impl Float for F16 { $(
            #[inline(always)]
            fn $f(x: Self) -> Self {
                F16::from_f32(m32::$f(x.to_f32()))
            }
        )+ }
        impl Float for BF16 { $(
            #[inline(always)]
            fn $f(x: Self) -> Self {
                BF16::from_f32(m32::$f(x.to_f32()))
            }
        )+ }
    };
}
float! { floor ceil sqrt rsqrt recip exp exp2 log log2 sin cos tanh erf sigmoid }

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! by_std {
    ($t:ident: $($f:ident $method:ident)+) => { $(
        #[inline(always)]
        pub fn $f(x: $t) -> $t {
            x.$method()
        }
    )+ };
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod m32 {
    pub use super::super::host::{erf, exp, exp2, log, log2, recip, rsqrt, sigmoid, tanh};

    by_std! { f32: floor floor ceil ceil sqrt sqrt sin sin cos cos }

    #[inline(always)]
    pub fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod m64 {
    by_std! { f64: floor floor ceil ceil sqrt sqrt recip recip exp exp exp2 exp2 log ln log2 log2 sin sin cos cos tanh tanh }

    #[inline(always)]
    pub fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    pub fn rsqrt(x: f64) -> f64 {
        1.0 / x.sqrt()
    }

    #[inline(always)]
    pub fn erf(x: f64) -> f64 {
        libm::erf(x)
    }

    #[inline(always)]
    pub fn sigmoid(x: f64) -> f64 {
        let z = (-x.abs()).exp(); // never overflows
        (if x < 0.0 { z } else { 1.0 }) / (1.0 + z)
    }
}

#[cfg(target_arch = "nvptx64")]
pub mod m32 {
    pub use super::super::ptx::f32::{ceil, exp2, floor, fma, rcp_ftz as recip, rsqrt, sqrt};

    macro_rules! by_approx {
        ($($f:ident)+) => { $(
            #[inline(always)]
            pub fn $f(x: f32) -> f32 {
                super::super::approx::$f::<super::super::ptx::Ptx>(x)
            }
        )+ };
    }
    by_approx! { exp log log2 sin cos tanh erf sigmoid }
}

#[cfg(target_arch = "nvptx64")]
pub mod m64 {
    pub use super::super::approx64::{cos, erf, exp, exp2, log, log2, sigmoid, sin, tanh};
    pub use super::super::ptx::f64::{ceil, floor, fma, recip, rsqrt, sqrt};
}
