//! Programs over the cores.

use super::Mem;
use super::threads;
use super::tile::Tile;
use crate::desc::CpuCode;
use rayon::prelude::*;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A program of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its index along x, y and z.
    pub id: [u64; 3],
    /// Programs along x, y and z.
    pub grid: [u64; 3],
    /// Constants of the configuration.
    pub numbers: &'static [u64],
}

/// A launch that takes less time runs on one thread: another one would not wake up in time.
const MIN_PARALLEL_TIME: Duration = Duration::from_micros(20);

/// Runs `code` for every program of the grid, in no particular order: on the threads of the rayon pool that the caller
/// is in, else on those of this process. If one panics, so does this, with the same payload; programs that have not
/// started by then do not run.
///
/// # Panics
/// The processor [cannot run](is_supported) functions of kernels.
///
/// # Safety
/// `code` is a kernel's, and keeps the contract of [`KernelDesc::new`](crate::KernelDesc::new) for these argument words
/// on this grid.
pub unsafe fn launch(code: CpuCode, grid: [u64; 3], words: &[u64]) {
    assert!(is_supported(), "the processor lacks AVX2 or FMA");
    if grid.contains(&0) {
        return;
    }
    let total = grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g));
    let total = total.and_then(|n| usize::try_from(n).ok()).expect("the grid is too large");
    let failed = AtomicBool::new(false);
    let cause = Mutex::new(None);
    // None where an earlier program has failed.
    let run = |i: usize| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let i = i as u64;
        let program =
            Program { id: [i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]], grid, numbers: code.numbers };
        let around = FAILED.replace(&failed);
        // SAFETY: the caller vouches for the code with these argument words, in every program of the grid, and the
        // processor has the features that it is compiled for.
        let ran = catch_unwind(AssertUnwindSafe(|| unsafe { (code.run)(&program, words) }));
        FAILED.set(around);
        if let Err(panic) = ran {
            // The first: others may fail because they wait for it.
            cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            failed.store(true, Ordering::Relaxed);
        }
        Some(())
    };
    // Ends where a program has failed: `run` returns none for each that comes after.
    let in_parallel = |first: usize| {
        threads::with(|threads| {
            match threads {
                None => {
                    let _ = (first..total).try_for_each(run);
                }
                // Splits as threads ask for work, and no further than this, so that little is spent on splitting.
                Some(n) => {
                    let programs = (first..total).into_par_iter().with_min_len((total / (n * 64)).max(1));
                    let _ = programs.try_for_each(run);
                }
            }
            threads.unwrap_or(1)
        })
    };
    let of_all = |program: Duration| program.saturating_mul(u32::try_from(total).unwrap_or(u32::MAX));
    let start = Instant::now();
    if total > 1 && of_all(LAST.with_borrow(|last| last.of(code))) >= MIN_PARALLEL_TIME * 2 {
        // Of a thread.
        let programs = u32::try_from(total.div_ceil(in_parallel(0))).unwrap_or(u32::MAX);
        LAST.with_borrow_mut(|last| last.set(code, start.elapsed() / programs));
    } else {
        let _ = run(0);
        let program = start.elapsed();
        LAST.with_borrow_mut(|last| last.set(code, program));
        if of_all(program) - program < MIN_PARALLEL_TIME {
            let _ = (1..total).try_for_each(run);
        } else {
            in_parallel(1);
        }
    }
    if let Some(panic) = cause.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
}

/// The time of a program, for the last few functions that a thread has launched. Of a function that it does not know
/// the first program runs alone, and says whether the others are worth another thread.
#[derive(Default)]
struct Times([(usize, Duration); 16]);

impl Times {
    /// The address of a function, and the place of its time.
    fn place(code: CpuCode) -> (usize, usize) {
        let address = code.run as usize;
        (address, address / 16 % 16)
    }

    /// Zero where the time is not known.
    fn of(&self, code: CpuCode) -> Duration {
        let (address, place) = Times::place(code);
        let (known, time) = self.0[place];
        if known == address { time } else { Duration::ZERO }
    }

    fn set(&mut self, code: CpuCode, time: Duration) {
        let (address, place) = Times::place(code);
        self.0[place] = (address, time);
    }
}

/// The addresses that a waiting loop may read in turns.
const SEEN_PLACES: usize = 16;

thread_local! {
    static LAST: RefCell<Times> = RefCell::default();
    /// An address and the bits that this thread has read there last.
    static SEEN: [Cell<(u64, u64)>; SEEN_PLACES] = const { [const { Cell::new((0, 0)) }; SEEN_PLACES] };
    /// Whether a program of the launch that this thread works for has failed.
    static FAILED: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

#[cfg(test)]
thread_local! {
    /// How often this thread has paused.
    pub(super) static PAUSES: Cell<usize> = const { Cell::new(0) };
}

/// For a program that has read these bits at an address, and may wait there for another one to write: pauses where its
/// thread has found the same there before. Ends the program as [`fail_with_others`] does.
#[inline]
pub(super) fn may_wait(addr: u64, bits: u64) {
    let place = (addr >> 2) as usize % SEEN_PLACES;
    if SEEN.with(|seen| seen[place].replace((addr, bits))) == (addr, bits) {
        #[cfg(test)]
        PAUSES.set(PAUSES.get() + 1);
        std::hint::spin_loop();
    }
    fail_with_others();
}

/// For a program that may be waiting for another: that one may have panicked, then so does this.
#[inline]
pub(super) fn fail_with_others() {
    // SAFETY: `launch` sets the pointer around the programs that it runs, which the flag outlives, and restores it.
    if unsafe { FAILED.get().as_ref() }.is_some_and(|failed| failed.load(Ordering::Relaxed)) {
        // Without a message: the program that failed first has said why.
        resume_unwind(Box::new("another program of the launch has failed"));
    }
}

/// Whether the functions of kernels can run here: on x86-64 they are compiled for AVX2 and FMA.
#[inline(never)]
pub fn is_supported() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return true;
}

/// A `device_assert!` that does not hold. [`launch`] unwinds with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The message of the assertion.
    pub message: String,
    /// The line of the assertion in the kernel's file.
    pub line: u32,
    /// The index of the program along x, y and z.
    pub program: [u64; 3],
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.program;
        write!(f, "line {}: assertion failed: {} [program ({x}, {y}, {z})]", self.line, self.message)
    }
}

/// `device_assert!`: ends the launch with an [`Assertion`].
#[inline(always)]
pub fn assert(c: bool, msg: &str, line: u32, program: &Program) {
    if !c {
        assert_failed(msg, line, program);
    }
}

/// Unwinds past the panic hook: the error of the launch names the failure, and a backtrace of this process says nothing
/// of the kernel.
#[cold]
#[inline(never)]
fn assert_failed(msg: &str, line: u32, program: &Program) -> ! {
    resume_unwind(Box::new(Assertion { message: msg.into(), line, program: program.id }))
}

/// `device_print!`: one line, written at once. A line that cannot be written is lost.
#[inline(never)]
pub fn print<T: Mem>(msg: &str, t: &Tile<T>, program: &Program) {
    let line = line_of(msg, t, program) + "\n";
    let _ = std::io::stdout().write_all(line.as_bytes());
}

pub(super) fn line_of<T: Mem>(msg: &str, t: &Tile<T>, program: &Program) -> String {
    let [x, y, z] = program.id;
    let mut line = format!("program ({x}, {y}, {z}) {msg}:");
    for v in t.as_slice() {
        write!(line, " {v:?}").expect("writing to a string");
    }
    line
}
