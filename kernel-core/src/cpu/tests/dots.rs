//! `dot` against sums written out.

use crate::cpu::*;
use crate::scalar::{self, BF16, F8E4M3, F8E5M2, F16};
use std::time::Instant;

const SHAPES: [[usize; 3]; 9] =
    [[1, 1, 1], [2, 1, 8], [1, 16, 4], [4, 16, 1], [8, 8, 8], [3, 5, 7], [16, 32, 16], [13, 33, 20], [64, 64, 32]];

/// From -4 to 4, of any fraction.
fn number(seed: usize, i: usize) -> f32 {
    let x = (i + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (x as f32 / (1 << 24) as f32 - 0.5) * 8.0
}

fn tile<T: Copy>(seed: usize, shape: &[usize], f: impl Fn(f32) -> T) -> Tile<T> {
    each(shape, |i| f(number(seed, i)))
}

/// `f(sum, a, b)` over `k`, for every element.
fn by_element<T: Copy, S: Copy>(a: &Tile<T>, b: &Tile<T>, acc: &Tile<S>, f: impl Fn(S, T, T) -> S) -> Vec<S> {
    let (k, n) = (b.shape()[0], b.shape()[1]);
    let sum = |i: usize| {
        (0..k).fold(acc.as_slice()[i], |s, l| f(s, a.as_slice()[i / n * k + l], b.as_slice()[l * n + i % n]))
    };
    (0..acc.as_slice().len()).map(sum).collect()
}

fn check<T: Operand<Sum = f32>>(of: impl Fn(f32) -> T, precision: Precision, exact: impl Fn(T) -> f32) {
    for [m, n, k] in SHAPES {
        let (a, b) = (tile(3, &[m, k], &of), tile(5, &[k, n], &of));
        let acc = tile(7, &[m, n], |x| x);
        let expected = by_element(&a, &b, &acc, |s, x, y| exact(x).mul_add(exact(y), s));
        assert_eq!(dot(&a, &b, acc.clone(), precision).as_slice(), expected, "{m} {n} {k}");
    }
}

#[test]
fn sums_in_the_order_of_k() {
    check(|x| x, Precision::Ieee, |x| x);
    check(F16::from_f32, Precision::Ieee, F16::to_f32);
    check(BF16::from_f32, Precision::Ieee, BF16::to_f32);
    check(F8E4M3::from_f32, Precision::Ieee, F8E4M3::to_f32);
    check(F8E5M2::from_f32, Precision::Ieee, F8E5M2::to_f32);
    check(|x| x, Precision::Tf32, scalar::tf32);
}

#[test]
fn integers_wrap() {
    for [m, n, k] in SHAPES {
        let of = |x: f32| (x * 32.0) as i8;
        let (a, b) = (tile(3, &[m, k], of), tile(5, &[k, n], of));
        let acc = each(&[m, n], |i| i32::MAX - i as i32);
        let expected = by_element(&a, &b, &acc, |s, x, y| s.wrapping_add(x as i32 * y as i32));
        assert_eq!(dot(&a, &b, acc.clone(), Precision::Ieee).as_slice(), expected);
    }
}

#[test]
fn batches_are_products_one_by_one() {
    let (batch, m, n, k) = (3, 5, 17, 4);
    let (a, b, acc) = (tile(3, &[batch, m, k], |x| x), tile(5, &[batch, k, n], |x| x), tile(7, &[batch, m, n], |x| x));
    for precision in [Precision::Ieee, Precision::Tf32, Precision::Tf32x3] {
        let found = dot(&a, &b, acc.clone(), precision);
        assert_eq!(found.shape(), [batch, m, n]);
        for z in 0..batch {
            let part = |t: &Tile<f32>, r: usize, c: usize| each(&[r, c], |i| t.as_slice()[z * r * c + i]);
            let one = dot(&part(&a, m, k), &part(&b, k, n), part(&acc, m, n), precision);
            assert_eq!(part(&found, m, n).as_slice(), one.as_slice());
        }
    }
}

/// Root mean square of the difference, relative to that of the result.
fn error(k: usize, precision: Precision) -> f64 {
    let (a, b) = (tile(3, &[16, k], |x| x), tile(5, &[k, 16], |x| x));
    let found = dot(&a, &b, each(&[16, 16], |_| 0.0), precision);
    let exact = by_element(&a, &b, &each(&[16, 16], |_| 0.0), |s: f64, x, y| s + x as f64 * y as f64);
    let square = |f: &dyn Fn(usize) -> f64| (0..256).map(|i| f(i).powi(2)).sum::<f64>();
    (square(&|i| found.as_slice()[i] as f64 - exact[i]) / square(&|i| exact[i])).sqrt()
}

#[test]
fn precisions() {
    let k = 128;
    let (ieee, tf32, split) = (error(k, Precision::Ieee), error(k, Precision::Tf32), error(k, Precision::Tf32x3));
    assert!(ieee < 5e-7 && split < 5e-7, "{ieee} {split}");
    assert!((1e-4..1e-3).contains(&tf32), "{tf32}");
}

#[test]
fn tf32_rounds_ties_away() {
    let ulp = 1.0 / 1024.0;
    let cases = [
        (1.0, 1.0),
        (1.0 + ulp / 2.0, 1.0 + ulp),
        (-1.0 - ulp / 2.0, -1.0 - ulp),
        (1.0 + ulp * 0.499, 1.0),
        (f32::MAX, f32::INFINITY),
        (-0.0, -0.0),
    ];
    for (x, y) in cases {
        assert_eq!(scalar::tf32(x).to_bits(), y.to_bits(), "{x}");
    }
    assert!(scalar::tf32(f32::from_bits(0x7fff_ffff)).is_nan() && scalar::tf32(f32::from_bits(0xff80_0001)).is_nan());
}

fn speed<T: Operand>(name: &str, of: impl Fn(f32) -> T, zero: T::Sum, precision: Precision) {
    let (a, b) = (tile(3, &[128, 64], &of), tile(5, &[64, 128], &of));
    let mut acc = each(&[128, 128], |_| zero);
    let best = (0..200)
        .map(|_| {
            let sums = acc.clone();
            let start = Instant::now();
            acc = dot(&a, &b, sums, precision);
            start.elapsed().as_secs_f64()
        })
        .fold(1.0, f64::min);
    println!("dot of 128x128x64, {name}: {:.1} GFLOP/s", 2.0 * 128.0 * 128.0 * 64.0 / best / 1e9);
}

#[test]
#[ignore = "measures"]
fn speeds() {
    speed("f32", |x| x, 0.0, Precision::Ieee);
    speed("f32 as tf32", |x| x, 0.0, Precision::Tf32);
    speed("f32 as tf32 thrice", |x| x, 0.0, Precision::Tf32x3);
    speed("f16", F16::from_f32, 0.0, Precision::Ieee);
    speed("bf16", BF16::from_f32, 0.0, Precision::Ieee);
    speed("i8", |x| x as i8, 0, Precision::Ieee);
}

/// The sums of all instructions that the processor has are those of plain Rust, for numbers of rows and of panels that
/// every kernel takes part in.
#[test]
fn kernels_agree() {
    use crate::cpu::panels::{Number, Vectors, WIDTH};
    fn check<T: Number + PartialEq + std::fmt::Debug>(of: impl Fn(f32) -> T) {
        for (m, panels, k) in [(1, 1, 9), (5, 2, 9), (8, 3, 1), (29, 3, 17), (31, 4, 5)] {
            let numbers = |seed, n: usize| (0..n).map(|i| of(number(seed, i))).collect::<Vec<_>>();
            let (a, b) = (numbers(3, m * k), numbers(4, k * WIDTH * panels));
            let sums = |vectors| {
                let mut c = numbers(5, m * WIDTH * panels);
                T::multiply_by(vectors, &a, &b, &mut c, k);
                c
            };
            let plain = sums(Vectors::Any);
            for vectors in [Vectors::Avx2, Vectors::Avx512].into_iter().filter(|&v| v <= Vectors::here()) {
                assert_eq!(sums(vectors), plain, "{vectors:?}, {m} rows, {panels} panels of {k}");
            }
        }
    }
    check(|x| x);
    check(|x| x as f64);
    check(|x| (x * 1e9) as i32);
}
