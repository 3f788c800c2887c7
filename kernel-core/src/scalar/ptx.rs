//! Instructions that `core` has no function for. All are pure: LLVM may merge, move and drop them.

use core::arch::asm;

macro_rules! instructions {
    ($($(#[$doc:meta])* $f:ident($($a:ident),+ : $t:ty) -> $r:ty = $reg:ident $reg_out:ident $text:literal;)+) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $f($($a: $t),+) -> $r {
            let r: $r;
            // SAFETY: it computes a value from values.
            unsafe { asm!($text, r = out($reg_out) r, $($a = in($reg) $a),+, options(pure, nomem, nostack)) };
            r
        }
    )+ };
}

instructions! {
    f16_to_f32(x: u16) -> f32 = reg16 reg32 "cvt.f32.f16 {r}, {x};";
    f16_from_f32(x: f32) -> u16 = reg32 reg16 "cvt.rn.f16.f32 {r}, {x};";
}

// Two at a time, the first in the low half.
#[cfg(target_feature = "sm_80")]
instructions! {
    bf16_from_f32(x: f32) -> u16 = reg32 reg16 "cvt.rn.bf16.f32 {r}, {x};";
    bf16_pair(low, high: f32) -> u32 = reg32 reg32 "cvt.rn.bf16x2.f32 {r}, {high}, {low};";
    f16_pair(low, high: f32) -> u32 = reg32 reg32 "cvt.rn.f16x2.f32 {r}, {high}, {low};";
}

#[cfg(target_feature = "sm_80")]
instructions! {
    max_nan(a, b: f32) -> f32 = reg32 reg32 "max.NaN.f32 {r}, {a}, {b};";
    min_nan(a, b: f32) -> f32 = reg32 reg32 "min.NaN.f32 {r}, {a}, {b};";
}

#[cfg(target_feature = "sm_90")]
instructions! {
    e4m3_pair(low, high: f32) -> u16 = reg32 reg16 "cvt.rn.satfinite.e4m3x2.f32 {r}, {high}, {low};";
    e5m2_pair(low, high: f32) -> u16 = reg32 reg16 "cvt.rn.satfinite.e5m2x2.f32 {r}, {high}, {low};";
    f16_pair_from_e4m3(pair: u16) -> u32 = reg16 reg32 "cvt.rn.f16x2.e4m3x2 {r}, {pair};";
}

pub mod f16 {
    use core::arch::asm;

    instructions! {
        add(a, b: u16) -> u16 = reg16 reg16 "add.rn.f16 {r}, {a}, {b};";
        sub(a, b: u16) -> u16 = reg16 reg16 "sub.rn.f16 {r}, {a}, {b};";
        mul(a, b: u16) -> u16 = reg16 reg16 "mul.rn.f16 {r}, {a}, {b};";
        sub_pair(a, b: u32) -> u32 = reg32 reg32 "sub.rn.f16x2 {r}, {a}, {b};";
    }
}

pub mod f32 {
    use core::arch::asm;

    instructions! {
        fma(a, b, c: f32) -> f32 = reg32 reg32 "fma.rn.f32 {r}, {a}, {b}, {c};";
        /// The sum clamped to 0..=1; NaN gives 0.
        fma_sat(a, b, c: f32) -> f32 = reg32 reg32 "fma.rn.sat.f32 {r}, {a}, {b}, {c};";
        sqrt(x: f32) -> f32 = reg32 reg32 "sqrt.rn.f32 {r}, {x};";
        floor(x: f32) -> f32 = reg32 reg32 "cvt.rmi.f32.f32 {r}, {x};";
        ceil(x: f32) -> f32 = reg32 reg32 "cvt.rpi.f32.f32 {r}, {x};";
        trunc(x: f32) -> f32 = reg32 reg32 "cvt.rzi.f32.f32 {r}, {x};";
        rint(x: f32) -> f32 = reg32 reg32 "cvt.rni.f32.f32 {r}, {x};";
        /// 2 ulp; a denormal result is 0.
        exp2(x: f32) -> f32 = reg32 reg32 "ex2.approx.ftz.f32 {r}, {x};";
        /// 1 ulp; denormals are 0.
        rcp_ftz(x: f32) -> f32 = reg32 reg32 "rcp.approx.ftz.f32 {r}, {x};";
        /// Relative error 2^-22.9, denormals included.
        rsqrt(x: f32) -> f32 = reg32 reg32 "rsqrt.approx.f32 {r}, {x};";
    }
}

pub mod f64 {
    use core::arch::asm;

    instructions! {
        fma(a, b, c: f64) -> f64 = reg64 reg64 "fma.rn.f64 {r}, {a}, {b}, {c};";
        sqrt(x: f64) -> f64 = reg64 reg64 "sqrt.rn.f64 {r}, {x};";
        floor(x: f64) -> f64 = reg64 reg64 "cvt.rmi.f64.f64 {r}, {x};";
        ceil(x: f64) -> f64 = reg64 reg64 "cvt.rpi.f64.f64 {r}, {x};";
        trunc(x: f64) -> f64 = reg64 reg64 "cvt.rzi.f64.f64 {r}, {x};";
        rint(x: f64) -> f64 = reg64 reg64 "cvt.rni.f64.f64 {r}, {x};";
    }

    #[inline(always)]
    pub fn rsqrt(x: f64) -> f64 {
        1.0 / sqrt(x)
    }

    #[inline(always)]
    pub fn recip(x: f64) -> f64 {
        1.0 / x
    }
}

/// The primitives of [`super::approx`] as instructions.
pub struct Ptx;

impl super::approx::Primitives for Ptx {
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        self::f32::fma(a, b, c)
    }
    #[inline(always)]
    fn fma_sat(a: f32, b: f32, c: f32) -> f32 {
        self::f32::fma_sat(a, b, c)
    }
    #[inline(always)]
    fn ex2(x: f32) -> f32 {
        self::f32::exp2(x)
    }
    #[inline(always)]
    fn rcp(x: f32) -> f32 {
        self::f32::rcp_ftz(x)
    }
}
