//! Marks of a traced launch, which `tile profile --trace` makes a timeline of. The first lane of a warp writes them to
//! the array `tile_trace`, which [`trace_prelude!`](crate::trace_prelude) declares and `tilewright_types::TraceLayout`
//! describes. On the emulated SM they do nothing.

pub use super::hw::{trace, trace_begin, trace_end};

/// Declares the array of so many bytes that marks go to, for the entries of a crate.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! trace_prelude {
    ($bytes:literal) => {
        core::arch::global_asm!(concat!(".visible .global .align 16 .b8 tile_trace[", $bytes, "];"));
    };
}
