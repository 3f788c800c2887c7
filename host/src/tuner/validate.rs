//! Validation of configurations: two of them must give the same result.

use half::{bf16, f16};
use tilewright_core::DType;

/// Relative tolerance for a floating-point output: sums taken in another order differ by rounding, races by much more.
/// Products in tf32 have as many bits as f16, which some instructions round to and others cut off at.
fn tolerance(dtype: DType, tf32: bool) -> Option<f64> {
    match dtype {
        DType::F64 => Some(1e-10),
        DType::F32 if tf32 => tolerance(DType::F16, false),
        DType::F32 => Some(1e-4),
        DType::F16 => Some(1e-2),
        DType::BF16 => Some(4e-2),
        _ => None,
    }
}

fn read(dtype: DType, b: &[u8]) -> f64 {
    match dtype {
        DType::F64 => b.try_into().map_or(f64::NAN, f64::from_le_bytes),
        DType::F32 => b.try_into().map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(b))),
        DType::F16 => b.try_into().map_or(f64::NAN, |b| f16::from_le_bytes(b).to_f64()),
        DType::BF16 => b.try_into().map_or(f64::NAN, |b| bf16::from_le_bytes(b).to_f64()),
        _ => f64::NAN,
    }
}

/// How `got` differs from `want`; `None` where they agree. `first` is the index of the first element.
pub(crate) fn difference(dtype: DType, tf32: bool, first: usize, want: &[u8], got: &[u8]) -> Option<String> {
    if want == got {
        return None;
    }
    let size = dtype.size();
    let Some(rel) = tolerance(dtype, tf32) else {
        let i = want.iter().zip(got).position(|(a, b)| a != b).unwrap_or(0) / size;
        let hex = |b: &[u8]| {
            b.get(i * size..(i + 1) * size).unwrap_or(b).iter().rev().map(|x| format!("{x:02x}")).collect::<String>()
        };
        return Some(format!("element {} is 0x{} instead of 0x{}", first + i, hex(got), hex(want)));
    };
    // Elements that are small beside the rest may be what is left of a cancellation; or beside those around them, which
    // cost more to look at.
    let (sum, n) = want
        .chunks_exact(size)
        .map(|x| read(dtype, x))
        .filter(|x| x.is_finite())
        .fold((0.0, 0.0), |(sum, n), x| (sum + x * x, n + 1.0));
    let everywhere = (sum / f64::max(n, 1.0)).sqrt();
    let mut parts = want.chunks(AROUND * size).zip(got.chunks(AROUND * size)).enumerate();
    parts.find_map(|(part, (want, got))| {
        let first_wrong = |usual: f64| {
            let near = |a: f64, b: f64| {
                a.is_finite() && b.is_finite() && (a - b).abs() <= rel * (0.25 * usual + a.abs().max(b.abs()))
            };
            let differs = |a: f64, b: f64| !(a == b || (a.is_nan() && b.is_nan()) || near(a, b));
            let mut pairs = want
                .chunks_exact(size)
                .zip(got.chunks_exact(size))
                .map(|(a, b)| (read(dtype, a), read(dtype, b)))
                .enumerate();
            pairs.find(|(_, (a, b))| differs(*a, *b))
        };
        first_wrong(everywhere)?;
        let (i, (a, b)) = first_wrong(everywhere.max(usual(dtype, want)))?;
        Some(format!("element {} is {b} instead of {a}", first + part * AROUND + i))
    })
}

/// Elements of which the size is that of their surroundings: of a row, as a rule.
const AROUND: usize = 64;

