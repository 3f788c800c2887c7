//! Computations of programs with values, on the emulated SM and on the CPU.

use tilewright::{LaunchOptions, Runtime};
use tilewright::{tile_kernel, tile_library, tile_module};
use tilewright_core::{AsSlice, AsSliceMut};

/// Of tiles and of scalars, in a loop; the last one of a tuple is read before it is written.
#[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [1])]
fn change_places<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let (mut a, mut b) = (load(x, arange(BLOCK)), load(x, BLOCK + arange(BLOCK)));
    let (mut f, mut g) = (0u32, 1u32);
    for _ in 0..n {
        (a, b) = (b, a);
        (f, (g, a)) = (g, (f + g, a + 1.0));
    }
    store(y, arange(BLOCK), a * 1000.0 + f.to::<f32>());
    store(y, BLOCK + arange(BLOCK), b);
}

#[test]
fn tuples_are_assigned_at_once() {
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    for n in [0usize, 1, 2, 7] {
        let (mut a, mut b, mut f, mut g) = (0.0, 64.0, 0u32, 1u32);
        for _ in 0..n {
            (a, b) = (b, a);
            (f, (g, a)) = (g, (f + g, a + 1.0));
        }
        for rt in [Runtime::cpu(), Runtime::emulator(3)] {
            let mut y = vec![0.0f32; 128];
            rt.launch(change_places(x.as_slice().as_slice_arg(), y.as_mut_slice().as_slice_mut_arg(), n))
                .expect("it runs");
            assert_eq!((y[0], y[64]), (a * 1000.0 + f as f32, b), "{n} rounds");
            assert_eq!(y[5], (a + 5.0) * 1000.0 + f as f32);
        }
    }
}

/// The same by programs in a row, or in two dimensions.
#[tile_kernel(
    tune(BLOCK = [32], FLAT = [0, 1], warps = [1]),
    grid = [if FLAT == 1 { cdiv(n, BLOCK) } else { min(2, cdiv(n, BLOCK)) }, if FLAT == 1 { 1 } else { cdiv(n, 2 * BLOCK) }],
    emulate = all,
)]
fn number<const BLOCK: usize, const FLAT: usize>(y: &mut [f32], n: usize) {
    let t = if FLAT == 1 { program_id(0) } else { program_id(1) * 2 + program_id(0) };
    let i = t * BLOCK + arange(BLOCK);
    store(y, i, (i + 1000 * num_programs(1)).to::<f32>());
}

#[test]
fn sizes_are_passed_as_what_counts() {
    let mut y = [0.0f32; 4];
    let sizes = [
        number(&mut y, 4usize).words()[2],
        number(&mut y, 4u64).words()[2],
        number(&mut y, 4u32).words()[2],
        number(&mut y, 4).words()[2],
    ];
    assert_eq!(sizes, [4; 4]);
    let wrong = Runtime::cpu().launch(number(&mut y, -1)).expect_err("no size").to_string();
    assert_eq!(wrong, "number: -1 is passed for `n: usize`: a size is not negative");
}

#[test]
fn a_grid_may_depend_on_the_configuration() {
    let n = 100;
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        for (config, rows) in [("BLOCK=32,FLAT=0,warps=1", 2), ("BLOCK=32,FLAT=1,warps=1", 1)] {
            let mut y = vec![0.0f32; n];
            let options = LaunchOptions::new().config(config);
            rt.launch_with(rt.stream(), number(y.as_mut_slice().as_slice_mut_arg(), n), &options).expect("it runs");
            assert!(y.iter().enumerate().all(|(i, &v)| v == (i + 1000 * rows) as f32), "{config}: {y:?}");
        }
    }
}

/// Sums down the columns of blocks: each program goes on from the sums of its predecessor.
#[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(x.len(), BLOCK)])]
fn down_the_blocks<const BLOCK: usize>(x: &[f32], y: &mut [f32], done: &mut [u32], ticket: &mut [u32]) {
    let order = atomic_add(ticket, 0, 1).relaxed() as usize;
    let i = order * BLOCK + arange(BLOCK);
    let mut v = load(x, i);
    if order > 0 {
        while atomic_load(done, order - 1) == 0 {}
        v += load(y, (order - 1) * BLOCK + arange(BLOCK));
    }
    store(y, i, v);
    atomic_store(done, order, 1);
}

