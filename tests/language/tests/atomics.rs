//! Atomics of several programs on the same elements: the final values, and the old values in any order.

use tilewright::tile_kernel;
use tilewright_core::{bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};

mod announced;

/// Of numbers. Three programs have 64 elements each for 16 places; the last 16 of them are masked.
#[tile_kernel(types(T = [i32, u32, i64, u64, f32, f64, f16, bf16]), tune(warps = [2]), grid = [3])]
fn numbers<T: Num>(
    x: &[T],
    one: T,
    five: T,
    sums: &mut [T],
    most: &mut [T],
    least: &mut [T],
    last: &mut [T],
    swaps: &mut [T],
    olds: &mut [T],
) {
    let j = arange(64);
    let (i, to, seen) = (program_id(0) * 64 + j, j % 16, j < 48);
    let v = load(x, i);
    let old = atomic_add(sums, to, one).mask(seen);
    atomic_max(most, to, v).mask(seen);
    atomic_min(least, to, v).mask(seen).relaxed();
    atomic_xchg(last, to, v).mask(seen);
    let held = atomic_cas(swaps, i % 96, v, five);
    store(olds, i, old);
    store(olds, 192 + i, held);
}

/// Of neighbors, without old values: rows are added to the rows of a table, and backwards to those of another one.
#[tile_kernel(types(T = [f32, f16, bf16]), tune(warps = [2]), grid = [2])]
fn neighbors<T: Float>(x: &[T], rows: &[i32], y: &mut [T], back: &mut [T], columns: usize, end: usize) {
    let (r, c) = (program_id(0) * 8 + arange(8), arange(64).expand(0));
    let to = load(rows, r).expand(1);
    let inside = (to >= 0) & (c < end);
    // Of masked elements, too.
    let v = load(x, r.expand(1) * columns + c);
    let first = to.to::<usize>() * columns;
    atomic_add(y, first + c, v).mask(inside).relaxed();
    atomic_add(back, first + (63 - c), v).mask(inside).relaxed();
}

/// Of bits.
#[tile_kernel(types(T = [i32, u32, i64, u64]), tune(warps = [4]), grid = [3])]
fn bits<T: Int>(x: &[T], both: &mut [T], either: &mut [T], odd: &mut [T], olds: &mut [T]) {
    let j = arange(64);
    let (to, v, seen) = (j % 16, load(x, program_id(0) * 64 + j), j < 48);
    atomic_and(both, to, v).mask(seen);
    atomic_or(either, to, v).mask(seen).relaxed();
    atomic_xor(odd, to, v).mask(seen);
    if program_id(0) == 0 {
        // Of one program, and one element each.
        store(olds, j, atomic_and(both, 16 + j, v));
        store(olds, 64 + j, atomic_or(either, 16 + j, v));
        store(olds, 128 + j, atomic_xor(odd, 16 + j, v));
    }
}

/// Of one place: each program's number is added by one thread, whose answer all have.
#[tile_kernel(types(T = [i32, u32, i64, u64, f32, f64, f16, bf16]), tune(warps = [4]), grid = [8])]
fn scalars<T: Num>(x: &[T], y: &mut [T], olds: &mut [T]) {
    let v = load(x, program_id(0));
    let sum = atomic_add(y, 0, v);
    atomic_max(y, 1, v);
    atomic_min(y, 2, v);
    let i = program_id(0) * 32 + arange(32);
    store(olds, i, sum);
    atomic_store(y, 3 + program_id(0), atomic_load(y, 11 + program_id(0))).relaxed();
}

