//! Products of f64, products of f32 in bf16 parts, and batches of batches.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_kernel};
use tilewright_core::KernelParts;
use tilewright_language_tests::everywhere::everywhere;

#[tile_kernel(
    tune(BM = [16, 64], BN = [32], BK = [8, 16], TB = [false, true], warps = [4]),
    tune(BM = [4], BN = [2], BK = [1], TB = [false], warps = [1]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn doubles<const BM: usize, const BN: usize, const BK: usize, const TB: bool>(
    a: View<f64, 2>,
    b: View<f64, 2>,
    mut c: ViewMut<f64, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut sums = zeros::<f64>([BM, BN]);
    for k in range(0, a.dim(1), BK) {
        let y = if TB { trans(b.tile([j, k], [BN, BK])) } else { b.tile([k, j], [BK, BN]) };
        sums = dot(a.tile([i, k], [BM, BK]), y, sums);
    }
    c.store([i, j], sums);
}

/// PARTS: 0 f32 itself, 2 `bf16x3`, 3 `bf16x6`.
#[tile_kernel(
    tune(BM = [32], BN = [16], BK = [16], PARTS = [2, 3], warps = [2], arch = [80]),
    tune(BM = [64], BN = [32], BK = [32], PARTS = [2, 3], warps = [4]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn in_parts<const BM: usize, const BN: usize, const BK: usize, const PARTS: usize>(
    a: View<f32, 2>,
    b: View<f32, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut sums = zeros::<f32>([BM, BN]);
    for k in range(0, a.dim(1), BK) {
        let (x, y) = (a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]));
        sums = if PARTS == 2 { dot(x, y, sums).bf16x3() } else { dot(x, y, sums).bf16x6() };
    }
    c.store([i, j], sums);
}

/// Batches of batches, of rank 4 and 5.
#[tile_kernel(tune(warps = [4]), grid = [1], emulate = all)]
fn batches(a: &[f32], b: &[f32], c: &mut [f32], d: &mut [f32]) {
    let x = reshape(load(a, arange(2 * 4 * 8 * 4)), [2, 4, 8, 4]);
    let y = reshape(load(b, arange(2 * 4 * 4 * 8)), [2, 4, 4, 8]);
    let sums = dot(x, y, 1.0);
    store(c, reshape(arange(512), [2, 4, 8, 8]), sums);
    let deep = dot(reshape(x, [2, 2, 2, 8, 4]), reshape(y, [2, 2, 2, 4, 8]), reshape(sums, [2, 2, 2, 8, 8]));
    store(d, arange(512), reshape(deep, [512]));
}

/// Numbers from -2 to 2 with many digits.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 51) as f64 - 2.0
    };
    (0..n).map(|_| next()).collect()
}

fn product([m, n, k]: [usize; 3], a: &[f64], b: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let element = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b(l, j)).sum();
    (0..m * n).map(|i| element(i / n, i % n)).collect()
}

#[test]
fn products_of_f64() {
    let [m, n, k] = [70, 45, 37];
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    for is_transposed in [false, true] {
        let configs: Vec<_> =
            doubles::DESCS[0].configs.iter().filter(|c| c.id.contains("TB=true") == is_transposed).collect();
        let shape = if is_transposed { [n, k] } else { [k, n] };
        let of_b = |l: usize, j: usize| if is_transposed { b[j * k + l] } else { b[l * n + j] };
        let wanted = product([m, n, k], &a, of_b);
        for (config, rt) in configs.iter().flat_map(|c| [(c.id, Runtime::cpu()), (c.id, Runtime::emulator(3))]) {
            let run = || {
                let (a, b) = (Buffer::from_slice(&rt, &a)?, Buffer::from_slice(&rt, &b)?);
                let mut c = Buffer::<f64>::zeros(&rt, m * n)?;
                let call = doubles(a.view([m, k])?, b.view(shape)?, c.view_mut([m, n])?);
                let options = LaunchOptions::new().config(config);
                rt.launch_with(rt.stream(), call, &options)?;
                c.to_vec()
            };
            let found = run().unwrap_or_else(|e| panic!("{config}: {e}"));
            for (x, y) in found.iter().zip(&wanted) {
                assert!((x - y).abs() < 1e-13, "{config}: {x} instead of {y}");
            }
        }
    }
}

#[test]
fn parts_of_bf16() {
    let [m, n, k] = [70, 45, 90];
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let f32s = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (a32, b32) = (f32s(&a), f32s(&b));
    let (a, b): (Vec<f64>, Vec<f64>) =
        (a32.iter().map(|&x| x.into()).collect(), b32.iter().map(|&x| x.into()).collect());
    let wanted = product([m, n, k], &a, |l, j| b[l * n + j]);
    for config in in_parts::DESCS[0].configs {
        // Errors of a product of numbers below 2 by 2: of the parts that are left out, and of the sums.
        let (bound, least) = if config.id.contains("PARTS=2") { (4e-4, 1e-6) } else { (6e-5, 0.0) };
        let one = KernelParts { configs: std::slice::from_ref(config), ..**in_parts::DESCS[0] };
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (a, b) = (Buffer::from_slice(rt, &a32)?, Buffer::from_slice(rt, &b32)?);
            let mut c = Buffer::<f32>::zeros(rt, m * n)?;
            let call = in_parts(a.view([m, k])?, b.view([k, n])?, c.view_mut([m, n])?);
            rt.launch_with(rt.stream(), call, options)?;
            c.to_vec()
        };
        everywhere(&one, run, |found, what| {
            let error = found.iter().zip(&wanted).map(|(&x, y)| (f64::from(x) - y).abs()).fold(0.0, f64::max);
            assert!((least..bound).contains(&error), "{what}: an error of {error}");
        });
    }
}

#[test]
fn batches_of_batches() {
    let (a, b): (Vec<f32>, Vec<f32>) =
        ((0..256).map(|i| (i % 13) as f32 - 6.0).collect(), (0..256).map(|i| (i % 11) as f32 - 5.0).collect());
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut c, mut d) = (vec![0.0; 512], vec![0.0; 512]);
        rt.launch_with(rt.stream(), batches(&a, &b, &mut c, &mut d), options)?;
        Ok((c, d))
    };
    let of = |at: usize| {
        let (z, i, j) = (at / 64, at / 8 % 8, at % 8);
        (0..4).map(|l| a[z * 32 + i * 4 + l] * b[z * 32 + l * 8 + j]).sum::<f32>()
    };
    everywhere(batches::DESCS[0], run, |(c, d), what| {
        for at in 0..512 {
            assert_eq!((c[at], d[at]), (1.0 + of(at), 1.0 + 2.0 * of(at)), "{what}: element {at}");
        }
    });
}
