//! `.tf32x3()` by warpgroups: three products of high and low parts, which threads take from tiles that were copied
//! ahead, in all four orders of the operands.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::run::{seeds, taken, with};
use tilewright_language_tests::{view, view_mut};

/// WAY: 0 a product goes on from one iteration to the next; 1 each has sums of its own; 2 the right operand is of two
/// products, whose left ones are `a` and, loaded before the loop, its first columns; 3 the operands are computed.
#[tile_kernel(
    tune(BM = [64], BN = [32], BK = [32], TA = [0, 1], TB = [0, 1], WAY = [0, 1], warps = [4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [32], TA = [0], TB = [1], WAY = [0, 2, 3], warps = [8], stages = [2], arch = [90]),
    tune(BM = [64], BN = [128], BK = [16], TA = [1], TB = [0], WAY = [1, 2, 3], warps = [8], arch = [90]),
    tune(BM = [16], BN = [64], BK = [32], TA = [0, 1], TB = [0, 1], WAY = [1], warps = [4], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], TA = [0], TB = [1], WAY = [0, 1, 2, 3], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn in_three<const BM: usize, const BN: usize, const BK: usize, const TA: usize, const TB: usize, const WAY: usize>(
    a: View<f32, 2>,
    b: View<f32, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    let first = if TA == 1 { trans(a.tile([0, i], [BK, BM])) } else { a.tile([i, 0], [BM, BK]) };
    for at in range(0, k, BK) {
        let x = if TA == 1 { trans(a.tile([at, i], [BK, BM])) } else { a.tile([i, at], [BM, BK]) };
        let y = if TB == 1 { trans(b.tile([j, at], [BN, BK])) } else { b.tile([at, j], [BK, BN]) };
        if WAY == 0 {
            acc = dot(x, y, acc).tf32x3();
        } else if WAY == 1 {
            acc += dot(x, y, zeros::<f32>([BM, BN])).tf32x3();
        } else if WAY == 2 {
            acc = dot(x, y, dot(first, y, acc).tf32x3()).tf32x3();
        } else {
            acc = dot(x * 2.0, y * 0.5, acc).tf32x3();
        }
    }
    c.store([i, j], acc);
}

/// Checks every element of every configuration's product on every backend: whether `is_right(found, exact, bound,
/// on_cpu)`. `exact` is the product in f64, `bound` the sum of the absolute values that it adds up.
fn each_element(
    sizes: &[[usize; 3]],
    left: impl Fn(usize, usize) -> f32,
    right: impl Fn(usize, usize) -> f32,
    is_right: impl Fn(f32, f64, f64, bool) -> bool,
) {
    for config in in_three::DESCS[0].configs {
        let is = |name: &'static str, n: i64| config.consts.contains(&(name, n));
        let (ta, tb, way_2) = (is("TA", 1), is("TB", 1), is("WAY", 2));
        let block = config.consts.iter().find(|c| c.0 == "BK").expect("it has one").1 as usize;
        for &[m, n, k] in sizes {
            let (a_dims, b_dims) = (if ta { [k, m] } else { [m, k] }, if tb { [n, k] } else { [k, n] });
            let mut a = Matrix::new(a_dims, a_dims[1], 1, |_| 0.0f32);
            let mut b = Matrix::new(b_dims, b_dims[1], 1, |_| 0.0f32);
            (0..m * k).for_each(|x| a.data[if ta { x % k * m + x / k } else { x }] = left(x / k, x % k));
            (0..n * k).for_each(|x| b.data[if tb { x } else { x % k * n + x / k }] = right(x / k, x % k));
            for depth in [k, 0] {
                let of_element = |at: usize| {
                    let (i, j) = (at / n, at % n);
                    let firsts = |p: usize| if way_2 { left(i, p % block) as f64 } else { 0.0 };
                    let products = || (0..depth).map(|p| (left(i, p) as f64 + firsts(p)) * right(j, p) as f64);
                    (products().sum::<f64>(), products().map(f64::abs).sum::<f64>())
                };
                let wanted: Vec<(f64, f64)> = (0..m * n).map(of_element).collect();
                for rt in std::iter::once(Runtime::cpu()).chain(seeds()) {
                    let mut c = Matrix::new([m, n], n, 1, |_| 9.0f32);
                    let call = in_three(view!(a), view!(b), view_mut!(c), depth);
                    let by_tma = taken(&call, config.id).starts_with("tma");
                    assert_eq!(by_tma, config.id.contains("arch=90"), "{}", config.id);
                    rt.launch_with(rt.stream(), call, &with(config.id))
                        .unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id));
                    let on_cpu = rt.name().contains("cpu");
                    for (at, (&found, &(exact, bound))) in c.data.iter().zip(&wanted).enumerate() {
                        let (i, j) = (at / n, at % n);
                        assert!(
                            is_right(found, exact, bound, on_cpu),
                            "{} {m} {n} {k} on {}: element {i}, {j} is {found:?}, not {exact:?}",
                            config.id,
                            rt.name()
                        );
                    }
                }
            }
        }
    }
}

