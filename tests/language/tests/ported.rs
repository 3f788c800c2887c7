//! Kernels of public suites of Triton, written anew: the parts of inference and training beside products.

mod attention;
mod experts;
mod formats;
mod images;
mod losses;
mod products;
mod quantizers;
mod recurrent;
mod rows;
mod sampling;
mod selections;
mod sequences;
mod serving;
