//! Histograms: counts and sums of weights, of tiles of any extent, over any warps.

use tilewright::tile_kernel;
use tilewright_core::{bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same, scattered};

#[tile_kernel(
    types(I = [i8, u8, i16, i32, u64]),
    tune(N = [100], BINS = [10], warps = [1, 4]),
    tune(N = [1024], BINS = [200], warps = [2]),
    grid = [1],
    emulate = all,
)]
fn counted<I: Int, const N: usize, const BINS: usize>(x: &[I], y: &mut [i32]) {
    let i = arange(N);
    let t = load(x, i);
    store(y, arange(BINS), histogram(t, BINS));
    store(y, BINS + arange(BINS), histogram(t, BINS).mask(i % 3 == 0));
}

/// The sum of the weights of the elements that count, for each bin.
fn sums<I: Number>(x: &[I], bins: usize, weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; bins];
    for (i, v) in x.iter().enumerate().filter(|(_, v)| (0.0..bins as f64).contains(&v.number())) {
        sums[v.number() as usize] += weight(i);
    }
    sums
}

fn counted_of<I: Number>()
where
    (I,): counted::Types,
{
    let x = scattered::<I>(1024);
    everywhere(
        <(I,) as counted::Types>::DESC,
        |rt, options| {
            let mut y = vec![-1; 400];
            rt.launch_with(rt.stream(), counted::<I>(&x, &mut y), options).map(|()| y)
        },
        |y, title| {
            let (n, bins) = if title.contains("N=100,") { (100, 10) } else { (1024, 200) };
            let all = sums(&x[..n], bins, |_| 1.0);
            let some = sums(&x[..n], bins, |i| f64::from(u8::from(i % 3 == 0)));
            let wanted: Vec<i32> = all.into_iter().chain(some).map(|c| c as i32).collect();
            same(&y[..2 * bins], &wanted, title);
        },
    );
}

#[test]
fn elements_are_counted() {
    counted_of::<i8>();
    counted_of::<u8>();
    counted_of::<i16>();
    counted_of::<i32>();
    counted_of::<u64>();
}

#[tile_kernel(
    types(W = [f32, f64, f16, bf16, i32, u32, i64, u64]),
    tune(N = [96], warps = [4]),
    grid = [1],
    emulate = all,
)]
fn weighed<W: Num, const N: usize>(x: &[i32], w: &[W], y: &mut [W]) {
    let i = arange(N);
    let (t, v) = (load(x, i), load(w, i));
    store(y, arange(20), histogram(t, 20).weights(v));
    store(y, 20 + arange(20), histogram(t % 20, 20).weights(v + v).mask(t > 7));
    store(y, 40 + arange(4), t.histogram(4).weights(load(w, 3)));
}

