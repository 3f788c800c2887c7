//! The accesses that become vectors: by the steps of indices and masks, their ends, and the strides.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut};
use tilewright_language_tests::everywhere::Number;
use tilewright_language_tests::run::{backends, seeds, taken};

/// Rows of 64 elements, of which `low..high` are stored, and only those of the first rows.
#[tile_kernel(types(T = [f32, u8]), tune(warps = [1]), grid = [1])]
fn parts_of_rows<T: Num>(x: &[T], line: &mut [T], block: &mut [T], low: usize, high: usize, rows: usize, other: T) {
    let i = arange(64);
    store(line, i, load(x, i).mask(i < high).other(load(x, 64 + i))).mask((i >= low) & (i < high + 3));
    let (row, column) = (arange(8).expand(1), arange(64).expand(0));
    let v = load(x, row * 64 + column).mask((row < rows) & (column < high)).other(other);
    store(block, row * 64 + column, v).mask((row <= rows) & (column < high + 3) & (column >= low));
}

fn parts_of<T: Number>()
where
    (T,): parts_of_rows::Types,
{
    let x: Vec<T> = (0..512).map(|i| T::of((i % 100 + 1) as f64)).collect();
    for rt in backends() {
        for (low, high, rows) in
            (0..=64usize).map(|high| (high * 7 % 19, high, high % 9)).chain([(3, 1 << 32, 1 << 40), (0, 1 << 40, 5)])
        {
            let (mut line, mut block) = (vec![T::of(0.0); 80], vec![T::of(0.0); 512]);
            let call = parts_of_rows::<T>(&x, &mut line, &mut block, low, high, rows, T::of(101.0));
            assert_eq!(taken(&call, "warps=1"), "aligned");
            rt.launch(call).expect("it runs");
            let stored = |j: usize| j >= low && j < high + 3 && j < 64;
            for (j, y) in line.iter().enumerate() {
                let wanted = if !stored(j) {
                    T::of(0.0)
                } else if j < high {
                    x[j]
                } else {
                    x[64 + j]
                };
                assert_eq!(*y, wanted, "element {j} of {low}..{high} on {}", rt.name());
            }
            for (at, y) in block.iter().enumerate() {
                let (i, j) = (at / 64, at % 64);
                let wanted = match stored(j) && i <= rows {
                    false => T::of(0.0),
                    true if i < rows && j < high => x[at],
                    true => T::of(101.0),
                };
                assert_eq!(*y, wanted, "row {i}, element {j} of {low}..{high}, {rows} rows on {}", rt.name());
            }
        }
    }
}

/// Of a vector's elements the first ones are before the first row, and their difference wraps around.
#[tile_kernel(tune(warps = [1]), grid = [1])]
fn from_the_third_on(x: &[f32], y: &mut [f32], n: usize) {
    let i = arange(128);
    store(y, i, load(x, i)).mask(i - 2 < n);
}

#[test]
fn a_mask_of_an_index_that_wraps_around_begins_inside_a_vector() {
    let x: Vec<f32> = (0..128).map(|i| i as f32 + 1.0).collect();
    for rt in backends() {
        for n in [0, 1, 5, 100, 126] {
            let mut y = vec![0.0f32; 128];
            rt.launch(from_the_third_on(&x[..], &mut y[..], n)).expect("it runs");
            let wanted = |i: usize| if i >= 2 && i - 2 < n { x[i] } else { 0.0 };
            assert!((0..128).all(|i| y[i] == wanted(i)), "{n} on {}: {y:?}", rt.name());
        }
    }
}

/// Groups of eight elements lie sixteen apart. The first group is three elements short.
#[tile_kernel(tune(warps = [1]), grid = [1])]
fn groups_with_gaps(x: &[f32], y: &mut [f32]) {
    let i = arange(128);
    store(y, i, load(x, i + (i + 3) / 8 * 8));
}

