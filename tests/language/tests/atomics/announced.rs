//! An atomic of a program announces all its earlier stores to the others, unless the atomic is relaxed.

use tilewright::tile_kernel;
use tilewright::{Buffer, Runtime};
use tilewright_core::{AsSliceMut, f16};
use tilewright_language_tests::matrix::{Matrix, near};
use tilewright_language_tests::run::{seeds, with};
use tilewright_language_tests::view;

/// Four programs leave 64 elements each; the last to say so adds them up. OP: 0 to 3 one place, by addition, `or`,
/// `and` and a loop of compare-and-swap; 4 a place for each of 64 elements.
#[tile_kernel(tune(OP = [0, 1, 2, 3, 4], RELAXED = [0, 1], warps = [2]), grid = [4], emulate = all)]
fn announced<const OP: usize, const RELAXED: usize>(data: &mut [u32], flags: &mut [u32], sums: &mut [u32]) {
    let (p, i) = (program_id(0), arange(64));
    let bit = 1u32 << p.to::<u32>();
    store(data, p * 64 + i, load(data, p * 64 + i) + 1);
    let mut last = false;
    if OP == 0 {
        let old = if RELAXED == 1 { atomic_add(flags, 0, 1).relaxed() } else { atomic_add(flags, 0, 1) };
        last = old == 3;
    } else if OP == 1 {
        let old = if RELAXED == 1 { atomic_or(flags, 0, bit).relaxed() } else { atomic_or(flags, 0, bit) };
        last = (old | bit) == 15;
    } else if OP == 2 {
        let old = if RELAXED == 1 { atomic_and(flags, 1, !bit).relaxed() } else { atomic_and(flags, 1, !bit) };
        last = (old & !bit) == 0;
    } else if OP == 3 {
        let (mut seen, mut done) = (0u32, false);
        while !done {
            let old = if RELAXED == 1 {
                atomic_cas(flags, 0, seen, seen + 1).relaxed()
            } else {
                atomic_cas(flags, 0, seen, seen + 1)
            };
            done = old == seen;
            last = done && seen == 3;
            seen = old;
        }
    } else {
        let old = if RELAXED == 1 { atomic_add(flags, i, 1).relaxed() } else { atomic_add(flags, i, 1) };
        last = min(old) == 3;
    }
    if last {
        store(sums, i, load(data, i) + load(data, 64 + i) + load(data, 128 + i) + load(data, 192 + i));
    }
}

#[test]
fn only_what_is_not_relaxed_tells_what_was_stored() {
    for config in announced::DESCS[0].configs {
        let run = |rt: &Runtime| {
            let data: Vec<u32> = (0..256).map(|i| i * i).collect();
            let (mut changed, mut flags, mut sums) = (data.clone(), vec![0u32; 64], vec![0u32; 64]);
            flags[1] = if config.consts.contains(&("OP", 2)) { 15 } else { 0 };
            let call = announced(&mut changed, &mut flags, &mut sums);
            rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| {
                let of = |i: usize| (0..4).map(|p| data[p * 64 + i] + 1).sum::<u32>();
                assert_eq!(sums, (0..64).map(of).collect::<Vec<_>>(), "{}", config.id);
            })
        };
        if config.consts.contains(&("RELAXED", 0)) {
            // Of 64 places each may have another last program where programs run at the same time.
            let cpu = Some(Runtime::cpu()).filter(|_| !config.consts.contains(&("OP", 4)));
            seeds().into_iter().chain(cpu).for_each(|rt| run(&rt).unwrap_or_else(|e| panic!("{}: {e}", config.id)));
        } else {
            for rt in seeds() {
                let error = run(&rt).expect_err("nothing orders what is stored").to_string();
                assert!(
                    error.contains("data race in global memory") && error.contains("`data["),
                    "{}: {error}",
                    config.id
                );
            }
        }
    }
}

