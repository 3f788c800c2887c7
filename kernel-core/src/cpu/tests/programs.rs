//! Programs, atomics and their messages.

use super::launch;
use crate::cpu::*;
use crate::scalar::{BF16, F16, atomic_op};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, Ordering};

/// # Safety
/// The argument word is the address of a counter for each program.
unsafe fn count(program: &Program, words: &[u64]) {
    let [x, y, z] = program.id;
    let i = x + program.grid[0] * (y + program.grid[1] * z);
    // SAFETY: the counter of program `i`.
    let counter = unsafe { &*((words[0] + 4 * i) as *const AtomicU32) };
    counter.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn every_program_runs_once() {
    for grid in [[1, 1, 1], [7, 1, 1], [300, 20, 3], [1, 1, 5000], [0, 5, 5]] {
        let counts: Vec<AtomicU32> = (0..grid.iter().product()).map(|_| AtomicU32::new(0)).collect();
        // SAFETY: as many counters as programs.
        unsafe { launch(count, grid, &[counts.as_ptr() as u64]) };
        assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{grid:?}");
    }
}

/// # Safety
/// The argument word is the address of a counter.
unsafe fn fail_at_1000(program: &Program, words: &[u64]) {
    // SAFETY: the counter.
    unsafe { &*(words[0] as *const AtomicU32) }.fetch_add(1, Ordering::Relaxed);
    if program.id[0] > 2 {
        std::thread::sleep(std::time::Duration::from_micros(1));
    }
    assert(program.id[0] != 1000, "one thousand", 42, program);
}

#[test]
fn a_failed_assertion_ends_the_launch() {
    let ran = AtomicU32::new(0);
    let words = [&raw const ran as u64];
    let grid = [1 << 31, 1, 1];
    // SAFETY: the argument word is the counter's address.
    let error = catch_unwind(|| unsafe { launch(fail_at_1000, grid, &words) }).unwrap_err();
    let failed = error.downcast_ref::<Assertion>().expect("what failed");
    assert_eq!(failed.to_string(), "line 42: assertion failed: one thousand [program (1000, 0, 0)]");
    assert!(ran.load(Ordering::Relaxed) < 1 << 24);
    // The pool lives on.
    // SAFETY: a counter for one program.
    unsafe { launch(count, [1, 1, 1], &words) };
}

#[test]
fn printing() {
    let program = Program { id: [1, 2, 3], grid: [4, 4, 4], numbers: &[] };
    let line = super::super::launch::line_of("x", &each(&[2], |i| F16::from_f32(i as f32)), &program);
    assert_eq!(line, "program (1, 2, 3) x: 0.0 1.0");
}

fn atomics<T: Mem, const OP: u32>(start: T, values: &[T]) -> (T, Vec<T>) {
    let mut cell = [start; 2]; // a 16-bit float has a neighbor that must stay
    let addr = cell.as_mut_ptr() as u64 + T::BYTES as u64;
    // SAFETY: the second of the cells.
    let old = unsafe { atomic::<T, OP>(&[values.len()], |_| addr, |_| true, |i| values[i]) };
    assert_eq!(cell[0], start);
    (cell[1], old.as_slice().to_vec())
}

#[test]
fn atomics_on_every_kind() {
    use atomic_op::*;
    assert_eq!(atomics::<i32, ADD>(5, &[1, -7]), (-1, vec![5, 6]));
    assert_eq!(atomics::<u8, ADD>(250, &[10]), (4, vec![250]));
    assert_eq!(atomics::<f64, ADD>(0.5, &[1.0, 2.0]), (3.5, vec![0.5, 1.5]));
    assert_eq!(atomics::<i64, MAX>(-5, &[-7, 3]), (3, vec![-5, -5]));
    assert_eq!(atomics::<u32, MIN>(9, &[u32::MAX, 3]), (3, vec![9, 9]));
    assert_eq!(atomics::<f32, MAX>(-1.0, &[-2.0, f32::NAN]), (-1.0, vec![-1.0, -1.0]));
    assert_eq!(atomics::<u16, AND>(6, &[3]), (2, vec![6]));
    assert_eq!(atomics::<i8, OR>(-128, &[1]), (-127, vec![-128]));
    assert_eq!(atomics::<bool, XOR>(true, &[true]), (false, vec![true]));
    assert_eq!(atomics::<f32, XCHG>(1.0, &[2.0, 3.0]), (3.0, vec![1.0, 2.0]));
    assert_eq!(atomics::<u64, LOAD>(1 << 40, &[2, 3]), (1 << 40, vec![1 << 40, 1 << 40]));
    assert_eq!(atomics::<u8, LOAD>(200, &[1]), (200, vec![200]));
    assert_eq!(atomics::<u16, STORE>(9, &[2, 3]), (3, vec![0, 0]));
    assert_eq!(atomics::<f64, STORE>(9.0, &[-1.5]), (-1.5, vec![0.0]));
    let h = |x| F16::from_f32(x);
    assert_eq!(atomics::<F16, ADD>(h(1.0), &[h(0.5), h(2.0)]), (h(3.5), vec![h(1.0), h(1.5)]));
    let b = |x| BF16::from_f32(x);
    assert_eq!(atomics::<BF16, MIN>(b(1.0), &[b(2.0), b(-3.0)]), (b(-3.0), vec![b(1.0), b(1.0)]));
}

#[test]
fn compare_and_swap() {
    let mut cell = [3i32];
    let addr = cell.as_mut_ptr() as u64;
    // SAFETY: the cell, for every element.
    let old = unsafe { atomic_cas::<i32>(&[3], |_| addr, |i| i != 1, |i| [3, 3, 4][i], |i| 4 + i as i32) };
    assert_eq!((old.as_slice(), cell[0]), (&[3, 0, 4][..], 6));
}

/// # Safety
/// The argument word is the address of four sums.
unsafe fn add_up(program: &Program, words: &[u64]) {
    let x = program.id[0] as f32;
    // SAFETY: sum `i` of four.
    unsafe { atomic::<f32, { atomic_op::ADD }>(&[4], |i| words[0] + 4 * i as u64, |i| i != 2, |_| x) };
}

#[test]
fn atomics_of_many_programs() {
    let mut sums = [0f32; 4];
    // SAFETY: the argument word is the address of the sums, which are mutable.
    unsafe { launch(add_up, [1000, 1, 1], &[sums.as_mut_ptr() as u64]) };
    assert_eq!(sums, [499_500.0, 499_500.0, 0.0, 499_500.0]);
}

/// Each program leaves its number; the last program to begin waits for all.
///
/// # Safety
/// The argument words are the addresses of a counter, of a flag for each program, and of a sum.
unsafe fn wait_for_the_others(program: &Program, words: &[u64]) {
    let [ticket, flags, sum] = *words else { unreachable!() };
    let n = program.grid[0];
    // SAFETY: the counter, flags of programs of the grid, the sum.
    unsafe {
        let order = atomic::<u64, { atomic_op::ADD }>(&[1], |_| ticket, |_| true, |_| 1).at(0);
        if order % 3 == 0 {
            std::thread::yield_now();
        }
        atomic::<u64, { atomic_op::STORE }>(&[1], |_| flags + 8 * program.id[0], |_| true, |_| program.id[0] + 1);
        for i in 0..if order == n - 1 { n } else { 0 } {
            let flag = loop {
                let flag = atomic::<u64, { atomic_op::LOAD }>(&[1], |_| flags + 8 * i, |_| true, |_| 0).at(0);
                if flag != 0 {
                    break flag;
                }
            };
            atomic::<u64, { atomic_op::ADD }>(&[1], |_| sum, |_| true, |_| flag);
        }
    }
}

#[test]
fn a_program_may_wait_for_those_that_began_before_it() {
    for _ in 0..20 {
        let (mut ticket, mut flags, mut sum) = (0u64, vec![0u64; 500], 0u64);
        let words = [&raw mut ticket as u64, flags.as_mut_ptr() as u64, &raw mut sum as u64];
        // SAFETY: the addresses of a counter, of 500 flags and of a sum, all mutable.
        unsafe { launch(wait_for_the_others, [500, 1, 1], &words) };
        assert_eq!(sum, 500 * 501 / 2);
    }
}

/// Each program stores its number to all elements, in a run and one by one, and checks the stores of others.
///
/// # Safety
/// The argument words are the addresses of 100 elements of 2 bytes and of a counter.
unsafe fn store_to_the_same(program: &Program, words: &[u64]) {
    let [shared, wrong] = *words else { unreachable!() };
    let (at, value) = (|i: usize| shared + 2 * i as u64, program.id[0] as u16 + 1);
    // SAFETY: 100 elements and the counter.
    unsafe {
        store_clipped(&[97], 97, |i| at(i + 1), |_| true, |_| value);
        let found = load_clipped::<u16>(&[97], 97, |i| at(i + 1), |_| true, |_| 0);
        store(&[50], 1, |i| at(2 * i), |_| true, |_| value);
        let each = load::<u16>(&[50], 1, |i| at(2 * i), |_| true, |_| 0);
        let programs = 1..=program.grid[0] as u16;
        let strange = found.as_slice().iter().chain(each.as_slice()).filter(|v| !programs.contains(v)).count();
        atomic::<u64, { atomic_op::ADD }>(&[1], |_| wrong, |_| true, |_| strange as u64);
    }
}

/// Under Miri this is undefined behavior where a load or a store is not atomic.
#[test]
fn programs_that_store_to_one_element_leave_the_value_of_one() {
    let (mut shared, mut wrong) = ([0u16; 100], 0u64);
    let words = [shared.as_mut_ptr() as u64, &raw mut wrong as u64];
    let programs = if cfg!(miri) { 4 } else { 2000 };
    // Threads of the test's own: Miri does not take those of rayon.
    std::thread::scope(|scope| {
        for first in 0..2 {
            scope.spawn(move || {
                for x in (first..programs).step_by(2) {
                    let program = Program { id: [x, 0, 0], grid: [programs, 1, 1], numbers: &[] };
                    // SAFETY: the addresses of 100 elements and of a counter, all mutable.
                    unsafe { store_to_the_same(&program, &words) };
                }
            });
        }
    });
    assert!(wrong == 0 && shared[..99].iter().all(|v| (1..=programs as u16).contains(v)), "{shared:?}");
}

/// The last to begin wait for a flag that the one which fails does not store: by loads, by exchanges of it for itself,
/// by maxima, or by comparing it.
///
/// # Safety
/// The argument words are the addresses of a counter and of a flag.
unsafe fn wait_for_one_that_fails<const WAY: u32>(program: &Program, words: &[u64]) {
    let [ticket, flag] = *words else { unreachable!() };
    // SAFETY: the counter.
    let order = unsafe { atomic::<u64, { atomic_op::ADD }>(&[1], |_| ticket, |_| true, |_| 1).at(0) };
    // Long enough for the others to begin elsewhere.
    std::thread::sleep(std::time::Duration::from_millis(1));
    if order == 1 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        panic!("it fails");
    }
    let begun = std::time::Instant::now();
    // SAFETY: the flag.
    let stored = || unsafe {
        match WAY {
            0 => atomic::<u64, { atomic_op::LOAD }>(&[1], |_| flag, |_| true, |_| 0).at(0),
            1 => atomic::<u64, { atomic_op::XCHG }>(&[1], |_| flag, |_| true, |_| 0).at(0),
            2 => atomic::<u64, { atomic_op::MAX }>(&[1], |_| flag, |_| true, |_| 0).at(0),
            _ => atomic_cas::<u64>(&[1], |_| flag, |_| true, |_| 1, |_| 2).at(0),
        }
    };
    while order > 1 && stored() == 0 {
        assert!(begun.elapsed().as_secs() < 10, "program {program:?} waits for ever");
    }
}

