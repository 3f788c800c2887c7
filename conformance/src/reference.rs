//! The right results of each operation, written independently of the kernels: plain loops in f64, or exact integers.

use tilewright_core::cpu::parallel_map;

/// `max(x, 0)`; a NaN stays.
pub fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// `x`, or `slope * x` where that is negative; a NaN stays.
pub fn leaky_relu(x: f64, slope: f64) -> f64 {
    if x < 0.0 { slope * x } else { x }
}

/// 0.5 (1 + tanh u), without the cancellation near u = -inf.
pub fn gelu(x: f64) -> f64 {
    let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    if x == f64::NEG_INFINITY { f64::NAN } else { x / (1.0 + (-2.0 * u).exp()) }
}

/// `R` rounds of FNV-1a over the four bytes, low byte first.
pub fn rainbow(value: i32, rounds: u32) -> u32 {
    (0..rounds).fold(value as u32, |v, _| {
        v.to_le_bytes().iter().fold(2_166_136_261, |h: u32, &b| (h ^ b as u32).wrapping_mul(16_777_619))
    })
}

/// The exact sum to f64 rounding (Neumaier), and the sum of absolute values.
pub fn sum(x: &[f32]) -> (f64, f64) {
    let (mut s, mut lost, mut magnitude) = (0.0f64, 0.0f64, 0.0f64);
    for v in x.iter().map(|&v| v as f64) {
        let t = s + v;
        lost += if s.abs() >= v.abs() { (s - t) + v } else { (v - t) + s };
        s = t;
        magnitude += v.abs();
    }
    // An infinite sum has lost nothing.
    (if s.is_finite() { s + lost } else { s }, magnitude)
}

/// The softmax of one row.
pub fn softmax<T: Copy + Into<f64>>(x: &[T]) -> Vec<f64> {
    let max = x.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v.into()));
    let e: Vec<f64> = x.iter().map(|&v| (v.into() - max).exp()).collect();
    let s: f64 = e.iter().sum();
    e.into_iter().map(|v| v / s).collect()
}

/// The words of a counter of Philox 4x32-10, with two words of a key (Salmon and others, "Parallel random numbers: as
/// easy as 1, 2, 3").
pub fn philox(key: u64, mut counter: [u32; 4]) -> [u32; 4] {
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..10 {
        let (a, b) = (0xD251_1F53 * u64::from(counter[0]), 0xCD9E_8D57 * u64::from(counter[2]));
        let [_, c1, _, c3] = counter;
        counter = [(b >> 32) as u32 ^ c1 ^ k0, b as u32, (a >> 32) as u32 ^ c3 ^ k1, a as u32];
        (k0, k1) = (k0.wrapping_add(0x9E37_79B9), k1.wrapping_add(0xBB67_AE85));
    }
    counter
}

/// `x / (1 + e^-x)`, its derivative, and the magnitude of the derivative's summands.
pub fn silu(x: f64) -> (f64, f64, f64) {
    let s = 1.0 / (1.0 + (-x).exp());
    (x * s, s + x * s * (1.0 - s), s + (x * s * (1.0 - s)).abs())
}

/// The norm of a row.
pub struct NormRow {
    /// The factor of the elements.
    pub scale: f64,
    /// The normalized elements.
    pub normal: Vec<f64>,
    /// The unit of rounding errors of each of them: differences from the mean cancel.
    pub off: Vec<f64>,
}

/// The row over its root mean square; where `centered`, over that of its differences from its mean.
pub fn norm_row(x: &[f64], eps: f64, centered: bool) -> NormRow {
    let mean_of = |f: &dyn Fn(f64) -> f64| x.iter().map(|v| f(*v)).sum::<f64>() / x.len() as f64;
    let mean = if centered { mean_of(&|v| v) } else { 0.0 };
    let scale = 1.0 / (mean_of(&|v| (v - mean) * (v - mean)) + eps).sqrt();
    let all = mean_of(&f64::abs);
    let off = |v: &f64| (v.abs() + if centered { all } else { 0.0 }) * scale;
    NormRow { scale, normal: x.iter().map(|v| (v - mean) * scale).collect(), off: x.iter().map(off).collect() }
}

