//! Windows of neighbors.

use super::arrays::operate;
use crate::guard::{Failure, Result, enter};
use crate::memory::{area, int, volume};
use core::ffi::{c_float, c_int};
use tilewright_challenges::{self as ops, Pooling};

/// output[i, j] = sum of input[i + r, j + c] * kernel[r, c] over the kernel, where that is inside.
///
/// # Safety
/// The pointers address input_rows * input_cols floats, kernel_rows * kernel_cols, and (input_rows - kernel_rows + 1) *
/// (input_cols - kernel_cols + 1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_2d_convolution(
    input: *const c_float,
    kernel: *const c_float,
    output: *mut c_float,
    input_rows: c_int,
    input_cols: c_int,
    kernel_rows: c_int,
    kernel_cols: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe {
        correlate(
            input,
            kernel,
            output,
            [1, int("input_rows", input_rows)?, int("input_cols", input_cols)?],
            [1, int("kernel_rows", kernel_rows)?, int("kernel_cols", kernel_cols)?],
        )
    })
}

/// The same of three axes.
///
/// # Safety
/// The pointers address as many floats as the extents of input and kernel multiply to, and the output as many as (input
/// - kernel + 1) of each axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_3d_convolution(
    input: *const c_float,
    kernel: *const c_float,
    output: *mut c_float,
    input_depth: c_int,
    input_rows: c_int,
    input_cols: c_int,
    kernel_depth: c_int,
    kernel_rows: c_int,
    kernel_cols: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe {
        correlate(
            input,
            kernel,
            output,
            [int("input_depth", input_depth)?, int("input_rows", input_rows)?, int("input_cols", input_cols)?],
            [int("kernel_depth", kernel_depth)?, int("kernel_rows", kernel_rows)?, int("kernel_cols", kernel_cols)?],
        )
    })
}

/// # Safety
/// As of [`solve_3d_convolution`].
unsafe fn correlate(
    input: *const c_float,
    kernel: *const c_float,
    output: *mut c_float,
    n: [usize; 3],
    taps: [usize; 3],
) -> Result<()> {
    if n.contains(&0) || taps.contains(&0) {
        return Ok(());
    }
    if (0..3).any(|axis| taps[axis] > n[axis]) {
        return Err(Failure::argument(format!("{taps:?} taps are more than the {n:?} elements along an axis")));
    }
    let outputs = volume(&[0, 1, 2].map(|axis| n[axis] - taps[axis] + 1))?;
    let inputs = [("input", input, volume(&n)?), ("kernel", kernel, volume(&taps)?)];
    // SAFETY: the caller's contract.
    unsafe {
        operate(inputs, ("output", output, outputs), false, |on, [x, w], y| ops::convolution_3d(on, x, w, y, n, taps))
    }
}

/// output[i, j] = sum of input[i + r - kernel_rows / 2, j + c - kernel_cols / 2] * kernel[r, c] over the kernel.
/// Elements outside of the input count as 0.
///
/// # Safety
/// The pointers address input_rows * input_cols floats, kernel_rows * kernel_cols, and input_rows * input_cols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_gaussian_blur(
    input: *const c_float,
    kernel: *const c_float,
    output: *mut c_float,
    input_rows: c_int,
    input_cols: c_int,
    kernel_rows: c_int,
    kernel_cols: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("input_rows", input_rows)?, int("input_cols", input_cols)?];
        let taps = [int("kernel_rows", kernel_rows)?, int("kernel_cols", kernel_cols)?];
        let n = area(extents[0], extents[1])?;
        let inputs = [("input", input, n), ("kernel", kernel, area(taps[0], taps[1])?)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, n), false, |on, [x, w], y| {
                ops::gaussian_blur(on, x, w, y, extents, taps)
            })
        }
    })
}

/// The greatest element of each window of N x C planes of H x W. There are (H + 2 padding - kernel_size) / stride + 1
/// rows of windows, rounded down, and so many columns. Padding is at most half of kernel_size.
///
/// # Safety
/// The pointers address N * C * H * W floats, and N * C times the windows of a plane.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_2d_max_pooling(
    input: *const c_float,
    output: *mut c_float,
    N: c_int,
    C: c_int,
    H: c_int,
    W: c_int,
    kernel_size: c_int,
    stride: c_int,
    padding: c_int,
) -> c_int {
    enter(|| {
        let extents = [area(int("N", N)?, int("C", C)?)?, int("H", H)?, int("W", W)?];
        let pooling = Pooling {
            side: int("kernel_size", kernel_size)?,
            stride: int("stride", stride)?,
            padding: int("padding", padding)?,
        };
        let n = volume(&extents)?;
        if n == 0 {
            return Ok(());
        }
        let Some((rows, columns)) = pooling.outputs(extents[1]).zip(pooling.outputs(extents[2])) else {
            return Err(Failure::argument(format!("no window of {pooling:?} is within {H} x {W}")));
        };
        // SAFETY: the caller's contract.
        unsafe {
            let output = ("output", output, volume(&[extents[0], rows, columns])?);
            operate([("input", input, n)], output, false, |on, [x], y| ops::max_pooling_2d(on, x, y, extents, pooling))
        }
    })
}

/// output = the mean of the four neighbors of each element; the border stays.
///
/// # Safety
/// The pointers address rows * cols floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_jacobi_stencil_2d(
    input: *const c_float,
    output: *mut c_float,
    rows: c_int,
    cols: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("rows", rows)?, int("cols", cols)?];
        let n = area(extents[0], extents[1])?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, n), false, |on, [x], y| {
                ops::jacobi_stencil_2d(on, x, y, extents)
            })
        }
    })
}

/// output[b, t, d] = bias[d] + sum of x[b, t - k, d] * weight[d, k] over the K taps. Steps before the first count as 0.
///
/// # Safety
/// The pointers address B * L * D floats, D * K, D and B * L * D.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_causal_depthwise_conv1d(
    x: *const c_float,
    weight: *const c_float,
    bias: *const c_float,
    output: *mut c_float,
    B: c_int,
    L: c_int,
    D: c_int,
    K: c_int,
) -> c_int {
    enter(|| {
        let (extents, taps) = ([int("B", B)?, int("L", L)?, int("D", D)?], int("K", K)?);
        let (n, channels) = (volume(&extents)?, extents[2]);
        let inputs = [("x", x, n), ("weight", weight, area(channels, taps)?), ("bias", bias, channels)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, n), false, |on, [x, w, b], y| {
                ops::causal_depthwise_conv1d(on, x, w, b, y, extents, taps)
            })
        }
    })
}
