//! Tiles that are copied for products which a branch, or a loop without a round, may leave out: their buffers are given
//! back all the same, and not before every thread has seen them come.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::f16;
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::{view, view_mut};

/// Of every `EVERY`-th step of K; then of the first `rounds` columns of tiles of `x` for each row of tiles of
/// `a`.
#[tile_kernel(tune(B = [64], K = [16, 64], warps = [4, 8], stages = [1, 2], arch = [90]), grid = [1], emulate = all)]
fn left_out<const B: usize, const K: usize>(
    a: View<f16, 2>,
    x: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
    mut d: ViewMut<f32, 2>,
    every: usize,
    rounds: usize,
) {
    let mut acc = zeros::<f32>([B, B]);
    for at in range(0, a.dim(1), K) {
        let left = a.tile([0, at], [B, K]);
        if at / K % every == 0 {
            acc = dot(left, x.tile([at, 0], [K, B]), acc);
        }
    }
    c.store([0, 0], acc);
    let mut all = zeros::<f32>([B, B]);
    for at in range(0, a.dim(1), K) {
        let left = a.tile([0, at], [B, K]);
        for i in range(0, rounds, 1) {
            all = dot(left, x.tile([at, i * B], [K, B]), all);
        }
    }
    d.store([0, 0], all);
}

#[test]
fn products_that_are_left_out() {
    let k = 512;
    let whole = |v: f32| f16::from_f32((v * 4.0).round());
    let (a, x) = (Matrix::new([64, k], k, 1, whole), Matrix::new([k, 128], 128, 2, whole));
    for config in left_out::DESCS[0].configs {
        for (every, rounds) in [(1, 2), (2, 1), (5, 0), (100, 0)] {
            let run = |rt: &Runtime| {
                let [mut c, mut d] = [3, 4].map(|seed| Matrix::new([64, 64], 64, seed, |v| v));
                let call = left_out(view!(a), view!(x), view_mut!(c), view_mut!(d), every, rounds);
                rt.launch_with(rt.stream(), call, &tilewright_language_tests::run::with(config.id))
                    .unwrap_or_else(|e| panic!("{} {every} {rounds}: {e}", config.id));
                [c.data, d.data]
            };
            let wanted = run(&Runtime::cpu());
            // Whether anybody misses a phase is a matter of the order of threads.
            for seed in 1..=6 {
                assert!(run(&Runtime::emulator(seed)) == wanted, "{} {every} {rounds} seed {seed}", config.id);
            }
        }
    }
}

/// A product in each arm of a branch, or in none, of a loop that counts by itself; by warps as well, and of a computed
/// operand.
#[tile_kernel(
    tune(B = [64], K = [64], warps = [4], arch = [90]),
    tune(B = [64], K = [32], warps = [8], stages = [2], arch = [90]),
    tune(B = [32], K = [32], warps = [4], arch = [80]),
    grid = [1],
    emulate = all,
)]
fn either<const B: usize, const K: usize>(
    a: View<f16, 2>,
    x: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
    mut d: ViewMut<f32, 2>,
    of: usize,
) {
    let (mut acc, mut other) = (zeros::<f32>([B, B]), zeros::<f32>([B, B]));
    let (mut at, mut step) = (0, 0);
    while at < a.dim(1) {
        if step % of == 0 {
            acc = dot(a.tile([0, at], [B, K]), x.tile([at, 0], [K, B]), acc);
        } else if step % of == 1 {
            let left = (a.tile([0, at], [B, K]).to::<f32>() * 2.0).to::<f16>();
            other = dot(left, x.tile([at, B], [K, B]), other);
        }
        at += K;
        step += 1;
    }
    c.store([0, 0], acc);
    d.store([0, 0], other);
}

#[test]
fn products_of_either_arm() {
    let k = 600;
    let whole = |v: f32| f16::from_f32((v * 4.0).round());
    let (a, x) = (Matrix::new([64, k], k, 1, whole), Matrix::new([k, 128], 128, 2, whole));
    for config in either::DESCS[0].configs {
        for of in [1usize, 2, 3, 50] {
            let run = |rt: &Runtime| {
                let [mut c, mut d] = [3, 4].map(|seed| Matrix::new([64, 64], 64, seed, |v| v));
                let call = either(view!(a), view!(x), view_mut!(c), view_mut!(d), of);
                rt.launch_with(rt.stream(), call, &tilewright_language_tests::run::with(config.id))
                    .unwrap_or_else(|e| panic!("{} {of}: {e}", config.id));
                [c.data, d.data]
            };
            let wanted = run(&Runtime::cpu());
            for seed in [0, 3, 7] {
                assert!(run(&Runtime::emulator(seed)) == wanted, "{} {of} seed {seed}", config.id);
            }
        }
    }
}
