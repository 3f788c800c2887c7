//! The kernels one learns from, each the plain way. `device-kernels` has the fast ones.
//!
//! Read them in this order: [`vector_add`], [`gelu`], [`softmax`], [`transpose`], [`reduction`], [`softmax_array`],
//! [`matmul`], [`matmul_activation`].

pub mod gelu;
pub mod matmul;
pub mod matmul_activation;
pub mod reduction;
pub mod softmax;
pub mod softmax_array;
pub mod transpose;
pub mod vector_add;
