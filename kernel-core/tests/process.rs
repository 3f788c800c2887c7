//! The CPU backend in a process that was forked, and in one whose memory is short.
#![cfg(unix)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tilewright_core::CpuCode;
use tilewright_core::cpu::{self, OutOfMemory, Program, each, load, reduce_all, store};

/// The system's allocator, which refuses allocations larger than [`LARGEST`].
struct Limited;

static LARGEST: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: the system's allocator, or null, which says that there is no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST.load(Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's, and the system's allocator gave it.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Long enough for each program that other threads are given some.
unsafe fn slow(program: &Program, words: &[u64]) {
    std::thread::sleep(Duration::from_millis(1));
    // SAFETY: the launches below give the address of a counter.
    unsafe { &*(words[0] as *const AtomicU32) }.fetch_add(program.id[0] as u32, Relaxed);
}

fn sum(programs: u64) -> u32 {
    let counter = AtomicU32::new(0);
    // SAFETY: the argument word is the pointer that the code takes.
    unsafe { cpu::launch(CpuCode::alone(slow), [programs, 1, 1], &[&raw const counter as u64]) };
    counter.load(Relaxed)
}

/// Runs `f` in a child, which must be done within 20 seconds.
fn in_a_child(f: impl FnOnce() -> bool) {
    // SAFETY: the child calls `f` and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = catch_unwind(AssertUnwindSafe(f)).unwrap_or(false);
        // SAFETY: nothing of the test's process is run in the child after this.
        unsafe { libc::_exit(if done { 0 } else { 1 }) };
    }
    assert!(child > 0, "no child");
    let (start, mut status) = (Instant::now(), -1);
    // SAFETY: a child of this process, and room for its status.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: the child was not waited for yet.
            unsafe { (libc::kill(child, libc::SIGKILL), libc::waitpid(child, &mut status, 0)) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child's status");
}

#[test]
fn a_forked_child_hangs_in_a_launch() {
    assert_eq!(sum(64), 63 * 32);
    in_a_child(|| sum(64) == 63 * 32);
    // And a child of that one.
    in_a_child(|| {
        in_a_child(|| sum(64) == 63 * 32);
        sum(64) == 63 * 32
    });
    assert_eq!(sum(64), 63 * 32);
}

#[test]
fn a_child_forked_by_a_thread_of_a_pool_hangs_in_a_launch() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(|| {
        assert_eq!(sum(64), 63 * 32);
        in_a_child(|| sum(64) == 63 * 32);
    });
}

/// Other threads launch meanwhile, and may hold every lock.
#[test]
fn a_child_hangs_that_was_forked_beside_other_launches() {
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                while !done.load(Relaxed) {
                    sum(5);
                }
            });
        }
        let all = catch_unwind(|| (0..30).for_each(|_| in_a_child(|| sum(20) == 190)));
        done.store(true, Relaxed);
        assert!(all.is_ok());
    });
}

const LONG: usize = 1 << 21;

/// The sum of a tile of 8 MiB, which a second and a third one are made for.
unsafe fn long_tile(program: &Program, words: &[u64]) {
    // SAFETY: the launches below give so many elements, and room for a result of each program.
    unsafe {
        let x = load::<f32>(&[LONG], LONG, |i| words[0] + 4 * i as u64, |_| true, |_| 0.0);
        let doubled = each(&[LONG], |i| x.at(i) * 2.0);
        let sum = reduce_all(&doubled, |a, b| a + b);
        store(&[1], 1, |_| words[1] + 4 * program.id[0], |_| true, |_| sum);
    }
}

#[test]
fn a_tile_without_memory_ends_the_process() {
    let x = vec![1f32; LONG];
    let mut sums = [0f32; 9];
    let mut run = || {
        let words = [x.as_ptr() as u64, sums.as_mut_ptr() as u64];
        // SAFETY: the argument words are the pointers that the code takes.
        let ran = catch_unwind(|| unsafe { cpu::launch(CpuCode::alone(long_tile), [9, 1, 1], &words) });
        (ran, sums)
    };
    LARGEST.store(1 << 20, Relaxed);
    let (failed, _) = run();
    LARGEST.store(usize::MAX, Relaxed);
    let panic = failed.expect_err("there was no memory");
    assert_eq!(panic.downcast_ref::<OutOfMemory>(), Some(&OutOfMemory { bytes: 4 * LONG as u64 }));
    let (ran, sums) = run();
    assert!(ran.is_ok());
    assert_eq!(sums, [2.0 * LONG as f32; 9]);
}
