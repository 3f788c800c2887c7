//! Kernels of public suites of Triton, written anew: what inference and training of models is made of beside products.

mod attention;
mod experts;
mod quantisers;
mod rows;
mod sampling;
mod sequences;
