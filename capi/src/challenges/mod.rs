//! The challenge operations. `include/tile_challenges.h` is generated from this folder.

mod arrays;
mod elementwise;
mod norms;
mod products;
mod rows;
mod scans;
mod sorts;
mod stencil;
mod sums;

pub use elementwise::*;
pub use norms::*;
pub use products::*;
pub use rows::*;
pub use scans::*;
pub use sorts::*;
pub use stencil::*;
pub use sums::*;

use crate::at::At;
use crate::guard::{Failure, enter};
use crate::memory::{Array, area, int, operand};
use core::ffi::{c_float, c_int, c_uchar, c_uint};
use tilewright_core::f16;
use tilewright_ops as ops;

/// C = A + B. C may be A or B.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_vector_add(A: *const c_float, B: *const c_float, C: *mut c_float, N: usize) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { crate::general::add(At::Thread, A, B, C, N) })
}

/// output = the transpose of the rows x cols matrix input.
///
/// # Safety
/// The pointers address rows * cols floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_matrix_transpose(
    input: *const c_float,
    output: *mut c_float,
    rows: c_int,
    cols: c_int,
) -> c_int {
    enter(|| {
        let (rows, cols) = (int("rows", rows)?, int("cols", cols)?);
        let n = area(rows, cols)?;
        // SAFETY: the caller's contract.
        let (x, y) = unsafe { (Array::new("input", input, n)?, Array::new("output", output.cast_const(), n)?) };
        y.apart(&x)?;
        At::Thread.run(n, |on, device| ops::matrix_transpose(on, x.input(device), y.output(device), rows, cols))
    })
}

/// output = softmax of the whole array.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_softmax(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        let (x, y) = unsafe { (Array::new("input", input, n)?, Array::new("output", output.cast_const(), n)?) };
        y.apart(&x)?;
        At::Thread.run(n, |on, device| ops::softmax_1d(on, x.input(device), y.output(device)))
    })
}

/// 255 minus each color of an RGBA image, in place; alpha is kept.
///
/// # Safety
/// `image` addresses 4 * width * height bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_color_inversion(image: *mut c_uchar, width: c_int, height: c_int) -> c_int {
    enter(|| {
        let (width, height) = (int("width", width)?, int("height", height)?);
        let n = area(area(width, height)?, 4)?;
        // SAFETY: the caller's contract.
        let image = unsafe { Array::new("image", image.cast_const(), n) }?;
        At::Thread.run(n, |on, device| ops::color_inversion(on, image.output(device), width, height))
    })
}

/// output[i] = sum of input[i + k] * kernel[k] over k, for i from 0 to input_size - kernel_size.
///
/// # Safety
/// The pointers address input_size, kernel_size and input_size - kernel_size + 1 floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_1d_convolution(
    input: *const c_float,
    kernel: *const c_float,
    output: *mut c_float,
    input_size: c_int,
    kernel_size: c_int,
) -> c_int {
    enter(|| {
        let (n, taps) = (int("input_size", input_size)?, int("kernel_size", kernel_size)?);
        if taps > n && n > 0 {
            return Err(Failure::argument(format!(
                "kernel_size is {taps}: more taps than the {n} elements of the input"
            )));
        }
        let outputs = if n == 0 || taps == 0 { 0 } else { n - taps + 1 };
        let (n, taps) = (operand(&[n], outputs)?, operand(&[taps], outputs)?);
        // SAFETY: the caller's contract.
        let (x, w, y) = unsafe {
            (
                Array::new("input", input, n)?,
                Array::new("kernel", kernel, taps)?,
                Array::new("output", output.cast_const(), outputs)?,
            )
        };
        y.apart(&x)?;
        y.apart(&w)?;
        At::Thread
            .run(outputs, |on, device| ops::convolution_1d(on, x.input(device), w.input(device), y.output(device)))
    })
}

/// The array back to front, in place.
///
/// # Safety
/// `input` addresses N floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_reverse_array(input: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        let x = unsafe { Array::new("input", input.cast_const(), n) }?;
        At::Thread.run(n, |on, device| ops::reverse_array(on, x.output(device)))
    })
}