#[test]
fn a_group_may_begin_inside_a_vector() {
    let x: Vec<f32> = (0..256).map(|i| i as f32).collect();
    for rt in backends() {
        let mut y = vec![0.0f32; 128];
        rt.launch(groups_with_gaps(&x[..], &mut y[..])).expect("it runs");
        let wanted: Vec<f32> = (0..128).map(|i| x[i + (i + 3) / 8 * 8]).collect();
        assert_eq!(y, wanted, "on {}", rt.name());
    }
}

#[test]
fn arrays_may_begin_at_any_element() {
    let x: Vec<f32> = (0..132).map(|i| i as f32 + 1.0).collect();
    for rt in backends() {
        for from in 0..5 {
            let mut y = vec![0.0f32; 132];
            let part = from..from + 128;
            rt.launch(from_the_third_on(&x[part.clone()], &mut y[part.clone()], 126)).expect("it runs");
            let wanted = |i: usize| if part.contains(&i) && i >= from + 2 { x[i] } else { 0.0 };
            assert!((0..132).all(|i| y[i] == wanted(i)), "from {from} on {}: {y:?}", rt.name());
        }
    }
}

#[test]
fn a_mask_may_end_inside_a_vector() {
    parts_of::<f32>();
    parts_of::<u8>();
}

/// A matrix that is copied, by strides of which any may be 1, or none.
#[tile_kernel(tune(warps = [2]), grid = [1])]
unsafe fn by_strides(
    x: *const f32,
    y: *mut f32,
    m: usize,
    n: usize,
    x_rows: usize,
    x_columns: usize,
    y_rows: usize,
    y_columns: usize,
) {
    let (i, j) = (arange(16).expand(1), arange(32).expand(0));
    let inside = (i < m) & (j < n);
    let v = load(x.add(i * x_rows + j * x_columns)).mask(inside);
    store(y.add(i * y_rows + j * y_columns), v).mask(inside);
}

#[tile_kernel(tune(warps = [2]), grid = [1])]
fn of_views(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    y.store([0, 0], x.tile([0, 0], [16, 32]));
}

#[test]
fn a_last_stride_need_not_be_one() {
    let x: Vec<f32> = (0..8192).map(|i| i as f32).collect();
    for rt in backends() {
        for [m, n] in [[16usize, 32usize], [13, 30]] {
            for from in [[64, 1], [64, 2], [8, 128], [128, 8], [8, 16], [16, 8], [1, 16], [1, 1]] {
                for to in [[256, 8], [8, 128], [16, 256], [32, 1], [1, 16], [64, 2], [512, 16]] {
                    let mut wanted = vec![-1.0f32; 8192];
                    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                        wanted[i * to[0] + j * to[1]] = x[i * from[0] + j * from[1]];
                    }
                    let what = format!("{m}x{n} by {from:?} to {to:?} on {}", rt.name());
                    let mut y = vec![-1.0f32; 8192];
                    let ([a, b], [c, d]) = (from, to);
                    // SAFETY: the last elements are at 15 * 512 + 31 * 16, which is less than 8192.
                    let call = unsafe { by_strides(x.as_ptr(), y.as_mut_ptr(), m, n, a, b, c, d) };
                    rt.launch(call).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(y == wanted, "{what}");
                    let mut y = vec![-1.0f32; 8192];
                    let dims = [m, n];
                    let call = of_views(
                        x.as_slice().as_slice_arg().strided(dims, from).expect("fits"),
                        y.as_mut_slice().as_slice_mut_arg().strided(dims, to).expect("fits"),
                    );
                    rt.launch(call).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(y == wanted, "views, {what}");
                }
            }
        }
    }
}

