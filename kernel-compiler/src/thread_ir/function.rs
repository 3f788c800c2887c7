//! The functions that thread-level code calls, and their effects beside the result: the table of features, of the
//! verifier and of the order of accesses.

use crate::ir::{Binary, Unary};

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: the call computes a value.
    None,
    /// A load from global memory.
    GlobalRead,
    /// A store to global memory.
    GlobalWrite,
    /// An atomic on global memory that reads and writes.
    GlobalUpdate,
    /// A load from the shared memory of the thread block.
    SharedRead,
    /// A store to the shared memory of the thread block.
    SharedWrite,
    /// A store to the shared memory of thread blocks of the cluster.
    ClusterWrite,
    /// An atomic on shared memory that reads and writes.
    SharedUpdate,
    /// A copy from global to shared memory by `cp.async`, which the thread waits for later.
    CopyAhead,
    /// A wait for `cp.async` copies of this thread.
    CopyWait,
    /// An instruction that all lanes of a warp execute together.
    Warp,
    /// A wait until all threads arrive that the barrier counts.
    Barrier(Counted),
    /// The initialization of an mbarrier.
    MbarrierInit,
    /// An arrival that makes the phase wait for bytes of TMA as well.
    MbarrierExpect,
    /// An arrival at an mbarrier.
    MbarrierArrive,
    /// A wait for the end of a phase of an mbarrier.
    MbarrierWait,
    /// Tensor cores begin products that the thread waits for later.
    Wgmma,
    /// A wait for `wgmma` products.
    WgmmaWait,
    /// A copy of a box from global to shared memory, which completes at an mbarrier.
    TmaLoad,
    /// A copy of a box from shared to global memory, which the thread waits for later.
    TmaStore,
    /// A wait for TMA copies to global memory.
    TmaWait,
    /// An order between accesses of the thread and asynchronous copies or tensor cores.
    Fence,
    /// A message to the host.
    Message,
    /// A mark of a traced launch.
    Mark,
    /// A step without results and accesses: a number of registers, a wait for the launch before, a prefetch.
    Control,
}

/// The threads that a barrier counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// All threads of the thread block.
    Block,
    /// The threads of all thread blocks of the cluster.
    Cluster,
    /// As many threads as the second argument says, in whole warps.
    Named,
}

