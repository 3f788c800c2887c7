use crate::backends::{close, everywhere, everywhere_of, integers, random, refused};
use tilewright_challenges::{self as ops, SelectiveScan};

const SIZES: [usize; 7] = [0, 1, 3, 4097, 16_384, 40_001, 300_007];
const FEW: [usize; 3] = [0, 7, 35_001];

/// The state after each element.
fn running<S: Copy>(n: usize, first: S, next: impl Fn(S, usize) -> S) -> Vec<S> {
    let mut state = first;
    (0..n)
        .map(|i| {
            state = next(state, i);
            state
        })
        .collect()
}

/// Each result is as near as sums of so many elements, of so great a magnitude, are in f32.
#[track_caller]
fn near(what: impl std::fmt::Debug, got: &[f32], want: &[f64]) {
    let scale = want.iter().fold(1.0f64, |m, w| m.max(w.abs()));
    let part = |v: f64| v / scale;
    let got: Vec<f32> = got.iter().map(|&v| part(v.into()) as f32).collect();
    close(what, &got, &want.iter().map(|&w| part(w)).collect::<Vec<_>>(), 2e-6);
}

#[test]
fn prefix_sums() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (seed, lo) in [(1, -1.0), (2, 0.0)] {
            let x = random(seed, n, lo, 1.0);
            let mut y = vec![9.0; n];
            ops::prefix_sum(on, &x, &mut y).unwrap();
            near(("prefix_sum", n), &y, &running(n, 0.0, |sum, i| sum + f64::from(x[i])));
        }
    });
}

#[test]
fn an_infinite_element_is_in_all_sums_behind_it() {
    everywhere(|on| {
        let (mut x, mut y) = (vec![1.0; 20_000], vec![9.0; 20_000]);
        (x[17_000], x[19_000]) = (f32::INFINITY, f32::NEG_INFINITY);
        ops::prefix_sum(on, &x, &mut y).unwrap();
        assert_eq!((y[16_999], y[17_000], y[18_999]), (17_000.0, f32::INFINITY, f32::INFINITY));
        assert!(y[19_000].is_nan() && y[19_999].is_nan());
    });
}

#[test]
fn segmented_prefix_sums() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (seed, rare) in [(1, 2), (2, 50), (3, 9000), (4, i32::MAX)] {
            let x = random(seed, n, -1.0, 1.0);
            // Any flag but 0 begins a segment.
            let flags: Vec<i32> =
                integers(seed, n, 0, rare).iter().map(|&v| if v == 1 { seed as i32 } else { 0 }).collect();
            let mut y = vec![9.0; n];
            ops::segmented_prefix_sum(on, &x, &flags, &mut y).unwrap();
            let value = |(_, through): (f64, f64), i: usize| {
                let before = if flags[i] != 0 { 0.0 } else { through };
                (before, before + f64::from(x[i]))
            };
            let wanted: Vec<f64> = running(n, (0.0, 0.0), value).iter().map(|s| s.0).collect();
            near(("segmented_prefix_sum", n, rare), &y, &wanted);
        }
    });
}

/// A sum that is taken from one further on would be NaN there.
#[test]
fn an_infinite_element_ends_with_its_segment() {
    everywhere(|on| {
        let (mut x, mut flags, mut y) = (vec![1.0; 20_000], vec![0; 20_000], vec![9.0; 20_000]);
        x[10] = f32::INFINITY;
        flags[12_000] = 1;
        ops::segmented_prefix_sum(on, &x, &flags, &mut y).unwrap();
        assert_eq!((y[10], y[11], y[11_999], y[12_000]), (10.0, f32::INFINITY, f32::INFINITY, 0.0));
        assert_eq!(y[19_999], 7999.0);
    });
}

#[test]
fn compactions() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (seed, lo, hi) in [(1, -1.0, 1.0), (2, -1.0, 0.0), (3, 0.5, 1.0), (4, -300.0, 1.0)] {
            let mut x = random(seed, n, lo, hi);
            for (v, odd) in x.iter_mut().skip(1).step_by(7).zip([f32::NAN, f32::INFINITY, -0.0, 0.0, f32::NEG_INFINITY])
            {
                *v = odd;
            }
            let mut y = vec![9.0; n];
            ops::stream_compaction(on, &x, &mut y).unwrap();
            let mut wanted: Vec<f32> = x.iter().copied().filter(|&v| v > 0.0).collect();
            wanted.resize(n, 0.0);
            assert!(y == wanted, "{n}, {lo}");
        }
    });
}

