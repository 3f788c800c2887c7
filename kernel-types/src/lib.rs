//! The facts that the compiler of a tile kernel and the runtime that launches it share: element types, launch guards,
//! limits, the array of a traced launch.
//!
//! The crate has no dependencies. `tilewright` re-exports the types that users meet.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

mod dtype;
mod guard;
pub mod limits;
mod trace;
mod width;

pub use dtype::DType;
pub use guard::{Guard, Number, Test};
pub use trace::{TRACE_SYMBOL, TraceLayout, TracePhase};
pub use width::Width;
