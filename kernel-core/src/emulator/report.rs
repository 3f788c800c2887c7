//! The options of a launch, and its report.

use std::fmt;

/// Memory that a launch may touch. [`launch`](super::launch) has an example.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Region {
    /// The address of the first byte.
    pub start: u64,
    /// [`Region::UNKNOWN`] where only the caller knows: then addresses outside every other region are not checked.
    pub bytes: u64,
    /// Whether the launch may write it.
    pub mutable: bool,
    /// Whether its contents are defined before the launch.
    pub initialized: bool,
    /// Whether it may be read before the launch in front has ended, where this one begins early.
    pub pdl: bool,
    /// The parameter's name.
    pub name: String,
    /// Bytes of an element: reports name elements, not addresses.
    pub element: u32,
}

impl Region {
    /// The extent of a region that only the caller knows.
    pub const UNKNOWN: u64 = u64::MAX;
}

/// The order of a run, and the defects that it reports. By default it reports all.
///
/// # Examples
/// ```
/// use tilewright_core::emulator::Options;
///
/// let options = Options { seed: 7, num_sms: 2, forbid_bank_conflicts: true, ..Options::default() };
/// assert!(options.races && options.uninitialized);
/// ```
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Orders programs and threads; 0 is ascending order. Equal seeds give equal runs.
    pub seed: u64,
    /// Multiprocessors of the emulated device. Few are enough for most defects; more of them make more programs share
    /// work.
    pub num_sms: usize,
    /// Report unordered accesses to the same memory.
    pub races: bool,
    /// Report reads of memory that nothing has written.
    pub uninitialized: bool,
    /// Count bank conflicts.
    pub banks: bool,
    /// Count the sectors of global memory that the instructions of a warp touch. It takes time.
    pub sectors: bool,
    /// Fail the launch on any bank conflict.
    pub forbid_bank_conflicts: bool,
    /// Also report unordered stores of equal values to the same place. Lowered code stores each element once, by one
    /// thread: a second store is a thread too many even where it does no harm, and one of two programs that store an
    /// element races with the other on the CPU backend.
    pub forbid_same_value_stores: bool,
    /// Let shuffles order the memory accesses of their warp. PTX does not promise that: only `warp_barrier` does.
    pub shuffles_order_memory: bool,
    /// Refuse larger grids.
    pub max_programs: u64,
    /// Bytes of stack of each thread; lowered code keeps its registers there. It is address space until a thread uses
    /// it.
    pub stack_bytes: usize,
    /// The tiles that breakpoints show. Only the code that `tile debug` makes has any.
    pub watch: WatchOptions,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            num_sms: 4,
            races: true,
            uninitialized: true,
            banks: true,
            sectors: false,
            forbid_bank_conflicts: false,
            forbid_same_value_stores: true,
            shuffles_order_memory: false,
            max_programs: 1 << 22,
            stack_bytes: 16 << 20,
            watch: WatchOptions::default(),
        }
    }
}

/// The tiles that are shown, and how. [`launch`](super::launch) has an example of options.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WatchOptions {
    /// The program, by its index along x, y and z.
    pub program: [u64; 3],
    /// How often a thread passes a breakpoint until it is no longer shown, as in a loop.
    pub passes: u32,
    /// All elements; else a few of each dimension.
    pub whole: bool,
    /// Also the counters of every launch, by the lines of the kernel. Only a [library](super::debug) shows them.
    pub lines: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        WatchOptions { program: [0; 3], passes: 8, whole: false, lines: false }
    }
}

