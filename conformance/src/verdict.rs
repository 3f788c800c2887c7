//! Comparing a result with its reference.

/// How far a result is from its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The largest error, in the measure that `tolerance` bounds. Infinite where a NaN or an infinity is missing or
    /// misplaced, or an exact result differs.
    pub error: f64,
    /// The largest error that passes.
    pub tolerance: f64,
    /// The first element beyond the tolerance: index, found, wanted.
    pub first: Option<(usize, f64, f64)>,
}

impl Verdict {
    /// Whether every element is within the tolerance.
    pub fn passed(&self) -> bool {
        self.first.is_none()
    }
}

/// The failed verdict, else the one with the larger error.
pub fn worse(a: Verdict, b: Verdict) -> Verdict {
    if a.passed() && !b.passed() || a.passed() == b.passed() && b.error > a.error { b } else { a }
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

/// `‖found - wanted‖ / ‖wanted‖` over the finite elements; the others must be equal.
pub fn normwise(found: &[f64], wanted: &[f64], tolerance: f64) -> Verdict {
    let same = |w: f64, f: f64| f == w || (f.is_nan() && w.is_nan());
    let misplaced = |w: f64, f: f64| !(w.is_finite() && f.is_finite() || same(w, f));
    let pairs = || wanted.iter().copied().zip(found.iter().copied());
    if found.len() != wanted.len() {
        return scaled(found, wanted.iter().map(|w| (*w, 1.0)), tolerance);
    }
    if let Some((i, (w, f))) = pairs().enumerate().find(|(_, (w, f))| misplaced(*w, *f)) {
        return Verdict { error: f64::INFINITY, tolerance, first: Some((i, f, w)) };
    }
    let finite = || pairs().filter(|(w, _)| w.is_finite());
    let norm = |each: &mut dyn Iterator<Item = f64>| each.map(|x| x * x).sum::<f64>().sqrt();
    let (off, size) = (norm(&mut finite().map(|(w, f)| f - w)), norm(&mut finite().map(|(w, _)| w)));
    let error = if off == 0.0 { 0.0 } else { off / size.max(f64::MIN_POSITIVE) };
    let far = |(_, (w, f)): &(usize, (f64, f64))| if w.is_finite() { (f - w).abs() } else { 0.0 };
    let worst = pairs().enumerate().max_by(|x, y| far(x).total_cmp(&far(y)));
    Verdict { error, tolerance, first: worst.filter(|_| error > tolerance).map(|(i, (w, f))| (i, f, w)) }
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
        assert!(normwise(&[3.0, 4.0005, f64::NAN], &[3.0, 4.0, f64::NAN], 1.1e-4).passed());
        assert_eq!(normwise(&[3.0, 4.1], &[3.0, 4.0], 1e-2).first, Some((1, 4.1, 4.0)));
        assert!(!normwise(&[f64::NAN, 1.0], &[f64::INFINITY, 1.0], 0.0).passed());
        assert!(!normwise(&[f64::INFINITY, 1.0], &[2.0, 1.0], 1.0).passed());
        assert_eq!(exact(&[1, 2, 3], &[1, 5, 3]).first, Some((1, 2.0, 5.0)));
        assert!(!exact(&[1, 2], &[1, 2, 3]).passed());
    }
}
