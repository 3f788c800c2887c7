//! Kernels of public suites, on the CPU and on the emulated SM. They add no operations to the other tests of the
//! language: the loop of an edit, `cargo xtask test --quick`, leaves them out.

mod ported;