/// Counters of a launch that found nothing wrong. Accesses are those of single threads.
/// [`launch`](super::launch) has an example.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// Programs that ran.
    pub programs: u64,
    /// Barriers that a whole CTA or a whole cluster passed.
    pub barriers: u64,
    /// Shuffles and barriers that a whole warp passed.
    pub warp_steps: u64,
    /// Loads from global memory.
    pub global_loads: u64,
    /// Stores to global memory.
    pub global_stores: u64,
    /// Bytes of these loads and stores.
    pub global_bytes: u64,
    /// Atomics on global memory.
    pub atomics: u64,
    /// Loads from shared memory.
    pub shared_loads: u64,
    /// Stores to shared memory.
    pub shared_stores: u64,
    /// Unordered stores of a value that was there already.
    pub same_value_stores: u64,
    /// Every line that accesses shared memory, in order.
    pub shared_sites: Vec<SharedSite>,
    /// Every line whose threads access global memory, in order, where [`Options::sectors`] is set.
    pub global_sites: Vec<GlobalSite>,
    /// Every line with barriers, in order.
    pub barrier_sites: Vec<BarrierSite>,
    /// The lines that the kernel printed, in the order of this run.
    pub printed: Vec<String>,
    /// The lines of the breakpoints that have shown something.
    pub watched_lines: Vec<u32>,
}

impl Report {
    /// The lines whose accesses to shared memory take longer than their width asks for.
    pub fn bank_conflicts(&self) -> impl Iterator<Item = &SharedSite> {
        self.shared_sites.iter().filter(|s| s.wavefronts > s.ideal)
    }
}

/// The shared-memory instructions of one line, summed over warps. [`launch`](super::launch) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SharedSite {
    /// The line of the kernel.
    pub site: u32,
    /// Whether the instructions store.
    pub write: bool,
    /// Warp-wide instructions.
    pub instructions: u64,
    /// Passes of the instructions through the 32 banks.
    pub wavefronts: u64,
    /// Passes that instructions of the same widths take without conflicts.
    pub ideal: u64,
    /// Instructions that take more than their ideal.
    pub conflicting: u64,
    /// The worst instruction: its wavefronts over its ideal.
    pub worst: u32,
}

/// The accesses to global memory of one line, as instructions of warps. Atomics and asynchronous copies are not among
/// them. [`launch`](super::launch) has an example of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GlobalSite {
    /// The line of the kernel.
    pub site: u32,
    /// Whether the instructions store.
    pub write: bool,
    /// Warp-wide instructions.
    pub instructions: u64,
    /// Bytes that the lanes of the instructions access, shared ones once.
    pub bytes: u64,
    /// Sectors of 32 bytes that the instructions touch.
    pub sectors: u64,
    /// Sectors of a fully coalesced access of the same bytes.
    pub ideal: u64,
    /// Accesses of lanes that are not counted, because a program has more instructions than are kept.
    pub left_out: u64,
}

/// The barriers of one line. [`launch`](super::launch) has an example of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BarrierSite {
    /// The line of the kernel.
    pub site: u32,
    /// Barriers that all threads of a CTA or of a cluster pass, and named barriers.
    pub barriers: u64,
    /// Waits of threads for a phase of an mbarrier.
    pub mbarrier_waits: u64,
}

/// The kind of a defect.
///
/// # Examples
/// ```
/// use tilewright_core::emulator::Kind;
///
/// assert_eq!(Kind::SharedRace.name(), "data race in shared memory");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// Unordered accesses to shared memory, one of which is a store.
    SharedRace,
    /// Unordered accesses to global memory, one of which is a store.
    GlobalRace,
    /// A read of shared memory that nothing has written.
    SharedUninitialized,
    /// A read of global memory that nothing has written.
    GlobalUninitialized,
    /// An access outside of the shared memory of the thread block.
    SharedOutOfBounds,
    /// An access outside of every region.
    GlobalOutOfBounds,
    /// An address that is not a multiple of the size of the access.
    Misaligned,
    /// A store to a region that is not mutable.
    ReadOnly,
    /// Unordered accesses of which one is part of an asynchronous step: a tensor load or store, an asynchronous copy,
    /// a warpgroup's product.
    AsyncRace,
    /// The asynchronous proxy reads or writes bytes that a thread stored, or writes bytes that it loaded, without a
    /// fence. TMA accesses global memory that a thread of the same launch stored to.
    MissingProxyFence,
    /// Accumulators of a warpgroup's product are read or written before it is waited for.
    RegistersInFlight,
    /// Asynchronous work without a wait for it.
    AsyncPending,
    /// An mbarrier that is not initialized, or that more threads arrive at than it expects.
    Mbarrier,
    /// A CTA reaches into the shared memory of one that may have ended.
    EndedCta,
    /// Hardware does not take a tensor map, a matrix descriptor, or a step at this place of the protocol.
    Protocol,
    /// Threads that must take a step together do not, or wait for an event that does not come.
    Divergence,
    /// Registers that warpgroups hand to each other: numbers that do not go, or more than there are.
    Registers,
    /// Memory that the launch in front may write, or read, before this one has waited for it.
    TooEarly,
    /// A program waits for one that may begin after it: a thread has made 2^20 atomics at one address that changed
    /// nothing. Meanwhile the program has made 2^24 such atomics and turns of threads, and no thread has stored to
    /// global memory or ended.
    EndlessWait,
    /// A bank conflict, where [`Options::forbid_bank_conflicts`] is set.
    BankConflict,
    /// A `device_assert!` that does not hold.
    Assertion,
    /// A panic of the code itself.
    Panic,
    /// The launch itself is not possible: threads, grid, shared memory.
    Launch,
}

