//! Elementwise kernels: chains, masks, and every function that has a derivative.

use tilewright::tile_kernel;
use tilewright_language_tests::differences::{between, gradients};
use tilewright_language_tests::launch;

#[tile_kernel(backward, tune(BLOCK = [64], warps = [2]), grid = [cdiv(y.len(), BLOCK)])]
fn chain<const BLOCK: usize>(a: &[f64], b: &[f64], y: &mut [f64]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let (x, s) = (load(a, i).mask(i < y.len()), load(b, i).mask(i < y.len()));
    // `x` is used three times.
    let t = tanh(x * s + 0.5) * sigmoid(x);
    store(y, i, t - exp(-x) / 3.0).mask(i < y.len());
}

#[test]
fn a_chain_under_masks() {
    let n = 100;
    gradients(
        &[between(-1.0, 1.0, n, 1), between(-2.0, 2.0, n, 2)],
        &[n],
        &|rt, x, y| launch!(rt, chain(&x[0][..], &x[1][..], &mut y[0][..])),
        &|rt, x, g, dy| {
            let [ga, gb] = g else { unreachable!() };
            launch!(rt, chain_backward(&x[0][..], &mut ga[..], &x[1][..], &mut gb[..], &dy[0][..]))
        },
    );
}

#[tile_kernel(map, backward)]
fn gelu(x: Tile<f64>) -> Tile<f64> {
    0.5 * x * (1.0 + erf(x * 0.7071067811865476))
}

