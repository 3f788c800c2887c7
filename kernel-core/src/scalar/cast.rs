//! Conversions between all types.

use super::{BF16, F8E4M3, F8E5M2, F16};

/// `cast::<Self, B>`.
pub trait Cast<B>: Copy {
    /// The value as a `B`, rounded once.
    fn cast(self) -> B;

    /// Two at once: GPUs round pairs to small floats sixteen times as fast as single numbers.
    #[inline(always)]
    fn cast_pair(pair: [Self; 2]) -> [B; 2] {
        pair.map(Self::cast)
    }
}

macro_rules! by_as {
    ($($a:ident)+) => { $(by_as! { @to $a: f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 })+ };
    (@to $a:ident: $($b:ident)+) => { $(
        impl Cast<$b> for $a {
            #[inline(always)]
            fn cast(self) -> $b {
                self as $b
            }
        }
    )+ };
}
by_as! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! with_bool {
    ($($t:ident $zero:literal;)+) => { $(
        impl Cast<$t> for bool {
            #[inline(always)]
            fn cast(self) -> $t {
                self as u8 as $t
            }
        }
        impl Cast<bool> for $t {
            #[inline(always)]
            fn cast(self) -> bool {
                self != $zero
            }
        }
    )+ };
}
with_bool! { f32 0.0; f64 0.0; i8 0; i16 0; i32 0; i64 0; u8 0; u16 0; u32 0; u64 0; }

impl Cast<bool> for bool {
    #[inline(always)]
    fn cast(self) -> bool {
        self
    }
}

macro_rules! halves {
    ($($h:ident)+) => { $(
        halves! { @out $h: f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool }
        // Types that are exact in f32, or whose inexact values are beyond the small type's range.
        halves! { @via_f32 $h: f32 i16 u16 bool }
        // Exact in f64.
        halves! { @via_f64 $h: f64 i32 u32 }
        impl Cast<$h> for $h {
            #[inline(always)]
            fn cast(self) -> $h {
                self
            }
        }
        impl Cast<$h> for u64 {
            #[inline(always)]
            fn cast(self) -> $h {
                $h::from_f64(odd53(self) as f64)
            }
        }
        impl Cast<$h> for i64 {
            #[inline(always)]
            fn cast(self) -> $h {
                let abs = odd53(self.unsigned_abs()) as f64;
                $h::from_f64(if self < 0 { -abs } else { abs })
            }
        }
    )+ };
    (@out $h:ident: $($b:ident)+) => { $(
        impl Cast<$b> for $h {
            #[inline(always)]
            fn cast(self) -> $b {
                self.to_f32().cast()
            }
        }
    )+ };
    (@via_f32 $h:ident: $($a:ident)+) => { $(
        impl Cast<$h> for $a {
            #[inline(always)]
            fn cast(self) -> $h {
                $h::from_f32(self.cast())
            }

            #[inline(always)]
            fn cast_pair(pair: [$a; 2]) -> [$h; 2] {
                $h::pair_from_f32(pair.map(<$a as Cast<f32>>::cast))
            }
        }
    )+ };
    (@via_f64 $h:ident: $($a:ident)+) => { $(
        impl Cast<$h> for $a {
            #[inline(always)]
            fn cast(self) -> $h {
                $h::from_f64(self.cast())
            }
        }
    )+ };
}
halves! { F16 BF16 F8E4M3 F8E5M2 }
halves! { @via_f32 BF16: i8 u8 }
halves! { @via_f32 F8E4M3: i8 u8 }
halves! { @via_f32 F8E5M2: i8 u8 }

/// Bytes are exact in f16, and on GPUs made without the slow unit that converts: as the fraction of a number of 1024
/// and more, less that.
macro_rules! bytes_to_f16 { ($($t:ty, $excess:literal;)+) => { $(
    impl Cast<F16> for $t {
        #[inline(always)]
        fn cast(self) -> F16 {
            F16::from_f32(self.into())
        }

        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        fn cast_pair([low, high]: [$t; 2]) -> [F16; 2] {
            const EXCESS: u32 = $excess;
            let [low, high] = [low, high].map(|x| u32::from(f16_and_more(x as u8, EXCESS as u8)));
            let less = 0x6400_6400 + (EXCESS << 16 | EXCESS);
            let word = super::ptx::f16::sub_pair(high << 16 | low, less);
            [F16(word as u16), F16((word >> 16) as u16)]
        }
    }
)+ } }
bytes_to_f16! { i8, 128; u8, 0; }

/// 1024 and `excess` more than a byte, which is signed where `excess` is 128.
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code))]
#[inline(always)]
pub(super) const fn f16_and_more(byte: u8, excess: u8) -> u16 {
    0x6400 | (byte ^ excess) as u16
}

impl Cast<F16> for F8E4M3 {
    #[inline(always)]
    fn cast(self) -> F16 {
        F16::from_f32(self.to_f32())
    }

    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    #[inline(always)]
    fn cast_pair([low, high]: [F8E4M3; 2]) -> [F16; 2] {
        let word = super::ptx::f16_pair_from_e4m3((high.0 as u16) << 8 | low.0 as u16);
        [F16(word as u16), F16((word >> 16) as u16)]
    }
}

impl Cast<F16> for F8E5M2 {
    #[inline(always)]
    fn cast(self) -> F16 {
        self.to_f16()
    }
}

macro_rules! small_floats {
    ($($a:ident => $($b:ident)+;)+) => { $($(
        impl Cast<$b> for $a {
            #[inline(always)]
            fn cast(self) -> $b {
                $b::from_f32(self.to_f32())
            }

            #[inline(always)]
            fn cast_pair(pair: [$a; 2]) -> [$b; 2] {
                $b::pair_from_f32(pair.map($a::to_f32))
            }
        }
    )+)+ };
}
small_floats! {
    F16 => BF16 F8E4M3 F8E5M2;
    BF16 => F16 F8E4M3 F8E5M2;
    F8E4M3 => BF16 F8E5M2;
    F8E5M2 => BF16 F8E4M3;
}

/// `x` exactly representable in f64: beyond 53 bits, the lowest kept bit says whether any dropped one was set, so that
/// a later rounding to fewer bits is that of `x`.
#[inline(always)]
fn odd53(x: u64) -> u64 {
    let dropped = x & 0x7ff;
    let odd = (x & !0x7ff) | if dropped != 0 { 0x800 } else { 0 };
    if x >> 53 == 0 || planted!("longs-to-halves-rounded-twice") { x } else { odd }
}