/// Quotients and remainders of numbers below zero, which change direction there: numbers that count up are no longer in
/// step with vectors.
#[tile_kernel(tune(warps = [1]), grid = [1])]
fn below_zero(x: &[f32], y: &mut [f32], z: &mut [f32], from: i32, by: i32) {
    let lane = arange(64).to::<i32>();
    let i = lane - 64;
    store(y, arange(64), load(x, i % 32 + 32));
    store(y, 64 + arange(64), load(x, lane + (i / 8 + 8) * 8));
    let k = lane + from;
    store(y, 128 + arange(64), load(x, k % 16 + 16));
    store(y, 192 + arange(64), load(x, lane + (k / 4 + 32) * 4));
    store(y, 256 + arange(64), load(x, k % by + 32));
    store(z, i % 64 + 63, load(x, arange(64)));
}

#[test]
fn indices_below_zero_are_divided_towards_it() {
    let x: Vec<f32> = (0..512).map(|i| i as f32).collect();
    for rt in backends() {
        for (from, by) in [(-64, 16), (-64, 32), (-32, 8), (-36, 16), (-61, 5), (16, 16)] {
            let (mut y, mut z) = (vec![-1.0f32; 320], vec![-1.0f32; 64]);
            rt.launch(below_zero(&x, &mut y, &mut z, from, by)).expect("it runs");
            let at = |f: &dyn Fn(i32) -> i32| (0..64).map(|lane| x[f(lane) as usize]).collect::<Vec<f32>>();
            let wanted = [
                at(&|l| (l - 64) % 32 + 32),
                at(&|l| l + ((l - 64) / 8 + 8) * 8),
                at(&|l| (l + from) % 16 + 16),
                at(&|l| l + ((l + from) / 4 + 32) * 4),
                at(&|l| (l + from) % by + 32),
            ];
            for (part, wanted) in wanted.iter().enumerate() {
                assert_eq!(&y[64 * part..][..64], wanted, "part {part} from {from} by {by} on {}", rt.name());
            }
            let mut last = vec![-1.0f32; 64];
            (0..64i32).for_each(|l| last[((l - 64) % 64 + 63) as usize] = x[l as usize]);
            assert_eq!(z, last, "{}", rt.name());
        }
    }
}

/// Indices that begin beside a vector: by constants, by arguments and by the step of a loop; up and down.
#[tile_kernel(types(T = [f32, u8]), tune(warps = [1]), grid = [1])]
fn beside<T: Num>(x: &[T], y: &mut [T], n: usize, step: usize) {
    let i = arange(64);
    store(y, i, load(x, i + 1));
    store(y, 64 + i, load(x, i + n));
    store(y, 128 + i, load(x, 66 - i));
    store(y, 192 + i, load(x, 64 + n - i));
    store(y, 256 + i, load(x, i + 2 * n + 6));
    store(y, 321 + i, load(x, i ^ 1));
    store(y, 470 + i, load(x, 67 - i)).mask(i < 40);
    let (mut at, mut sums) = (i, zeros::<T>([64]));
    for k in range(0, 3, 1) {
        sums += load(x, at) + load(x, i + k * step);
        at += step;
    }
    store(y, 400 + i, sums);
}

fn beside_of<T: Number + std::ops::Add<Output = T>>()
where
    (T,): beside::Types,
{
    let x: Vec<T> = (0..512).map(|i| T::of((i % 37) as f64)).collect();
    for rt in backends() {
        for (n, step) in [(0usize, 0usize), (1, 4), (2, 2), (4, 16), (8, 1), (16, 3), (17, 32), (32, 8)] {
            let mut y = vec![T::of(0.0); 512];
            rt.launch(beside::<T>(&x, &mut y, n, step)).unwrap_or_else(|e| panic!("{n} {step}: {e}"));
            let mut wanted = vec![T::of(0.0); 512];
            for i in 0..64 {
                wanted[i] = x[i + 1];
                wanted[64 + i] = x[i + n];
                wanted[128 + i] = x[66 - i];
                wanted[192 + i] = x[64 + n - i];
                wanted[256 + i] = x[i + 2 * n + 6];
                wanted[321 + i] = x[i ^ 1];
                if i < 40 {
                    wanted[470 + i] = x[67 - i];
                }
                wanted[400 + i] = (0..3).map(|k| x[i + k * step] + x[i + k * step]).fold(T::of(0.0), |a, b| a + b);
            }
            assert_eq!(y, wanted, "{n} {step} on {}", rt.name());
        }
    }
}