/// The same, but nothing orders the announced stores before the flag.
#[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(x.len(), BLOCK)])]
fn down_the_blocks_unordered<const BLOCK: usize>(x: &[f32], y: &mut [f32], done: &mut [u32], ticket: &mut [u32]) {
    let order = atomic_add(ticket, 0, 1).relaxed() as usize;
    let i = order * BLOCK + arange(BLOCK);
    let mut v = load(x, i);
    if order > 0 {
        while atomic_load(done, order - 1).relaxed() == 0 {}
        v += load(y, (order - 1) * BLOCK + arange(BLOCK));
    }
    store(y, i, v);
    atomic_store(done, order, 1).relaxed();
}

#[test]
fn programs_wait_for_those_that_began_before_them() {
    let x: Vec<f32> = (0..64 * 9 - 5).map(|i| (i % 7) as f32).collect();
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let (mut y, mut done, mut ticket) = (vec![0.0f32; x.len()], vec![0u32; 9], [0u32]);
        let call = down_the_blocks(
            x.as_slice().as_slice_arg(),
            y.as_mut_slice().as_slice_mut_arg(),
            done.as_mut_slice().as_slice_mut_arg(),
            ticket.as_mut_slice().as_slice_mut_arg(),
        );
        rt.launch(call).expect("it runs");
        assert!(y.iter().enumerate().all(|(i, &v)| v == (i % 64..=i).step_by(64).map(|j| x[j]).sum::<f32>()), "{y:?}");
        assert_eq!((done, ticket), (vec![1; 9], [9]));
    }
    let (mut y, mut done, mut ticket) = (vec![0.0f32; x.len()], vec![0u32; 9], [0u32]);
    let call = down_the_blocks_unordered(
        x.as_slice().as_slice_arg(),
        y.as_mut_slice().as_slice_mut_arg(),
        done.as_mut_slice().as_slice_mut_arg(),
        ticket.as_mut_slice().as_slice_mut_arg(),
    );
    let error = Runtime::emulator(3).launch(call).expect_err("the flag announces nothing").to_string();
    assert!(error.contains("data race in global memory"), "{error}");
}

/// Elements of a tile by several threads each, and of a tile smaller than the program.
#[tile_kernel(tune(warps = [4]), grid = [1])]
fn through_atomics(y: &mut [u64], z: &mut [f32], n: usize) {
    let i = arange(512);
    atomic_store(y, i, i * i).mask(i < n);
    let old = atomic_load(y, 511 - i).mask(511 - i < n);
    atomic_store(z, arange(16), load(z, arange(16)) + old.to::<f32>().reshape([32, 16]).sum(0));
}

#[test]
fn tiles_are_loaded_and_stored_by_atomics() {
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let (mut y, mut z) = (vec![7u64; 300], vec![0.5f32; 16]);
        rt.launch(through_atomics(y.as_mut_slice().as_slice_mut_arg(), z.as_mut_slice().as_slice_mut_arg(), 250))
            .expect("it runs");
        assert!(y.iter().enumerate().all(|(i, &v)| v == if i < 250 { (i * i) as u64 } else { 7 }), "{y:?}");
        let sum =
            |j: usize| (0..32).map(|r| 511 - (r * 16 + j)).filter(|&i| i < 250).map(|i| (i * i) as f32).sum::<f32>();
        assert!((0..16).all(|j| z[j] == 0.5 + sum(j)), "{z:?}");
    }
}

/// A value assigned before a way out of a loop is there after it, although the iteration would assign anew.
#[tile_kernel(tune(warps = [1]), grid = [1])]
fn assigned_before_leaving(x: &[u32], y: &mut [u32], last: u32) {
    let i = arange(32);
    let (mut at, mut sums) = (0u32, load(x, i));
    for k in 0u32..8 {
        at = k;
        sums += k;
        if k == last {
            break;
        }
        at = 100;
    }
    store(y, i, sums + at);
}

#[test]
fn an_assignment_before_a_break_is_seen_after_the_loop() {
    let x: Vec<u32> = (0..32).map(|i| 3 * i).collect();
    for rt in [Runtime::cpu(), Runtime::emulator(0)] {
        for (last, at) in [(0, 0), (3, 3), (7, 7), (9, 100)] {
            let mut y = vec![0; 32];
            rt.launch(assigned_before_leaving(&x[..], &mut y[..], last)).expect("it runs");
            let sum: u32 = (0..8).take_while(|k| *k <= last).sum();
            assert!((0..32).all(|i| y[i] == x[i] + sum + at), "{last}: {y:?}");
        }
    }
}