/// A number of 24 bits between 1 and 2, or its negative.
fn fraction(i: usize) -> f32 {
    let x = f32::from_bits(0x3F80_0000 | (i.wrapping_mul(0x9E37_79B9) >> 9 & 0x7F_FFFF) as u32);
    if i % 3 == 0 { -x } else { x }
}

#[test]
fn three_products_are_as_accurate_as_f32() {
    // A product leaves out 2^-22 of itself, and the sums of tensor cores are cut off at every step. A product in tf32
    // is off by 2^-11.
    let near = |found: f32, exact: f64, bound: f64, _: bool| (found as f64 - exact).abs() <= bound * 2f64.powi(-17);
    each_element(
        &[[128, 64, 64], [72, 40, 100]],
        |i, p| fraction(i * 1000 + p),
        |j, p| fraction(j * 777 + p * 5 + 1),
        near,
    );
}

/// Their nearest tf32 is infinite, from which nothing may be subtracted. An operand is doubled in one of the ways.
#[test]
fn the_largest_numbers_are_finite() {
    let half_of_the_largest = f32::from_bits(0x7EFF_FFFF);
    let left = |i: usize, p: usize| match p {
        0 if i % 2 == 0 => half_of_the_largest,
        0 => -half_of_the_largest,
        _ => 0.0,
    };
    let right = |j: usize, p: usize| if p == 0 && j % 2 == 0 { 2f32.powi(-120) } else { 0.0 };
    let near = |found: f32, exact: f64, bound: f64, _: bool| (found as f64 - exact).abs() <= bound * 2f64.powi(-17);
    each_element(&[[64, 32, 32]], left, right, near);
}

#[test]
fn a_product_has_21_bits_of_each_operand() {
    let cut = |x: f32| f32::from_bits(x.to_bits() & !7);
    let power = |i: usize| [1.0f32, -2.0, 0.5, 4.0][i % 4];
    let exactly = |found: f32, exact: f64, _: f64, _: bool| found as f64 == exact;
    // One element of each row.
    let one = |i: usize, p: usize| p == i * 7 % 64;
    let of_one = |i: usize, p: usize, x: f32| if one(i, p) { x } else { 0.0 };
    each_element(&[[64, 32, 64]], |i, p| of_one(i, p, cut(fraction(i))), |j, p| power(j + p), exactly);
    each_element(&[[64, 32, 64]], |i, p| of_one(i, p, power(i)), |j, p| cut(fraction(j * 64 + p)), exactly);
}

#[test]
fn what_is_no_finite_number_reaches_its_rows_and_columns_alone() {
    let left = |i: usize, p: usize| match (i, p) {
        (3, 5) => f32::NAN,
        (9, 33) => f32::INFINITY,
        (11, 0) => f32::NEG_INFINITY,
        _ => ((i * 5 + p) % 7) as f32 + 1.0,
    };
    let right = |j: usize, p: usize| match (j, p) {
        (2, 40) => f32::NAN,
        (17, 1) => f32::INFINITY,
        _ => ((j + p * 3) % 5) as f32 + 1.0,
    };
    // With an infinite operand the result is NaN, or that of IEEE, as always on the CPU.
    let alike = |found: f32, exact: f64, _: f64, on_cpu: bool| {
        let is_ieee = found as f64 == exact || found.is_nan() && exact.is_nan();
        is_ieee || !on_cpu && !exact.is_finite() && found.is_nan()
    };
    each_element(&[[64, 32, 64]], left, right, alike);
}