macro_rules! device_functions {
    ($($(#[$doc:meta])* $function:ident $name:literal $effect:expr;)*) => {
        /// A function of `tilewright_core::device`, whose documentation has the arguments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Device { $($(#[$doc])* $function),* }

        impl Device {
            /// Every function, in the order of the table.
            pub const ALL: &[Device] = &[$(Device::$function),*];

            /// The Rust name of the function.
            pub fn name(self) -> &'static str {
                match self { $(Device::$function => $name),* }
            }

            /// The effect of a call, but for atomics, whose operation is an argument: see [`Call::effect`].
            ///
            /// [`Call::effect`]: super::Call::effect
            pub fn effect(self) -> Effect {
                match self { $(Device::$function => $effect),* }
            }
        }
    };
}

device_functions! {
    /// Whether a condition holds for all of some indices.
    All "all" Effect::None;
    /// A failure of the launch unless a condition holds.
    Assert "assert" Effect::Message;
    /// Atomic operations on elements of global memory, by their number.
    Atomic "atomic" Effect::GlobalUpdate;
    /// Compare-and-swap on elements of global memory.
    AtomicCas "atomic_cas" Effect::GlobalUpdate;
    /// Atomic additions to neighbors in global memory, without results.
    AtomicAddVectors "atomic_add_vectors" Effect::GlobalUpdate;
    /// The barrier of the thread block.
    Barrier "barrier" Effect::Barrier(Counted::Block);
    /// The products of a batch, one after another.
    Batch "batch" Effect::None;
    /// A conversion of all registers of a tile, two at a time.
    CastEach "cast_each" Effect::None;
    /// The number of a program that is a cluster, along an axis.
    ClusterId "cluster_id" Effect::None;
    /// The rank of the CTA in its cluster.
    ClusterRank "cluster_rank" Effect::None;
    /// Stores of registers to the shared memory of CTAs of the cluster.
    ClusterStore "cluster_store" Effect::ClusterWrite;
    /// The barrier of the cluster.
    ClusterSync "cluster_sync" Effect::Barrier(Counted::Cluster);
    /// A copy of elements from global to shared memory by `cp.async`.
    CopyAhead "copy_ahead" Effect::CopyAhead;
    /// The end of a group of `cp.async` copies.
    CpAsyncCommit "cp_async_commit" Effect::CopyAhead;
    /// A wait until all but some groups of `cp.async` copies are complete.
    CpAsyncWait "cp_async_wait" Effect::CopyWait;
    /// For each register of a lane, the number of elements before it in its warp that equal it.
    CumcountInWarp "cumcount_in_warp" Effect::SharedWrite;
    /// The sums of the counters of the warps before each warp, in the place of its counters.
    CumcountOfWarps "cumcount_of_warps" Effect::SharedUpdate;
    /// The registers of a tile, by a closure of the number of the register.
    Each "each" Effect::None;
    /// A product by multiply-adds in each thread.
    FmaTile "fma_tile" Effect::None;
    /// The combination of values in pairs.
    Fold "fold" Effect::None;
    /// A wait for the end of the launch before, for programmatic dependent launch.
    GridDependencyWait "grid_dependency_wait" Effect::Control;
    /// A named barrier of some warps.
    GroupBarrier "group_barrier" Effect::Barrier(Counted::Named);
    /// A load of four matrices of 8 by 8 elements of 2 bytes from shared memory.
    Ldmatrix "ldmatrix" Effect::SharedRead;
    /// The number of indices, from a start on, that are below an end.
    Limit "limit" Effect::None;
    /// Loads of registers from global memory.
    Load "load" Effect::GlobalRead;
    /// An arrival at an mbarrier under a condition.
    MbarrierArrive "mbarrier_arrive" Effect::MbarrierArrive;
    /// An arrival at an mbarrier of another CTA of the cluster under a condition.
    MbarrierArriveAt "mbarrier_arrive_at" Effect::MbarrierArrive;
    /// An arrival at an mbarrier that also expects bytes of TMA.
    MbarrierExpect "mbarrier_expect" Effect::MbarrierExpect;
    /// The initialization of an mbarrier with a number of arrivals.
    MbarrierInit "mbarrier_init" Effect::MbarrierInit;
    /// A wait for the phase of a parity of an mbarrier.
    MbarrierWait "mbarrier_wait" Effect::MbarrierWait;
    /// A fence after initialization, before TMA uses the mbarriers.
    MbarriersReady "mbarriers_ready" Effect::Fence;
    /// A product by `mma.sync`, or by multiply-adds where the device has no such instruction.
    MmaTile "mma_tile" Effect::Warp;
    /// The number of programs that are clusters, along an axis.
    NumClusters "num_clusters" Effect::None;
    /// The number of programs along an axis.
    NumPrograms "num_programs" Effect::None;
    /// One of two elements of 2 bytes in a word.
    OfPair "of_pair" Effect::None;
    /// A condition that LLVM cannot see through.
    Opaque "opaque" Effect::None;
    /// A word that LLVM cannot see through.
    OpaqueWord "opaque_word" Effect::None;
    /// A word of two elements of 2 bytes.
    Pair "pair" Effect::None;
    /// One of two values without a branch.
    Pick "pick" Effect::None;
    /// A prefetch of a tensor map.
    PrefetchMap "prefetch_map" Effect::Control;
    /// A print of a value with the numbers of the program and the thread.
    Print "print" Effect::Message;
    /// The number of the program along an axis.
    ProgramId "program_id" Effect::None;
    /// A fence between stores to shared memory and later copies by TMA or products by `wgmma`.
    ProxyFence "proxy_fence" Effect::Fence;
    /// A scan over lanes of a warp.
    ScanLanes "scan_lanes" Effect::Warp;
    /// A scan over registers, from what comes before each group of them.
    ScanPrefixes "scan_prefixes" Effect::None;
    /// The combination of two items of a scan, each of which may be empty.
    ScanThen "scan_then" Effect::None;
    /// The combination of each group of registers.
    ScanTotals "scan_totals" Effect::None;
    /// A scan over the totals of warps.
    ScanWarps "scan_warps" Effect::None;
    /// The number of registers of each thread of a warpgroup (`setmaxnreg`).
    SetRegisters "set_registers" Effect::Control;
    /// Atomic operations on elements of shared memory, by their number.
    SharedAtomic "shared_atomic" Effect::SharedUpdate;
    /// Atomic additions to shared memory, without results.
    SharedAtomicAdd "shared_atomic_add" Effect::SharedUpdate;
    /// Compare-and-swap on elements of shared memory.
    SharedAtomicCas "shared_atomic_cas" Effect::SharedUpdate;
    /// Loads of registers from shared memory.
    SharedLoad "shared_load" Effect::SharedRead;
    /// Stores of registers to shared memory.
    SharedStore "shared_store" Effect::SharedWrite;
    /// The value of another lane, by its number.
    Shuffle "shuffle" Effect::Warp;
    /// The value of another lane, by the difference of the numbers.
    ShuffleXor "shuffle_xor" Effect::Warp;
    /// A store of four matrices of 8 by 8 elements of 2 bytes to shared memory.
    Stmatrix "stmatrix" Effect::SharedWrite;
    /// Stores of registers to global memory.
    Store "store" Effect::GlobalWrite;
    /// A copy of a box to shared memory by TMA.
    TmaLoad "tma_load" Effect::TmaLoad;
    /// A copy of a box to shared memory of several CTAs by TMA multicast.
    TmaLoadMulticast "tma_load_multicast" Effect::TmaLoad;
    /// A copy of a box from shared to global memory by TMA.
    TmaStore "tma_store" Effect::TmaStore;
    /// A wait until TMA has written all boxes to global memory.
    TmaStoreWait "tma_store_wait" Effect::TmaWait;
    /// A wait until TMA has read all but some boxes from shared memory.
    TmaStoreWaitRead "tma_store_wait_read" Effect::TmaWait;
    /// A mark of a traced launch, with a value. The result is the place of the next mark.
    Trace "trace" Effect::Mark;
    /// The begin of a traced warp. The result is the place of its first mark.
    TraceBegin "trace_begin" Effect::Mark;
    /// The end of a traced warp.
    TraceEnd "trace_end" Effect::Mark;
    /// Registers that are never read.
    Unset "unset" Effect::None;
    /// A product by `wgmma`, with both operands in shared memory.
    Wgmma "wgmma" Effect::Wgmma;
    /// The products of a batch by `wgmma`.
    WgmmaBatch "wgmma_batch" Effect::Wgmma;
    /// A product by `wgmma`, with the left operand in registers.
    WgmmaRa "wgmma_ra" Effect::Wgmma;
    /// The products of a batch by `wgmma`, with the left operands in registers.
    WgmmaRaBatch "wgmma_ra_batch" Effect::Wgmma;
    /// A wait for the products on these accumulators.
    WgmmaDone "wgmma_done" Effect::WgmmaWait;
    /// A wait for all products but those committed last.
    WgmmaWaitPrevious "wgmma_wait_previous" Effect::WgmmaWait;
    /// The hand-over of a tile to a breakpoint. Only the crates that `tile debug` builds have it.
    Watch "watch" Effect::Message;
    /// The words of a fragment, each of as many elements as fit.
    Words "words" Effect::None;
}

macro_rules! cpu_functions {
    ($($(#[$doc:meta])* $function:ident $name:literal;)*) => {
        /// A function of `tilewright_core::cpu`, on whole tiles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Cpu { $($(#[$doc])* $function),* }

        impl Cpu {
            /// The Rust name of the function.
            pub fn name(self) -> &'static str {
                match self { $(Cpu::$function => $name),* }
            }
        }
    };
}

cpu_functions! {
    /// The index of the best element along an axis.
    ArgReduce "arg_reduce";
    /// The index of the best element of a tile.
    ArgReduceAll "arg_reduce_all";
    /// A failure of the launch unless a condition holds.
    Assert "assert";
    /// Atomic operations on elements of memory, by their number.
    Atomic "atomic";
    /// Compare-and-swap on elements of memory.
    AtomicCas "atomic_cas";
    /// The offsets and the mask of an axis of a tile in memory.
    Axis "axis";
    /// A tile with extents of 1 repeated.
    Broadcast "broadcast";
    /// `acc + a·b`, of matrices or batches of them.
    Dot "dot";
    /// A tile, by a closure of the row-major index of the element.
    Each "each";
    /// Elements at indices along an axis.
    Gather "gather";
    /// The number of each element among those that equal it.
    Cumcount "cumcount";
    /// A count of elements, or a sum of weights, for each bin.
    Histogram "histogram";
    /// Loads of elements that a condition allows.
    Load "load";
    /// Loads of elements whose index is a sum over the axes of the tile.
    LoadAxes "load_axes";
    /// Loads of elements whose condition holds on one interval of each row.
    LoadClipped "load_clipped";
    /// A tile with its dimensions in another order.
    Permute "permute";
    /// A print of a tile with the number of the program.
    Print "print";
    /// The combination of elements along an axis.
    Reduce "reduce";
    /// The combination of all elements of a tile.
    ReduceAll "reduce_all";
    /// The elements in another shape, in row-major order.
    Reshape "reshape";
    /// A tile of rank 0.
    ScalarTile "Tile::scalar";
    /// An inclusive scan along an axis.
    Scan "scan";
    /// An exclusive scan along an axis.
    ScanExclusive "scan_exclusive";
    /// The address of a shared array.
    SharedAddress "shared_address";
    /// A new shared array of zeros.
    SharedArray "SharedArray::new";
    /// The first elements of the order along an axis.
    Sort "sort";
    /// Stores of elements that a condition allows.
    Store "store";
    /// Stores of elements whose index is a sum over the axes of the tile.
    StoreAxes "store_axes";
    /// Stores of elements whose condition holds on one interval of each row.
    StoreClipped "store_clipped";
}

/// A function that code calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// A step of the device library, which the emulated SM has as well.
    Device(Device),
    /// A function of the CPU backend.
    Cpu(Cpu),
    /// An elementwise function of one value, in `tilewright_core::scalar`.
    Unary(Unary),
    /// An elementwise function of two values, in `tilewright_core::scalar`, as are the ones below.
    Binary(Binary),
    /// `a * b + c`: one rounding in f32 and f64. Floats of 16 bits are rounded to f32 first.
    Fma,
    /// One of two values by a `bool`.
    Select,
    /// The conversion of one element type into another, as `as` does.
    Cast,
    /// The bits of a value as another type of the same size.
    Bitcast,
    /// The least number of a type.
    Lowest,
    /// The greatest number of a type.
    Highest,
    /// The value of this type whose bits are an argument word.
    FromBits64(crate::dtype::DType),
}

from! {
    f: Device => Function = Function::Device(f);
    f: Cpu => Function = Function::Cpu(f);
    f: Unary => Function = Function::Unary(f);
    f: Binary => Function = Function::Binary(f);
}
