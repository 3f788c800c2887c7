//! Seeded inputs.

use tilewright_core::{DType, Element, bf16, f8e4m3, f8e5m2, f16};

/// SplitMix64: small, well mixed, and the same on every platform.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator whose numbers depend on the seed alone.
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next number, from the whole range.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `[low, high)`, on a grid of 2^-24 of the range.
    pub fn uniform(&mut self, low: f32, high: f32) -> f32 {
        let unit = (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32;
        low + unit * (high - low)
    }

    /// A number in `0..n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }
}

/// An element of the operands and the results of products. [`entries`] has an example.
pub trait Number: Element {
    /// The element for a number, which is an integer of the type where the type has no others.
    fn of(v: f64) -> Self;
}

macro_rules! numbers { ($($t:ty: $of:expr;)*) => { $(impl Number for $t {
    fn of(v: f64) -> Self { $of(v) }
})* } }
numbers! {
    f32: |v| v as f32;
    f16: f16::from_f64;
    bf16: bf16::from_f64;
    f8e4m3: |v| f8e4m3::from_f32(v as f32);
    f8e5m2: |v| f8e5m2::from_f32(v as f32);
    i8: |v| v as i8;
    i32: |v| v as i32;
    u8: |v| v as u8;
    u16: |v| v as u16;
    u32: |v| v as u32;
}

/// `n` elements of operands of products.
///
/// # Examples
/// ```
/// use tilewright_conformance::data;
///
/// let bytes: Vec<i8> = data::entries(&mut data::Rng::new(1), 100);
/// assert!(bytes.iter().any(|b| *b < -64) && bytes.iter().any(|b| *b > 64));
/// ```
pub fn entries<T: Number>(rng: &mut Rng, n: usize) -> Vec<T> {
    match T::DTYPE {
        DType::I8 => (0..n).map(|_| T::of(rng.below(256) as f64 - 128.0)).collect(),
        // The narrow formats have few numbers below 1.
        DType::F8E4M3 | DType::F8E5M2 => (0..n).map(|_| T::of(rng.uniform(-4.0, 4.0) as f64)).collect(),
        _ => (0..n).map(|_| T::of(rng.uniform(-1.0, 1.0) as f64)).collect(),
    }
}

/// `n` values in `[low, high)`.
pub fn floats(rng: &mut Rng, n: usize, low: f32, high: f32) -> Vec<f32> {
    (0..n).map(|_| rng.uniform(low, high)).collect()
}

/// As [`floats`], every seventh or so replaced by a number that arithmetic treats specially.
pub fn awkward_floats(rng: &mut Rng, n: usize, low: f32, high: f32) -> Vec<f32> {
    const AWKWARD: [f32; 10] =
        [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-40, -1e-40, 65504.0, -65504.0];
    (0..n)
        .map(|_| match rng.below(7) {
            0 => AWKWARD[rng.below(AWKWARD.len() as u64) as usize],
            _ => rng.uniform(low, high),
        })
        .collect()
}

/// `n` integers in `0..below`.
pub fn small_ints(rng: &mut Rng, n: usize, below: u64) -> Vec<i32> {
    (0..n).map(|_| rng.below(below) as i32).collect()
}

/// `n` integers from the whole range.
pub fn ints(rng: &mut Rng, n: usize) -> Vec<i32> {
    (0..n).map(|_| rng.next_u64() as i32).collect()
}

/// `n` bytes from the whole range.
pub fn bytes(rng: &mut Rng, n: usize) -> Vec<u8> {
    (0..n).map(|_| rng.next_u64() as u8).collect()
}
