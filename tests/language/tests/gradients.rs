//! Backward kernels against finite differences of their forward kernels, on the CPU and on the emulated SM.

mod adjoint;
