//! Coefficients of the model by the plans that it chooses. Times of all plans say how fast the parts of a device are.
//! The chosen plan depends on small differences between few of them, which a fit to all times does not see.

use super::device::DeviceModel;

/// How much a coefficient is changed at first, and the least change that is tried.
const FIRST_STEP: f32 = 1.3;
const LAST_STEP: f32 = 1.05;
/// A change that does not help is tried again with this share of its logarithm.
const SHRINK: f32 = 0.6;
/// The least gain of the mean logarithm that is no accident of single calls.
const MIN_GAIN: f64 = 1e-4;
const MAX_ROUNDS: usize = 12;

/// The model with coefficients for which `loss` is low, by coordinate descent. `loss` is the mean logarithm of the time
/// of the chosen plan by that of the fastest one.
pub(super) fn descended(start: &DeviceModel, loss: impl Fn(&DeviceModel) -> f64) -> DeviceModel {
    let mut best = start.coefficients();
    let mut least = loss(start);
    let mut steps = vec![FIRST_STEP; best.len()];
    for _ in 0..MAX_ROUNDS {
        let before = least;
        for i in 0..best.len() {
            if steps[i] < LAST_STEP {
                continue;
            }
            let tried = |factor: f32| {
                let mut other = best.clone();
                other[i] = (other[i] * factor).clamp(1e-12, 1e12);
                (loss(&start.with_coefficients(&other)), other)
            };
            let found = [steps[i], 1.0 / steps[i]].into_iter().map(tried).min_by(|a, b| a.0.total_cmp(&b.0));
            match found.filter(|(found, _)| *found < least - MIN_GAIN) {
                Some((found, other)) => (least, best) = (found, other),
                None => steps[i] = steps[i].powf(SHRINK),
            }
        }
        if before - least < MIN_GAIN && steps.iter().all(|s| *s < LAST_STEP) {
            break;
        }
    }
    start.with_coefficients(&best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::models::base;

    /// A coefficient that choices depend on is found, and the others stay.
    #[test]
    fn coefficients_that_choices_depend_on_are_found() {
        let start = base();
        let wanted = 1.7 * start.copy;
        let loss = |m: &DeviceModel| f64::from((m.copy / wanted).ln().abs());
        let found = descended(&start, loss);
        assert!((found.copy / wanted).ln().abs() < 0.1, "{} for {wanted}", found.copy);
        assert_eq!((found.launch, found.memory), (start.launch, start.memory));
    }
}
