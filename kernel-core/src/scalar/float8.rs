//! `F8E4M3` and `F8E5M2`: storage types. They are loaded, stored, converted and multiplied by `dot`; no arithmetic.

use core::cmp::Ordering;
use core::fmt;

use super::Scalar;

/// 4 bits of exponent, 3 of fraction: up to 448, NaN, no infinities.
///
/// # Examples
/// ```
/// use tilewright_core::f8e4m3;
///
/// let x = f8e4m3::from_f32(0.3);
/// assert_eq!((x.to_f32(), x.to_bits()), (0.3125, 0x2a));
/// assert_eq!(f8e4m3::from_f32(1e6).to_f32(), 448.0); // there is no infinity
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

/// 5 bits of exponent, 2 of fraction: the upper half of an [`F16`](super::F16).
///
/// # Examples
/// ```
/// use tilewright_core::f8e5m2;
///
/// let x = f8e5m2::from_f32(0.3);
/// assert_eq!((x.to_f32(), x.to_bits()), (0.3125, 0x35));
/// assert_eq!(f8e5m2::from_f32(1e6).to_f32(), 57344.0);
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct F8E5M2(pub u8);

/// The format of the bits.
struct Format {
    fraction: u32,
    bias: u32,
    /// The bits of the greatest number.
    greatest: u32,
}

const E4M3: Format = Format { fraction: 3, bias: 7, greatest: 0x7e };
const E5M2: Format = Format { fraction: 2, bias: 15, greatest: 0x7b };
const NAN: u32 = 0x7f;

impl Format {
    /// Round to nearest even; too large values and infinity become the greatest number: `cvt.rn.satfinite`. Selects
    /// instead of branches, so that loops over tiles are vectorized.
    #[inline(always)]
    const fn of(&self, x: f32) -> u8 {
        let (dropped, bits) = (23 - self.fraction, x.to_bits());
        let (sign, abs) = (bits >> 24 & 0x80, bits & 0x7fff_ffff);
        // A number whose ulp is that of a denormal.
        let magic = (127 + 23 + 1 - self.bias - self.fraction) << 23;
        let denormal = (f32::from_bits(abs) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
        let half = (1 << (dropped - 1)) - 1 + (abs >> dropped & 1);
        let normal = abs.wrapping_sub((127 - self.bias) << 23).wrapping_add(half) >> dropped;
        let rounded = if abs < (128 - self.bias) << 23 { denormal } else { normal };
        let finite = if rounded > self.greatest { self.greatest } else { rounded };
        (sign | if abs > 0x7f80_0000 { NAN } else { finite }) as u8
    }

    /// Exact, for numbers.
    #[inline(always)]
    const fn number(&self, bits: u8) -> f32 {
        let scale = f32::from_bits((254 - self.bias) << 23);
        let abs = f32::from_bits(((bits & 0x7f) as u32) << (23 - self.fraction)) * scale;
        f32::from_bits(abs.to_bits() | ((bits & 0x80) as u32) << 24)
    }
}

super::half16::pairs! { F8E4M3 e4m3_pair u8, "sm_90" }
super::half16::pairs! { F8E5M2 e5m2_pair u8, "sm_90" }

impl F8E4M3 {
    /// Round to nearest even; too large values and infinity become 448 with their sign.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        return F8E4M3(super::ptx::e4m3_pair(x, 0.0) as u8);
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        F8E4M3(E4M3.of(x))
    }

    /// The value as an `f32`. Exact.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        return super::F16(super::ptx::f16_pair_from_e4m3(self.0 as u16) as u16).to_f32();
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        {
            let number = E4M3.number(self.0);
            if self.0 & 0x7f == NAN as u8 { f32::NAN } else { number }
        }
    }
}

impl F8E5M2 {
    /// Round to nearest even; too large values and infinity become 57344 with their sign.
    #[inline(always)]
    pub fn from_f32(x: f32) -> Self {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
        return F8E5M2(super::ptx::e5m2_pair(x, 0.0) as u8);
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
        {
            let more = u32::from(planted!("e5m2-ties-away-from-zero") && x.is_finite());
            F8E5M2(E5M2.of(f32::from_bits(x.to_bits() + more)))
        }
    }

    /// The value as an `f32`. Exact.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        self.to_f16().to_f32()
    }

    /// The value as an [`F16`](super::F16). Exact.
    #[inline(always)]
    pub fn to_f16(self) -> super::F16 {
        super::F16((self.0 as u16) << 8)
    }
}

macro_rules! common {
    ($($t:ident $name:literal $one:literal $highest:literal;)+) => { $(
        impl $t {
            /// The number with these bits.
            pub const fn from_bits(bits: u8) -> Self {
                $t(bits)
            }

            /// The bits of the number.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Rounds to nearest even, once.
            #[inline(always)]
            pub fn from_f64(x: f64) -> Self {
                Self::from_f32(super::half16::round_to_odd(x))
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

        impl PartialOrd for $t {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
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

        impl Scalar for $t {
            const ZERO: Self = $t(0);
            const ONE: Self = $t($one);
            const LOWEST: Self = $t($highest | 0x80);
            const HIGHEST: Self = $t($highest);
            const NAME: &'static str = $name;
            const BYTES: usize = 1;
            const IS_FLOAT: bool = true;

            #[inline(always)]
            fn min(a: Self, b: Self) -> Self {
                Self::from_f32(f32::min(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn max(a: Self, b: Self) -> Self {
                Self::from_f32(f32::max(a.to_f32(), b.to_f32()))
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.0 as u64
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                $t(bits as u8)
            }
            #[inline(always)]
            fn atomic_add(a: Self, b: Self) -> Self {
                Self::from_f32(a.to_f32() + b.to_f32())
            }
        }
    )+ };
}
common! { F8E4M3 "f8e4m3" 0x38 0x7e; F8E5M2 "f8e5m2" 0x3c 0x7c; }