#[test]
fn vectors_begin_at_their_multiples_alone() {
    beside_of::<f32>();
    beside_of::<u8>();
}

/// The next iteration loads an iteration's stores by other threads. WAY: 0 the same index for the load and the store,
/// which moves on; 1 a store at the end, a load at the beginning, and iterations that are cut short; 2 loops in a loop.
#[tile_kernel(tune(WAY = [0, 1, 2], warps = [4]), grid = [1], emulate = all)]
fn carried<const WAY: usize>(y: &mut [i32], n: usize) {
    let lane = arange(256);
    if WAY == 0 {
        for i in 0..n {
            let at = (lane + i * 33) % 256;
            store(y, at, load(y, at) * 3 + lane.to::<i32>());
        }
    } else if WAY == 1 {
        let mut i = 0;
        loop {
            let v = load(y, (lane + i) % 256);
            if i >= n {
                break;
            }
            i += 1;
            if i % 3 == 0 {
                continue;
            }
            store(y, (lane + 100) % 256, v * 5 + 1);
        }
    } else {
        for i in 0..n {
            for j in 0..2 {
                let at = (lane + j * 64 + i) % 256;
                store(y, at, load(y, at) * 3 - lane.to::<i32>());
            }
        }
    }
}

#[test]
fn an_iteration_sees_what_the_one_before_has_stored() {
    for config in carried::DESCS[0].configs {
        for n in [0usize, 1, 2, 7] {
            let run = |rt: &Runtime| {
                let mut y: Vec<i32> = (0..256).collect();
                let options = tilewright_language_tests::run::with(config.id);
                rt.launch_with(rt.stream(), carried(&mut y, n), &options)
                    .unwrap_or_else(|e| panic!("{} {n}: {e}", config.id));
                y
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| assert_eq!(run(rt), wanted, "{} {n}", config.id));
        }
    }
}

/// A mask leaves out whole descending vectors, all of a thread or some: loads have `other` instead, and stores write
/// nothing.
#[tile_kernel(types(T = [f32, u8]), tune(warps = [1]), grid = [1])]
fn descending_under_a_mask<T: Num>(x: &[T], y: &mut [T], z: &mut [T], n: usize) {
    let i = arange(1024);
    store(y, i, load(x, 1023 - i).mask(i < n).other(load(x, 1024 + i)));
    store(z, 1023 - i, load(x, i)).mask(i < n);
}

fn descending_of<T: Number>()
where
    (T,): descending_under_a_mask::Types,
{
    let x: Vec<T> = (0..2048).map(|i| T::of(f64::from(i % 100 + 1))).collect();
    for rt in backends() {
        for n in [0usize, 4, 5, 64, 66, 124, 528, 1000, 1024] {
            let (mut y, mut z) = (vec![T::of(0.0); 1024], vec![T::of(0.0); 1024]);
            rt.launch(descending_under_a_mask::<T>(&x, &mut y, &mut z, n)).expect("it runs");
            for i in 0..1024 {
                assert_eq!(y[i], if i < n { x[1023 - i] } else { x[1024 + i] }, "{i} of {n} on {}", rt.name());
                assert_eq!(z[1023 - i], if i < n { x[i] } else { T::of(0.0) }, "{i} of {n} on {}", rt.name());
            }
        }
    }
}

#[test]
fn vectors_descend_under_masks() {
    descending_of::<f32>();
    descending_of::<u8>();
}

