//! Programs that look back at their predecessors, and that reduce the values of all programs, in one launch.

use tilewright::Runtime;
use tilewright::kernel::emulator::Options;
use tilewright::tile_module;
use tilewright_language_tests::run::{backends, with};

#[tile_module(use tilewright::grid)]
mod kernels {
    // A module does not know the private names of a library, and its own do not take their place.
    const TOTAL: u64 = 77;
    fn publish(sum: u32) -> u32 {
        sum + TOTAL as u32
    }

    /// Sums from the first element on, which wrap.
    #[tile_kernel(types(T = [u32, i64, f32]), tune(BLOCK = [64], warps = [1, 4]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
    pub fn prefix_sums<T: Num, const BLOCK: usize>(
        x: &[T],
        y: &mut [T],
        words: &mut [u64],
        counter: &mut [u32],
        first: T,
    ) {
        let order = begin_order(counter);
        let i = order * BLOCK + arange(BLOCK);
        let t = load(x, i);
        look_back(words, order, sum(t), first, |a, b| a + b, |before| store(y, i, before + cumsum(t, 0)));
    }

    /// `y[i] = a[i] * y[i - 1] + b[i]`, of numbers that wrap: a composition of maps, which do not commute.
    #[tile_kernel(tune(BLOCK = [32], warps = [1, 2]), grid = [cdiv(y.len(), BLOCK)], emulate = all)]
    pub fn recurrence<const BLOCK: usize>(a: &[u32], b: &[i32], y: &mut [i32], words: &mut [u64], counter: &mut [u32]) {
        let order = begin_order(counter);
        let i = order * BLOCK + arange(BLOCK);
        let maps = scan((load(a, i).other(1), load(b, i)), 0, |(a, b), (c, d)| (a * c, bitcast::<i32>(c) * b + d));
        let (factor, shift) = maps;
        let last = arange(BLOCK) == BLOCK - 1;
        let total = (sum(where_(last, factor, 0)), sum(where_(last, shift, 0)));
        let combine = |(a, b), (c, d)| (a * c, bitcast::<i32>(c) * b + d);
        look_back_pair(words, order, total, (1u32, 5i32), combine, |(_, before)| {
            store(y, i, bitcast::<i32>(factor) * before + shift);
        });
    }

    /// The result of one program, for which others have left the words.
    #[tile_kernel(tune(WINDOW = [3], warps = [1, 4]), grid = [1], emulate = all)]
    pub fn searched<const WINDOW: usize>(words: &mut [u64], counter: &mut [u32], y: &mut [u32]) {
        let order = begin_order(counter);
        let combine = |(a, b), (c, d)| (a * c, c * b + d);
        look_back_pair(words, order, (3u32, 4u32), (5u32, 6u32), combine, |(a, b)| {
            store(y, 0, publish(a) - 77);
            store(y, 1, b + WINDOW as u32 - 3);
        });
    }

    /// The greatest element.
    #[tile_kernel(tune(BLOCK = [64], warps = [1, 4]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
    pub fn greatest_of_programs<const BLOCK: usize>(x: &[i32], y: &mut [i32], words: &mut [u64], counter: &mut [u32]) {
        let order = begin_order(counter);
        let t = load(x, program_id(0) * BLOCK + arange(BLOCK)).other(i32::MIN);
        reduce_programs(words, order, max(t), i32::MIN, |a, b| max(a, b), |all| store(y, 0, all));
    }
}

/// Several programs, the last one of few elements.
const N: usize = 5 * 64 + 7;