fn numbers_of<T: Number>()
where
    (T,): numbers::Types,
{
    let float = T::of(0.5).number() != 0.0;
    let mut x: Vec<T> = (0..192)
        .map(|i| T::of((i * 29 % 83 + 7) as f64 - if T::of(-1.0).number() < 0.0 { 40.0 } else { 0.0 }))
        .map(|x: T| if x.number() == 5.0 { T::of(6.0) } else { x })
        .collect();
    if float {
        x[5] = T::of(f64::NAN);
    }
    let before: Vec<T> = (0..96).map(|i| if i % 3 == 0 { x[i] } else { x[(i + 40) % 192] }).collect();
    // Any number takes the place of a NaN.
    let first = |to: usize| if float && to == 3 { f64::NAN } else { 20.0 };
    let at = |to: usize| (0..192).filter(move |i| i % 64 < 48 && i % 16 == to);
    everywhere(
        <(T,) as numbers::Types>::DESC,
        |rt, options| {
            let start = || (0..16).map(|i| T::of(first(i))).collect::<Vec<T>>();
            let (mut sums, mut most, mut least, mut last, mut swaps, mut olds) =
                (vec![T::of(0.0); 16], start(), start(), start(), before.clone(), vec![T::of(99.0); 384]);
            let call = numbers::<T>(
                &x,
                T::of(1.0),
                T::of(5.0),
                &mut sums,
                &mut most,
                &mut least,
                &mut last,
                &mut swaps,
                &mut olds,
            );
            rt.launch_with(rt.stream(), call, options).map(|()| [sums, most, least, last, swaps, olds])
        },
        |[sums, most, least, last, swaps, olds], title| {
            for to in 0..16 {
                let given = || at(to).map(|i| x[i].number());
                assert_eq!(sums[to].number(), 9.0, "{title}");
                let mut of_this: Vec<f64> = at(to).map(|i| olds[i].number()).collect();
                of_this.sort_by(f64::total_cmp);
                assert_eq!(of_this, (0..9).map(f64::from).collect::<Vec<_>>(), "{title}: what the additions found");
                assert_eq!(most[to].number(), given().fold(first(to), f64::max), "{title}");
                assert_eq!(least[to].number(), given().fold(first(to), f64::min), "{title}");
                assert!(given().any(|x| x.to_bits() == last[to].number().to_bits() || x.is_nan() && last[to].number().is_nan()), "{title}: {:?}", last[to]);
            }
            assert!(
                (0..192).filter(|i| i % 64 >= 48).all(|i| olds[i].number() == 0.0),
                "{title}: nothing where the mask does not allow it"
            );
            for p in 0..96 {
                let swapped = x[p] == before[p] || x[p + 96] == before[p];
                let wanted = if swapped { T::of(5.0) } else { before[p] };
                same(&swaps[p..p + 1], &[wanted], title);
                let held = [olds[192 + p], olds[288 + p]];
                assert!(
                    held.iter().all(|&h| h == before[p]
                        || h.number() == 5.0 && swapped
                        || h.number().is_nan() && before[p].number().is_nan()),
                    "{title}: {held:?} at {p}"
                );
            }
        },
    );
}

#[test]
fn numbers_of_several_programs() {
    numbers_of::<i32>();
    numbers_of::<u32>();
    numbers_of::<i64>();
    numbers_of::<u64>();
    numbers_of::<f32>();
    numbers_of::<f64>();
    numbers_of::<f16>();
    numbers_of::<bf16>();
}

/// `end` may divide the vectors of a row, and a row or the table may begin at no multiple of a vector.
fn neighbors_of<T: Number>()
where
    (T,): neighbors::Types,
{
    let rows = [0, 2, 2, -1, 1, 0, 2, 1, 1, 1, -1, 2, 0, 2, 2, 0];
    for (columns, end, from) in [(64, 64, 0), (64, 64, 1), (64, 40, 0), (64, 43, 0), (71, 64, 0), (68, 30, 0)] {
        let x: Vec<T> = (0..16 * columns).map(|i| T::of((i * 7 % 13) as f64 - 4.0)).collect();
        let mut wanted = [vec![1.0; 3 * columns], vec![1.0; 3 * columns]];
        for (r, to) in rows.into_iter().enumerate() {
            let Ok(to) = usize::try_from(to) else { continue };
            for c in 0..end {
                wanted[0][to * columns + c] += x[r * columns + c].number();
                wanted[1][to * columns + 63 - c] += x[r * columns + c].number();
            }
        }
        everywhere(
            <(T,) as neighbors::Types>::DESC,
            |rt, options| {
                let rows_of_ones = || vec![T::of(1.0); from + 3 * columns];
                let (mut y, mut back) = (rows_of_ones(), rows_of_ones());
                let call = neighbors::<T>(&x, &rows, &mut y[from..], &mut back[from..], columns, end);
                rt.launch_with(rt.stream(), call, options)?;
                Ok([y.split_off(from), back.split_off(from)])
            },
            |found, title| {
                let found = found.map(|y| y.into_iter().map(T::number).collect::<Vec<_>>());
                assert_eq!(found, wanted, "{title}: {columns} columns up to {end} from {from}");
            },
        );
    }
}

#[test]
fn neighbors_are_added() {
    neighbors_of::<f32>();
    neighbors_of::<f16>();
    neighbors_of::<bf16>();
}