/// Indices that begin at a number with a sign: before the first element, or behind it.
#[tile_kernel(tune(warps = [1, 2]), grid = [1], emulate = all)]
fn from_a_signed_number(x: &[f32], y: &mut [f32], from: i32, n: usize) {
    let i = from as usize + arange(128);
    store(y, arange(128), load(x, i).mask(i < n).other(-1.0));
    store(y, 128 + arange(128), load(x, i));
}

#[test]
fn indices_may_begin_below_zero() {
    let x: Vec<f32> = (0..128).map(|i| i as f32 + 1.0).collect();
    for config in from_a_signed_number::DESCS[0].configs {
        for rt in backends() {
            for (from, n) in [(-2, 128), (-4, 100), (-70, 128), (-128, 128), (0, 77), (5, 128), (100, 120)] {
                let mut y = vec![0.0f32; 256];
                let options = tilewright_language_tests::run::with(config.id);
                rt.launch_with(rt.stream(), from_a_signed_number(&x, &mut y, from, n as usize), &options)
                    .unwrap_or_else(|e| panic!("{} {from}: {e}", config.id));
                for (k, found) in y.iter().enumerate() {
                    let (i, first) = (from + k as i32 % 128, k < 128);
                    let (end, other) = if first { (n, -1.0) } else { (128, 0.0) };
                    let wanted = if (0..end).contains(&i) { x[i as usize] } else { other };
                    assert_eq!(*found, wanted, "{}: element {k} from {from} on {}", config.id, rt.name());
                }
            }
        }
    }
}

/// Indices that are shifted: every second element, and vectors that begin at every fourth.
#[tile_kernel(types(T = [f32, u8]), tune(warps = [1]), grid = [1])]
fn shifted<T: Num>(x: &[T], y: &mut [T], n: usize) {
    let i = arange(64);
    store(y, i, load(x, i << 1));
    store(y, 64 + i, load(x, (n << 2) + i));
    store(y, 128 + i, load(x, (i << 3) + n));
}

fn shifted_of<T: Number>()
where
    (T,): shifted::Types,
{
    let x: Vec<T> = (0..600).map(|i| T::of(f64::from(i % 101))).collect();
    for rt in backends() {
        for n in [0usize, 1, 2, 4, 5, 16, 32] {
            let mut y = vec![T::of(0.0); 192];
            rt.launch(shifted::<T>(&x, &mut y, n)).unwrap_or_else(|e| panic!("{n}: {e}"));
            let at = |k: usize| [2 * (k % 64), 4 * n + k % 64, 8 * (k % 64) + n][k / 64];
            assert!((0..192).all(|k| y[k] == x[at(k)]), "{n} on {}: {y:?}", rt.name());
        }
    }
}

#[test]
fn shifted_indices_are_no_runs() {
    shifted_of::<f32>();
    shifted_of::<u8>();
}

/// Indices of few bits, which wrap around to earlier elements.
#[tile_kernel(types(T = [u8, u16]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn wrapping<T: Int>(x: &[f32], y: &mut [f32], z: &mut [f32], n: usize) {
    let i = arange(512);
    store(y, i, load(x, i.to::<T>()));
    store(y, 512 + i, load(x, (i + n).to::<T>()).mask(i < 400).other(-1.0));
    let half = arange(128);
    store(z, (half + n).to::<T>(), load(x, half));
}

