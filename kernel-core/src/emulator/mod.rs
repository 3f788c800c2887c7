//! The emulated SM: runs lowered, thread-level code on the host, one fiber per thread, and reports its defects.
//!
//! Programs run one after another, each thread of a program until it comes to a step that it takes with others. The
//! seed decides the order of threads. The reports of most detectors do not depend on it: two accesses race when nothing
//! orders them, whether or not this run happened to interleave them.
//!
//! Asynchronous steps (tensor loads and stores, copies, products of warpgroups) take effect at once, but their accesses
//! belong to an agent of their own, and only a wait orders them before the accesses of a thread. Accumulators of a
//! product hold no sums until it is waited for (`in_flight`).
//!
//! A program may be run by several thread blocks ("CTAs") of a cluster together, each with its own threads, barriers
//! and shared memory. They reach into each other's by their common barrier, by arrivals at mbarriers and by tensor
//! loads to several of them; such an access must be ordered before the end of the CTA that it reaches into (`cluster`).

mod access;
mod access_kind;
mod atomics;
mod banks;
mod cluster;
pub mod debug;
mod epoch;
mod explain;
mod fiber;
mod groups;
mod in_flight;
mod lines;
mod machine;
mod marks;
mod matrix;
mod mbarrier;
mod memory;
mod named_barrier;
mod order;
mod overflow;
mod product;
mod random;
mod registers;
mod report;
mod sectors;
mod shadow;
mod state;
pub(crate) mod step;
pub(crate) mod step_tensor;
mod tensor;
mod tensor_map;
#[cfg(test)]
mod tests;
mod tma;
mod undo;
mod unordered;
mod vector_clock;
mod watch;
mod wgmma;

use machine::{Machine, Stopped};

pub use epoch::MAX_CLUSTER_THREADS;
pub use explain::explain;
pub use lines::by_line;
pub use report::{BarrierSite, Failure, GlobalSite, Kind, Options, Region, Report, SharedSite, Side, WatchOptions};
#[doc(hidden)]
pub use step::watch;
pub use tensor_map::TensorMap;

/// Threads of the largest CTA.
pub const MAX_THREADS: u32 = 1024;
/// CTAs of the largest cluster that every device with clusters takes.
pub const MAX_CTAS: u32 = 8;

/// The code of a launch. [`launch`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The kernel's name.
    pub name: &'static str,
    /// One thread of one program, given the argument words.
    pub run: unsafe fn(&[u64]),
    /// Registers of a thread as it begins, of which warpgroups may hand some to each other; 0 if they may not.
    pub registers: u32,
    /// Whether it may begin before the launch in front of it has ended: until a thread has waited for that
    /// (`griddepcontrol.wait`) it may only load from regions that are [`pdl`](Region::pdl).
    pub pdl: bool,
}

/// How many threads a launch has, and of which shared memory. [`launch`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The threads of one thread block (CTA).
    pub threads: u32,
    /// The bytes of shared memory of one CTA.
    pub shared_bytes: u32,
    /// Programs, each of them one cluster.
    pub grid: [u64; 3],
    /// The CTAs of each program; 1 for no cluster. They are consecutive along the first axis.
    pub ctas: u32,
}

impl Shape {
    /// Why it cannot be launched.
    fn invalid(&self, options: &Options) -> Option<String> {
        let &Shape { threads, grid, ctas, .. } = self;
        if threads == 0 || threads > MAX_THREADS {
            return Some(format!("{threads} threads; at most {MAX_THREADS}"));
        }
        if ctas == 0 || ctas > MAX_CTAS {
            return Some(format!("{ctas} CTAs in a cluster; at most {MAX_CTAS}"));
        }
        if ctas > 1 && (threads % 32 != 0 || threads * ctas > MAX_CLUSTER_THREADS) {
            return Some(format!(
                "a cluster of {ctas} times {threads} threads; whole warps, at most {MAX_CLUSTER_THREADS}"
            ));
        }
        let programs = grid.iter().try_fold(1u64, |n, &g| n.checked_mul(g));
        let too_many = programs.is_none_or(|n| n > options.max_programs.min((u32::MAX / ctas) as u64));
        too_many.then(|| format!("a grid of {grid:?} programs; at most {}", options.max_programs))
    }
}

/// Runs the programs of a launch, and stops at the first failure. Stores until then keep their effect.
///
/// # Safety
/// `program` is lowered code for these argument words. Each region is memory that it may read, and write if mutable,
/// and that nobody else writes meanwhile; the same holds for memory that it reaches through regions of unknown extent.
///
/// # Examples
/// ```
/// use tilewright_core::emulator::{Kind, Options, Program, Region, Shape, launch};
///
/// unsafe fn empty(_words: &[u64]) {}
///
/// let program = Program { name: "empty", run: empty, registers: 0, pdl: false };
/// let shape = Shape { threads: 32, shared_bytes: 0, grid: [3, 1, 1], ctas: 1 };
/// let (y, options) = ([0.0f32; 8], Options::default());
/// let region = Region {
///     start: y.as_ptr() as u64,
///     bytes: 32,
///     mutable: false,
///     initialized: true,
///     pdl: false,
///     name: "y".into(),
///     element: 4,
/// };
/// // SAFETY: the program accesses no memory.
/// let report = unsafe { launch(program, shape, &[], &[region], &options) }.expect("nothing is wrong");
/// assert_eq!((report.programs, report.global_bytes, report.shared_sites.len()), (3, 0, 0));
/// // SAFETY: no thread block has so many threads, and nothing is run.
/// let failure = unsafe { launch(program, Shape { threads: 2048, ..shape }, &[], &[], &options) }.unwrap_err();
/// assert_eq!(failure.kind, Kind::Launch);
/// ```
#[allow(clippy::result_large_err, reason = "a launch fails once")]
pub unsafe fn launch(
    program: Program,
    shape: Shape,
    words: &[u64],
    regions: &[Region],
    options: &Options,
) -> Result<Report, Failure> {
    if let Some(message) = shape.invalid(options) {
        return Err(Failure::launch(message, options));
    }
    let mut suspicion = None;
    loop {
        match Machine::new(program, shape, regions, options, suspicion).run(words) {
            Ok(report) => return Ok(report),
            Err(Stopped::Failed(failure)) => return Err(failure),
            Err(Stopped::Suspected(next)) => suspicion = Some(next),
        }
    }
}
