//! Kernels of public suites, on the CPU and on the emulated SM. They use what the other tests of the language have: the
//! loop of an edit, `cargo xtask test --quick`, leaves them out.

mod ported;
