//! The number of functions that products of matrices take. A new one for a shape, an order of operands or a type says
//! that the compiler or the planner lacks something.

use crate::docs::read;
use std::collections::BTreeSet;

const PRODUCTS: [&str; 6] = ["matmul", "matmul_f32", "matmul_int8", "gemm", "batched_matmul", "grouped_matmul"];
/// Functions with `#[tile_kernel]` in their files.
const MAX_FUNCTIONS: usize = 14;
/// Kernels by name: one function gives several, of types, orders of operands and constants.
const MAX_KERNELS: usize = 35;

#[test]
fn products_are_of_few_functions() {
    let files: Vec<String> = PRODUCTS.iter().map(|name| format!("src/{name}.rs")).collect();
    let text = |file: &String| read(&format!("device-kernels/{file}"));
    let functions: usize = files.iter().map(|f| text(f).matches("#[tile_kernel").count()).sum();
    assert!((1..=MAX_FUNCTIONS).contains(&functions), "{functions} functions");
    let all = tilewright_kernels::all().into_iter();
    let kernels: BTreeSet<&str> = all.filter(|k| files.iter().any(|f| k.file.ends_with(f))).map(|k| k.name).collect();
    assert!((functions..=MAX_KERNELS).contains(&kernels.len()), "{} kernels: {kernels:?}", kernels.len());
}
