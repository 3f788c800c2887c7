//! Elements as bit patterns: the table of edge values tells NaN from NaN and zero from zero.

use tilewright_core::{Element, bf16, f8e4m3, f8e5m2, f16};

/// An element type whose bits are at most 32.
pub trait Pattern: Element {
    /// The element of these bits. Higher bits than those of the type are ignored.
    fn from_bits(bits: u32) -> Self;
    /// The bits of the element; those beyond the type are 0.
    fn bits(self) -> u32;
    /// The number that the bits stand for.
    fn number(self) -> f64;
}

macro_rules! patterns { ($($t:ty: $from:expr, $bits:expr, $number:expr;)*) => { $(impl Pattern for $t {
    fn from_bits(bits: u32) -> Self { $from(bits) }
    fn bits(self) -> u32 { $bits(self) }
    fn number(self) -> f64 { $number(self) }
})* } }
patterns! {
    f32: f32::from_bits, f32::to_bits, f64::from;
    f16: |b| f16::from_bits(b as u16), |v: f16| u32::from(v.to_bits()), f16::to_f64;
    bf16: |b| bf16::from_bits(b as u16), |v: bf16| u32::from(v.to_bits()), bf16::to_f64;
    f8e4m3: |b| f8e4m3(b as u8), |v: f8e4m3| u32::from(v.0), |v: f8e4m3| f64::from(v.to_f32());
    f8e5m2: |b| f8e5m2(b as u8), |v: f8e5m2| u32::from(v.0), |v: f8e5m2| f64::from(v.to_f32());
    i8: |b| b as i8, |v| u32::from(v as u8), f64::from;
    i32: |b| b as i32, |v| v as u32, f64::from;
    u8: |b| b as u8, u32::from, f64::from;
    u16: |b| b as u16, u32::from, f64::from;
    u32: |b| b, |v| v, f64::from;
}

/// An output of a problem: row by row, without gaps.
pub struct Output {
    /// The name of the parameter.
    pub name: &'static str,
    /// The bits of each element.
    pub bits: Vec<u32>,
    number: fn(u32) -> f64,
}

impl Output {
    /// The output of a parameter.
    pub fn of<T: Pattern>(name: &'static str, elements: &[T]) -> Output {
        Output { name, bits: elements.iter().map(|v| v.bits()).collect(), number: |b| T::from_bits(b).number() }
    }

    /// The number that these bits of an element stand for.
    pub fn number(&self, bits: u32) -> f64 {
        (self.number)(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_number() {
        fn both<T: Pattern>(bits: u32, number: f64) {
            let v = T::from_bits(bits);
            assert_eq!((v.bits(), v.number()), (bits, number));
        }
        both::<f32>(0x3fc0_0000, 1.5);
        both::<f16>(0xbe00, -1.5);
        both::<bf16>(0x3fc0, 1.5);
        both::<f8e4m3>(0x3c, 1.5);
        both::<f8e5m2>(0xbe, -1.5);
        both::<i8>(0x80, -128.0);
        both::<i32>(0xffff_ffff, -1.0);
        both::<u8>(0xff, 255.0);
        both::<u16>(0xffff, 65_535.0);
        both::<u32>(0xffff_ffff, 4_294_967_295.0);
        // A signalling NaN keeps its bits.
        assert_eq!(f32::from_bits(0x7f80_0001).bits(), 0x7f80_0001);
    }
}
