//! Epilogues of a product in registers: activations with a bias, and the greatest of rows and columns with their
//! positions.

use tilewright::tile_kernel;
use tilewright::{LaunchOptions, Runtime};
use tilewright_core::f16;
use tilewright_language_tests::matrix::{Matrix, values};
use tilewright_language_tests::{view, view_mut};

/// GeLU of `a b + bias`. WAY: 0 by tanh, 1 by sigmoid.
#[tile_kernel(
    tune(WAY = [0, 1], BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]),
    tune(WAY = [0], BM = [128], BN = [32], BK = [32], warps = [8], arch = [90]),
    tune(WAY = [0, 1], BM = [32], BN = [32], BK = [32], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn gelu_of_product<const WAY: usize, const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    bias: &[f32],
    mut c: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    let x = acc + load(bias, j + arange(BN)).expand(0);
    let y = if WAY == 0 {
        0.5 * x * (1.0 + tanh(0.797_884_56 * (x + 0.044_715 * x * x * x)))
    } else {
        x * sigmoid(1.702 * x)
    };
    c.store([i, j], y.to::<f16>());
}

#[test]
fn activations_with_a_bias() {
    for config in gelu_of_product::DESCS[0].configs {
        for ([m, n, k], pad) in [([64, 64, 64], 0), ([136, 72, 72], 0), ([65, 33, 40], 7)] {
            let (a, b) =
                (Matrix::new([m, k], k + pad, 1, f16::from_f32), Matrix::new([k, n], n + pad, 2, f16::from_f32));
            let bias = values(n, 6, |x| x * 2.0);
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
                let call = gelu_of_product(view!(a), view!(b), &bias[..], view_mut!(c));
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id)).map(|()| c.data)
            };
            let x = |i: usize, j: usize| {
                bias[j]
                    + (0..k)
                        .map(|d| a.data[i * (k + pad) + d].to_f32() * b.data[d * (n + pad) + j].to_f32())
                        .sum::<f32>()
            };
            let by_tanh = config.id.contains("WAY=0");
            let gelu = |x: f32| {
                if by_tanh {
                    0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
                } else {
                    x / (1.0 + (-1.702 * x).exp())
                }
            };
            for (name, rt) in [("CPU", Runtime::cpu()), ("emulator", Runtime::emulator(7))] {
                let found = match run(&rt) {
                    Err(tilewright::Error::CannotLaunch { why, .. }) => {
                        assert!(config.id.contains("arch=90") && pad % 8 != 0, "{} on the {name}: {why}", config.id);
                        continue;
                    }
                    r => r.unwrap_or_else(|e| panic!("{} {m} {n} {k} on the {name}: {e}", config.id)),
                };
                for (e, found) in found.iter().enumerate() {
                    let (found, wanted) = (found.to_f32(), gelu(x(e / n, e % n)));
                    assert!(
                        (found - wanted).abs() <= 2e-3 * wanted.abs().max(1.0),
                        "{} {m} {n} {k} on the {name}: element {e} is {found}, not {wanted}",
                        config.id
                    );
                }
            }
        }
    }
}

/// Of one tile of a product: the greatest element of each row and each column, of all, and the first place of each.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [64], warps = [8], arch = [90]),
    tune(BM = [64], BN = [64], BK = [32], warps = [4], arch = [80]),
    tune(BM = [64], BN = [64], BK = [32], warps = [2], arch = [80]),
    grid = [1],
    emulate = all,
)]
fn greatest<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    n: usize,
    of_rows: &mut [f32],
    at_rows: &mut [i32],
    of_columns: &mut [f32],
    at_columns: &mut [i32],
    all: &mut [f32],
) {
    let mut acc = zeros::<f32>([BM, BN]);
    for k in range(0, a.dim(1), BK) {
        acc = dot(a.tile([0, k], [BM, BK]), b.tile([k, 0], [BK, BN]), acc);
    }
    let there = (arange(BM) < a.dim(0)).expand(1) & (arange(BN) < n).expand(0);
    let s = where_(there, acc, f32::NEG_INFINITY);
    store(of_rows, arange(BM), max(s, 1));
    store(at_rows, arange(BM), argmax(s, 1));
    store(of_columns, arange(BN), max(s, 0));
    store(at_columns, arange(BN), argmax(s, 0));
    store(all, 0, max(s));
    store(all, 1, min(where_(there, acc, f32::INFINITY)));
    store(all, 2, sum(where_(there, acc, 0.0)));
}

#[test]
fn greatest_of_rows_and_columns() {
    // Small integers: sums are exact, and many are equal.
    let number = |x: f32| f16::from_f32((x * 2.0).round());
    for config in greatest::DESCS[0].configs {
        for [m, n, k] in [[64, 64, 64], [50, 40, 24], [1, 8, 8]] {
            let (a, b) = (Matrix::new([m, k], k, 1, number), Matrix::new([k, n], n, 2, number));
            let x: Vec<f32> = (0..m * n)
                .map(|e| (0..k).map(|d| a.data[e / n * k + d].to_f32() * b.data[d * n + e % n].to_f32()).sum())
                .collect();
            let first = |at: &mut dyn Iterator<Item = usize>| {
                let line: Vec<f32> = at.map(|e| x[e]).collect();
                let most = line.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                (most, line.iter().position(|&v| v == most).expect("one") as i32)
            };
            let (rows, at_rows): (Vec<f32>, Vec<i32>) = (0..m).map(|i| first(&mut (i * n..(i + 1) * n))).unzip();
            let (columns, at_columns): (Vec<f32>, Vec<i32>) = (0..n).map(|j| first(&mut (j..m * n).step_by(n))).unzip();
            let all = [first(&mut (0..m * n)).0, x.iter().copied().fold(f32::INFINITY, f32::min), x.iter().sum()];
            for (name, rt) in [("CPU", Runtime::cpu()), ("emulator", Runtime::emulator(7))] {
                let (mut r, mut ar, mut c, mut ac, mut of_all) =
                    (vec![0.0f32; m], vec![-1; m], vec![0.0f32; n], vec![-1; n], [0.0f32; 3]);
                let call = greatest(view!(a), view!(b), n, &mut r, &mut ar, &mut c, &mut ac, &mut of_all[..]);
                let title = format!("{} {m} {n} {k} on the {name}", config.id);
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id))
                    .unwrap_or_else(|e| panic!("{title}: {e}"));
                assert_eq!((&r, &ar), (&rows, &at_rows), "{title}: rows");
                assert_eq!((&c, &ac), (&columns, &at_columns), "{title}: columns");
                assert_eq!(of_all, all, "{title}");
            }
        }
    }
}
