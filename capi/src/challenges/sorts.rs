//! Sorts, selections, counts of values, and merges.

use super::arrays::{operate, run};
use crate::guard::{Failure, enter};
use crate::memory::{Array, int};
use core::ffi::{c_float, c_int, c_uint};
use tilewright_challenges as ops;

/// histogram[v] = how many of the N elements are v, for v from 0 to num_bins - 1. Other elements do not count.
///
/// # Safety
/// The pointers address N elements and num_bins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_histogramming(
    input: *const c_int,
    histogram: *mut c_int,
    N: c_int,
    num_bins: c_int,
) -> c_int {
    enter(|| {
        let (n, bins) = (int("N", N)?, int("num_bins", num_bins)?);
        let bins = if n > 0 || !histogram.is_null() { bins } else { 0 };
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("histogram", histogram, bins), false, |on, [x], y| {
                ops::histogramming(on, x, y)
            })
        }
    })
}

/// The N elements in ascending order, in place. NaN comes last.
///
/// # Safety
/// `data` addresses N floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_sorting(data: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        let x = unsafe { Array::new("data", data.cast_const(), n) }?;
        run(n, |on, device| ops::sorting(on, x.output(device)))
    })
}

/// output = the N elements of input in ascending order.
///
/// # Safety
/// The pointers address N elements each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_radix_sort(input: *const c_uint, output: *mut c_uint, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe { operate([("input", input, n)], ("output", output, n), false, |on, [x], y| ops::radix_sort(on, x, y)) }
    })
}

/// output = the k greatest of the N elements, in descending order. NaN is greater than all numbers.
///
/// # Safety
/// The pointers address N floats and k.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_top_k_selection(
    input: *const c_float,
    output: *mut c_float,
    N: c_int,
    k: c_int,
) -> c_int {
    enter(|| {
        let (n, k) = (int("N", N)?, int("k", k)?);
        if k > n {
            return Err(Failure::argument(format!("k is {k}: more than the {n} elements of the input")));
        }
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, k), false, |on, [x], y| ops::top_k_selection(on, x, y))
        }
    })
}

/// C = the M elements of A and the N elements of B in ascending order, which A and B are in. Of equal elements those of
/// A come first, and NaN comes last.
///
/// # Safety
/// The pointers address M floats, N, and M + N.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_parallel_merge(
    A: *const c_float,
    B: *const c_float,
    C: *mut c_float,
    M: c_int,
    N: c_int,
) -> c_int {
    enter(|| {
        let (m, n) = (int("M", M)?, int("N", N)?);
        // SAFETY: the caller's contract.
        unsafe {
            operate([("A", A, m), ("B", B, n)], ("C", C, m + n), false, |on, [a, b], y| {
                ops::parallel_merge(on, a, b, y)
            })
        }
    })
}
