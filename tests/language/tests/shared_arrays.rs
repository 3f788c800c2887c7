//! Arrays in the shared memory of a program: any index, barriers where they are needed, zeros where they begin.

use tilewright::{tile_kernel, tile_module};
use tilewright_language_tests::everywhere::{Number, everywhere, same};
use tilewright_language_tests::run::{backends, compared, with};

/// Elements take other places; those outside of the array are dropped, and loaded as `other`.
#[tile_kernel(types(T = [f32, f16, u8, i64]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn scattered<T: Num>(x: &[T], to: &[i32], from: &[i32], y: &mut [T], z: &mut [T]) {
    let i = arange(256);
    let mut s = shared_array::<T>(200);
    store(s, load(to, i), load(x, i));
    store(y, i, load(s, load(from, i)).mask(i < 250).other(load(x, 0)));
    // In vectors, up to the end.
    store(z, i, load(s, i));
}

macro_rules! scattered {
    ($($name:ident: $t:ty, $of:expr;)+) => { $(
        #[test]
        fn $name() {
            let of = $of;
            let x: Vec<$t> = (0..256).map(|i| of(i + 1)).collect();
            let (mut to, mut from) = (vec![0i32; 256], vec![0i32; 256]);
            for i in 0..256 {
                to[i] = (i as i32 * 37 + 5) % 256 - 20;
                from[i] = (i as i32 * 91 + 3) % 256 - 9;
            }
            let mut s = vec![of(0); 200];
            for i in 0..256 {
                if (0..200).contains(&to[i]) {
                    s[to[i] as usize] = x[i];
                }
            }
            let at = |i: i32| (0..200).contains(&i).then(|| s[i as usize]);
            let wanted: Vec<$t> = (0..256).map(|i| at(from[i]).filter(|_| i < 250).unwrap_or(x[0])).collect();
            for config in scattered::DESCS[0].configs {
                for rt in backends() {
                    let (mut y, mut z) = (vec![of(9); 256], vec![of(9); 256]);
                    let call = scattered(&x, &to, &from, &mut y, &mut z);
                    rt.launch_with(rt.stream(), call, &with(config.id)).expect("it runs");
                    assert_eq!(y, wanted, "{}", config.id);
                    assert_eq!((&z[..200], &z[200..]), (&s[..], &[of(0); 56][..]), "{}", config.id);
                }
            }
        }
    )+ };
}

scattered! {
    floats: f32, |i| i as f32;
    halves: tilewright::f16, |i| tilewright::f16::from_f32(i as f32);
    bytes: u8, |i: i32| i as u8;
    longs: i64, |i| i as i64 * 0x1_0000_0001;
}

#[tile_module]
mod kernels {
    /// Adds up in bins that a helper is handed.
    fn count<T>(bins: &mut [T], x: Tile<i32>) {
        atomic_add(bins, x, 1);
    }

    /// A histogram for each block of a row: the bins are zeros in each iteration.
    #[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
    pub fn histograms(x: &[i32], y: &mut [i32]) {
        for block in range(0, x.len() / 512, 1) {
            let mut bins = shared_array::<i32>(100);
            for part in range(0, 2, 1) {
                count(bins, load(x, block * 512 + part * 256 + arange(256)));
            }
            store(y, block * 128 + arange(128), load(bins, arange(128)).mask(arange(128) < bins.len()));
        }
    }

    /// A stencil with its halo, of rows that stay in shared memory for several steps.
    #[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
    pub fn stencil(x: &[f32], y: &mut [f32], steps: u32) {
        let i = arange(128);
        let mut a = shared_array::<f32>(130);
        let mut b = shared_array::<f32>(130);
        store(a, i + 1, load(x, i));
        for _ in range(0u32, steps, 1) {
            store(b, i + 1, load(a, i) + load(a, i + 1) + load(a, i + 2));
            store(a, i + 1, load(b, i + 1) * 0.5);
        }
        store(y, i, load(a, i + 1));
    }

    /// Every atomic, of tiles with several elements a bin and of scalars.
    #[tile_kernel(types(T = [i32, u64, f32]), tune(warps = [1, 4]), grid = [1], emulate = all)]
    pub fn atomics<T: Num>(x: &[T], y: &mut [T]) {
        let i = arange(256);
        let mut s = shared_array::<T>(64);
        let v = load(x, i);
        atomic_add(s, i % 8, v);
        atomic_max(s, 8 + i % 8, v);
        atomic_min(s, 16 + i % 8, v);
        atomic_add(s, 24 + i % 8, v).mask(i < 100);
        let old = atomic_xchg(s, 32, load(x, 3));
        let older = atomic_add(s, 32, load(x, 4));
        store(s, 33, old);
        store(s, 34, older);
        // The first to come takes the place.
        let before = atomic_cas(s, 40 + i % 4, (i * 0).to::<T>(), (1 + i % 4).to::<T>());
        atomic_add(s, 44 + i % 4, (before == (i * 0).to::<T>()).to::<T>());
        atomic_store(s, 50, load(x, 5));
        store(s, 51, atomic_load(s, 50));
        let j = arange(64);
        store(y, j, load(s, j));
    }
}