#[test]
fn greatest_windows() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (seed, lo, hi) in [(1, -10, 11), (2, -100, -1), (3, i32::MIN, i32::MAX)] {
            let x = integers(seed, n, lo, hi);
            for window in [0, 1, 2, n / 2, n] {
                let window = window.min(n);
                let mut sums = vec![0i32];
                sums.extend(running(n, 0i32, |sum, i| sum.wrapping_add(x[i])));
                let wanted = (window..=n).map(|end| sums[end].wrapping_sub(sums[end - window])).max().unwrap();
                let mut y = [9];
                ops::max_subarray_sum(on, &x, &mut y, window).unwrap();
                assert_eq!(y, [wanted], "{n}, {lo}, {window}");
            }
        }
    });
}

const ROWS: [(usize, usize); 8] = [(0, 5), (3, 0), (1, 1), (7, 33), (2, 1025), (5, 4097), (1, 40_001), (300, 3)];
const FEW_ROWS: [(usize, usize); 4] = [(3, 0), (1, 1), (3, 33), (2, 9001)];

#[test]
fn recurrences() {
    everywhere_of(ROWS, FEW_ROWS, |on, &(rows, columns)| {
        for (seed, lo, hi) in [(1, 0.0, 1.0), (2, 1.0, 1.0), (3, -1.1, 1.0), (4, 0.99, 1.0)] {
            let (a, x) = (random(seed, rows * columns, lo, hi), random(seed + 9, rows * columns, -1.0, 1.0));
            let mut h = vec![9.0; x.len()];
            ops::linear_recurrence(on, &a, &x, &mut h, columns).unwrap();
            let next = |last: f64, i: usize| {
                let last = if i.is_multiple_of(columns) { 0.0 } else { last };
                f64::from(a[i]) * last + f64::from(x[i])
            };
            near(("linear_recurrence", rows, columns, seed), &h, &running(x.len(), 0.0, next));
        }
    });
}

#[test]
fn recurrences_whose_factors_overflow() {
    everywhere(|on| {
        // Products of factors are infinite, and each element is finite.
        let mut a = vec![2.0f32; 130];
        let mut x = vec![0.0f32; 130];
        (x[0], a[128]) = (1.0, 0.0);
        let mut h = [9.0; 130];
        ops::linear_recurrence(on, &a, &x, &mut h, 130).unwrap();
        assert_eq!((h[126], h[127], h[128], h[129]), (2f32.powi(126), 2f32.powi(127), 0.0, 0.0));
        let (a, x) = ([1e20, 1e20, 0.0, 0.5], [0.0, 0.0, 1.0, 1.0]);
        let mut h = [9.0; 4];
        ops::linear_recurrence(on, &a, &x, &mut h, 4).unwrap();
        assert_eq!(h, [0.0, 0.0, 1.0, 1.5]);
    });
}

#[test]
fn advantages() {
    everywhere_of(ROWS, FEW_ROWS, |on, &(rows, columns)| {
        for (gamma, lambda) in [(0.99, 0.95), (1.0, 1.0), (0.0, 0.5), (0.5, 0.0)] {
            let n = rows * columns;
            let (rewards, values) = (random(1, n, -1.0, 1.0), random(2, n, -3.0, 1.0));
            let mut y = vec![9.0; n];
            ops::gae_reverse_scan(on, &rewards, &values, &mut y, gamma, lambda, columns).unwrap();
            let (gamma, decay) = (f64::from(gamma), f64::from(gamma * lambda));
            let next = |last: f64, i: usize| {
                let i = n - 1 - i;
                let is_last = (i + 1).is_multiple_of(columns);
                let (value, advantage) = if is_last { (0.0, 0.0) } else { (f64::from(values[i + 1]), last) };
                f64::from(rewards[i]) + gamma * value - f64::from(values[i]) + decay * advantage
            };
            let mut wanted = running(n, 0.0, next);
            wanted.reverse();
            near(("gae_reverse_scan", rows, columns, gamma), &y, &wanted);
        }
    });
}

