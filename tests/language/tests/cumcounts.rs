//! The number of each element among the equal elements, of tiles of any extent, over any warps.

use tilewright::tile_kernel;
use tilewright_core::{Call, KernelDesc, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same, scattered};
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::{view, view_mut};

#[tile_kernel(
    kernel(numbered, I = [i8, u8, i16, i64, u64]),
    kernel(numbered_everywhere, I = [i32]),
    tune(N = [100, 1024], BINS = [10, 256], warps = [4], kernels = [numbered]),
    tune(N = [7, 32, 100, 1024], BINS = [10], warps = [1, 4], kernels = [numbered_everywhere]),
    tune(N = [1000, 1024], BINS = [1, 200, 256], warps = [2, 8], kernels = [numbered_everywhere]),
    grid = [1],
    deterministic,
    emulate = all,
)]
fn numbered_of<I: Int, const N: usize, const BINS: usize>(x: &[I], y: &mut [i32]) {
    let i = arange(N);
    let t = load(x, i);
    store(y, i, cumcount(t, BINS));
    store(y, N + i, cumcount(t, BINS).mask(i % 3 != 1));
    store(y, 2 * N + i, t.cumcount(BINS) + 1);
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

/// With numbers that are in no bin.
fn check<I: Number>(desc: &KernelDesc, kernel: impl for<'a> Fn(&'a [I], &'a mut [i32]) -> Call<'a>, outside: &[f64]) {
    let mut x = scattered::<I>(1024);
    for (i, v) in x.iter_mut().enumerate().filter(|(i, _)| i % 7 == 3) {
        *v = I::of(outside[i / 7 % outside.len()]);
    }
    everywhere(
        desc,
        |rt, options| {
            let mut y = vec![-1; 3 * 1024];
            rt.launch_with(rt.stream(), kernel(&x, &mut y), options).map(|()| y)
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

macro_rules! check {
    ($i:ty, $outside:expr) => {
        check(<($i,) as numbered::Types>::DESC, |x, y| numbered::<$i>(x, y), $outside)
    };
}

#[test]
fn equal_elements_are_numbered_in_order() {
    check!(i8, &[-128.0, 127.0]);
    check!(u8, &[255.0, 128.0]);
    check!(i16, &[-32768.0, 256.0]);
    check(numbered_everywhere::DESCS[0], |x, y| numbered_everywhere(x, y), &[-2147483648.0, 65536.0]);
    // Bins but for their higher bits.
    check!(i64, &[4294967296.0, -4294967295.0]);
    check!(u64, &[4294967297.0, 9223372036854775808.0]);
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

/// In the consumers of a warp-specialized program, and in a loop in which an exchange follows without a barrier.
#[tile_kernel(tune(BM = [64], BK = [64], warps = [4], arch = [90]), grid = [1], emulate = all)]
fn beside_a_product<const BM: usize, const BK: usize>(
    a: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
    x: &[i32],
    y: &mut [i32],
) {
    let mut acc = zeros::<f32>([BM, BM]);
    for k in range(0, a.dim(1), BK).warp_specialize(true) {
        acc = dot(a.tile([0, k], [BM, BK]), trans(a.tile([0, k], [BM, BK])), acc);
    }
    c.store([0, 0], acc);
    for n in range(0, 4, 1) {
        let (i, few) = (arange(256), arange(32));
        let all = cumcount(load(x, 256 * n + i), 10);
        // One warp has all elements of the second one: there is no barrier in it.
        let some = cumcount(load(x, 256 * n + few), 10) + max(all);
        store(y, 288 * n + i, all);
        store(y, 288 * n + 256 + few, some);
    }
}

#[test]
fn consumers_count_in_a_loop() {
    let a = Matrix::new([64, 128], 128, 1, f16::from_f32);
    let x: Vec<i32> = (0..1024i32).map(|i| i * 7 % 13).collect();
    let mut expected = vec![];
    for block in x.chunks(256) {
        let all = wanted(block, 10, |_| true);
        let some = wanted(&block[..32], 10, |_| true);
        let most = all.iter().max().copied().unwrap_or(0);
        expected.extend(all.iter().copied().chain(some.into_iter().map(|c| c + most)));
    }
    everywhere(
        beside_a_product::DESCS[0],
        |rt, options| {
            let (mut c, mut y) = (Matrix::new([64, 64], 64, 2, |x| x), vec![0; 4 * 288]);
            let call = beside_a_product(view!(a), view_mut!(c), &x, &mut y);
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| same(&y, &expected, title),
    );
}

/// In a loop: the count of one warp has no barrier, and the next maximum of all warps waits for the loads of this one.
#[tile_kernel(tune(N = [256], warps = [4]), grid = [1], emulate = all)]
fn beside_a_count_of_one_warp<const N: usize>(x: &[i32], y: &mut [i32]) {
    for n in range(0, 4, 1) {
        let (i, few) = (arange(N), arange(32));
        let most = max(load(x, N * n + i));
        store(y, 32 * n + few, cumcount(load(x, N * n + few), 10) + most);
    }
}

#[test]
fn a_count_of_one_warp_is_no_barrier() {
    let x: Vec<i32> = (0..1024i32).map(|i| i * 7 % 13 + i / 256).collect();
    let mut expected = vec![];
    for block in x.chunks(256) {
        let most = block.iter().max().copied().unwrap_or(0);
        expected.extend(wanted(&block[..32], 10, |_| true).into_iter().map(|c| c + most));
    }
    everywhere(
        beside_a_count_of_one_warp::DESCS[0],
        |rt, options| {
            let mut y = vec![0; 4 * 32];
            rt.launch_with(rt.stream(), beside_a_count_of_one_warp(&x, &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &expected, title),
    );
}
