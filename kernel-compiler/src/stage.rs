//! The stages of the compiler, in the order of the [driver](crate::driver).

/// A stage after which the compiler can stop and show its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The attribute and the body as they are parsed.
    Ast,
    /// The typed IR of one instance, as it is inferred.
    Ir,
    /// The IR with sums of f16 products in f32.
    WideSums,
    /// The IR with index tiles of loops replaced by index arithmetic.
    Induction,
    /// The IR after copy propagation.
    CopyProp,
    /// The IR after dead code elimination.
    Dce,
    /// The IR with block pointers found in index arithmetic, for variants with TMA.
    BlockPointers,
    /// The IR of one CTA of the cluster.
    Cluster,
    /// The IR with each product in 3xTF32 as three products in TF32.
    Tf32x3,
    /// The IR with the operands of products swapped that `wgmma` cannot take as they are.
    SwapAb,
    /// The IR with second products of a loop moved to the next iteration.
    PipelineDots,
    /// The IR with the facts about its indices.
    AxisInfo,
    /// The IR with the layouts of its tiles.
    Layout,
    /// The decisions about copies, waits, stores, and the layouts in which tiles are computed.
    Plan,
    /// The shared memory of a thread block, and the stages of its circular buffers.
    SharedMemory,
    /// The thread-level nodes, with their effects and the resources that they use.
    ThreadIr,
    /// The thread-level Rust that is compiled for the device.
    Rust,
    /// The decisions about the CPU function: its tiles, and how it accesses memory.
    CpuPlan,
    /// The Rust of the CPU backend.
    Cpu,
}

impl Stage {
    /// Every stage, in the order of the driver.
    pub const ALL: [Stage; 19] = [
        Stage::Ast,
        Stage::Ir,
        Stage::WideSums,
        Stage::Induction,
        Stage::CopyProp,
        Stage::Dce,
        Stage::BlockPointers,
        Stage::Cluster,
        Stage::Tf32x3,
        Stage::SwapAb,
        Stage::PipelineDots,
        Stage::AxisInfo,
        Stage::Layout,
        Stage::Plan,
        Stage::SharedMemory,
        Stage::ThreadIr,
        Stage::Rust,
        Stage::CpuPlan,
        Stage::Cpu,
    ];

    /// The name for `tile show --stage`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Ast => "ast",
            Stage::Ir => "ir",
            Stage::WideSums => "wide_sums",
            Stage::Induction => "induction",
            Stage::CopyProp => "copy_prop",
            Stage::Dce => "dce",
            Stage::BlockPointers => "block_pointers",
            Stage::Cluster => "cluster",
            Stage::SwapAb => "swap_ab",
            Stage::PipelineDots => "pipeline_dots",
            Stage::Tf32x3 => "tf32x3",
            Stage::AxisInfo => "axis_info",
            Stage::Layout => "layout",
            Stage::Plan => "plan",
            Stage::SharedMemory => "shared_memory",
            Stage::ThreadIr => "thread-ir",
            Stage::Rust => "rust",
            Stage::CpuPlan => "cpu_plan",
            Stage::Cpu => "cpu",
        }
    }
}