/// Each output with the sum of its terms' magnitudes.
pub fn convolution(x: &[f32], w: &[f32]) -> Vec<(f64, f64)> {
    if w.is_empty() || x.len() < w.len() {
        return Vec::new();
    }
    let at = |o: usize| {
        x[o..o + w.len()].iter().zip(w).fold((0.0, 0.0), |(s, m), (&a, &b)| {
            let t = a as f64 * b as f64;
            (s + t, m + t.abs())
        })
    };
    parallel_map(x.len() - w.len() + 1, at)
}

/// Rows `rows` of the product of `a`, of `k` columns, and `b`, of `n` columns: each element with the sum of its terms'
/// magnitudes.
pub fn product(a: &[f32], b: &[f32], k: usize, n: usize, rows: &[usize]) -> Vec<(f64, f64)> {
    let row = |i: usize| {
        let mut out = vec![(0.0, 0.0); n];
        for (x, b) in a[i * k..(i + 1) * k].iter().zip(b.chunks(n.max(1))) {
            for (o, y) in out.iter_mut().zip(b) {
                let t = *x as f64 * *y as f64;
                *o = (o.0 + t, o.1 + t.abs());
            }
        }
        out
    };
    parallel_map(rows.len(), |i| row(rows[i])).concat()
}

/// The attention of one query to keys and values with as many elements each: each element with the weighted sum of
/// magnitudes. Zeros without keys, or if no key has a score above minus infinity.
pub fn attention(query: &[f32], keys: &[f32], values: &[f32], scale: f64) -> Vec<(f64, f64)> {
    let d = query.len();
    let scores: Vec<f64> = keys
        .chunks(d.max(1))
        .map(|key| scale * key.iter().zip(query).map(|(&a, &b)| a as f64 * b as f64).sum::<f64>())
        .collect();
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // As torch has it since 2.5: a query whose scores are all minus infinity sees no key.
    if scores.iter().all(|&s| s == f64::NEG_INFINITY) {
        return vec![(0.0, 0.0); d];
    }
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let all = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut out = vec![(0.0, 0.0); d];
    for (w, value) in weights.iter().zip(values.chunks(d.max(1))) {
        out.iter_mut().zip(value).for_each(|(o, &v)| *o = (o.0 + w * v as f64 / all, o.1 + w * v.abs() as f64 / all));
    }
    out
}

/// The transpose of a `rows x cols` matrix.
pub fn transpose<T: Copy + Send + Sync>(x: &[T], rows: usize, cols: usize) -> Vec<T> {
    parallel_map(rows * cols, |i| x[(i % rows) * cols + i / rows])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(rainbow(123, 0), 123);
        // FNV-1a of the four bytes 0, 0, 0, 0.
        assert_eq!(rainbow(0, 1), 0x4b95_f515);
        assert!((gelu(1.0) - 0.841_191_990_6).abs() < 1e-9);
        assert_eq!(sum(&[1.0, -1.0, 0.5]), (0.5, 2.5));
        assert_eq!(sum(&[1.0, f32::NEG_INFINITY, 2.0]), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(softmax(&[0.0f32, 0.0]), [0.5, 0.5]);
        // The known answer of the authors' library for zeros.
        assert_eq!(philox(0, [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(convolution(&[1.0, 2.0, 3.0], &[1.0, -1.0]), [(-1.0, 3.0), (-1.0, 5.0)]);
        assert_eq!(
            product(&[1.0, -1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0], 2, 2, &[0, 1]),
            [(-2.0, 4.0), (-2.0, 6.0), (11.0, 11.0), (16.0, 16.0)]
        );
        assert_eq!(attention(&[1.0], &[], &[], 1.0), [(0.0, 0.0)]);
        assert_eq!(attention(&[], &[], &[], 1.0), []);
        assert_eq!(attention(&[f32::NEG_INFINITY], &[1.0, 2.0], &[3.0, 4.0], 1.0), [(0.0, 0.0)]);
        assert!(attention(&[f32::NAN], &[1.0, 2.0], &[3.0, 4.0], 1.0)[0].0.is_nan());
        assert_eq!(
            attention(&[2.0, 0.0], &[1.0, 5.0, 1.0, -3.0], &[1.0, 2.0, -3.0, 4.0], 0.5),
            [(-1.0, 2.0), (3.0, 3.0)]
        );
        assert_eq!(transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