/// One lane learns from an atomic that all programs have stored. It tells the others by a shuffle, which orders
/// nothing.
/// The other lanes change words of their own.
#[tile_kernel(tune(warps = [1]), grid = [4])]
fn acquired_by_a_lane(data: &mut [u32], flags: &mut [u32], sums: &mut [u32]) {
    let (p, i) = (program_id(0), arange(32));
    store(data, p * 32 + i, load(data, p * 32 + i) + 1);
    let old = atomic_add(flags, where_(i == 0, 0, 1 + p * 32 + i), 1);
    if sum(where_(i == 0, old, 0)) == 3 {
        store(sums, i, load(data, i) + load(data, 32 + i) + load(data, 64 + i) + load(data, 96 + i));
    }
}

#[test]
fn all_lanes_see_what_one_has_acquired() {
    for rt in seeds().into_iter().chain([Runtime::cpu()]) {
        let data: Vec<u32> = (0..128).map(|i| i * i).collect();
        let (mut changed, mut flags, mut sums) = (data.clone(), vec![0u32; 129], vec![0u32; 32]);
        let call = acquired_by_a_lane(&mut changed, &mut flags, &mut sums);
        rt.launch(call).unwrap_or_else(|e| panic!("{}: {e}", rt.name()));
        let of = |i: usize| (0..4).map(|p| data[p * 32 + i] + 1).sum::<u32>();
        assert_eq!(sums, (0..32).map(of).collect::<Vec<_>>(), "{}", rt.name());
    }
}

/// Two programs store a product each, by tensor maps where there are any; the last to say so adds them up. `all` is the
/// memory of `c`.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [2])]
unsafe fn announced_products(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    all: *const f16,
    flags: &mut [u32],
    sums: &mut [f32],
) {
    let row = program_id(0) * 64;
    let product = dot(a.tile([row, 0], [64, 64]), b.tile([0, 0], [64, 64]), zeros::<f32>([64, 64]));
    c.store([row, 0], product.to::<f16>());
    if atomic_add(flags, 0, 1) == 1 {
        let at = arange(64).expand(1) * 64 + arange(64).expand(0);
        store(sums, at, load(all.add(at)).to::<f32>() + load(all.add(64 * 64 + at)).to::<f32>());
    }
}

#[test]
fn products_are_in_memory_before_they_are_announced() {
    let (a, b) = (Matrix::new([128, 64], 64, 1, f16::from_f32), Matrix::new([64, 64], 64, 2, f16::from_f32));
    let run = |rt: &Runtime| {
        let mut c = Buffer::<f16>::zeros(rt, 128 * 64).expect("room");
        let (all, mut flags, mut sums) = (c.raw(), vec![0u32; 1], vec![0.0f32; 64 * 64]);
        let c = (&mut c).as_slice_mut_arg().strided([128, 64], [64, 1]).expect("it fits");
        // SAFETY: the pointer is to the elements of the view, which are loaded when all of them have been stored.
        let call = unsafe { announced_products(view!(a), view!(b), c, all, &mut flags, &mut sums) };
        rt.launch(call).expect("it runs");
        sums
    };
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| near("announced products", &run(rt), &wanted));
}

/// A program stores a product and adds to its elements, by an atomic that announces nothing.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
fn added_to_a_product(a: View<f16, 2>, b: View<f16, 2>, c: &mut [f32], m: usize, n: usize) {
    let (rows, columns) = (arange(64).expand(1), arange(64).expand(0));
    let product = dot(a.tile([0, 0], [64, 64]), b.tile([0, 0], [64, 64]), zeros::<f32>([64, 64]));
    let (at, inside) = (rows * n + columns, (rows < m) & (columns < n));
    store(c, at, product).mask(inside);
    atomic_add(c, at, 8.0).mask(inside).relaxed();
}

#[test]
fn atomics_of_a_program_find_the_product_that_it_has_stored() {
    let (a, b) = (Matrix::new([64, 64], 64, 1, f16::from_f32), Matrix::new([64, 64], 64, 2, f16::from_f32));
    let run = |rt: &Runtime| {
        let mut c = vec![-1.0f32; 64 * 64];
        rt.launch(added_to_a_product(view!(a), view!(b), &mut c, 64usize, 64usize)).expect("it runs");
        c
    };
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| near("added to a product", &run(rt), &wanted));
}