/// The old value of a semaphore is used in a closure, in a loop that is laid out several times, and in a branch.
#[tile_kernel(tune(warps = [4]), grid = [2])]
fn taken_late(x: &[u32], y: &mut [u32], semaphores: &mut [u32]) {
    let first = atomic_add(semaphores, 0, 1).relaxed();
    let second = atomic_add(semaphores, 1, 10).relaxed();
    let third = atomic_add(semaphores, 2, 100).relaxed();
    let i = arange(64);
    let mut sums = load(x, i);
    for k in range(0, 6, 1).unroll(4) {
        if k == 4 {
            continue;
        }
        sums += second + k as u32;
    }
    let folded = reduce(load(x, i), 0, |a, b| a + (b ^ first ^ first));
    if program_id(0) < 2 {
        sums += third + folded;
    }
    store(y, program_id(0) * 64 + i, sums);
}

#[test]
fn a_tickets_answer_is_there_where_it_is_taken() {
    let x: Vec<u32> = (0..64).map(|i| i * 7).collect();
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let (mut y, mut semaphores) = (vec![0u32; 128], [0u32; 3]);
        rt.launch(taken_late(
            x.as_slice().as_slice_arg(),
            y.as_mut_slice().as_slice_mut_arg(),
            semaphores.as_mut_slice().as_slice_mut_arg(),
        ))
        .expect("it runs");
        assert_eq!(semaphores, [2, 20, 200]);
        let all: u32 = x.iter().sum();
        // A program has one place in the order of each semaphore.
        let of = |i: usize| -> Vec<u32> {
            [0, 10].iter().flat_map(|s| [0, 100].map(|t| x[i] + 5 * s + 11 + t + all)).collect()
        };
        assert!((0..128).all(|i| of(i % 64).contains(&y[i])), "{y:?}");
    }
}

/// An atomic that reads sees the stores of other threads of its program, and the other way round.
#[tile_kernel(tune(warps = [4]), grid = [1])]
fn updates_of_stored(y: &mut [u32], z: &mut [u32]) {
    let i = arange(128);
    store(y, i, (i * 3).to::<u32>());
    let old = atomic_add(y, 5, 1).relaxed();
    store(z, i, load(y, 127 - i));
    store(z, 5, old);
    atomic_xchg(y, i, 9).relaxed();
    atomic_store(y, 127 - i, i.to::<u32>()).relaxed();
    store(z, 128 + i, atomic_add(y, i, 1).relaxed());
}

#[test]
fn atomics_and_stores_of_a_program_are_in_order() {
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let (mut y, mut z) = (vec![0u32; 128], vec![0u32; 256]);
        rt.launch(updates_of_stored(y.as_mut_slice().as_slice_mut_arg(), z.as_mut_slice().as_slice_mut_arg()))
            .expect("it runs");
        let stored = |j: u32| j * 3 + u32::from(j == 5);
        assert!((0..128).all(|i| z[i as usize] == if i == 5 { 15 } else { stored(127 - i) }), "{z:?}");
        assert!((0..128).all(|i| z[128 + i] == 127 - i as u32 && y[i] == 128 - i as u32), "{y:?} {z:?}");
    }
}

/// All load the store of one thread: a number, and a tile that many threads hold copies of.
#[tile_kernel(tune(warps = [4]), grid = [4])]
fn stored_by_one_thread(x: &mut [f32], y: &mut [f32]) {
    let i = program_id(0) * 64;
    store(x, i, load(x, i) + 1.0);
    let first = load(x, i);
    let j = i + 8 + arange(16);
    store(x, j, load(x, j) + first);
    let mut v = load(x, j);
    if first > 5.0 {
        v += load(x, i);
    }
    store(y, j, v);
}

#[test]
fn stores_are_seen_by_later_loads() {
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let (mut x, mut y) = ((0..256).map(|i| (i / 64 * 3) as f32).collect::<Vec<_>>(), vec![0.0f32; 256]);
        rt.launch(stored_by_one_thread(x.as_mut_slice().as_slice_mut_arg(), y.as_mut_slice().as_slice_mut_arg()))
            .expect("it runs");
        for p in 0..4 {
            let (old, first) = (p as f32 * 3.0, p as f32 * 3.0 + 1.0);
            let v = old + first + if first > 5.0 { first } else { 0.0 };
            assert!((8..24).all(|j| y[p * 64 + j] == v), "{y:?}");
        }
    }
}

