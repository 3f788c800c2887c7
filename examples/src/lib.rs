//! The kernels one learns from, each the plain way. `device-kernels` has the fast ones.
//!
//! Read them in this order: [`vector_add`], [`gelu`], [`dropout`], [`color_inversion`], [`reverse`], [`rainbow`],
//! [`convolution`], [`softmax`], [`transpose`], [`reduction`], [`softmax_array`], [`matmul`], [`matmul_activation`].
//!
//! Each has a page in the book, `docs/tutorials`; [`guide`] has the kernels of the book's guide.
//!
//! Four things that CUDA kernels do have no line of their own here. Shared memory and its barriers: tiles that meet in
//! an operation (`trans`, `sum`, `dot`) go through it by themselves, and `shared_array` is for the rest. Vectors
//! and `cp.async`: accesses are widened and copies begun early where addresses allow it. Warps and lanes: the compiler
//! assigns elements to threads. Constant memory: a scalar load that all threads share is one.

pub mod color_inversion;
pub mod convolution;
pub mod dropout;
pub mod gelu;
pub mod guide;
pub mod matmul;
pub mod matmul_activation;
pub mod rainbow;
pub mod reduction;
pub mod reverse;
pub mod softmax;
pub mod softmax_array;
pub mod transpose;
pub mod vector_add;