fn weighed_of<W: Number>()
where
    (W,): weighed::Types,
{
    let x = scattered::<i32>(96);
    let w: Vec<W> = (0..96).map(|i| W::of(f64::from(i % 5 + 1))).collect();
    let remainders: Vec<i32> = x.iter().map(|v| v % 20).collect();
    let mut wanted = sums(&x, 20, |i| w[i].number());
    wanted.extend(sums(&remainders, 20, |i| if x[i] > 7 { 2.0 * w[i].number() } else { 0.0 }));
    wanted.extend(sums(&x, 4, |_| w[3].number()));
    let wanted: Vec<W> = wanted.into_iter().map(W::of).collect();
    everywhere(
        <(W,) as weighed::Types>::DESC,
        |rt, options| {
            let mut y = vec![W::of(9.0); 44];
            rt.launch_with(rt.stream(), weighed::<W>(&x, &w, &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn weights_are_summed() {
    weighed_of::<f32>();
    weighed_of::<f64>();
    weighed_of::<f16>();
    weighed_of::<bf16>();
    weighed_of::<i32>();
    weighed_of::<u32>();
    weighed_of::<i64>();
    weighed_of::<u64>();
}

/// 16-bit weights are summed in f32: 2048 + 1 is no f16.
#[tile_kernel(tune(warps = [1, 2]), grid = [1], emulate = all)]
fn halves(w: &[f16], y: &mut [f16]) {
    store(y, arange(1), histogram(arange(1024) / 1024, 1).weights(load(w, arange(1024)) + 2.0));
}

#[test]
fn halves_are_rounded_once() {
    let w = vec![f16::from_f64(1.0); 1024];
    everywhere(
        halves::DESCS[0],
        |rt, options| {
            let mut y = [f16::default()];
            rt.launch_with(rt.stream(), halves(&w, &mut y), options).map(|()| y)
        },
        |y, title| assert_eq!(y[0].to_f64(), 3072.0, "{title}"),
    );
}

/// In a loop, with computations on the bins.
#[tile_kernel(tune(N = [64, 512], warps = [1, 8]), grid = [1], emulate = all)]
fn ranked<const N: usize>(x: &[u16], first: &mut [i32], most: &mut [i32], none: &mut [i32]) {
    let mut total = zeros::<i32>([48]);
    for start in (0..x.len()).step_by(N) {
        let i = start + arange(N);
        total += histogram(load(x, i), 48).mask(i < x.len());
    }
    store(first, arange(48), cumsum(total, 0).exclusive(0));
    store(most, 0, argmax(total));
    // Index arithmetic, and a bin for all.
    store(most, 1 + arange(13), histogram(arange(N) * 5 % 13, 13));
    store(none, arange(4), histogram(load(x, arange(N)), 4).mask(arange(N) > N));
}

#[test]
fn histograms_of_a_loop() {
    let x: Vec<u16> = (0..700u32).map(|i| (i.wrapping_mul(40_503) >> 3) as u16 % 50).collect();
    let counts = sums(&x, 48, |_| 1.0);
    let first: Vec<i32> = (0..48).map(|b| counts[..b].iter().sum::<f64>() as i32).collect();
    let most = (0..48).rev().max_by(|&a, &b| counts[a].total_cmp(&counts[b])).unwrap_or(0) as i32;
    everywhere(
        ranked::DESCS[0],
        |rt, options| {
            let (mut a, mut b, mut c) = (vec![-1; 48], vec![-1; 14], vec![-1; 4]);
            rt.launch_with(rt.stream(), ranked(&x, &mut a, &mut b, &mut c), options).map(|()| (a, b, c))
        },
        |(a, b, c), title| {
            let n: usize = if title.contains("N=64,") { 64 } else { 512 };
            let bins = (0..13).map(|bin| (0..n).filter(|i| i * 5 % 13 == bin).count() as i32);
            same(&a, &first, title);
            same(&b, &[most].into_iter().chain(bins).collect::<Vec<_>>(), title);
            same(&c, &[0; 4], title);
        },
    );
}

/// Elements of 64 bits, of which the lower 32 are a bin and the others are not.
#[tile_kernel(types(I = [i64, u64]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn counted_longs<I: Int>(x: &[I], y: &mut [i32]) {
    store(y, arange(10), histogram(load(x, arange(64)), 10));
}

#[test]
fn every_bit_of_an_element_counts() {
    macro_rules! check { ($($t:ident $far:expr;)+) => { $(
        let far: [$t; 3] = $far;
        let x: Vec<$t> = (0..64usize).map(|i| (i % 10) as $t + if i % 2 == 0 { 0 } else { far[i % 3] }).collect();
        let mut wanted = vec![0i32; 10];
        x.iter().filter(|v| (0..10).contains(*v)).for_each(|&v| wanted[v as usize] += 1);
        everywhere(
            <($t,) as counted_longs::Types>::DESC,
            |rt, options| {
                let mut y = vec![-1; 10];
                rt.launch_with(rt.stream(), counted_longs::<$t>(&x, &mut y), options).map(|()| y)
            },
            |y, title| same(&y, &wanted, title),
        );
    )+ } }
    check! { i64 [1 << 32, -(1 << 32), i64::MIN]; u64 [1 << 32, 1 << 40, 1 << 63]; }
}