#[test]
fn a_map() {
    gradients(
        &[between(-3.0, 3.0, 70, 3)],
        &[70],
        &|rt, x, y| launch!(rt, gelu(&x[0][..], &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, gelu_backward(&x[0][..], &mut g[0][..], &dy[0][..])),
    );
}

/// Functions of one number. `x` is from 0.1 to 0.9.
#[tile_kernel(backward, tune(N = [32], warps = [1]), grid = [1])]
fn functions<const N: usize>(x: &[f64], y: &mut [f64]) {
    let i = arange(N);
    let x = load(x, i);
    store(y, i, -x);
    store(y, i + N, abs(x - 0.5));
    store(y, i + 2 * N, sqrt(x));
    store(y, i + 3 * N, rsqrt(x));
    store(y, i + 4 * N, cbrt(x));
    store(y, i + 5 * N, recip(x));
    store(y, i + 6 * N, exp(x));
    store(y, i + 7 * N, exp2(x));
    store(y, i + 8 * N, exp10(x));
    store(y, i + 9 * N, expm1(x));
    store(y, i + 10 * N, log(x));
    store(y, i + 11 * N, log2(x));
    store(y, i + 12 * N, log10(x));
    store(y, i + 13 * N, log1p(x));
    store(y, i + 14 * N, sin(x));
    store(y, i + 15 * N, cos(x));
    store(y, i + 16 * N, tan(x));
    store(y, i + 17 * N, asin(x));
    store(y, i + 18 * N, acos(x));
    store(y, i + 19 * N, atan(x));
    store(y, i + 20 * N, sinh(x));
    store(y, i + 21 * N, cosh(x));
    store(y, i + 22 * N, tanh(x));
    store(y, i + 23 * N, asinh(x));
    store(y, i + 24 * N, acosh(x + 1.0));
    store(y, i + 25 * N, atanh(x));
    store(y, i + 26 * N, erf(x));
    store(y, i + 27 * N, erfc(x));
    store(y, i + 28 * N, erfinv(x));
    store(y, i + 29 * N, sigmoid(x));
    // Constant between their jumps.
    store(y, i + 30 * N, floor(4.0 * x) + ceil(3.0 * x) + trunc(5.0 * x) + rint(6.0 * x) + round(7.0 * x) + x);
}

const FUNCTIONS: usize = 31;

#[test]
fn functions_of_one_number() {
    // One function at a time: an error of one must not hide behind another.
    for of in 0..FUNCTIONS {
        let only = |all: &[Vec<f64>]| {
            let mut chosen = vec![0.0; FUNCTIONS * 32];
            chosen[of * 32..][..32].copy_from_slice(&all[0][..32]);
            chosen
        };
        gradients(
            &[between(0.1, 0.9, 32, 4)],
            &[32],
            &|rt, x, y| {
                let mut all = vec![0.0; FUNCTIONS * 32];
                launch!(rt, functions(&x[0][..], &mut all[..]))?;
                y[0].copy_from_slice(&all[of * 32..][..32]);
                Ok(())
            },
            &|rt, x, g, dy| launch!(rt, functions_backward(&x[0][..], &mut g[0][..], &only(dy)[..])),
        );
    }
}

/// Functions of two numbers and of three. `a` is from 0.5 to 2, `b` from -2 to -0.5.
#[tile_kernel(backward, tune(N = [32], warps = [1]), grid = [1])]
fn pairs<const N: usize>(a: &[f64], b: &[f64], y: &mut [f64]) {
    let i = arange(N);
    let (a, b) = (load(a, i), load(b, i));
    store(y, i, a + b);
    store(y, i + N, a - b);
    store(y, i + 2 * N, a * b);
    store(y, i + 3 * N, a / b);
    store(y, i + 4 * N, (7.3 * a) % b);
    store(y, i + 5 * N, maximum(a, -b));
    store(y, i + 6 * N, minimum(a, -b).propagate_nan());
    store(y, i + 7 * N, pow(a, b));
    store(y, i + 8 * N, atan2(a, b));
    store(y, i + 9 * N, hypot(a, b));
    store(y, i + 10 * N, copysign(a, b) + b);
    store(y, i + 11 * N, ldexp(a, 3) * b);
    store(y, i + 12 * N, fma(a, b, a));
    store(y, i + 13 * N, where_(a > 1.0, a, b));
    store(y, i + 14 * N, clamp(a * b, -2.0, -0.5));
    store(y, i + 15 * N, (a as f32 * 2.0) as f64 + b);
}

#[test]
fn functions_of_two_numbers() {
    for of in 0..15 {
        let only = |all: &[Vec<f64>]| {
            let mut chosen = vec![0.0; 16 * 32];
            chosen[of * 32..][..32].copy_from_slice(&all[0][..32]);
            chosen
        };
        gradients(
            &[between(0.5, 2.0, 32, 5), between(-2.0, -0.5, 32, 6)],
            &[32],
            &|rt, x, y| {
                let mut all = vec![0.0; 16 * 32];
                launch!(rt, pairs(&x[0][..], &x[1][..], &mut all[..]))?;
                y[0].copy_from_slice(&all[of * 32..][..32]);
                Ok(())
            },
            &|rt, x, g, dy| {
                let [ga, gb] = g else { unreachable!() };
                launch!(rt, pairs_backward(&x[0][..], &mut ga[..], &x[1][..], &mut gb[..], &only(dy)[..]))
            },
        );
    }
}

/// Equal operands of a maximum have a half each. An element that is left out adds nothing, although its derivative is
/// infinite.
#[tile_kernel(backward, tune(N = [32], warps = [1]), grid = [1])]
fn edges<const N: usize>(a: &[f32], b: &[f32], s: &[f32], y: &mut [f32], z: &mut [f32]) {
    let i = arange(N);
    store(y, i, maximum(load(a, i), load(b, i)));
    // Elements past the end of `z` are loaded as 0, where the derivative of the root is infinite.
    store(z, i, sqrt(load(a, i).mask(i < z.len()) * load(s, 0))).mask(i < z.len());
}

#[test]
fn ties_and_infinite_derivatives() {
    let (a, s, n) = (vec![4.0f32; 32], vec![1.0f32], 20);
    for rt in [tilewright::Runtime::cpu(), tilewright::Runtime::emulator(5)] {
        let (mut ga, mut gb, mut gs) = (vec![0.0f32; 32], vec![0.0f32; 32], vec![0.0f32]);
        let (gy, gz) = (vec![1.0f32; 32], vec![1.0f32; n]);
        launch!(rt, edges_backward(&a[..], &mut ga[..], &a[..], &mut gb[..], &s[..], &mut gs[..], &gy[..], &gz[..]))
            .expect("it runs");
        assert_eq!(gb, vec![0.5; 32]);
        assert_eq!(ga[..n], vec![0.75; n]);
        assert_eq!(ga[n..], vec![0.5; 32 - n]);
        assert_eq!(gs, [20.0]);
    }
}
