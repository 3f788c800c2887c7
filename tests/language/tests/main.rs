//! The language on the CPU and on the emulated SM: kernels written for these tests, no operations of the library. Those
//! of products are in `products.rs` and `matmul.rs`, and those of public suites in `suites.rs`.

mod aggregates;
mod aliases;
mod as_rust;
mod assembly;
mod atomics;
mod bank_conflicts;
mod builtins;
mod clusters;
mod configurations;
mod control_flow;
mod conversions;
mod cumcounts;
mod deep_views;
mod detectors;
mod deterministic;
mod grid;
mod histograms;
mod indices;
mod language;
mod limits;
mod optional;
mod parts;
mod pdl;
mod pointers;
mod random;
mod ranges;
mod reductions;
mod rows;
mod runs;
mod scans;
mod shapes;
mod shared_arrays;
mod sorts;
mod unroll;