/// The standard deviation of normal numbers whose median this is: no single element makes it larger.
fn usual(dtype: DType, b: &[u8]) -> f64 {
    let mut sizes: Vec<f64> =
        b.chunks_exact(dtype.size()).map(|x| read(dtype, x).abs()).filter(|x| x.is_finite()).collect();
    let middle = sizes.len() / 2;
    if sizes.is_empty() { 0.0 } else { 1.4826 * *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// Byte ranges that stand for an output of `bytes` bytes: all of it, or, where that is too long to read back for every
/// configuration, pieces spread over it with both ends.
pub(crate) fn sample(bytes: u64) -> Vec<(u64, u64)> {
    const MAX_WHOLE_BYTES: u64 = 256 << 20;
    const PIECE_BYTES: u64 = 1 << 20;
    const PIECES: u64 = 128;
    if bytes <= MAX_WHOLE_BYTES {
        return vec![(0, bytes)];
    }
    let last = bytes - PIECE_BYTES;
    let mut pieces: Vec<_> = (0..PIECES - 1)
        .map(|i| ((last as u128 * i as u128 / (PIECES - 1) as u128) as u64 / 64 * 64, PIECE_BYTES))
        .collect();
    // The end, whatever it is a multiple of: elements are at most 8 bytes, and outputs whole elements.
    pieces.push((last / 64 * 64, bytes - last / 64 * 64));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(v: &[f32]) -> Vec<u8> {
        v.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn floats_may_round_differently() {
        let want = bytes(&[1.0, 1000.0, f32::NAN, f32::INFINITY]);
        assert_eq!(difference(DType::F32, false, 0, &want, &want), None);
        assert_eq!(difference(DType::F32, false, 0, &want, &bytes(&[1.00001, 1000.01, f32::NAN, f32::INFINITY])), None);
        let wrong = difference(DType::F32, false, 8, &want, &bytes(&[1.0, 1001.0, f32::NAN, f32::INFINITY])).unwrap();
        assert_eq!(wrong, "element 9 is 1001 instead of 1000");
        assert_eq!(difference(DType::F32, true, 8, &want, &bytes(&[1.0, 1001.0, f32::NAN, f32::INFINITY])), None);
        assert!(difference(DType::F32, true, 8, &want, &bytes(&[1.0, 1100.0, f32::NAN, f32::INFINITY])).is_some());
        for bad in [[1.0, 1000.0, 0.0, f32::INFINITY], [1.0, 1000.0, f32::NAN, 1.0]] {
            assert!(difference(DType::F32, false, 0, &want, &bytes(&bad)).is_some());
        }
    }

    #[test]
    fn what_is_small_beside_those_around_it_may_differ_by_their_rounding() {
        // As in the first rows of causal attention: larger than all that follows, and less is left of some.
        let want: Vec<f32> = (0..6400)
            .map(|i| {
                if i == 5 {
                    1e-6
                } else if i < 64 {
                    1.0
                } else {
                    1e-3
                }
            })
            .collect();
        let with = |i: usize, v: f32| bytes(&[&want[..i], &[v], &want[i + 1..]].concat());
        assert_eq!(difference(DType::F32, false, 0, &bytes(&want), &with(5, 1.2e-5)), None);
        assert_eq!(
            difference(DType::F32, false, 0, &bytes(&want), &with(5, 1e-4)).unwrap(),
            "element 5 is 0.00009999999747378752 instead of 0.0000009999999974752427"
        );
        let spike: Vec<f32> = (0..6400).map(|i| if i == 70 { 10.0 } else { want[i] }).collect();
        assert!(
            difference(DType::F32, false, 0, &bytes(&spike), &bytes(&[&spike[..71], &[1.2e-3], &spike[72..]].concat()))
                .is_some(),
            "one large element hides no other"
        );
        assert_eq!(
            difference(DType::F32, false, 100, &bytes(&want), &with(6000, 1.01e-3)).unwrap(),
            "element 6100 is 0.0010100000072270632 instead of 0.0010000000474974513"
        );
    }

    #[test]
    fn integers_may_not_differ() {
        let wrong = difference(DType::I32, false, 0, &[1, 0, 0, 0, 2, 0, 0, 0], &[1, 0, 0, 0, 3, 1, 0, 0]).unwrap();
        assert_eq!(wrong, "element 1 is 0x00000103 instead of 0x00000002");
        assert!(difference(DType::Bool, false, 0, &[1], &[0]).is_some());
    }

    #[test]
    fn long_outputs_are_sampled_at_both_ends() {
        assert_eq!(sample(1000), [(0, 1000)]);
        let bytes = (1 << 30) + 12;
        let s = sample(bytes);
        assert_eq!(s[0].0, 0);
        let (start, len) = s[s.len() - 1];
        assert_eq!(start + len, bytes);
        assert!(s.iter().all(|&(o, n)| o % 64 == 0 && o + n <= bytes));
    }
}
