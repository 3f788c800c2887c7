use crate::backends::{close, everywhere, everywhere_of, random, refused};
use tilewright_challenges as ops;

const SIZES: [usize; 6] = [0, 1, 31, 1024, 4099, 100_000];
const FEW: [usize; 4] = [0, 1, 1025, 4099];
const SPECIALS: [f32; 8] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, 1000.0, -1000.0];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn with_specials(seed: u64, n: usize) -> Vec<f32> {
    let mut x = random(seed, n, -20.0, 20.0);
    let from = n.saturating_sub(SPECIALS.len());
    x[from..].copy_from_slice(&SPECIALS[..n - from]);
    x
}

#[test]
fn functions_of_one_array() {
    everywhere_of(SIZES, FEW, |on, &n| {
        let x = with_specials(1, n);
        let of = |f: &dyn Fn(f64) -> f64| x.iter().map(|&v| f(v.into())).collect::<Vec<_>>();
        let mut y = vec![9.0; n];
        ops::sigmoid(on, &x, &mut y).unwrap();
        close(("sigmoid", n), &y, &of(&sigmoid), 1e-6);
        ops::silu(on, &x, &mut y).unwrap();
        close(("silu", n), &y, &of(&|v| v / (1.0 + (-v).exp())), 1e-6);
        for (lo, hi) in [(-3.5, 2.25), (f32::NEG_INFINITY, 0.0), (2.0, 1.0)] {
            ops::value_clipping(on, &x, &mut y, lo, hi).unwrap();
            let clamp = |v: f64| if v.is_nan() { v } else { v.max(lo.into()).min(hi.into()) };
            close(("value_clipping", n, lo, hi), &y, &of(&clamp), 0.0);
        }
    });
}

#[test]
fn functions_of_two_arrays() {
    everywhere_of(SIZES, FEW, |on, &n| {
        let (a, b) = (with_specials(1, n), random(2, n, -5.0, 5.0));
        let of =
            |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(&v, &w)| f(v.into(), w.into())).collect::<Vec<_>>();
        let mut y = vec![9.0; n];
        ops::matrix_addition(on, &a, &b, &mut y).unwrap();
        close(("matrix_addition", n), &y, &of(&|v, w| f64::from(v as f32 + w as f32)), 0.0);
        ops::swiglu(on, &a, &b, &mut y).unwrap();
        close(("swiglu", n), &y, &of(&|v, w| v / (1.0 + (-v).exp()) * w), 1e-6);
        ops::geglu(on, &b, &a, &mut y).unwrap();
        let geglu = |gate: f64, value: f64| value * (0.5 * gate * (1.0 + libm::erf(gate / 2f64.sqrt())));
        close(("geglu", n), &y, &of(&geglu), 1e-5);
        let mut y = vec![9.0; 2 * n];
        ops::interleave(on, &a, &b, &mut y).unwrap();
        for i in 0..n {
            assert_eq!((y[2 * i].to_bits(), y[2 * i + 1].to_bits()), (a[i].to_bits(), b[i].to_bits()), "{n}, {i}");
        }
    });
}

#[test]
fn pixels() {
    everywhere_of([0, 1, 1000, 4097], [0, 1, 1500], |on, &n| {
        let (rgb, mut gray) = (random(3, 3 * n, 0.0, 255.0), vec![9.0; n]);
        ops::rgb_to_grayscale(on, &rgb, &mut gray).unwrap();
        let wanted = rgb.chunks(3).map(|p| 0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2]));
        close(n, &gray, &wanted.collect::<Vec<_>>(), 1e-6);
    });
}

#[test]
fn turned_rows() {
    let sizes = [(0, 4), (5, 0), (1, 2), (33, 6), (40, 130), (9, 600)];
    everywhere_of(sizes, [(0, 4), (1, 2), (33, 6), (3, 130)], |on, &(rows, columns)| {
        let n = rows * columns;
        let (x, c, s) = (random(4, n, -9.0, 9.0), random(5, n, -1.0, 1.0), random(6, n, -1.0, 1.0));
        let mut y = vec![9.0; n];
        ops::rope_embedding(on, &x, &c, &s, &mut y, columns).unwrap();
        let wanted = |i: usize| {
            let (row, column, half) = (i / columns, i % columns, columns / 2);
            let other = if column < half { -x[row * columns + column + half] } else { x[i - half] };
            f64::from(x[i]) * f64::from(c[i]) + f64::from(other) * f64::from(s[i])
        };
        close((rows, columns), &y, &(0..n).map(wanted).collect::<Vec<_>>(), 1e-6);
    });
    everywhere(|on| {
        let mut y = [9.0; 6];
        refused(ops::rope_embedding(on, &[1.0; 6], &[1.0; 6], &[1.0; 6], &mut y, 3), &y, 9.0);
        refused(ops::rope_embedding(on, &[1.0; 6], &[1.0; 4], &[1.0; 6], &mut y, 2), &y, 9.0);
    });
}

#[test]
fn scales_of_squares() {
    let sizes =
        [(0usize, 3usize, 2usize), (1, 1, 1), (5, 7, 3), (70, 300, 128), (64, 256, 128), (33, 129, 1), (3, 5, 1000)];
    everywhere_of(sizes, [(1, 1, 1), (5, 7, 3), (40, 200, 128), (33, 129, 1)], |on, &(rows, columns, side)| {
        let across = columns.div_ceil(side);
        let x = random(7, rows * columns, -9.0, 9.0);
        let scales = random(8, rows.div_ceil(side) * across, -2.0, 2.0);
        let mut y = vec![9.0; x.len()];
        ops::weight_dequantization(on, &x, &scales, &mut y, [rows, columns], side).unwrap();
        let wanted = |i: usize| f64::from(x[i] * scales[i / columns / side * across + i % columns / side]);
        close((rows, columns, side), &y, &(0..x.len()).map(wanted).collect::<Vec<_>>(), 0.0);
    });
    everywhere(|on| {
        let mut y = [9.0; 6];
        refused(ops::weight_dequantization(on, &[1.0; 6], &[1.0; 2], &mut y, [2, 3], 0), &y, 9.0);
        refused(ops::weight_dequantization(on, &[1.0; 6], &[1.0; 1], &mut y, [2, 3], 2), &y, 9.0);
    });
}

#[test]
fn lengths_that_differ_are_refused() {
    everywhere(|on| {
        let (a, b, mut y) = ([1.0; 3], [1.0; 2], [9.0; 3]);
        refused(ops::sigmoid(on, &b, &mut y), &y, 9.0);
        refused(ops::silu(on, &b, &mut y), &y, 9.0);
        refused(ops::value_clipping(on, &b, &mut y, 0.0, 1.0), &y, 9.0);
        refused(ops::matrix_addition(on, &a, &b, &mut y), &y, 9.0);
        refused(ops::matrix_addition(on, &b, &a, &mut y), &y, 9.0);
        refused(ops::swiglu(on, &a, &b, &mut y), &y, 9.0);
        refused(ops::geglu(on, &b, &a, &mut y), &y, 9.0);
        refused(ops::interleave(on, &b, &b, &mut y), &y, 9.0);
        refused(ops::rgb_to_grayscale(on, &a, &mut y), &y, 9.0);
    });
}