macro_rules! bits_of { ($($t:ident)+) => { $({
    let x: Vec<$t> = (0..192u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(9) as $t).collect();
    let before: Vec<$t> = (0..80u64).map(|i| (i + 7).wrapping_mul(0xd1b5_4a32_d192_ed03) as $t).collect();
    everywhere(
        <($t,) as bits::Types>::DESC,
        |rt, options| {
            let (mut y, mut olds) = ([before.clone(), before.clone(), before.clone()], vec![0 as $t; 192]);
            let [both, either, odd] = &mut y;
            rt.launch_with(rt.stream(), bits::<$t>(&x, both, either, odd, &mut olds), options).map(|()| (y, olds))
        },
        |(y, olds), title| {
            let op = |k: usize, a: $t, b: $t| [a & b, a | b, a ^ b][k];
            for k in 0..3 {
                let given = |to: usize| (0..192).filter(move |i| i % 64 < 48 && i % 16 == to);
                let wanted: Vec<$t> = (0..16).map(|to| given(to).fold(before[to], |a, i| op(k, a, x[i]))).chain((0..64).map(|j| op(k, before[16 + j], x[j]))).collect();
                assert_eq!(y[k], wanted, "{title}: operation {k}");
                assert_eq!(olds[64 * k..][..64], before[16..], "{title}: what operation {k} found");
            }
        },
    );
})+ } }

#[test]
fn bits_of_several_programs() {
    bits_of! { i32 u32 i64 u64 }
}

fn scalars_of<T: Number>()
where
    (T,): scalars::Types,
{
    let x: Vec<T> = (0..8).map(|i| T::of((1u32 << i) as f64)).collect();
    everywhere(
        <(T,) as scalars::Types>::DESC,
        |rt, options| {
            let (mut y, mut olds) = ((0..19).map(|i| T::of(i as f64)).collect::<Vec<_>>(), vec![T::default(); 256]);
            y[..3].copy_from_slice(&[0.0, 0.0, 50.0].map(T::of));
            rt.launch_with(rt.stream(), scalars::<T>(&x, &mut y, &mut olds), options).map(|()| (y, olds))
        },
        |(y, olds), title| {
            let wanted: Vec<T> = [255.0, 128.0, 1.0]
                .into_iter()
                .chain((11..19).map(f64::from))
                .chain((11..19).map(f64::from))
                .map(T::of)
                .collect();
            same(&y, &wanted, title);
            // A program finds the numbers of its predecessors, and all its threads the same.
            let mut seen = vec![];
            for p in 0..8 {
                let found = &olds[32 * p..][..32];
                assert!(
                    found.iter().all(|&o| o == found[0]) && (found[0].number() as u32 >> p) & 1 == 0,
                    "{title}: {found:?}"
                );
                seen.push((found[0].number() as u32).count_ones());
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..8).collect::<Vec<_>>(), "{title}: one after another");
        },
    );
}

#[test]
fn scalars_of_several_programs() {
    scalars_of::<i32>();
    scalars_of::<u32>();
    scalars_of::<i64>();
    scalars_of::<u64>();
    scalars_of::<f32>();
    scalars_of::<f64>();
    scalars_of::<f16>();
    scalars_of::<bf16>();
}

/// Atomics in a loop, of elements in the layout of a scan: all warps' elements are added, and the sum of the old values
/// is that of all.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn added_in_a_loop(x: &[u32], out: &mut [u32], sums: &mut [u32], n: usize) {
    let s = cumsum(load(x, arange(256)), 0);
    let mut before = 0u32;
    for i in range(0, n, 1) {
        before += sum(atomic_add(out, i % 2 * 256 + arange(256), s).relaxed());
    }
    store(sums, 0, before);
}

#[test]
fn every_warp_adds_its_elements_in_a_loop() {
    let x: Vec<u32> = (0..256).map(|i| i % 7).collect();
    let prefix: Vec<u32> = x
        .iter()
        .scan(0, |s, v| {
            *s += v;
            Some(*s)
        })
        .collect();
    let all: u32 = prefix.iter().sum();
    for config in added_in_a_loop::DESCS[0].configs {
        for rt in tilewright_language_tests::run::backends() {
            let (mut out, mut sums) = (vec![0u32; 512], vec![0u32]);
            let call = added_in_a_loop(&x, &mut out, &mut sums, 5);
            let options = tilewright_language_tests::run::with(config.id);
            rt.launch_with(rt.stream(), call, &options).expect("it runs");
            assert!(
                out.iter()
                    .zip(prefix.iter().cycle())
                    .enumerate()
                    .all(|(i, (o, p))| *o == p * if i < 256 { 3 } else { 2 })
            );
            assert_eq!(sums[0], all * (1 + 2) + all, "{}", config.id);
        }
    }
}