/// A store every STEP elements: SIGN of 0 leaves it negative.
#[tile_kernel(
    /// Every element, as integers.
    kernel(negated, T = i32, STEP = 1, SIGN = 0),
    /// Every third element, as floats.
    kernel(thirds, T = [f32, f64], STEP = 3, SIGN = 1),
    tune(BLOCK = [64, 128]),
    tune(BLOCK = [256], kernels = [thirds]),
    grid = [cdiv(y.len(), BLOCK * STEP)],
    emulate = all,
)]
fn every<T, const STEP: usize, const SIGN: usize, const BLOCK: usize>(y: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = if SIGN == 0 { -(i as i32) } else { i as i32 };
    store(y, i * STEP, v.to::<T>());
}

#[test]
fn one_function_is_several_kernels() {
    assert_eq!((negated::DESCS.len(), thirds::DESCS.len()), (1, 2));
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let (mut y, mut z, mut w) = (vec![0i32; 200], vec![0.0f32; 200], vec![0.0f64; 200]);
        rt.launch(negated(y.as_mut_slice().as_slice_mut_arg())).expect("it runs");
        let options = LaunchOptions::new().config("BLOCK=128,warps=4");
        rt.launch_with(rt.stream(), thirds(z.as_mut_slice().as_slice_mut_arg()), &options).expect("it runs");
        rt.launch_with(rt.stream(), thirds(w.as_mut_slice().as_slice_mut_arg()), &options).expect("it runs");
        for i in 0..200 {
            let third = if i % 3 == 0 { i / 3 } else { 0 };
            assert_eq!((y[i], z[i], w[i]), (-(i as i32), third as f32, third as f64), "{i}");
        }
    }
    let configs = |d: &tilewright_core::KernelDesc| {
        d.configs
            .iter()
            .map(|c| (c.consts.to_vec(), c.variants.iter().any(|v| v.emulated.is_some())))
            .collect::<Vec<_>>()
    };
    let block = |b| vec![("BLOCK", b)];
    assert_eq!(configs(negated::DESCS[0]), [(block(64), true), (block(128), true)]);
    assert_eq!(configs(thirds::DESCS[1]), [(block(64), true), (block(128), true), (block(256), true)]);
}

#[tile_library]
mod scales {
    const TWO: f32 = 2.0;

    /// Twice.
    fn scaled(x: Tile<f32>) -> Tile<f32> {
        TWO * x
    }

    fn one_more(x: Tile<f32>) -> Tile<f32> {
        x + 1.0
    }
}

mod more {
    #[super::tile_library]
    pub mod shifts {
        // A library's names are in scope for its users.
        fn shifted(x: Tile<f32>) -> Tile<f32> {
            scaled(x) + SHIFT
        }
    }
}

#[tile_module(use scales, use more::shifts)]
mod of_libraries {
    const SHIFT: f32 = 100.0;

    // Neither the argument of `kernel(..)` nor the library's constant.
    const PLUS: usize = 1000;
    type T = f64;

    /// Not the library's.
    fn one_more(x: Tile<f32>) -> Tile<f32> {
        x + 10.0
    }

    #[tile_kernel(kernel(shift, T = f32, PLUS = 10), grid = [1])]
    pub fn shift_by<T, const PLUS: usize>(x: &[T], y: &mut [T]) {
        store(y, arange(64), one_more(shifted(load(x, arange(64)))) + PLUS.to::<T>());
    }

    // A literal takes the type of the other operand in each of the calls.
    fn counted<N>(n: N) -> N {
        let mut i = 0;
        for _ in 0..3 {
            i += n;
        }
        i
    }

    #[tile_kernel(grid = [1])]
    pub fn count(y: &mut [f32], n: u32, m: i64) {
        store(y, arange(64), (counted(n).to::<f32>() + counted(m).to::<f32>()));
    }
}

#[test]
fn kernels_use_libraries() {
    let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let mut y = vec![0.0f32; 64];
        rt.launch(of_libraries::shift(x.as_slice().as_slice_arg(), y.as_mut_slice().as_slice_mut_arg()))
            .expect("it runs");
        assert!((0..64).all(|i| y[i] == 2.0 * i as f32 + 120.0), "{y:?}");
        rt.launch(of_libraries::count(y.as_mut_slice().as_slice_mut_arg(), 5, -7)).expect("it runs");
        assert!(y.iter().all(|&y| y == -6.0), "{y:?}");
    }
}

