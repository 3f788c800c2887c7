//! The `tile` command, which needs no GPU here.

mod bench;
mod cli;
mod debug;
mod loaded_driver;
mod ncu;
mod new;
mod package;
mod trace;
