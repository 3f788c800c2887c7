//! The number of each element among those that equal it, of tiles of any extent, over any warps.

use tilewright::tile_kernel;
use tilewright_language_tests::everywhere::{Number, everywhere, same};

#[tile_kernel(
    types(I = [i8, u8, i32, u64]),
    tune(N = [7, 32, 100, 1024], BINS = [10], warps = [1, 4]),
    tune(N = [1000, 1024], BINS = [1, 200, 256], warps = [2, 8]),
    grid = [1],
    deterministic,
    emulate = all,
)]
fn numbered<I: Int, const N: usize, const BINS: usize>(x: &[I], y: &mut [i32]) {
    let i = arange(N);
    let t = load(x, i);
    store(y, i, cumcount(t, BINS));
    store(y, N + i, cumcount(t, BINS).mask(i % 3 != 1));
    store(y, 2 * N + i, t.cumcount(BINS) + 1);
}

/// Numbers from below 0, where the type has them, to above the bins.
fn numbers<I: Number>(n: usize) -> Vec<I> {
    let low = if I::of(-1.0).number() < 0.0 { 40.0 } else { 0.0 };
    (0..n as u32).map(|i| I::of(f64::from(i.wrapping_mul(2_654_435_761) >> 25) - low)).collect()
}

fn wanted<I: Number>(x: &[I], bins: usize, counts: impl Fn(usize) -> bool) -> Vec<i32> {
    let mut found = vec![0; bins];
    let mut number = |i: usize, v: f64| {
        if !(0.0..bins as f64).contains(&v) || !counts(i) {
            return 0;
        }
        found[v as usize] += 1;
        found[v as usize] - 1
    };
    x.iter().enumerate().map(|(i, v)| number(i, v.number())).collect()
}

/// The value of a constant in the title of a configuration.
fn constant(title: &str, name: &str) -> usize {
    let at = title.find(&format!("{name}=")).expect("a constant") + name.len() + 1;
    title[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
}

fn numbered_of<I: Number>()
where
    (I,): numbered::Types,
{
    let x = numbers::<I>(1024);
    everywhere(
        <(I,) as numbered::Types>::DESC,
        |rt, options| {
            let mut y = vec![-1; 3 * 1024];
            rt.launch_with(rt.stream(), numbered::<I>(&x, &mut y), options).map(|()| y)
        },
        |y, title| {
            let (n, bins) = (constant(title, "[N"), constant(title, "BINS"));
            let all = wanted(&x[..n], bins, |_| true);
            let some = wanted(&x[..n], bins, |i| i % 3 != 1);
            let more = all.iter().map(|c| c + 1);
            let wanted: Vec<i32> = all.iter().copied().chain(some).chain(more).collect();
            same(&y[..3 * n], &wanted, title);
        },
    );
}

#[test]
fn equal_elements_are_numbered_in_order() {
    numbered_of::<i8>();
    numbered_of::<u8>();
    numbered_of::<i32>();
    numbered_of::<u64>();
}

/// A stable sort by one digit, in steps of one program.
#[tile_kernel(tune(N = [512], warps = [4]), grid = [1])]
fn sorted_by_digit<const N: usize>(x: &[u32], y: &mut [u32]) {
    let i = arange(N);
    let key = load(x, i);
    let digit = (key & 15).to::<i32>();
    let mut starts = shared_array::<i32>(16);
    store(starts, arange(16), cumsum(histogram(digit, 16), 0).exclusive(0));
    store(y, load(starts, digit) + cumcount(digit, 16), key);
}

#[test]
fn a_step_of_a_radix_sort_is_stable() {
    let x: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect();
    let mut wanted = x.clone();
    wanted.sort_by_key(|k| k & 15);
    everywhere(
        sorted_by_digit::DESCS[0],
        |rt, options| {
            let mut y = vec![0; 512];
            rt.launch_with(rt.stream(), sorted_by_digit(&x, &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}