fn numbers(n: usize, below: u64) -> Vec<i32> {
    (0..n as u64).map(|i| ((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % below).map(|n| n as i32).collect()
}

#[test]
fn an_array_is_zero_where_it_begins() {
    let x: Vec<i32> = numbers(4 * 512, 120).into_iter().map(|n| n - 10).collect();
    let mut wanted = vec![0i32; 4 * 128];
    for (block, x) in x.chunks(512).enumerate() {
        x.iter().filter(|&&n| (0..100).contains(&n)).for_each(|&n| wanted[block * 128 + n as usize] += 1);
    }
    for config in kernels::histograms::DESCS[0].configs {
        for rt in backends() {
            let mut y = vec![7i32; 4 * 128];
            rt.launch_with(rt.stream(), kernels::histograms(&x, &mut y), &with(config.id)).expect("it runs");
            assert_eq!(y, wanted, "{}", config.id);
        }
    }
}

#[test]
fn stores_are_seen_by_later_loads_of_all_threads() {
    let x: Vec<f32> = numbers(128, 1000).into_iter().map(|n| n as f32).collect();
    let mut wanted = x.clone();
    for _ in 0..5 {
        let at = |i: usize| if (1..=128).contains(&i) { wanted[i - 1] } else { 0.0 };
        wanted = (0..128).map(|i| (at(i) + at(i + 1) + at(i + 2)) * 0.5).collect();
    }
    for config in kernels::stencil::DESCS[0].configs {
        for rt in backends() {
            let mut y = vec![0.0; 128];
            rt.launch_with(rt.stream(), kernels::stencil(&x, &mut y, 5), &with(config.id)).expect("it runs");
            assert_eq!(y, wanted, "{}", config.id);
        }
    }
}

macro_rules! atomics {
    ($($name:ident: $t:ty;)+) => { $(
        #[test]
        fn $name() {
            let x: Vec<$t> = numbers(256, 1000).into_iter().map(|n| n as $t + 1 as $t).collect();
            let mut s = vec![0 as $t; 64];
            for (i, &v) in x.iter().enumerate() {
                s[i % 8] += v;
                s[8 + i % 8] = if v > s[8 + i % 8] { v } else { s[8 + i % 8] };
                if i < 100 {
                    s[24 + i % 8] += v;
                }
            }
            s[32] = x[3] + x[4];
            s[34] = x[3];
            (0..4).for_each(|i| (s[40 + i], s[44 + i]) = (i as $t + 1 as $t, 1 as $t));
            (s[50], s[51]) = (x[5], x[5]);
            for config in kernels::atomics::DESCS[0].configs {
                compared(
                    config.id,
                    |rt| {
                        let mut y = vec![9 as $t; 64];
                        let call = kernels::atomics(&x, &mut y);
                        rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| y)
                    },
                    |what, got, wanted| {
                        assert_eq!(got, wanted, "{what}");
                        assert_eq!(*got, s, "{what}");
                    },
                );
            }
        }
    )+ };
}

atomics! {
    atomics_of_integers: i32;
    atomics_of_double_words: u64;
    atomics_of_floats: f32;
}

/// A part of a vector lies past the end of an array, or a mask leaves it out. Another array follows.
#[tile_kernel(types(T = [f32, f16, u8]), tune(warps = [1, 2]), grid = [1], emulate = all)]
fn parts_of_vectors<T: Num>(x: &[T], y: &mut [T], stored: usize, loaded: usize) {
    let i = arange(256);
    let mut s = shared_array::<T>(199);
    let mut t = shared_array::<T>(256);
    store(t, i, load(x, 256 + i));
    store(s, i, load(x, i)).mask(i < stored);
    store(y, i, load(s, i));
    store(y, 256 + i, load(s, i).mask(i < loaded));
    store(y, 512 + i, load(t, i));
}

fn parts_of<T: Number>()
where
    (T,): parts_of_vectors::Types,
{
    let x: Vec<T> = (0..512).map(|i| T::of(f64::from(i % 100 + 1))).collect();
    for (stored, loaded) in [(0usize, 9usize), (150, 101), (197, 198), (256, 256), (201, 3)] {
        let up_to = |n: usize| (0..256).map(move |i| i < n.min(stored).min(199));
        let held = |n: usize| up_to(n).zip(&x).map(|(is_held, &x)| if is_held { x } else { T::of(0.0) });
        let wanted: Vec<T> = held(256).chain(held(loaded)).chain(x[256..].iter().copied()).collect();
        everywhere(
            <(T,) as parts_of_vectors::Types>::DESC,
            |rt, options| {
                let mut y = vec![T::of(101.0); 768];
                let call = parts_of_vectors::<T>(&x, &mut y, stored, loaded);
                rt.launch_with(rt.stream(), call, options).map(|()| y)
            },
            |y, title| same(&y, &wanted, &format!("{title}, {stored} stored, {loaded} loaded")),
        );
    }
}

#[test]
fn arrays_and_masks_may_end_inside_a_vector() {
    parts_of::<f32>();
    parts_of::<tilewright::f16>();
    parts_of::<u8>();
}

/// Single elements: masks, their `other`, and places behind the end of an array.
#[tile_kernel(types(T = [f32, u8]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn single_elements<T: Num>(x: &[T], y: &mut [T], count: &mut [u32], seen: bool, behind: usize, other: T) {
    let mut s = shared_array::<T>(8);
    store(s, 0, load(x, 0));
    store(s, 1, load(x, 1)).mask(seen);
    store(s, behind, load(x, 2));
    store(y, 0, load(s, 0).mask(seen).other(other));
    store(y, 1, load(s, 1));
    store(y, 2, load(s, behind).other(other));
    store(y, 3, load(x, 3).mask(seen).other(other));
    store(y, 4, load(x, 4)).mask(seen);
    store(y, 5, load(x, behind).other(other));
    store(y, behind, load(x, 5));
    atomic_add(count, 0, 1).mask(seen);
}