/// output = max(input, 0); a NaN stays. Output may be input.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_relu(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { crate::general::relu(At::Thread, input, output, int("N", N)?) })
}

/// output = input, or 0.01 * input where that is negative. Output may be input.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_leaky_relu(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { crate::general::leaky_relu(At::Thread, input, output, int("N", N)?) })
}

/// GeLU, tanh form. Output may be input.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_gelu(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { crate::general::gelu(At::Thread, input, output, int("N", N)?) })
}

/// R rounds of 32-bit FNV-1a over the 4 bytes of each value, low byte first. Output may be input.
///
/// # Safety
/// The pointers address N elements each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_rainbow_table(input: *const c_int, output: *mut c_uint, N: c_int, R: c_int) -> c_int {
    enter(|| {
        let (n, rounds) = (int("N", N)?, int("R", R)?);
        // SAFETY: the caller's contract.
        let (x, y) = unsafe { (Array::new("input", input, n)?, Array::new("output", output.cast_const(), n)?) };
        if output.cast_const().cast() != input {
            y.apart(&x)?;
        }
        At::Thread.run(n, |on, device| ops::rainbow_table(on, x.input(device), y.output(device), rounds as u32))
    })
}

/// B = A, both N x N. B may be A.
///
/// # Safety
/// The pointers address N * N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_matrix_copy(A: *const c_float, B: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let side = int("N", N)?;
        let n = area(side, side)?;
        // SAFETY: the caller's contract.
        let (a, b) = unsafe { (Array::new("A", A, n)?, Array::new("B", B.cast_const(), n)?) };
        b.apart_or_same(&a)?;
        At::Thread.run(n, |on, device| ops::matrix_copy(on, a.input(device), b.output(device)))
    })
}

/// *output = how many of the N elements equal K.
///
/// # Safety
/// The pointers address N elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_count_array_element(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    K: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { count(input, output, int("N", N)?, K) })
}

/// *output = how many elements of the N x M matrix equal K.
///
/// # Safety
/// The pointers address N * M elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_count_2d_array_element(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    M: c_int,
    K: c_int,
) -> c_int {
    // A contiguous matrix is an array.
    // SAFETY: the caller's contract.
    enter(|| unsafe { count(input, output, area(int("N", N)?, int("M", M)?)?, K) })
}

/// Of nothing the count and the sum are 0, where there is a place for it.
///
/// # Safety
/// The pointers address `n` elements and one.
unsafe fn count(input: *const c_int, output: *mut c_int, n: usize, k: c_int) -> crate::guard::Result<()> {
    let one = usize::from(n > 0 || !output.is_null());
    // SAFETY: the caller's contract.
    let (x, y) = unsafe { (Array::new("input", input, n)?, Array::new("output", output.cast_const(), one)?) };
    y.apart(&x)?;
    At::Thread.run(one, |on, device| ops::count_array_element(on, x.input(device), y.output(device), k))
}

/// *output = the sum of the N elements; of none, 0.
///
/// # Safety
/// The pointers address N floats and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_reduction(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        let one = usize::from(n > 0 || !output.is_null());
        // SAFETY: the caller's contract.
        let (x, y) = unsafe { (Array::new("input", input, n)?, Array::new("output", output.cast_const(), one)?) };
        y.apart(&x)?;
        At::Thread.run(one, |on, device| ops::reduction(on, x.input(device), y.output(device)))
    })
}

/// *result = the sum of A[i] B[i] of N elements, all of them f16 bits; accumulated in f32, rounded once. Of none, 0.
///
/// # Safety
/// The pointers address N elements, N elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_fp16_dot_product(A: *const u16, B: *const u16, result: *mut u16, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        let one = usize::from(n > 0 || !result.is_null());
        // SAFETY: the caller's contract.
        let (a, b, y) = unsafe {
            (
                Array::<f16>::new("A", A.cast(), n)?,
                Array::<f16>::new("B", B.cast(), n)?,
                Array::<f16>::new("result", result.cast_const().cast(), one)?,
            )
        };
        y.apart(&a)?;
        y.apart(&b)?;
        At::Thread.run(one, |on, device| ops::dot_product(on, a.input(device), b.input(device), y.output(device)))
    })
}
