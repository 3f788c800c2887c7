//! Facts about values of the IR.

pub mod assume;
pub mod axis_info;
pub(crate) mod determinism;
pub(crate) mod distinct;
pub(crate) mod launch_guards;
pub(crate) mod no_wrap;
pub(crate) mod polynomial;
pub(crate) mod single_tile;
pub(crate) mod tma_box;
