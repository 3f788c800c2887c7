//! That the results of products in `host/defaults` answer questions that products ask: under other keys they would be
//! passed over without a word.

use super::kernels::KERNELS;
use super::plan::{Layout, Problem, math_of};
use super::product::{GemmShape, Operand, Transpose};
use serde_json::Value;
use tilewright_core::{DeviceId, Element, SliceArg, SliceMutArg, f16};
use tilewright_runtime::private::extent_bucket;

const H200: &str = include_str!("../../../host/defaults/nvidia-h200.json");
const H100: &str = include_str!("../../../host/defaults/nvidia-h100-80gb-hbm3.json");

fn results(file: &str) -> serde_json::Map<String, Value> {
    let all: Value = serde_json::from_str(file).expect("a file of results");
    all["kernels"].as_object().expect("kernels").clone()
}

/// The plans of products of a file: label, sizes and layout, plan.
fn plans(file: &str) -> Vec<(String, String, u64, String)> {
    const OPERATIONS: [&str; 4] = ["matmul", "gemm", "scaled_product", "matmul_int8"];
    let of_plan = |label: &str, key: &str, plan: &Value| {
        let (sizes, layout) = key.split_once(' ')?;
        let is_sizes = sizes.split('x').all(|n| n.parse::<u32>().is_ok());
        let layout = u64::from_str_radix(layout, 16).ok().filter(|_| is_sizes)?;
        Some((label.to_string(), sizes.to_string(), layout, plan.as_str()?.to_string()))
    };
    let of_products = results(file).into_iter().filter(|(l, _)| OPERATIONS.contains(&l.split('[').next().unwrap_or(l)));
    let of_label = |(label, all): (String, Value)| {
        let all = all.as_object().cloned().unwrap_or_default();
        all.iter().filter_map(|(key, plan)| of_plan(&label, key, plan)).collect::<Vec<_>>()
    };
    of_products.flat_map(of_label).collect()
}

/// The problem of row-major operands, some given transposed, that all start at multiples of 256 bytes.
fn problem<T: Element, U: Element>([m, n, k]: [usize; 3], transpose: Transpose, tf32: bool) -> Problem {
    let e = GemmShape { m, n, k };
    let operand = |transposed: bool, [rows, columns]: [usize; 2]| {
        let dims = if transposed { [columns, rows] } else { [rows, columns] };
        // SAFETY: no element is accessed.
        let all = unsafe { SliceArg::<T>::from_raw(4096, rows * columns, DeviceId::Host) };
        Layout::of(&Operand::new(all.view(dims).expect("a matrix").regular(), transposed))
    };
    // SAFETY: as above.
    let c =
        unsafe { SliceMutArg::<U>::from_raw(4096, m * n, DeviceId::Host) }.view([m, n]).expect("a matrix").regular();
    let (a, b) = (operand(transpose.a, [m, k]), operand(transpose.b, [k, n]));
    Problem::new(e, a, b, &c, math_of::<T>(tf32), size_of::<T>())
}

#[test]
fn shipped_results_have_layouts_that_there_are() {
    for file in [H200, H100] {
        let all = plans(file);
        assert!(all.len() > 80, "{}", all.len());
        for (label, sizes, layout, _) in &all {
            let operands = [0, 5, 10].map(|from| Layout::of_bits(layout >> from & 31));
            let is_one = operands.iter().all(|o| o.is_some_and(Layout::is_possible));
            assert!(is_one, "{label} {sizes} {layout:x}: tune anew, or write the key as today's");
        }
    }
}

#[test]
fn shipped_results_name_kernels_that_there_are() {
    let known = |name: &str| KERNELS.iter().flat_map(|d| d.iter()).find(|d| d.name == name);
    for (label, sizes, layout, plan) in [H200, H100].into_iter().flat_map(plans) {
        let mut words = plan.split(' ').skip_while(|w| known(w).is_none());
        let kernel = words.next().and_then(known).unwrap_or_else(|| panic!("{label} {sizes} {layout:x}: {plan}"));
        // With few configurations a build leaves none of them out here: their code alone is missing.
        let config = words.find(|w| w.contains('='));
        let config = config.filter(|w| !w.starts_with("splits=")).or_else(|| words.next());
        let has = config.is_none_or(|id| kernel.configs.iter().any(|c| c.id == id));
        assert!(has, "{label} {sizes} {layout:x}: {plan}");
    }
}

#[test]
fn shipped_results_are_found() {
    let has = |label: &str, problem: Problem| {
        let shape = problem.shape;
        let sizes = [shape.m, shape.n, shape.k, 0].map(|s| extent_bucket(s as u64).to_string()).join("x");
        let found = plans(H200)
            .into_iter()
            .any(|(l, s, layout, _)| (&*l, s, layout) == (label, sizes.clone(), problem.layout()));
        assert!(found, "{label} {sizes} {:x}", problem.layout());
    };
    for transpose in [(false, false), (false, true), (true, false), (true, true)].map(|(a, b)| Transpose { a, b }) {
        for size in [[4096; 3], [16, 14336, 4096], [128, 8192, 8192]] {
            has("matmul[f16]", problem::<f16, f16>(size, transpose, false));
            has("matmul[f32]", problem::<f32, f32>(size, transpose, true));
        }
    }
    has("matmul[i8]", problem::<i8, i32>([8192; 3], Transpose::OF_B, false));
}