fn bits(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

macro_rules! sums {
    ($name:ident, $t:ty, $x:expr, $first:expr, $add:expr) => {
        #[test]
        fn $name() {
            let x: Vec<$t> = (0..N).map($x).collect();
            for config in kernels::prefix_sums::DESCS[0].configs {
                for rt in backends() {
                    let (mut words, mut counter) = (vec![0u64; 12], [0u32]);
                    // Words and the counter are zeros again for the next launch.
                    for n in [N, 64, 1, N] {
                        let mut y = vec![$first; n];
                        let call = kernels::prefix_sums(&x[..n], &mut y, &mut words, &mut counter, $first);
                        rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
                        let wanted: Vec<$t> = x[..n]
                            .iter()
                            .scan($first, |sum, &x| {
                                *sum = $add(*sum, x);
                                Some(*sum)
                            })
                            .collect();
                        let wrong = (0..n).find(|&i| y[i] != wanted[i]);
                        assert_eq!(wrong, None, "of {n} elements, {}", config.id);
                        assert!(words.iter().all(|&w| w == 0) && counter == [0], "{}", config.id);
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

/// More programs than words that the last one looks at together, and of those the last few run while it waits.
#[test]
fn words_are_kept_until_every_program_has_searched() {
    let n = 2056 * 64;
    let (x, wanted): (Vec<u32>, Vec<u32>) = (0..n).map(|i| (1, 77 + i as u32 + 1)).unzip();
    let on = |seed| Runtime::emulator_with(Options { seed, num_sms: 32, ..Options::default() });
    for rt in [on(1), on(2), Runtime::cpu()] {
        let (mut words, mut counter, mut y) = (vec![0u64; 2056], [0u32], vec![0u32; n]);
        let call = kernels::prefix_sums(&x, &mut y, &mut words, &mut counter, 77);
        rt.launch_with(rt.stream(), call, &with("BLOCK=64,warps=1")).expect("it runs");
        assert!(y == wanted && words.iter().all(|&w| w == 0) && counter == [0], "{rt:?}");
    }
}

#[test]
fn maps_are_composed_in_order() {
    let n = 6 * 32 + 5;
    let (a, b): (Vec<u32>, Vec<i32>) = (0..n).map(|i| (bits(i) as u32 | 1, (bits(i) >> 32) as i32)).unzip();
    let mut last = 5i32;
    let wanted: Vec<i32> = (0..n)
        .map(|i| {
            last = (a[i] as i32).wrapping_mul(last).wrapping_add(b[i]);
            last
        })
        .collect();
    for config in kernels::recurrence::DESCS[0].configs {
        for rt in backends() {
            let (mut y, mut words, mut counter) = (vec![0i32; n], vec![0u64; 14], [0u32]);
            let call = kernels::recurrence(&a, &b, &mut y, &mut words, &mut counter);
            rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
            assert_eq!((0..n).find(|&i| y[i] != wanted[i]), None, "{}", config.id);
        }
    }
}

#[test]
fn a_search_goes_back_to_the_last_prefix_or_to_the_first_program() {
    let map = |i: u64| (bits(i as usize) as u32 | 1, (bits(i as usize) >> 32) as u32);
    // Windows have 32 programs.
    for (order, prefix) in
        [(0, None), (1, None), (256, None), (257, None), (700, None), (700, Some(699)), (700, Some(100))]
    {
        let (mut words, mut wanted) = (vec![0u64; 2 * 701], (5u32, 6u32));
        for i in 0..order {
            let (a, b) = map(i);
            let is_prefix = prefix == Some(i);
            let kind = if is_prefix { 2u64 << 32 } else { 1 << 32 };
            (words[2 * i as usize], words[2 * i as usize + 1]) = (kind | a as u64, kind | b as u64);
            let after = |(c, d): (u32, u32)| (c.wrapping_mul(a), a.wrapping_mul(d).wrapping_add(b));
            wanted = if is_prefix { (a, b) } else { after(wanted) };
        }
        for config in kernels::searched::DESCS[0].configs {
            for rt in backends() {
                let (mut words, mut counter, mut y) = (words.clone(), [order as u32], [0u32; 2]);
                let call = kernels::searched(&mut words, &mut counter, &mut y);
                rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
                let of = |what: &str| format!("{what} of program {order} behind {prefix:?}, {}", config.id);
                assert_eq!(y, [wanted.0, wanted.1], "{}", of("prefix"));
                let own = (wanted.0.wrapping_mul(3), 3u32.wrapping_mul(wanted.1).wrapping_add(4));
                let kept = &words[2 * order as usize..][..2];
                // The program that began last leaves zeros.
                let wanted = if order == 0 { [0, 0] } else { [own.0, own.1].map(|w| 2 << 32 | w as u64) };
                assert_eq!(kept, wanted, "{}", of("words"));
            }
        }
    }
}

#[test]
fn all_programs_reduce_to_one_value() {
    let x: Vec<i32> = (0..N).map(|i| bits(i) as i32 >> 4).collect();
    for config in kernels::greatest_of_programs::DESCS[0].configs {
        for rt in backends() {
            let (mut words, mut counter) = (vec![0u64; 6], [0u32]);
            for n in [N, 1, 64 * 3] {
                let mut y = [0i32];
                let call = kernels::greatest_of_programs(&x[..n.min(N)], &mut y, &mut words, &mut counter);
                rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
                assert_eq!(Some(&y[0]), x[..n.min(N)].iter().max(), "{}", config.id);
                assert!(words.iter().all(|&w| w == 0) && counter == [0], "{}", config.id);
            }
        }
    }
}
