//! Comparing a result with its reference.

/// How far a result is from its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The largest error, in the measure that `tolerance` bounds. Infinite where a NaN or an infinity is missing or
    /// misplaced, or an exact result differs.
    pub error: f64,
    pub tolerance: f64,
    /// The first element beyond the tolerance: index, found, wanted.
    pub first: Option<(usize, f64, f64)>,
}

impl Verdict {
    pub fn passed(&self) -> bool {
        self.first.is_none()
    }
}

/// |found - wanted| / max(|wanted|, floor) at every element.
pub fn relative(found: &[f64], wanted: &[f64], floor: f64, tolerance: f64) -> Verdict {
    scaled(found, wanted.iter().map(|w| (*w, w.abs().max(floor))), tolerance)
}

/// |found - wanted| / scale at every element, for pairs (wanted, scale).
pub fn scaled(found: &[f64], wanted: impl ExactSizeIterator<Item = (f64, f64)>, tolerance: f64) -> Verdict {
    let mut verdict = Verdict { error: 0.0, tolerance, first: None };
    if found.len() != wanted.len() {
        verdict.error = f64::INFINITY;
        verdict.first = Some((found.len().min(wanted.len()), f64::NAN, f64::NAN));
        return verdict;
    }
    for (i, (&f, (w, scale))) in found.iter().zip(wanted).enumerate() {
        let error = if f == w || (f.is_nan() && w.is_nan()) {
            0.0
        } else if f.is_finite() && w.is_finite() {
            (f - w).abs() / scale.max(f64::MIN_POSITIVE)
        } else {
            f64::INFINITY
        };
        verdict.error = verdict.error.max(error);
        if error > tolerance && verdict.first.is_none() {
            verdict.first = Some((i, f, w));
        }
    }
    verdict
}

/// Equality, for results that have one right value.
pub fn exact<T: Copy + PartialEq + Into<f64>>(found: &[T], wanted: &[T]) -> Verdict {
    let differs = match found.iter().zip(wanted).position(|(f, w)| f != w) {
        None if found.len() != wanted.len() => Some(found.len().min(wanted.len())),
        at => at,
    };
    let at = |v: &[T], i: usize| v.get(i).map_or(f64::NAN, |&v| v.into());
    Verdict {
        error: if differs.is_some() { f64::INFINITY } else { 0.0 },
        tolerance: 0.0,
        first: differs.map(|i| (i, at(found, i), at(wanted, i))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures() {
        assert!(relative(&[1.0, 2.0], &[1.0, 2.000001], 0.0, 1e-6).passed());
        assert!(!relative(&[1.0, 2.0], &[1.0, 2.1], 0.0, 1e-6).passed());
        assert!(relative(&[f64::NAN, f64::INFINITY], &[f64::NAN, f64::INFINITY], 0.0, 0.0).passed());
        assert_eq!(relative(&[0.0], &[f64::NAN], 0.0, 1.0).error, f64::INFINITY);
        assert!(!relative(&[0.0], &[], 0.0, 1.0).passed());
        assert_eq!(exact(&[1, 2, 3], &[1, 5, 3]).first, Some((1, 2.0, 5.0)));
        assert!(!exact(&[1, 2], &[1, 2, 3]).passed());
    }
}