/// A bit for each of several comparisons of two indices.
#[tile_kernel(tune(ROWS = [16], COLS = [16], warps = [1, 2]), grid = [1], emulate = all)]
fn compare_indices<const ROWS: usize, const COLS: usize>(
    y: &mut [u32],
    first: usize,
    at: usize,
    n: usize,
    m: usize,
    all: bool,
) {
    let (row, col) = ((first + arange(ROWS)).expand(1), (at + arange(COLS)).expand(0));
    let either = if all { n } else { m };
    let bits = where_(col + n <= row + m, 1, 0)
        + where_(col + n < row + m, 2, 0)
        + where_(row >= col + n, 4, 0)
        + where_(row > col + either, 8, 0)
        + where_(all | (col <= n), 16, 0)
        + where_((row < n) & (all | (col < row)), 32, 0)
        + where_(col + (max(n, m) - m) >= row, 64, 0)
        // A mask without an index has a limit for each row.
        + where_(col <= row % (m | 1), 128, 0)
        // Below zero a limit is a great number.
        + where_(col < row - n, 256, 0);
    store(y, arange(ROWS).expand(1) * COLS + arange(COLS).expand(0), bits.to::<u32>());
}

#[test]
fn indices_are_compared_as_numbers() {
    const FAR: u64 = 1 << 40;
    let cases = [
        (0, 0, 0, 0),
        (3, 0, 0, 0),
        (0, 9, 0, 0),
        (5, 5, 2, 7),
        (5, 5, 7, 2),
        (0, 0, FAR, 3),
        (0, 0, 3, FAR),
        (FAR, 7, 0, 9),
        (7, FAR, 9, 0),
        (FAR, FAR, FAR, FAR - 4),
        (0, 0, u64::MAX - 40, 5),
    ];
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        for config in ["ROWS=16,COLS=16,warps=1", "ROWS=16,COLS=16,warps=2"] {
            for ((first, at, n, m), all) in cases.iter().flat_map(|&c| [(c, false), (c, true)]) {
                let mut y = vec![0u32; 256];
                let call = compare_indices(y.as_mut_slice().as_slice_mut_arg(), first, at, n, m, all);
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config)).expect("it runs");
                for (i, &found) in y.iter().enumerate() {
                    let (row, col) = (first + i as u64 / 16, at + i as u64 % 16);
                    let either = if all { n } else { m };
                    let tests = [
                        col + n <= row + m,
                        col + n < row + m,
                        row >= col + n,
                        row > col + either,
                        all | (col <= n),
                        (row < n) & (all | (col < row)),
                        col + (n.max(m) - m) >= row,
                        col <= row % (m | 1),
                        col < row.wrapping_sub(n),
                    ];
                    let expected: u32 = tests.iter().enumerate().map(|(bit, &t)| u32::from(t) << bit).sum();
                    assert_eq!(found, expected, "row {row}, column {col}, n {n}, m {m}, all {all} ({config})");
                }
            }
        }
    }
}

/// Vectors with a limit for each row, and behind one for all.
#[tile_kernel(tune(warps = [1, 2]), grid = [1], emulate = all)]
fn limited_rows(x: &[f32], limits: &[u64], y: &mut [f32], m: usize, all: bool) {
    let (row, col) = (arange(16).expand(1), arange(64).expand(0));
    let limit = load(limits, arange(16)).expand(1);
    let v = load(x, row * 64 + col).mask((col < m) & (col < limit)).other(-1.0);
    store(y, row * 64 + col, v).mask(all | (col <= limit));
}

#[test]
fn rows_have_limits() {
    let x: Vec<f32> = (0..16 * 64).map(|i| i as f32).collect();
    let limits: Vec<u64> =
        (0..16).map(|r| [0, 1, 4, 5, 63, 64, 65, 1 << 32, (1 << 32) + 3, u64::MAX][r % 10]).collect();
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        for config in ["warps=1", "warps=2"] {
            for (m, all) in [(64, false), (64, true), (30, false), (1 << 40, true), (0, false)] {
                let mut y = vec![-9.0f32; 16 * 64];
                let call = limited_rows(
                    x.as_slice().as_slice_arg(),
                    limits.as_slice().as_slice_arg(),
                    y.as_mut_slice().as_slice_mut_arg(),
                    m,
                    all,
                );
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config)).expect("it runs");
                for (i, &found) in y.iter().enumerate() {
                    let (limit, col) = (limits[i / 64], i as u64 % 64);
                    let v = if col < m && col < limit { i as f32 } else { -1.0 };
                    assert_eq!(found, if all || col <= limit { v } else { -9.0 }, "element {i}, {m} {all} ({config})");
                }
            }
        }
    }
}

