//! Programs that look back at those before them, and that reduce what all of them have, in one launch.

use tilewright::{Runtime, tile_module};
use tilewright_language_tests::run::{seeds, with};

#[tile_module(use tilewright::grid)]
mod kernels {
    /// Sums from the first element on, which wrap.
    #[tile_kernel(types(T = [u32, i64, f32]), tune(BLOCK = [64], warps = [1, 4]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
    pub fn prefix_sums<T: Num, const BLOCK: usize>(
        x: &[T],
        y: &mut [T],
        words: &mut [u64],
        counters: &mut [u32],
        first: T,
    ) {
        let order = begin_order(counters);
        let i = order * BLOCK + arange(BLOCK);
        let t = load(x, i);
        let before = look_back(words, order, sum(t), first, |a, b| a + b);
        store(y, i, before + cumsum(t, 0));
        end_order(counters, words);
    }

    /// `y[i] = a[i] * y[i - 1] + b[i]`, of numbers that wrap: a composition of maps, which do not commute.
    #[tile_kernel(tune(BLOCK = [32], warps = [1, 2]), grid = [cdiv(y.len(), BLOCK)], emulate = all)]
    pub fn recurrence<const BLOCK: usize>(
        a: &[u32],
        b: &[i32],
        y: &mut [i32],
        words: &mut [u64],
        counters: &mut [u32],
    ) {
        let order = begin_order(counters);
        let i = order * BLOCK + arange(BLOCK);
        let maps = scan((load(a, i).other(1), load(b, i)), 0, |(a, b), (c, d)| (a * c, bitcast::<i32>(c) * b + d));
        let (factor, shift) = maps;
        let last = arange(BLOCK) == BLOCK - 1;
        let total = (sum(where_(last, factor, 0)), sum(where_(last, shift, 0)));
        let before =
            look_back_pair(words, order, total, (1u32, 5i32), |(a, b), (c, d)| (a * c, bitcast::<i32>(c) * b + d));
        store(y, i, bitcast::<i32>(factor) * before.1 + shift);
        end_order(counters, words);
    }

    /// The greatest element.
    #[tile_kernel(tune(BLOCK = [64], warps = [1, 4]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
    pub fn greatest_of_programs<const BLOCK: usize>(x: &[i32], y: &mut [i32], words: &mut [u64], counters: &mut [u32]) {
        let order = begin_order(counters);
        let t = load(x, program_id(0) * BLOCK + arange(BLOCK)).other(i32::MIN);
        reduce_programs(words, order, max(t), i32::MIN, |a, b| max(a, b), |all| store(y, 0, all));
        end_order(counters, words);
    }
}

fn runtimes() -> Vec<Runtime> {
    seeds().into_iter().chain([Runtime::cpu()]).collect()
}

/// More programs than a window has, and than one: 40 of 64 elements but for the last.
const N: usize = 39 * 64 + 7;

fn bits(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

macro_rules! sums {
    ($name:ident, $t:ty, $x:expr, $first:expr, $add:expr) => {
        #[test]
        fn $name() {
            let x: Vec<$t> = (0..N).map($x).collect();
            for config in kernels::prefix_sums::DESCS[0].configs {
                for rt in runtimes() {
                    let (mut words, mut counters) = (vec![0u64; 80], [0u32; 2]);
                    // Words and counters are zeros again for the next launch.
                    for n in [N, 64, 1, N] {
                        let mut y = vec![$first; n];
                        let call = kernels::prefix_sums(&x[..n], &mut y, &mut words, &mut counters, $first);
                        rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
                        let wanted: Vec<$t> = x[..n]
                            .iter()
                            .scan($first, |sum, &x| {
                                *sum = $add(*sum, x);
                                Some(*sum)
                            })
                            .collect();
                        assert_eq!(y, wanted, "{n} elements, {}", config.id);
                        assert!(words.iter().all(|&w| w == 0) && counters == [0; 2], "{}", config.id);
                    }
                }
            }
        }
    };
}

sums!(sums_of_words, u32, |i| bits(i) as u32, 77u32, u32::wrapping_add);
sums!(sums_of_double_words, i64, |i| bits(i) as i64, -3i64, i64::wrapping_add);
// Of small integers sums are exact in any order.
sums!(sums_of_floats, f32, |i| (bits(i) >> 56) as f32, 0.5f32, |a: f32, b: f32| a + b);

#[test]
fn maps_are_composed_in_order() {
    let n = 33 * 32 + 5;
    let (a, b): (Vec<u32>, Vec<i32>) = (0..n).map(|i| (bits(i) as u32 | 1, (bits(i) >> 32) as i32)).unzip();
    let mut last = 5i32;
    let wanted: Vec<i32> = (0..n)
        .map(|i| {
            last = (a[i] as i32).wrapping_mul(last).wrapping_add(b[i]);
            last
        })
        .collect();
    for config in kernels::recurrence::DESCS[0].configs {
        for rt in runtimes() {
            let (mut y, mut words, mut counters) = (vec![0i32; n], vec![0u64; 68], [0u32; 2]);
            let call = kernels::recurrence(&a, &b, &mut y, &mut words, &mut counters);
            rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
            assert_eq!(y, wanted, "{}", config.id);
        }
    }
}

#[test]
fn all_programs_reduce_to_one_value() {
    let x: Vec<i32> = (0..N).map(|i| bits(i) as i32 >> 4).collect();
    for config in kernels::greatest_of_programs::DESCS[0].configs {
        for rt in runtimes() {
            let (mut words, mut counters) = (vec![0u64; 40], [0u32; 2]);
            for n in [N, 1, 64 * 40 - 60] {
                let mut y = [0i32];
                let call = kernels::greatest_of_programs(&x[..n.min(N)], &mut y, &mut words, &mut counters);
                rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
                assert_eq!(Some(&y[0]), x[..n.min(N)].iter().max(), "{}", config.id);
                assert!(words.iter().all(|&w| w == 0) && counters == [0; 2], "{}", config.id);
            }
        }
    }
}