#[test]
fn indices_of_few_bits_wrap_around() {
    macro_rules! check { ($($t:ident)+) => { $(
        let desc = wrapping::DESCS.iter().find(|d| d.types == stringify!($t)).expect("it is built");
        // As long as the greatest index says.
        let x: Vec<f32> = (0..=$t::MAX).map(|i| f32::from(i) + 1.0).collect();
        for config in desc.configs {
            for rt in backends() {
                for n in [0usize, 4, 200, 250, 65_500] {
                    let (mut y, mut z) = (vec![0.0f32; 1024], vec![0.0f32; x.len()]);
                    let options = tilewright_language_tests::run::with(config.id);
                    rt.launch_with(rt.stream(), wrapping::<$t>(&x, &mut y, &mut z, n), &options)
                        .unwrap_or_else(|e| panic!("{} {n}: {e}", config.id));
                    for i in 0..512 {
                        assert_eq!(y[i], x[i as $t as usize], "{i} on {}", rt.name());
                        let masked = if i < 400 { x[(i + n) as $t as usize] } else { -1.0 };
                        assert_eq!(y[512 + i], masked, "{i} from {n} on {}", rt.name());
                    }
                    let mut wanted = vec![0.0; x.len()];
                    (0..128).for_each(|i| wanted[(i + n) as $t as usize] = x[i]);
                    assert_eq!(z, wanted, "from {n} on {}", rt.name());
                }
            }
        }
    )+ } }
    check!(u8 u16);
}

/// Up to a number and with it, which may be the greatest one.
#[tile_kernel(tune(warps = [1, 2]), grid = [1], emulate = all)]
fn up_to_and_with(x: &[f32], y: &mut [f32], n: usize) {
    let i = arange(128);
    store(y, i, load(x, i)).mask(i <= n);
    store(y, 128 + i, load(x, i).mask(i <= n).other(-1.0));
}

#[test]
fn the_greatest_number_limits_nothing() {
    let x: Vec<f32> = (0..128).map(|i| i as f32 + 1.0).collect();
    for config in up_to_and_with::DESCS[0].configs {
        for rt in backends() {
            for n in [0, 5, 126, 127, 200, u64::MAX - 1, u64::MAX] {
                let mut y = vec![0.0f32; 256];
                let options = tilewright_language_tests::run::with(config.id);
                rt.launch_with(rt.stream(), up_to_and_with(&x, &mut y, n), &options)
                    .unwrap_or_else(|e| panic!("{} {n}: {e}", config.id));
                for i in 0..128 {
                    let there = i as u64 <= n;
                    assert_eq!(y[i], if there { x[i] } else { 0.0 }, "{}: {i} to {n} on {}", config.id, rt.name());
                    assert_eq!(
                        y[128 + i],
                        if there { x[i] } else { -1.0 },
                        "{}: {i} to {n} on {}",
                        config.id,
                        rt.name()
                    );
                }
            }
        }
    }
}

/// Jumps past a barrier. WAY: 0 the next iteration loads the stores of this one before a `continue`; 1 code behind the
/// loop loads the stores of its last iteration, and there is another way out, which has a barrier.
#[tile_kernel(tune(WAY = [0, 1], warps = [4]), grid = [1], emulate = all)]
fn jumped_over<const WAY: usize>(x: &[i32], y: &mut [i32], z: &mut [i32], n: usize) {
    let lane = arange(256);
    if WAY == 0 {
        let mut total = 0;
        for k in 0..n {
            let v = load(y, (lane + 33) % 256);
            store(y, lane, v * 3 + 1);
            if k % 2 == 0 {
                continue;
            }
            total += sum(load(x, lane));
        }
        store(z, 0, total);
    } else {
        for k in 0..n {
            if sum(load(x, lane)) > 1000 {
                break;
            }
            store(y, lane, load(x, lane) + k.to::<i32>());
        }
        store(z, lane, load(y, 255 - lane));
    }
}

#[test]
fn what_is_stored_before_a_jump_is_seen_behind_it() {
    let x: Vec<i32> = (0..256).map(|i| i % 3).collect();
    for config in jumped_over::DESCS[0].configs {
        for n in [0usize, 1, 2, 3, 7] {
            let run = |rt: &Runtime| {
                let (mut y, mut z) = ((0..256).collect::<Vec<i32>>(), vec![-1i32; 256]);
                let options = tilewright_language_tests::run::with(config.id);
                rt.launch_with(rt.stream(), jumped_over(&x, &mut y, &mut z, n), &options)
                    .unwrap_or_else(|e| panic!("{} {n}: {e}", config.id));
                (y, z)
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| assert_eq!(run(rt), wanted, "{} {n}", config.id));
        }
    }
}