/// Results of helpers take the declared type, and conversions overflow as at run time.
#[tile_module]
mod said {
    fn step(far: bool) -> usize {
        if far { 4 } else { 8 }
    }

    fn half(far: bool) -> f16 {
        if far { 0.5 } else { 2.0 }
    }

    fn with_offset(x: &[f32]) -> (&[f32], usize) {
        (x, 3)
    }

    #[tile_kernel(tune(warps = [1]), grid = [1])]
    pub fn values(x: &[f32], y: &mut [f32], z: &mut [f16], w: &mut [f8e4m3], n: usize) {
        let i = arange(32);
        let (from, by) = with_offset(x);
        let more: usize = if n == 7 { 1 } else { 2 };
        store(y, i, load(from, i + step(n > 2) + by + more));
        let big = 1e6;
        store(z, i, where_(i < 16, big.to::<f16>(), half(n > 2)));
        store(w, i, -500.0.to::<f8e4m3>());
    }
}

#[test]
fn helpers_give_what_they_say_and_conversions_overflow() {
    use tilewright_core::{f8e4m3, f16};
    let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        for (n, first, half) in [(1, 13.0, 2.0), (3, 9.0, 0.5), (7, 8.0, 0.5)] {
            let (mut y, mut z, mut w) = ([0.0f32; 32], [f16::ZERO; 32], [f8e4m3::from_f32(0.0); 32]);
            rt.launch(said::values(&x[..], &mut y, &mut z, &mut w, n)).expect("it runs");
            assert_eq!((y[0], y[31]), (first, first + 31.0));
            assert_eq!((z[0], z[16]), (f16::INFINITY, f16::from_f32(half)));
            assert_eq!(w[5].to_f32(), -448.0);
        }
    }
}

/// Methods are operations, also where closures and helpers have their names.
#[tile_module]
mod named_as_operations {
    fn sum(x: Tile<f32>, by: f32) -> Tile<f32> {
        x + by
    }

    #[tile_kernel(tune(warps = [1]), grid = [1])]
    pub fn methods(x: View<f32, 1>, y: &mut [f32]) {
        let tile = |at: usize| x.tile([at], [32]);
        let exp = |v: Tile<f32>| 2.0 * v;
        store(y, arange(32), sum(exp(tile(0)), tile(0).sum()) + tile(0).exp());
    }
}

#[test]
fn methods_are_operations() {
    let x: Vec<f32> = (0..32).map(|i| i as f32 / 16.0).collect();
    let total: f32 = x.iter().sum();
    for rt in [Runtime::cpu(), Runtime::emulator(3)] {
        let mut y = [0.0f32; 32];
        rt.launch(named_as_operations::methods(x.as_slice().as_slice_arg().view([32]).expect("fits"), &mut y))
            .expect("it runs");
        for (x, y) in x.iter().zip(y) {
            assert!((y - (2.0 * x + total + x.exp())).abs() < 1e-4, "{y} of {x}");
        }
    }
}

/// As many programs as there are elements behind the first four, or as a number with a sign says.
#[tile_kernel(tune(WAY = [0, 1], warps = [1]), grid = [if WAY == 0 { y.len() - 4 } else { n }], emulate = all)]
fn as_many_as_are_left<const WAY: usize>(y: &mut [u32], n: i32) {
    store(y, program_id(0), program_id(0).to::<u32>() + 1);
}

#[test]
fn no_program_runs_below_zero() {
    for config in as_many_as_are_left::DESCS[0].configs {
        for rt in [Runtime::cpu(), Runtime::emulator(3)] {
            // Of either number of programs the other one may be 0.
            for (len, n) in [(1usize, -1i32), (3, i32::MIN), (4, 0), (4, 3), (6, 2), (6, -2), (9, 7)] {
                let mut y = vec![0u32; len];
                let options = LaunchOptions::new().config(config.id);
                rt.launch_with(rt.stream(), as_many_as_are_left(&mut y, n), &options)
                    .unwrap_or_else(|e| panic!("{} {len} {n}: {e}", config.id));
                let programs =
                    if config.consts.contains(&("WAY", 0)) { len.saturating_sub(4) } else { n.max(0) as usize };
                let wanted: Vec<u32> = (0..len).map(|i| if i < programs { i as u32 + 1 } else { 0 }).collect();
                assert_eq!(y, wanted, "{}: {len} elements, {n}, on {}", config.id, rt.name());
            }
        }
    }
}
