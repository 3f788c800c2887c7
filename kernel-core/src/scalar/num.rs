//! `Scalar`, `Num`, `Bits` and `Int` for every type.

use super::{BF16, Bits, F16, Int, Num, Scalar, approx, approx64, math};

macro_rules! integers {
    ($($t:ident $bits:ident $abs:ident $wide:ident;)+) => { $(
        impl Scalar for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = $t::MIN;
            const HIGHEST: Self = $t::MAX;
            const NAME: &'static str = stringify!($t);
            const BYTES: usize = size_of::<$t>();
            const IS_FLOAT: bool = false;

            #[inline(always)]
            fn min(a: Self, b: Self) -> Self {
                if b < a { b } else { a }
            }
            #[inline(always)]
            fn max(a: Self, b: Self) -> Self {
                if b > a { b } else { a }
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                if planted!("bits-of-a-negative-number-extended") { self as u64 } else { self as $bits as u64 }
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                bits as $t
            }
            #[inline(always)]
            fn atomic_add(a: Self, b: Self) -> Self {
                a.wrapping_add(b)
            }
        }

        impl Num for $t {
            #[inline(always)]
            fn add(a: Self, b: Self) -> Self {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn sub(a: Self, b: Self) -> Self {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            fn mul(a: Self, b: Self) -> Self {
                a.wrapping_mul(b)
            }
            // Selects around a division by a replaced zero: threads of a warp do not diverge.
            #[inline(always)]
            fn div(a: Self, b: Self) -> Self {
                let quotient = a.wrapping_div(if b == 0 { 1 } else { b });
                if b == 0 { 0 } else { quotient }
            }
            #[inline(always)]
            fn rem(a: Self, b: Self) -> Self {
                a.wrapping_rem(if b == 0 { 1 } else { b }) // x % 1 is 0
            }
            #[inline(always)]
            fn neg(a: Self) -> Self {
                a.wrapping_neg()
            }
            #[inline(always)]
            fn abs(a: Self) -> Self {
                integers!(@abs $abs a)
            }
            #[inline(always)]
            fn fma(a: Self, b: Self, c: Self) -> Self {
                a.wrapping_mul(b).wrapping_add(c)
            }
        }

        impl Bits for $t {
            #[inline(always)]
            fn and(a: Self, b: Self) -> Self {
                a & b
            }
            #[inline(always)]
            fn or(a: Self, b: Self) -> Self {
                a | b
            }
            #[inline(always)]
            fn xor(a: Self, b: Self) -> Self {
                a ^ b
            }
            #[inline(always)]
            fn not(a: Self) -> Self {
                !a
            }
        }

        impl Int for $t {
            #[inline(always)]
            fn shl(a: Self, count: u32) -> Self {
                a.wrapping_shl(count)
            }
            #[inline(always)]
            fn shr(a: Self, count: u32) -> Self {
                a.wrapping_shr(count)
            }
            #[inline(always)]
            fn popc(a: Self) -> i32 {
                a.count_ones() as i32
            }
            #[inline(always)]
            fn clz(a: Self) -> i32 {
                a.leading_zeros() as i32
            }
            #[inline(always)]
            fn ffs(a: Self) -> i32 {
                if a == 0 { 0 } else { a.trailing_zeros() as i32 + 1 }
            }
            #[inline(always)]
            fn brev(a: Self) -> Self {
                a.reverse_bits()
            }
            #[inline(always)]
            fn mulhi(a: Self, b: Self) -> Self {
                ((a as $wide * b as $wide) >> $t::BITS) as $t
            }
        }
    )+ };
    (@abs signed $a:ident) => { $a.wrapping_abs() };
    (@abs unsigned $a:ident) => { $a };
}
integers! {
    i8 u8 signed i16; i16 u16 signed i32; i32 u32 signed i64; i64 u64 signed i128;
    u8 u8 unsigned u16; u16 u16 unsigned u32; u32 u32 unsigned u64; u64 u64 unsigned u128;
}

impl Scalar for bool {
    const ZERO: Self = false;
    const ONE: Self = true;
    const LOWEST: Self = false;
    const HIGHEST: Self = true;
    const NAME: &'static str = "bool";
    const BYTES: usize = 1;
    const IS_FLOAT: bool = false;

    #[inline(always)]
    fn min(a: Self, b: Self) -> Self {
        a & b
    }
    #[inline(always)]
    fn max(a: Self, b: Self) -> Self {
        a | b
    }
    #[inline(always)]
    fn to_bits64(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn from_bits64(bits: u64) -> Self {
        bits as u8 != 0
    }
    #[inline(always)]
    fn atomic_add(a: Self, b: Self) -> Self {
        a | b
    }
}

impl Bits for bool {
    #[inline(always)]
    fn and(a: Self, b: Self) -> Self {
        a & b
    }
    #[inline(always)]
    fn or(a: Self, b: Self) -> Self {
        a | b
    }
    #[inline(always)]
    fn xor(a: Self, b: Self) -> Self {
        a ^ b
    }
    #[inline(always)]
    fn not(a: Self) -> Self {
        !a
    }
}

macro_rules! floats {
    ($($t:ident $m:ident $rem:path;)+) => { $(
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = $t::NEG_INFINITY;
            const HIGHEST: Self = $t::INFINITY;
            const NAME: &'static str = stringify!($t);
            const BYTES: usize = size_of::<$t>();
            const IS_FLOAT: bool = true;

            #[inline(always)]
            fn min(a: Self, b: Self) -> Self {
                $t::min(a, b)
            }
            #[inline(always)]
            fn max(a: Self, b: Self) -> Self {
                $t::max(a, b)
            }
            floats! { @nan $t }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.to_bits() as u64
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                $t::from_bits(bits as _)
            }
            #[inline(always)]
            fn atomic_add(a: Self, b: Self) -> Self {
                a + b
            }
        }

        impl Num for $t {
            #[inline(always)]
            fn add(a: Self, b: Self) -> Self {
                a + b
            }
            #[inline(always)]
            fn sub(a: Self, b: Self) -> Self {
                a - b
            }
            #[inline(always)]
            fn mul(a: Self, b: Self) -> Self {
                a * b
            }
            #[inline(always)]
            fn div(a: Self, b: Self) -> Self {
                a / b
            }
            #[inline(always)]
            fn rem(a: Self, b: Self) -> Self {
                // LLVM's `frem` is inexact on nvptx.
                if cfg!(target_arch = "nvptx64") { $rem(a, b) } else { a % b }
            }
            #[inline(always)]
            fn neg(a: Self) -> Self {
                -a
            }
            #[inline(always)]
            fn abs(a: Self) -> Self {
                a.abs()
            }
            #[inline(always)]
            fn fma(a: Self, b: Self, c: Self) -> Self {
                math::$m::fma(a, b, c)
            }
        }
    )+ };
    // An instruction of `f32`, from sm_80 on.
    (@nan f32) => {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        #[inline(always)]
        fn min_nan(a: Self, b: Self) -> Self {
            super::ptx::min_nan(a, b)
        }
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        #[inline(always)]
        fn max_nan(a: Self, b: Self) -> Self {
            super::ptx::max_nan(a, b)
        }
    };
    (@nan f64) => {};
}
floats! { f32 m32 approx::rem; f64 m64 approx64::rem; }

