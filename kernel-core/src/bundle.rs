//! The compiled form of one kernel: one PTX per entry and target, with what a launch needs to know.
//!
//! `kernel-build` writes a bundle per kernel, the macro embeds it, the host reads it.