/// Fewer elements than threads: all threads with a copy of an element get the value that one of them has found.
#[tile_kernel(tune(N = [8, 64], warps = [1, 4]), grid = [1], emulate = all)]
fn fewer_than_threads<const N: usize>(y: &mut [u32], z: &mut [u32]) {
    let old = atomic_add(y, arange(N), 1);
    store(z, arange(256), full([256], sum(old)));
}

#[test]
fn all_copies_of_an_element_get_its_old_value() {
    everywhere(
        fewer_than_threads::DESCS[0],
        |rt, options| {
            let (mut y, mut z) = ((5..69).collect::<Vec<u32>>(), vec![0u32; 256]);
            rt.launch_with(rt.stream(), fewer_than_threads(&mut y, &mut z), options).map(|()| (y, z))
        },
        |(y, z), title| {
            let n: u32 = if title.contains("N=8,") { 8 } else { 64 };
            assert!((0..64).all(|i| y[i as usize] == 5 + i + u32::from(i < n)), "{title}: {y:?}");
            assert_eq!(z, vec![(5..5 + n).sum::<u32>(); 256], "{title}");
        },
    );
}

/// Compare-and-swap under a mask, in global memory and in an array of the program's own.
#[tile_kernel(types(T = [u32, i64, f32]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn swapped_under_a_mask<T: Num>(x: &[T], y: &mut [T], z: &mut [T]) {
    let i = arange(128);
    let v = load(x, i);
    store(z, i, atomic_cas(y, i, v, v + v).mask(i % 3 == 0));
    let mut s = shared_array::<T>(128);
    store(s, i, v);
    store(z, 128 + i, atomic_cas(s, i, v, v + v).mask(i % 3 == 1));
    store(z, 256 + i, load(s, i));
}

fn swapped_of<T: Number>()
where
    (T,): swapped_under_a_mask::Types,
{
    let x: Vec<T> = (0..128).map(|i| T::of(f64::from(i + 1))).collect();
    let of =
        |i: usize, part: usize, seen: f64, other: f64| T::of(x[i].number() * if i % 3 == part { seen } else { other });
    let all = |part: usize, seen: f64, other: f64| (0..128).map(move |i| of(i, part, seen, other));
    let after: Vec<T> = all(0, 2.0, 1.0).collect();
    let found: Vec<T> = all(0, 1.0, 0.0).chain(all(1, 1.0, 0.0)).chain(all(1, 2.0, 1.0)).collect();
    everywhere(
        <(T,) as swapped_under_a_mask::Types>::DESC,
        |rt, options| {
            let (mut y, mut z) = (x.clone(), vec![T::of(9.0); 384]);
            rt.launch_with(rt.stream(), swapped_under_a_mask::<T>(&x, &mut y, &mut z), options).map(|()| (y, z))
        },
        |(y, z), title| {
            same(&y, &after, title);
            same(&z, &found, title);
        },
    );
}

#[test]
fn nothing_is_swapped_that_a_mask_leaves_out() {
    swapped_of::<u32>();
    swapped_of::<i64>();
    swapped_of::<f32>();
}

/// A loop that one warp may run counts the stores of all warps.
#[tile_kernel(tune(warps = [2, 4]), grid = [1], emulate = all)]
fn stored_and_counted(flags: &mut [u32], y: &mut [u32], n: usize) {
    let i = arange(128);
    atomic_store(flags, i, full([128], 1u32)).relaxed();
    let mut seen = 0u32;
    for _ in 0..n {
        seen += sum(atomic_load(flags, 127 - i).relaxed());
    }
    store(y, 0, seen);
}

#[test]
fn a_loop_of_one_warp_sees_what_all_have_stored() {
    for config in stored_and_counted::DESCS[0].configs {
        let options = tilewright_language_tests::run::with(config.id);
        let emulated = (1..9).map(tilewright::Runtime::emulator);
        for rt in emulated.chain([tilewright::Runtime::cpu()]) {
            for n in [0u32, 1, 3] {
                let (mut flags, mut y) = (vec![0u32; 128], [99u32]);
                let call = stored_and_counted(&mut flags, &mut y, u64::from(n));
                rt.launch_with(rt.stream(), call, &options).expect("it runs");
                assert_eq!(y[0], 128 * n, "{} on {}", config.id, rt.name());
            }
        }
    }
}

