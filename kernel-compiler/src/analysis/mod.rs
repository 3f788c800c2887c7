//! Facts about values of the IR.

pub mod assume;
pub mod axis_info;
pub mod determinism;
pub mod launch_guards;
pub mod polynomial;
pub mod single_tile;