fn single_of<T: Number>()
where
    (T,): single_elements::Types,
{
    let x: Vec<T> = (0..8).map(|i| T::of(f64::from(i + 1))).collect();
    let [other, before, zero] = [77.0, 9.0, 0.0].map(T::of);
    for seen in [false, true] {
        let either = |i: usize, masked: T| if seen { x[i] } else { masked };
        let wanted =
            [either(0, other), either(1, zero), other, either(3, other), either(4, before), other, before, before];
        everywhere(
            <(T,) as single_elements::Types>::DESC,
            |rt, options| {
                let (mut y, mut count) = (vec![before; 8], vec![3u32]);
                let call = single_elements::<T>(&x, &mut y, &mut count, seen, 8, other);
                rt.launch_with(rt.stream(), call, options).map(|()| (y, count))
            },
            |(y, count), title| {
                same(&y, &wanted, &format!("{title}, {seen}"));
                assert_eq!(count, [3 + u32::from(seen)], "{title}");
            },
        );
    }
}

#[test]
fn masks_and_ends_of_single_elements() {
    single_of::<f32>();
    single_of::<u8>();
}

/// Elements of a tile that share a place with elements of other threads.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn shared_places(place: &[i32], y: &mut [i32], z: &mut [i32]) {
    let i = arange(512);
    let place = load(place, i);
    let mut counts = shared_array::<i32>(64);
    atomic_add(counts, place, 1);
    store(y, i, load(counts, place));
    // One element of each place is stored, and all load it.
    let mut s = shared_array::<i32>(64);
    store(s, place, i.to::<i32>()).mask(i < 64);
    store(y, 512 + i, load(s, place));
    // All have loaded the elements that one of them then overwrites.
    let before = load(z, place);
    store(z, place, before + 1).mask(i < 64);
    store(y, 1024 + i, before);
}

#[test]
fn places_that_threads_share() {
    let place: Vec<i32> = (0..512).map(|i| i % 64).collect();
    let wanted: Vec<i32> = [8; 512].into_iter().chain(place.clone()).chain(place.iter().map(|p| 10 * p)).collect();
    everywhere(
        shared_places::DESCS[0],
        |rt, options| {
            let (mut y, mut z) = (vec![-1; 1536], (0..64).map(|i| 10 * i).collect::<Vec<i32>>());
            rt.launch_with(rt.stream(), shared_places(&place, &mut y, &mut z), options).map(|()| (y, z))
        },
        |(y, z), title| {
            same(&y, &wanted, title);
            assert!(z.iter().enumerate().all(|(i, &z)| z == 10 * i as i32 + 1), "{title}: {z:?}");
        },
    );
}
