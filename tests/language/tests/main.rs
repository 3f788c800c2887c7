//! The language on the CPU and on the emulated SM: kernels written for these tests, no operations of the library.

mod activations;
mod atomics;
mod builtins;
mod computed;
mod configurations;
mod conversions;
mod copied;
mod detectors;
mod dot;
mod exchanges;
mod indices;
mod limits;
mod language;
mod parts;
mod pdl;
mod random;
mod ranges;
mod reductions;
mod rotated;
mod scans;
mod schedulers;
mod shapes;
mod sorts;
mod unroll;
mod windows;