#[test]
fn selective_scans() {
    let sizes = [
        [0, 4, 4, 2],
        [1, 1, 1, 1],
        [2, 5, 3, 0],
        [2, 0, 3, 4],
        [2, 70, 5, 16],
        [1, 300, 9, 3],
        [3, 33, 1, 17],
        [1, 129, 2, 130],
    ];
    let few = [[1, 1, 1, 1], [2, 70, 5, 16], [1, 9, 3, 17]];
    everywhere_of(sizes, few, |on, &[batch, steps, channels, states]| {
        let of = |seed, rows: usize, columns: usize, lo, hi| random(seed, rows * columns, lo, hi);
        let (u, delta) = (of(1, batch * steps, channels, -1.0, 1.0), of(2, batch * steps, channels, 0.0, 0.2));
        let (a, skip) = (of(3, channels, states, -2.0, 0.0), of(4, channels, 1, -1.0, 1.0));
        let (b, c) = (of(5, batch * steps, states, -1.0, 1.0), of(6, batch * steps, states, -1.0, 1.0));
        let mut y = vec![9.0; u.len()];
        let x = SelectiveScan { u: &u, delta: &delta, a: &a, b: &b, c: &c, skip: &skip };
        ops::ssm_selective_scan(on, x, &mut y, [batch, steps, channels, states]).unwrap();
        let mut wanted = vec![0.0; u.len()];
        for (s, d) in (0..batch).flat_map(|s| (0..channels).map(move |d| (s, d))) {
            let mut h = vec![0.0f64; states];
            for row in s * steps..(s + 1) * steps {
                let i = row * channels + d;
                let (v, dt) = (f64::from(u[i]), f64::from(delta[i]));
                wanted[i] = f64::from(skip[d]) * v;
                for (n, h) in h.iter_mut().enumerate() {
                    let (rate, j) = (f64::from(a[d * states + n]), row * states + n);
                    *h = (dt * rate).exp() * *h + dt * f64::from(b[j]) * v;
                    wanted[i] += f64::from(c[j]) * *h;
                }
            }
        }
        near([batch, steps, channels, states], &y, &wanted);
    });
}

#[test]
fn selective_scans_whose_factors_overflow() {
    everywhere(|on| {
        const STEPS: usize = 32;
        // The product of 30 factors of e^3 is infinite, and each state is finite.
        let (u, delta, one) = ([1e-30f32; STEPS], [3.0f32; STEPS], [1.0f32; STEPS]);
        let mut y = [9.0f32; STEPS];
        let (one, rate) = (&one[..], &one[..1]);
        let x = SelectiveScan { u: &u[..], delta: &delta[..], a: rate, b: one, c: one, skip: &[0.0] };
        ops::ssm_selective_scan(on, x, &mut y, [1, STEPS, 1, 1]).unwrap();
        let wanted = running(STEPS, 0.0, |h, i| 3f64.exp() * h + 3.0 * f64::from(u[i]));
        // Products of factors add their errors up.
        y.iter().zip(&wanted).for_each(|(&y, w)| assert!((f64::from(y) - w).abs() <= 2e-5 * w, "{y} for {w}"));
        assert!((wanted[29] / 1.9e8 - 1.0).abs() < 0.02);
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (six, four, flags) = ([1.0; 6], [1.0; 4], [1; 4]);
        let (mut y, mut one) = ([9.0; 6], [9; 2]);
        refused(ops::prefix_sum(on, &four, &mut y), &y, 9.0);
        refused(ops::segmented_prefix_sum(on, &six, &flags, &mut y), &y, 9.0);
        refused(ops::segmented_prefix_sum(on, &four, &flags, &mut y), &y, 9.0);
        refused(ops::stream_compaction(on, &four, &mut y), &y, 9.0);
        refused(ops::max_subarray_sum(on, &flags, &mut one[..1], 5), &one, 9);
        refused(ops::max_subarray_sum(on, &flags, &mut one, 2), &one, 9);
        refused(ops::linear_recurrence(on, &four, &six, &mut y, 3), &y, 9.0);
        refused(ops::linear_recurrence(on, &six, &six, &mut y, 4), &y, 9.0);
        refused(ops::linear_recurrence(on, &six, &six, &mut y, 0), &y, 9.0);
        refused(ops::gae_reverse_scan(on, &six, &four, &mut y, 1.0, 1.0, 3), &y, 9.0);
        refused(ops::gae_reverse_scan(on, &four, &four, &mut y, 1.0, 1.0, 2), &y, 9.0);
        let of = |a, b| SelectiveScan { u: &six[..], delta: &six[..], a, b, c: &six[..], skip: &six[..2] };
        refused(ops::ssm_selective_scan(on, of(&four[..], &four[..]), &mut y, [1, 3, 2, 2]), &y, 9.0);
        refused(ops::ssm_selective_scan(on, of(&six[..], &six[..]), &mut y, [1, 3, 2, 2]), &y, 9.0);
        refused(ops::ssm_selective_scan(on, of(&four[..], &six[..]), &mut y[..5], [1, 3, 2, 2]), &y, 9.0);
    });
}
