use crate::backends::{close, everywhere, everywhere_of, integers, random, refused};
use tilewright_challenges as ops;

const SIZES: [usize; 7] = [0, 1, 5, 1000, 4096, 40_001, 1_000_003];
const FEW: [usize; 4] = [0, 1, 5000, 40_001];

#[test]
fn sums_of_floats() {
    everywhere_of(SIZES, FEW, |on, &n| {
        let (a, b) = (random(1, n, -1.0, 1.0), random(2, n, -1.0, 3.0));
        let pairs = || a.iter().zip(&b).map(|(&v, &w)| (f64::from(v), f64::from(w)));
        let mut y = [9.0];
        ops::dot_product(on, &a, &b, &mut y).unwrap();
        close(("dot_product", n), &y, &[pairs().map(|(v, w)| v * w).sum()], 1e-6 * (n as f64).sqrt().max(1.0));
        ops::mean_squared_error(on, &a, &b, &mut y).unwrap();
        let mean = pairs().map(|(v, w)| (v - w).powi(2)).sum::<f64>() / n as f64;
        close(("mean_squared_error", n), &y, &[mean], 1e-6);
        ops::monte_carlo_integration(on, &b, &mut y, -2.0, 5.0).unwrap();
        close(("monte_carlo", n), &y, &[7.0 * b.iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64], 1e-6);
    });
}

/// Added one by one in f32, these would end at 2^24.
#[test]
fn a_long_sum_keeps_the_precision() {
    let n = 20_000_000;
    let (on, mut y) = (tilewright::Runtime::cpu(), [0.0]);
    ops::dot_product(&on, &vec![1.0; n], &vec![0.1; n], &mut y).unwrap();
    close(n, &y, &[n as f64 * f64::from(0.1f32)], 1e-6);
}

#[test]
fn infinities_and_nan_are_kept() {
    everywhere(|on| {
        let (mut a, b, mut y) = (vec![1.0; 5000], vec![0.0; 5000], [9.0]);
        a[4999] = f32::INFINITY;
        ops::mean_squared_error(on, &a, &b, &mut y).unwrap();
        assert_eq!(y, [f32::INFINITY]);
        ops::dot_product(on, &a, &b, &mut y).unwrap();
        assert!(y[0].is_nan());
    });
}

#[test]
fn counts() {
    everywhere_of(SIZES, FEW, |on, &n| {
        let x = integers(3, n, -3, 3);
        for k in [0, -3, 7] {
            let mut y = [9];
            ops::count_elements(on, &x, &mut y, k).unwrap();
            assert_eq!(y[0] as usize, x.iter().filter(|&&v| v == k).count(), "{n}, {k}");
        }
    });
}

#[test]
fn sums_of_ranges() {
    everywhere_of(SIZES, FEW, |on, &n| {
        let x = integers(4, n, i32::MIN, i32::MAX);
        for range in [0..n, n / 3..n, 0..n / 2, n.min(3)..n.min(3), n / 7..n - n / 7, n.min(1)..n.min(2)] {
            let mut y = [9];
            ops::subarray_sum(on, &x, &mut y, range.clone()).unwrap();
            let wanted = x[range.clone()].iter().fold(0i32, |s, v| s.wrapping_add(*v));
            assert_eq!(y, [wanted], "{n}, {range:?}");
        }
    });
}

#[test]
fn sums_of_boxes() {
    let sizes = [[1, 1, 1], [0, 3, 3], [3, 5, 7], [1, 40, 1000], [9, 17, 65], [2, 3, 5001]];
    everywhere_of(sizes, [[1, 1, 1], [3, 5, 7], [4, 9, 600]], |on, &[d, r, c]| {
        let x = integers(5, d * r * c, i32::MIN, i32::MAX);
        let parts = |n: usize| [0..n, n.min(1)..n, n / 2..n / 2 + n.min(1), 0..n - n / 4, n..n];
        for (p, rows) in parts(d).into_iter().zip(parts(r).into_iter().cycle().skip(2)) {
            for columns in parts(c) {
                let mut wanted = 0i32;
                for i in p.clone() {
                    for j in rows.clone() {
                        let row = &x[(i * r + j) * c..][..c];
                        wanted = row[columns.clone()].iter().fold(wanted, |s, v| s.wrapping_add(*v));
                    }
                }
                let mut y = [9];
                let ranges = [p.clone(), rows.clone(), columns.clone()];
                ops::subarray_sum_3d(on, &x, &mut y, [d, r, c], ranges.clone()).unwrap();
                assert_eq!(y, [wanted], "{:?} of {:?}", ranges, [d, r, c]);
            }
        }
    });
}

/// A workspace that one launch leaves unclean would spoil the next.
#[test]
fn one_after_the_other() {
    everywhere(|on| {
        for n in [70_000, 1, 9000, 70_000] {
            let mut y = [9];
            ops::count_elements(on, &vec![1; n], &mut y, 1).unwrap();
            assert_eq!(y, [n as i32]);
        }
    });
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (x, mut y, mut two) = ([1; 6], [9], [9, 9]);
        refused(ops::subarray_sum(on, &x, &mut y, 2..7), &y, 9);
        refused(ops::subarray_sum(on, &x, &mut y, 3..2), &y, 9);
        refused(ops::subarray_sum(on, &x, &mut two, 1..2), &two, 9);
        refused(ops::count_elements(on, &x, &mut two, 1), &two, 9);
        refused(ops::subarray_sum_3d(on, &x, &mut y, [1, 2, 2], [0..1, 0..2, 0..2]), &y, 9);
        refused(ops::subarray_sum_3d(on, &x, &mut y, [1, 2, 3], [0..1, 0..3, 0..2]), &y, 9);
        let (a, mut f) = ([1.0; 3], [9.0]);
        refused(ops::dot_product(on, &a, &[1.0; 2], &mut f), &f, 9.0);
        refused(ops::mean_squared_error(on, &a, &[1.0; 2], &mut f), &f, 9.0);
        refused(ops::monte_carlo_integration(on, &a, &mut [9.0, 9.0], 0.0, 1.0), &f, 9.0);
    });
}
