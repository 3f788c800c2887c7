//! Products of tiles.

use tilewright::{Runtime, tile_kernel};
use tilewright_core::f16;
use tilewright_language_tests::differences::{between, gradients};
use tilewright_language_tests::{launch, rows, rows_mut};

/// `y = gelu(a b + bias)`
#[tile_kernel(
    backward,
    types(T = [f64]),
    tune(M = [16], N = [8], K = [8], warps = [1]),
    grid = [cdiv(y.dim(0), M), cdiv(y.dim(1), N)],
)]
fn linear<T, const M: usize, const N: usize, const K: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    bias: &[T],
    mut y: ViewMut<T, 2>,
) {
    let (i, j) = (program_id(0) * M, program_id(1) * N);
    let mut acc = zeros::<T>([M, N]);
    for k in (0..a.dim(1)).step_by(K) {
        acc = dot(a.tile([i, k], [M, K]), b.tile([k, j], [K, N]), acc);
    }
    let t = acc + load(bias, j + arange(N)).expand(0);
    y.store([i, j], t * sigmoid(t));
}

#[test]
fn a_layer() {
    let (m, n, k) = (20, 12, 18);
    gradients(
        &[between(-1.0, 1.0, m * k, 51), between(-1.0, 1.0, k * n, 52), between(-1.0, 1.0, n, 53)],
        &[m * n],
        &|rt, x, y| launch!(rt, linear(rows!(x[0], k), rows!(x[1], n), &x[2][..], rows_mut!(y[0], n))),
        &|rt, x, g, dy| {
            let [ga, gb, gc] = g else { unreachable!() };
            launch!(
                rt,
                linear_backward(
                    rows!(x[0], k),
                    rows_mut!(ga, k),
                    rows!(x[1], n),
                    rows_mut!(gb, n),
                    &x[2][..],
                    &mut gc[..],
                    rows!(dy[0], n)
                )
            )
        },
    );
}

/// On tensor cores, in halves.
#[tile_kernel(
    backward,
    tune(M = [64], N = [32], K = [32], warps = [4]),
    grid = [cdiv(y.dim(0), M), cdiv(y.dim(1), N)],
)]
fn relu_of_halves<const M: usize, const N: usize, const K: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut y: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * M, program_id(1) * N);
    let mut acc = zeros::<f32>([M, N]);
    for k in (0..a.dim(1)).step_by(K) {
        acc = dot(a.tile([i, k], [M, K]), b.tile([k, j], [K, N]), acc);
    }
    y.store([i, j], maximum(acc, 0.0).to::<f16>());
}

#[test]
fn products_of_halves() {
    let (m, n, k) = (70, 40, 64);
    let halves = |x: Vec<f64>| x.into_iter().map(f16::from_f64).collect::<Vec<_>>();
    // Multiples of 1/4 and 1/2: all sums are exact in f16.
    let small = |n: usize, seed: u64| halves(between(-2.0, 3.0, n, seed).iter().map(|x| x.floor() / 2.0).collect());
    let (a, b, dy) = (small(m * k, 54), small(k * n, 55), small(m * n, 56));
    let at = |x: &[f16], i: usize| x[i].to_f64();
    let (mut wanted_a, mut wanted_b) = (vec![0.0; m * k], vec![0.0; k * n]);
    for i in 0..m {
        for j in 0..n {
            let sum: f64 = (0..k).map(|l| at(&a, i * k + l) * at(&b, l * n + j)).sum();
            // A product of 0 is a tie of the maximum.
            let slope = if sum > 0.0 {
                1.0
            } else if sum == 0.0 {
                0.5
            } else {
                0.0
            };
            for l in 0..k {
                wanted_a[i * k + l] += slope * at(&dy, i * n + j) * at(&b, l * n + j);
                wanted_b[l * n + j] += slope * at(&dy, i * n + j) * at(&a, i * k + l);
            }
        }
    }
    for rt in [Runtime::cpu(), Runtime::emulator(5)] {
        let (mut ga, mut gb) = (vec![f16::from_f64(0.0); m * k], vec![f16::from_f64(0.0); k * n]);
        launch!(
            rt,
            relu_of_halves_backward(rows!(a, k), rows_mut!(ga, k), rows!(b, n), rows_mut!(gb, n), rows!(dy, n))
        )
        .expect("it runs");
        let same = |found: &[f16], wanted: &[f64]| found.iter().zip(wanted).all(|(x, y)| (x.to_f64() - y).abs() < 0.26);
        assert!(same(&ga, &wanted_a) && same(&gb, &wanted_b));
        assert!(wanted_a.iter().any(|g| g.abs() > 2.0));
    }
}