impl Kind {
    /// The defect in words.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::SharedRace => "data race in shared memory",
            Kind::GlobalRace => "data race in global memory",
            Kind::SharedUninitialized => "read of uninitialized shared memory",
            Kind::GlobalUninitialized => "read of uninitialized global memory",
            Kind::SharedOutOfBounds => "shared memory access out of bounds",
            Kind::GlobalOutOfBounds => "global memory access out of bounds",
            Kind::Misaligned => "misaligned access",
            Kind::ReadOnly => "store to read-only memory",
            Kind::AsyncRace => "race with an asynchronous step",
            Kind::MissingProxyFence => "missing proxy fence",
            Kind::RegistersInFlight => "touching wgmma registers in flight",
            Kind::AsyncPending => "asynchronous work is not waited for",
            Kind::Mbarrier => "misuse of an mbarrier",
            Kind::EndedCta => "access to the shared memory of a CTA that may have ended",
            Kind::Protocol => "misuse of a tensor step",
            Kind::Divergence => "divergence",
            Kind::Registers => "misuse of registers",
            Kind::TooEarly => "access before the launch in front has ended",
            Kind::EndlessWait => "wait without end",
            Kind::BankConflict => "bank conflict",
            Kind::Assertion => "assertion failed",
            Kind::Panic => "panic",
            Kind::Launch => "launch not possible",
        }
    }
}

/// The first thing found wrong; the launch stops there. [`launch`](super::launch) has an example.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Failure {
    /// The kind of the defect.
    pub kind: Kind,
    /// The kernel's line, 0 if unknown.
    pub site: u32,
    /// The line of the other access, where two conflict.
    pub other_site: Option<u32>,
    /// The index of the program along x, y and z.
    pub program: [u64; 3],
    /// Threads involved, the current one first; for divergence the waiting ones. In a cluster those of CTA 0 are
    /// numbered first, then those of CTA 1, and so on.
    pub threads: Vec<u32>,
    /// The access or the step, with its addresses and values.
    pub message: String,
    /// Runs the launch again in the same order.
    pub seed: u64,
    /// The lines that the kernel printed before it.
    pub printed: Vec<String>,
    /// The two accesses of a race, this one first; empty otherwise.
    pub sides: Vec<Side>,
}

/// One of the accesses of a race. [`explain`](super::explain()) has an example.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Side {
    /// As in `store of 4 bytes at y[3]`, `load`, `tma load`.
    pub access: String,
    /// The line of the kernel.
    pub line: u32,
    /// The thread, numbered as in [`Failure::threads`]; none of an asynchronous step.
    pub thread: Option<u32>,
    /// The index of the program along x, y and z.
    pub program: [u64; 3],
}

impl Failure {
    pub(super) fn launch(message: String, options: &Options) -> Self {
        let seed = options.seed;
        Failure {
            kind: Kind::Launch,
            site: 0,
            other_site: None,
            program: [0; 3],
            threads: vec![],
            message,
            seed,
            printed: vec![],
            sides: vec![],
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.program;
        if self.site != 0 {
            write!(f, "line {}: ", self.site)?;
        }
        write!(f, "{}: {} [program ({x}, {y}, {z}), seed {}]", self.kind.name(), self.message, self.seed)
    }
}

impl std::error::Error for Failure {}
