//! `F16` and `BF16`: storage types whose arithmetic is that of `f32`, rounded.

use core::cmp::Ordering;
use core::fmt;

/// IEEE binary16, by its bits. Users have `f16` of the crate `half`.
///
/// # Examples
/// ```
/// use tilewright_core::scalar::{F16, add};
///
/// let sum = add(F16::from_f32(2048.0), F16::from_f32(1.0));
/// assert_eq!((sum.to_f32(), sum.to_bits()), (2048.0, 0x6800)); // rounded to nearest even
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper half of an `f32`, by its bits. Users have `bf16` of the crate `half`.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct BF16(pub u16);

impl F16 {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        F16(super::ptx::f16_from_f32(x))
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        super::ptx::f16_to_f32(self.0)
    }

    /// Round to nearest even. Selects instead of branches, so that loops over tiles are vectorized.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    pub const fn from_f32(x: f32) -> Self {
        const DENORMAL_MAGIC: u32 = 126 << 23; // 0.5, whose ulp is that of an f16 denormal
        let bits = x.to_bits();
        let (sign, abs) = (((bits >> 16) & 0x8000) as u16, bits & 0x7fff_ffff);
        let odd = (abs >> 13) & 1;
        let normal = abs.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
        let denormal = (f32::from_bits(abs) + f32::from_bits(DENORMAL_MAGIC)).to_bits().wrapping_sub(DENORMAL_MAGIC);
        let special = if abs > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
        let finite = if abs < 113 << 23 { denormal } else { normal };
        F16(sign | (if abs >= 143 << 23 { special } else { finite }) as u16)
    }

    /// The value as an `f32`. Exact.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    pub const fn to_f32(self) -> f32 {
        const SCALE: f32 = f32::from_bits((127 + 112) << 23); // 2^112, the difference of the exponent biases
        let abs = (self.0 & 0x7fff) as u32;
        let finite = (f32::from_bits(abs << 13) * SCALE).to_bits();
        let value = if abs >= 0x7c00 { 0x7f80_0000 | (abs << 13) } else { finite };
        f32::from_bits(value | ((self.0 & 0x8000) as u32) << 16)
    }
}

macro_rules! pairs {
    ($t:ident $pair:ident $half:ty, $feature:literal) => {
        impl $t {
            /// `from_f32` of two.
            #[inline(always)]
            pub fn pair_from_f32([low, high]: [f32; 2]) -> [Self; 2] {
                #[cfg(all(target_arch = "nvptx64", target_feature = $feature))]
                {
                    let word = crate::scalar::ptx::$pair(low, high);
                    [$t(word as $half), $t((word >> <$half>::BITS) as $half)]
                }
                #[cfg(not(all(target_arch = "nvptx64", target_feature = $feature)))]
                [Self::from_f32(low), Self::from_f32(high)]
            }
        }
    };
}
pub(super) use pairs;
pairs! { F16 f16_pair u16, "sm_80" }
pairs! { BF16 bf16_pair u16, "sm_80" }

impl BF16 {
    /// Round to nearest even.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        return BF16(super::ptx::bf16_from_f32(x));
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
        {
            let bits = x.to_bits();
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
            let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
            BF16(if is_nan && !planted!("bf16-of-a-nan-by-its-bits") { 0x7fff } else { rounded as u16 })
        }
    }

    /// The value as an `f32`. Exact.
    #[inline(always)]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

macro_rules! common {
    ($($t:ident $name:ident)+) => { $(
        impl $t {
            /// The number with these bits.
            pub const fn from_bits(bits: u16) -> Self {
                $t(bits)
            }

            /// The bits of the number.
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// Rounds once: `f32` receives the value rounded to odd, which keeps the information for the second
            /// rounding.
            #[inline(always)]
            pub fn from_f64(x: f64) -> Self {
                Self::from_f32(round_to_odd(x))
            }

            /// The value as an `f64`. Exact.
            #[inline(always)]
            pub fn to_f64(self) -> f64 {
                self.to_f32() as f64
            }
        }

        impl PartialEq for $t {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        // Each spelled out: by way of `partial_cmp`, a comparison takes several instructions.
        impl PartialOrd for $t {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
            #[inline(always)]
            fn lt(&self, other: &Self) -> bool {
                self.to_f32() < other.to_f32()
            }
            #[inline(always)]
            fn le(&self, other: &Self) -> bool {
                self.to_f32() <= other.to_f32()
            }
            #[inline(always)]
            fn gt(&self, other: &Self) -> bool {
                self.to_f32() > other.to_f32()
            }
            #[inline(always)]
            fn ge(&self, other: &Self) -> bool {
                self.to_f32() >= other.to_f32()
            }
        }

        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl From<half::$name> for $t {
            fn from(x: half::$name) -> Self {
                $t(x.to_bits())
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl From<$t> for half::$name {
            fn from(x: $t) -> Self {
                half::$name::from_bits(x.0)
            }
        }
    )+ };
}
common! { F16 f16 BF16 bf16 }

/// `x` as an `f32` that is exact, or else the neighbor with the odd last bit: a further rounding to a narrower type
/// (two bits or more) equals one rounding of `x`.
#[inline(always)]
pub(super) fn round_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = nearest as f64;
    let bits = nearest.to_bits();
    // Towards zero, then the last bit set. NaN compares unequal but must keep its bits.
    let away = back.abs() > x.abs();
    let odd = bits.wrapping_sub(away as u32) | 1;
    if back == x || x.is_nan() || planted!("halves-of-f64-rounded-twice") { nearest } else { f32::from_bits(odd) }
}
