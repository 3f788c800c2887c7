//! Medians and their confidence intervals, without an assumption about the distribution of times.

use serde::{Deserialize, Serialize};

/// The confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The fewest times for which the smallest and the largest one enclose the median with [`CONFIDENCE`].
pub const MIN_TIMES: usize = 6;

/// A value and the bounds of its confidence interval.
///
/// # Examples
/// ```
/// let e = tilewright_bench::Estimate::of_median(&[3.0, 1.0, 2.0]);
/// assert_eq!((e.low, e.value, e.high), (1.0, 2.0, 3.0));
/// let [slower, faster] = [[4.0, 4.2, 4.4], [2.0, 2.1, 2.2]];
/// assert_eq!(tilewright_bench::Estimate::of_ratio(&slower, &faster).value, 2.0);
/// assert_eq!(tilewright_bench::Estimate::of_paired_ratio(&slower, &faster).value, 2.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The lower bound.
    pub low: f64,
    /// The value itself.
    pub value: f64,
    /// The upper bound.
    pub high: f64,
}

impl Estimate {
    /// The median of samples, in any order, between two of them: the order statistics that enclose the median of the
    /// distribution with a probability of at least 95 %. Fewer than six samples have no such two; their interval is
    /// their range. NaN of no samples.
    pub fn of_median(samples: &[f64]) -> Estimate {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some(outside) = sorted.len().checked_sub(1) else {
            return Estimate { low: f64::NAN, value: f64::NAN, high: f64::NAN };
        };
        let rank = rank(sorted.len());
        Estimate { low: sorted[rank], value: median(&sorted), high: sorted[outside - rank] }
    }

    /// The median of `after` divided by that of `before`, for samples that were not taken in turn: percentiles of the
    /// ratios of resampled medians (the bootstrap). The same samples give the same interval.
    pub fn of_ratio(after: &[f64], before: &[f64]) -> Estimate {
        const RESAMPLES: usize = 2000;
        let mut random = fastrand::Rng::with_seed(0);
        let mut resampled = |samples: &[f64]| {
            let mut again: Vec<f64> = samples.iter().map(|_| samples[random.usize(..samples.len())]).collect();
            again.sort_by(f64::total_cmp);
            median(&again)
        };
        let value = Estimate::of_median(after).value / Estimate::of_median(before).value;
        if after.is_empty() || before.is_empty() {
            return Estimate { low: f64::NAN, value, high: f64::NAN };
        }
        let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| resampled(after) / resampled(before)).collect();
        ratios.sort_by(f64::total_cmp);
        let outside = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64) as usize;
        // The bootstrap of a median may leave the median itself out by a hair.
        Estimate { low: ratios[outside].min(value), value, high: ratios[RESAMPLES - 1 - outside].max(value) }
    }

    /// The median of `theirs / ours` over rounds in which both ran in turn, with order statistics of the ratios.
    pub fn of_paired_ratio(theirs: &[f64], ours: &[f64]) -> Estimate {
        Self::of_median(&theirs.iter().zip(ours).map(|(t, o)| t / o).collect::<Vec<_>>())
    }
}

/// Of ascending samples, of which there is one at least.
fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n % 2 == 1 { sorted[n / 2] } else { 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]) }
}

/// The largest number of samples that may be left out at each end of `n` sorted ones such that the rest encloses the
/// median with [`CONFIDENCE`]. How many samples lie below the median is binomial.
fn rank(n: usize) -> usize {
    let mut left_out = 0;
    // P(exactly k of n below), by its logarithm: 2^-n is no number for large n.
    let (mut log_p, mut below) = (-(n as f64) * std::f64::consts::LN_2, 0.0);
    for k in 0..n / 2 {
        below += log_p.exp();
        if 2.0 * below > 1.0 - CONFIDENCE {
            break;
        }
        left_out = k;
        log_p += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_tables() {
        // Conover, Practical Nonparametric Statistics: 1-based ranks of 95 % intervals of the median.
        for (n, first) in [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (25, 8), (50, 18), (100, 40)] {
            assert_eq!(rank(n) + 1, first, "of {n}");
        }
        assert_eq!([1, 2, 5].map(rank), [0; 3], "the range");
        assert_eq!(rank(MIN_TIMES), 0);
        assert!((4890..4910).contains(&rank(10_000)), "1/2 n - 0.98 sqrt(n): {}", rank(10_000));
    }

    #[test]
    fn intervals_cover_the_median() {
        let mut random = fastrand::Rng::with_seed(7);
        // Exponential: the median is ln 2.
        let trials = 2000;
        let covered = (0..trials).filter(|_| {
            let samples: Vec<f64> = (0..25).map(|_| -(1.0 - random.f64()).ln()).collect();
            let e = Estimate::of_median(&samples);
            e.low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= e.high
        });
        let share = covered.count() as f64 / f64::from(trials);
        assert!((0.94..0.98).contains(&share), "{share}");
    }

    #[test]
    fn ratios() {
        let ours: Vec<f64> = (0..25).map(|i| 1.0 + 0.001 * f64::from(i % 5)).collect();
        let theirs: Vec<f64> = ours.iter().map(|t| 2.0 * t).collect();
        let paired = Estimate::of_paired_ratio(&theirs, &ours);
        assert_eq!((paired.low, paired.value, paired.high), (2.0, 2.0, 2.0));
        let apart = Estimate::of_ratio(&theirs, &ours);
        assert!(apart.low <= 2.0 && 2.0 <= apart.high && apart.high - apart.low < 0.02, "{apart:?}");
        assert_eq!(apart, Estimate::of_ratio(&theirs, &ours), "the same samples give the same interval");
        assert!(Estimate::of_ratio(&[], &ours).value.is_nan());
    }
}