macro_rules! halves {
    ($($t:ident $name:literal $one:literal $inf:literal $native:ident;)+) => { $(
        impl Scalar for $t {
            const ZERO: Self = $t(0);
            const ONE: Self = $t($one);
            const LOWEST: Self = $t($inf | 0x8000);
            const HIGHEST: Self = $t($inf);
            const NAME: &'static str = $name;
            const BYTES: usize = 2;
            const IS_FLOAT: bool = true;

            #[inline(always)]
            fn min(a: Self, b: Self) -> Self {
                $t::from_f32(f32::min(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn max(a: Self, b: Self) -> Self {
                $t::from_f32(f32::max(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn min_nan(a: Self, b: Self) -> Self {
                $t::from_f32(f32::min_nan(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn max_nan(a: Self, b: Self) -> Self {
                $t::from_f32(f32::max_nan(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.0 as u64
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                $t(bits as u16)
            }
            #[inline(always)]
            fn atomic_add(a: Self, b: Self) -> Self {
                Num::add(a, b)
            }
        }

        impl Num for $t {
            #[inline(always)]
            fn add(a: Self, b: Self) -> Self {
                halves!(@$native add a b, $t::from_f32(a.to_f32() + b.to_f32()))
            }
            #[inline(always)]
            fn sub(a: Self, b: Self) -> Self {
                halves!(@$native sub a b, $t::from_f32(a.to_f32() - b.to_f32()))
            }
            #[inline(always)]
            fn mul(a: Self, b: Self) -> Self {
                halves!(@$native mul a b, $t::from_f32(a.to_f32() * b.to_f32()))
            }
            #[inline(always)]
            fn div(a: Self, b: Self) -> Self {
                $t::from_f32(a.to_f32() / b.to_f32())
            }
            #[inline(always)]
            fn rem(a: Self, b: Self) -> Self {
                $t::from_f32(<f32 as Num>::rem(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn neg(a: Self) -> Self {
                $t(a.0 ^ 0x8000)
            }
            #[inline(always)]
            fn abs(a: Self) -> Self {
                $t(a.0 & 0x7fff)
            }
            #[inline(always)]
            fn fma(a: Self, b: Self, c: Self) -> Self {
                $t::from_f32(<f32 as Num>::fma(a.to_f32(), b.to_f32(), c.to_f32()))
            }
        }
    )+ };
    // Every NVIDIA GPU of interest has f16 arithmetic; rounding `f32` arithmetic gives the same.
    (@f16 $f:ident $a:ident $b:ident, $via_f32:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        let r = F16(super::ptx::f16::$f($a.0, $b.0));
        #[cfg(not(target_arch = "nvptx64"))]
        let r = $via_f32;
        r
    }};
    (@via_f32 $f:ident $a:ident $b:ident, $via_f32:expr) => { $via_f32 };
}
halves! { F16 "f16" 0x3c00 0x7c00 f16; BF16 "bf16" 0x3f80 0x7f80 via_f32; }