/// Numbers of 8 bits that begin one before they wrap around: the indices plus one begin at a multiple of 256, but does
/// not go on from there.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn wrapping_inside(x: &[f32], y: &mut [f32]) {
    let i = arange(512);
    store(y, i, load(x, (i + 255).to::<u8>().to::<usize>() + 1));
}

#[test]
fn a_run_of_few_bits_ends_where_it_wraps() {
    let x: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let wanted: Vec<f32> = (0..512).map(|i| x[(i + 255) % 256 + 1]).collect();
    for config in wrapping_inside::DESCS[0].configs {
        for rt in backends() {
            let mut y = vec![-1.0f32; 512];
            let options = tilewright_language_tests::run::with(config.id);
            rt.launch_with(rt.stream(), wrapping_inside(&x, &mut y), &options)
                .unwrap_or_else(|e| panic!("{}: {e}", config.id));
            assert_eq!(y, wanted, "{} on {}", config.id, rt.name());
        }
    }
}

/// Each element has a limit of its own, which is a multiple of 16.
#[tile_kernel(tune(warps = [1]), grid = [1], emulate = all)]
unsafe fn limits_of_elements(x: *const f32, y: *mut f32, z: *mut f32) {
    let i = arange(128);
    store(y.add(i), load(x.add(i)).mask(i < i / 5 * 16).other(-1.0));
    store(z.add(i), load(x.add(i))).mask(i < i / 5 * 16);
}

#[test]
fn limits_of_elements_divide_vectors() {
    let x: Vec<f32> = (0..128).map(|i| i as f32 + 1.0).collect();
    for rt in backends() {
        let (mut y, mut z) = (vec![0.0f32; 128], vec![-1.0f32; 128]);
        // SAFETY: all have 128 elements.
        let call = unsafe { limits_of_elements(x.as_ptr(), y.as_mut_ptr(), z.as_mut_ptr()) };
        rt.launch(call).expect("it runs");
        let wanted: Vec<f32> = (0..128).map(|i| if i < i / 5 * 16 { x[i] } else { -1.0 }).collect();
        assert_eq!((&y, &z), (&wanted, &wanted), "on {}", rt.name());
    }
}

/// Rows, of which the first one may begin before the first element.
#[tile_kernel(tune(warps = [1, 2]), grid = [1], emulate = all)]
fn rows_from_a_signed_number(x: &[f32], y: &mut [f32], z: &mut [f32], from: i32) {
    let at = arange(4).expand(1) * 16 + arange(16).expand(0);
    store(y, at, load(x, from as usize + at).other(-1.0));
    store(z, from as usize + at, load(x, at));
}

#[test]
fn rows_may_begin_below_zero() {
    let x: Vec<f32> = (0..64).map(|i| i as f32 + 1.0).collect();
    for config in rows_from_a_signed_number::DESCS[0].configs {
        for rt in backends() {
            for from in [-40i32, -16, -3, 0, 5, 60] {
                let (mut y, mut z) = (vec![0.0f32; 64], vec![-1.0f32; 64]);
                let options = tilewright_language_tests::run::with(config.id);
                rt.launch_with(rt.stream(), rows_from_a_signed_number(&x, &mut y, &mut z, from), &options)
                    .unwrap_or_else(|e| panic!("{} {from}: {e}", config.id));
                for k in 0..64i32 {
                    let of = |i: i32| if (0..64).contains(&i) { x[i as usize] } else { -1.0 };
                    let what = format!("{}: element {k} from {from} on {}", config.id, rt.name());
                    assert_eq!(y[k as usize], of(k + from), "{what}");
                    assert_eq!(z[k as usize], of(k - from), "{what}, stored");
                }
            }
        }
    }
}
