//! The functions that thread-level code calls, and their effects beside the result: the table of features, of the
//! verifier and of the order of accesses.

use crate::ir::{Binary, Unary};

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It gives a value.
    None,
    GlobalRead,
    GlobalWrite,
    GlobalUpdate,
    SharedRead,
    SharedWrite,
    /// To the shared memory of blocks of the cluster.
    ClusterWrite,
    /// An atomic that reads and writes.
    SharedUpdate,
    /// Global to shared memory, by a copy that the thread waits for later.
    CopyAhead,
    CopyWait,
    /// The lanes of a warp take part together.
    Warp,
    Barrier(Counted),
    MbarrierInit,
    MbarrierExpect,
    MbarrierArrive,
    MbarrierWait,
    /// Tensor cores begin products that the thread waits for later.
    Wgmma,
    WgmmaWait,
    TmaLoad,
    TmaStore,
    TmaWait,
    /// Order between accesses of a thread and copies or tensor cores.
    Fence,
    /// It speaks to the host.
    Message,
    /// Of the thread itself: registers, launches.
    Control,
}

/// The threads that a barrier counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Block,
    /// Those of all blocks of the cluster.
    Cluster,
    /// As many as the second argument says.
    Named,
}

macro_rules! device_functions {
    ($($function:ident $name:literal $effect:expr;)*) => {
        /// A function of `tilewright_core::device`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Device { $($function),* }

        impl Device {
            pub const ALL: &[Device] = &[$(Device::$function),*];

            pub fn name(self) -> &'static str {
                match self { $(Device::$function => $name),* }
            }

            pub fn effect(self) -> Effect {
                match self { $(Device::$function => $effect),* }
            }
        }
    };
}

device_functions! {
    All "all" Effect::None;
    Assert "assert" Effect::Message;
    Atomic "atomic" Effect::GlobalUpdate;
    AtomicCas "atomic_cas" Effect::GlobalUpdate;
    Barrier "barrier" Effect::Barrier(Counted::Block);
    Batch "batch" Effect::None;
    CastEach "cast_each" Effect::None;
    ClusterId "cluster_id" Effect::None;
    ClusterRank "cluster_rank" Effect::None;
    ClusterStore "cluster_store" Effect::ClusterWrite;
    ClusterSync "cluster_sync" Effect::Barrier(Counted::Cluster);
    CopyAhead "copy_ahead" Effect::CopyAhead;
    CopyBox "copy_box" Effect::TmaLoad;
    CopyBoxTo "copy_box_to" Effect::TmaLoad;
    CpAsyncCommit "cp_async_commit" Effect::CopyAhead;
    CpAsyncWait "cp_async_wait" Effect::CopyWait;
    Each "each" Effect::None;
    FmaTile "fma_tile" Effect::None;
    Fold "fold" Effect::None;
    GridDependencyWait "grid_dependency_wait" Effect::Control;
    GroupBarrier "group_barrier" Effect::Barrier(Counted::Named);
    Ldmatrix "ldmatrix" Effect::SharedRead;
    Limit "limit" Effect::None;
    Load "load" Effect::GlobalRead;
    MbarrierArrive "mbarrier_arrive" Effect::MbarrierArrive;
    MbarrierArriveAt "mbarrier_arrive_at" Effect::MbarrierArrive;
    MbarrierExpect "mbarrier_expect" Effect::MbarrierExpect;
    MbarrierInit "mbarrier_init" Effect::MbarrierInit;
    MbarrierWait "mbarrier_wait" Effect::MbarrierWait;
    MbarriersReady "mbarriers_ready" Effect::Fence;
    MmaTile "mma_tile" Effect::Warp;
    NumClusters "num_clusters" Effect::None;
    NumPrograms "num_programs" Effect::None;
    OfPair "of_pair" Effect::None;
    Opaque "opaque" Effect::None;
    OpaqueWord "opaque_word" Effect::None;
    Pair "pair" Effect::None;
    Pick "pick" Effect::None;
    PrefetchMap "prefetch_map" Effect::Control;
    Print "print" Effect::Message;
    ProgramId "program_id" Effect::None;
    ProxyFence "proxy_fence" Effect::Fence;
    ScanLanes "scan_lanes" Effect::Warp;
    ScanPrefixes "scan_prefixes" Effect::None;
    ScanThen "scan_then" Effect::None;
    ScanTotals "scan_totals" Effect::None;
    ScanWarps "scan_warps" Effect::None;
    SetRegisters "set_registers" Effect::Control;
    SharedAtomic "shared_atomic" Effect::SharedUpdate;
    SharedAtomicAdd "shared_atomic_add" Effect::SharedUpdate;
    SharedAtomicCas "shared_atomic_cas" Effect::SharedUpdate;
    SharedLoad "shared_load" Effect::SharedRead;
    SharedStore "shared_store" Effect::SharedWrite;
    Shuffle "shuffle" Effect::Warp;
    ShuffleXor "shuffle_xor" Effect::Warp;
    Stmatrix "stmatrix" Effect::SharedWrite;
    Store "store" Effect::GlobalWrite;
    StoreBox "store_box" Effect::TmaStore;
    TmaStoreWait "tma_store_wait" Effect::TmaWait;
    TmaStoreWaitRead "tma_store_wait_read" Effect::TmaWait;
    Unset "unset" Effect::None;
    Wgmma "wgmma" Effect::Wgmma;
    WgmmaBatch "wgmma_batch" Effect::Wgmma;
    WgmmaRa "wgmma_ra" Effect::Wgmma;
    WgmmaRaBatch "wgmma_ra_batch" Effect::Wgmma;
    WgmmaDone "wgmma_done" Effect::WgmmaWait;
    WgmmaWaitPrevious "wgmma_wait_previous" Effect::WgmmaWait;
    // Of the crates that `tile debug` builds alone: the device has no such function.
    Watch "watch" Effect::Message;
    Words "words" Effect::None;
}

macro_rules! cpu_functions {
    ($($function:ident $name:literal;)*) => {
        /// A function of `tilewright_core::cpu`, on whole tiles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Cpu { $($function),* }

        impl Cpu {
            pub fn name(self) -> &'static str {
                match self { $(Cpu::$function => $name),* }
            }
        }
    };
}

cpu_functions! {
    ArgReduce "arg_reduce";
    ArgReduceAll "arg_reduce_all";
    Assert "assert";
    Atomic "atomic";
    AtomicCas "atomic_cas";
    Broadcast "broadcast";
    Dot "dot";
    Each "each";
    Gather "gather";
    Histogram "histogram";
    Load "load";
    LoadClipped "load_clipped";
    Permute "permute";
    Print "print";
    Reduce "reduce";
    ReduceAll "reduce_all";
    Reshape "reshape";
    ScalarTile "Tile::scalar";
    Scan "scan";
    ScanExclusive "scan_exclusive";
    SharedAddress "shared_address";
    SharedArray "SharedArray::new";
    Sort "sort";
    Store "store";
    StoreClipped "store_clipped";
}

/// A function that code calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Device(Device),
    Cpu(Cpu),
    /// Of `tilewright_core::scalar`.
    Unary(Unary),
    Binary(Binary),
    Fma,
    Select,
    Cast,
    Bitcast,
    /// The least and the greatest number of a type.
    Lowest,
    Highest,
    /// A scalar type's value in an argument word.
    FromBits64(crate::dtype::DType),
}

from! {
    f: Device => Function = Function::Device(f);
    f: Cpu => Function = Function::Cpu(f);
    f: Unary => Function = Function::Unary(f);
    f: Binary => Function = Function::Binary(f);
}
