//! The language on the CPU and on the emulated SM: kernels written for these tests, no operations of the library.

mod activations;
mod aggregates;
mod atomics;
mod builtins;
mod computed;
mod configurations;
mod control_flow;
mod conversions;
mod copied;
mod detectors;
mod dot;
mod exchanges;
mod indices;
mod language;
mod optional;
mod pdl;
mod ranges;
mod reductions;
mod rotated;
mod schedulers;
mod shapes;
mod unroll;
mod windows;
