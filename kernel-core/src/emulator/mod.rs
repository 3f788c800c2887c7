//! The emulated SM: runs lowered, thread-level code on the host, one fiber per thread, and reports what is wrong with it.
//!
//! Programs run one after another, the threads of a program until each comes to a step that it takes with others.
//! Which of them goes first is a matter of the seed; what is reported is not, for most detectors: two accesses race
//! when nothing orders them, whether or not this run happened to interleave them.
//!
//! Asynchronous steps (tensor loads and stores, copies, products of warpgroups) take effect at once, but their accesses
//! belong to an agent of their own, and are ordered before those of a thread only by what waits for them. Accumulators of a product hold no sums until it is waited for (`in_flight`).

mod access;
mod banks;
mod fiber;
mod groups;
mod in_flight;
mod known;
mod machine;
mod matrix;
mod mbarrier;
mod memory;
mod named_barrier;
mod order;
mod product;
mod random;
mod report;
mod shadow;
mod state;
pub(crate) mod step;
pub(crate) mod step_tensor;
mod tensor;
mod tensor_map;
#[cfg(test)]
mod tests;
mod tma;
mod wgmma;

pub use report::{Failure, Kind, Options, Region, Report, SharedSite};
pub use tensor_map::TensorMap;

/// Threads of the largest program.
pub const MAX_THREADS: u32 = 1024;

/// Runs `grid` programs of `threads` threads, and stops at the first thing found wrong. What they stored until then
/// stays stored.
///
/// # Safety
/// `run` is lowered code for these slots. Each region is memory that it may read, and write if mutable, and that nobody
/// else writes meanwhile; the same holds for what it reaches through regions of unknown extent.
pub unsafe fn launch(
    run: unsafe fn(&[u64]),
    threads: u32,
    shared_bytes: u32,
    grid: [u64; 3],
    slots: &[u64],
    regions: &[Region],
    options: &Options,
) -> Result<Report, Failure> {
    let mut machine = machine::Machine::new(threads.min(MAX_THREADS), shared_bytes, grid, regions, options);
    if threads == 0 || threads > MAX_THREADS {
        return Err(machine.refuse(format!("{threads} threads; at most {MAX_THREADS}")));
    }
    let programs = grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g));
    if programs.is_none_or(|n| n > options.max_programs.min(u32::MAX as u64)) {
        return Err(machine.refuse(format!("a grid of {grid:?} programs; at most {}", options.max_programs)));
    }
    machine.run(run, slots)
}