/// A program that waits repeats a read that finds the same. Others read here and there, or change nothing.
#[test]
fn only_repeated_reads_pause() {
    use crate::cpu::launch::PAUSES;
    let mut cells = [7u64; 8];
    let first = cells.as_mut_ptr() as u64;
    let at = |i: usize| first + 8 * i as u64;
    let pauses = |runs: &dyn Fn()| {
        let before = PAUSES.get();
        runs();
        PAUSES.get() - before
    };
    // SAFETY: a cell that nobody else uses, and to which nothing else is written than it has.
    let each = |op: u32, i: usize| unsafe {
        match op {
            0 => atomic::<u64, { atomic_op::LOAD }>(&[1], |_| at(i), |_| true, |_| 0),
            1 => atomic::<u64, { atomic_op::XCHG }>(&[1], |_| at(i), |_| true, |_| 7),
            2 => atomic_cas::<u64>(&[1], |_| at(i), |_| true, |_| 1, |_| 2),
            3 => atomic::<u64, { atomic_op::MAX }>(&[1], |_| at(i), |_| true, |_| 3),
            4 => atomic::<u64, { atomic_op::ADD }>(&[1], |_| at(i), |_| true, |_| 0),
            _ => atomic::<u64, { atomic_op::OR }>(&[1], |_| at(i), |_| true, |_| 1),
        };
    };
    for op in 0..6 {
        let waits = op < 3;
        each(op, 0);
        let repeated = pauses(&|| (0..100).for_each(|_| each(op, 0)));
        assert_eq!(repeated, if waits { 100 } else { 0 }, "operation {op}");
        // Each in its turn.
        (1..4).for_each(|i| each(op, i));
        let of_three = pauses(&|| (0..99).for_each(|k| each(op, 1 + k % 3)));
        assert_eq!(of_three, if waits { 99 } else { 0 }, "operation {op}");
    }
    let mut many = [1u64; 1000];
    let first = many.as_mut_ptr() as u64;
    let load = |i: usize| {
        let addr = first + 8 * i as u64;
        // SAFETY: an element that nobody else uses.
        unsafe { atomic::<u64, { atomic_op::LOAD }>(&[1], |_| addr, |_| true, |_| 0) };
    };
    assert_eq!(pauses(&|| (0..1000).for_each(load)), 0);
}

#[test]
fn nobody_waits_for_a_program_that_failed() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let ways = [
        wait_for_one_that_fails::<0>,
        wait_for_one_that_fails::<1>,
        wait_for_one_that_fails::<2>,
        wait_for_one_that_fails::<3>,
    ];
    for kernel in ways {
        let (mut ticket, mut flag) = (0u64, 0u64);
        let words = [&raw mut ticket as u64, &raw mut flag as u64];
        let begun = std::time::Instant::now();
        // SAFETY: the addresses of a counter and of a flag, both mutable.
        let run = || pool.install(|| unsafe { launch(kernel, [16, 1, 1], &words) });
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("a program fails");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"it fails"));
        assert!(begun.elapsed().as_secs() < 10);
    }
}
