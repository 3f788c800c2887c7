//! Operations beside candle's own, in every layout.

mod attention;
mod common;
mod custom_ops;
#[cfg(feature = "cuda")]
mod gpu;
mod int8;
mod llama;
mod rope;
mod rows;
mod sorts;

#[path = "../examples/operation.rs"]
mod operation;

#[test]
fn the_example_of_an_operation() {
    operation::main().unwrap();
}
