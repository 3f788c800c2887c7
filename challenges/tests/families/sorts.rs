use crate::backends::{everywhere, everywhere_of, integers, random, refused};
use std::cmp::Ordering;
use tilewright_challenges as ops;

const SIZES: [usize; 6] = [0, 1, 3, 2048, 8195, 40_001];
const FEW: [usize; 4] = [0, 1, 77, 17_001];

/// -0 is before 0, and NaN of either sign is last.
fn ascending(a: &f32, b: &f32) -> Ordering {
    if a.is_nan() || b.is_nan() { a.is_nan().cmp(&b.is_nan()) } else { a.total_cmp(b) }
}

/// The bits, of any NaN the same ones.
fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() }).collect()
}

/// Random numbers: near each other, few different ones, of all magnitudes, and with NaN.
fn kinds(seed: u64, n: usize) -> [Vec<f32>; 4] {
    let mut rng = fastrand::Rng::with_seed(seed);
    let odd = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MIN_POSITIVE, f32::MAX, -1e-45];
    [
        random(seed, n, -1.0, 1.0),
        integers(seed, n, -2, 3).iter().map(|&v| v as f32).collect(),
        (0..n).map(|_| f32::from_bits(rng.u32(..))).collect(),
        (0..n).map(|i| if i.is_multiple_of(3) { odd[rng.usize(..odd.len())] } else { 1.0 }).collect(),
    ]
}

#[test]
fn histograms() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (bins, lo, hi) in [(0, -3, 9), (1, 0, 1), (10, -5, 20), (1025, 0, 1025), (40_000, -9, 50_000)] {
            let mut x = integers(1, n, lo, hi);
            if n > 2 {
                (x[1], x[2]) = (i32::MIN, i32::MAX);
            }
            let mut counts = vec![9; bins];
            ops::histogramming(on, &x, &mut counts).unwrap();
            let mut wanted = vec![0; bins];
            for &v in &x {
                if let Some(count) = usize::try_from(v).ok().and_then(|v| wanted.get_mut(v)) {
                    *count += 1;
                }
            }
            assert_eq!(counts, wanted, "{n}, {bins}");
        }
    });
}

#[test]
fn sorts_of_floats() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (kind, mut x) in kinds(n as u64, n).into_iter().enumerate() {
            let mut wanted = x.clone();
            wanted.sort_by(ascending);
            ops::sorting(on, &mut x).unwrap();
            assert!(bits(&x) == bits(&wanted), "{n}, {kind}");
        }
    });
}

#[test]
fn sorts_of_integers() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (seed, hi) in [(1, u32::MAX), (2, 3), (3, 70_000)] {
            let mut rng = fastrand::Rng::with_seed(seed);
            let x: Vec<u32> = (0..n).map(|_| rng.u32(0..=hi)).collect();
            let (mut y, mut wanted) = (vec![9; n], x.clone());
            wanted.sort_unstable();
            ops::radix_sort(on, &x, &mut y).unwrap();
            assert!(y == wanted, "{n}, {hi}");
        }
    });
}

#[test]
fn greatest_elements() {
    everywhere_of(SIZES, FEW, |on, &n| {
        for (kind, x) in kinds(n as u64 + 1, n).into_iter().enumerate() {
            let mut wanted = x.clone();
            wanted.sort_by(|a, b| ascending(b, a));
            for k in [0, 1, 100, 300, n / 2, n] {
                let k = k.min(n);
                let mut y = vec![9.0; k];
                ops::top_k_selection(on, &x, &mut y).unwrap();
                assert!(bits(&y) == bits(&wanted[..k]), "{n}, {k}, {kind}");
            }
        }
    });
}

#[test]
fn merges() {
    let sizes = [(0, 0), (0, 3), (1, 0), (1, 1), (1000, 3), (5, 9000), (4096, 4096), (20_001, 30_007)];
    everywhere_of(sizes, [(0, 0), (0, 3), (1, 1), (1000, 70), (5, 9000)], |on, &(m, n)| {
        for (kind, (mut a, mut b)) in kinds(1, m).into_iter().zip(kinds(2, n)).enumerate() {
            a.sort_by(ascending);
            b.sort_by(ascending);
            let mut y = vec![9.0; m + n];
            ops::parallel_merge(on, &a, &b, &mut y).unwrap();
            // A stable sort of numbers, of which 0 and -0 are equal.
            let mut wanted = [a, b].concat();
            wanted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(a.is_nan().cmp(&b.is_nan())));
            assert!(bits(&y) == bits(&wanted), "{m}, {n}, {kind}");
        }
    });
}

/// Unsorted arrays are merged in some order of their elements.
#[test]
fn a_merge_of_what_is_not_in_order_ends() {
    everywhere(|on| {
        let (a, b) = (random(1, 3000, -1.0, 1.0), random(2, 5000, -1.0, 1.0));
        ops::parallel_merge(on, &a, &b, &mut vec![0.0; 8000]).unwrap();
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (mut y, mut keys) = ([9.0; 5], [9; 5]);
        refused(ops::radix_sort(on, &[1; 4], &mut keys), &keys, 9);
        refused(ops::top_k_selection(on, &[1.0; 4], &mut y), &y, 9.0);
        refused(ops::parallel_merge(on, &[1.0; 4], &[1.0; 2], &mut y), &y, 9.0);
    });
}