/// As above, but in the loop no warp waits for another one.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn added_without_a_sum(x: &[u32], out: &mut [u32], most: &mut [u32], n: usize) {
    let s = cumsum(load(x, arange(256)), 0);
    for _ in range(0, n, 1) {
        let before = atomic_add(out, arange(256), s).relaxed();
        atomic_max(most, arange(256), before).relaxed();
    }
}

#[test]
fn every_warp_adds_its_elements_and_waits_for_none() {
    let x: Vec<u32> = (0..256).map(|i| i % 7 + 1).collect();
    let mut sum = 0;
    let prefix: Vec<u32> = x
        .iter()
        .map(|v| {
            sum += v;
            sum
        })
        .collect();
    everywhere(
        added_without_a_sum::DESCS[0],
        |rt, options| {
            let (mut out, mut most) = (vec![0u32; 256], vec![0u32; 256]);
            rt.launch_with(rt.stream(), added_without_a_sum(&x, &mut out, &mut most, 3u64), options)?;
            Ok((out, most))
        },
        |(out, most), title| {
            same(&out, &prefix.iter().map(|p| 3 * p).collect::<Vec<_>>(), title);
            same(&most, &prefix.iter().map(|p| 2 * p).collect::<Vec<_>>(), title);
        },
    );
}

/// Loops that end by results of atomics: of fewer elements than a warp has lanes, and one that ends the program.
#[tile_kernel(tune(warps = [1, 2, 4]), grid = [1], emulate = all)]
fn until_found(counts: &mut [u32], y: &mut [u32], most: u32, last: u32) {
    let i = arange(8);
    let mut rounds = 0u32;
    loop {
        let old = atomic_add(counts, i, i.to::<u32>() + 1).relaxed();
        if sum(old) >= most {
            break;
        }
        rounds += 1;
    }
    store(y, 0, rounds);
    loop {
        let found = max(atomic_add(counts, 8 + arange(64), 1).relaxed());
        if found >= last {
            return;
        }
        if found > 100 {
            break;
        }
    }
    store(y, 1 + arange(128), full([128], 1u32));
}

#[test]
fn loops_end_by_what_atomics_find() {
    for config in until_found::DESCS[0].configs {
        let options = tilewright_language_tests::run::with(config.id);
        let emulated = [7, 8].map(tilewright::Runtime::emulator);
        for rt in emulated.into_iter().chain([tilewright::Runtime::cpu()]) {
            for (most, last) in [(0, 0), (36, 2), (100, 5)] {
                let (mut counts, mut y) = (vec![0u32; 72], vec![99u32; 129]);
                rt.launch_with(rt.stream(), until_found(&mut counts, &mut y, most, last), &options)
                    .unwrap_or_else(|e| panic!("{}: {e}", config.id));
                let what = format!("{} on {}: {most}, {last}", config.id, rt.name());
                // After r rounds there are 36 r.
                let rounds = most.div_ceil(36);
                assert_eq!(y[0], rounds, "{what}");
                assert!(y[1..].iter().all(|v| *v == 99), "{what}");
                assert!((0..8).all(|i| counts[i as usize] == (i + 1) * (rounds + 1)), "{what}");
                assert!(counts[8..].iter().all(|n| *n == last + 1), "{what}");
            }
        }
    }
}

/// Old values of fewer elements than there are threads, which all threads then need.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn sums_of_old_values(x: &mut [u32], y: &mut [u32]) {
    let few = sum(atomic_add(x, arange(8), 1));
    let many = sum(atomic_add(x, 8 + arange(32), 1));
    store(y, arange(256), full([256], few));
    store(y, 256 + arange(256), full([256], many));
}

#[test]
fn all_threads_learn_old_values() {
    let before: Vec<u32> = (0..40).map(|i| i * i + 3).collect();
    let [few, many] = [&before[..8], &before[8..]].map(|part| part.iter().sum::<u32>());
    everywhere(
        sums_of_old_values::DESCS[0],
        |rt, options| {
            let (mut x, mut y) = (before.clone(), vec![0u32; 512]);
            rt.launch_with(rt.stream(), sums_of_old_values(&mut x, &mut y), options).map(|()| (x, y))
        },
        |(x, y), title| {
            assert!(x.iter().zip(&before).all(|(now, before)| *now == before + 1), "{title}");
            assert!(y[..256].iter().all(|v| *v == few) && y[256..].iter().all(|v| *v == many), "{title}: {y:?}");
        },
    );
}
