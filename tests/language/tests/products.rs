//! Products of tiles, and the memory that their operands come from, on the CPU and on the emulated SM.

mod block_pointers;
mod computed;
mod dot;
mod pages;
mod pipeline_dots;
mod wgmma_cp_async;
