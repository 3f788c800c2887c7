//! Each element by itself, or a fixed few of them.

use super::arrays::operate;
use crate::guard::{Failure, Result, enter};
use crate::memory::{area, int, volume};
use core::ffi::{c_float, c_int};
use tilewright_challenges as ops;

/// C = A + B, all N x N. C may be A or B.
///
/// # Safety
/// The pointers address N * N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_matrix_addition(
    A: *const c_float,
    B: *const c_float,
    C: *mut c_float,
    N: c_int,
) -> c_int {
    enter(|| {
        let side = int("N", N)?;
        let n = area(side, side)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("A", A, n), ("B", B, n)], ("C", C, n), true, |on, [a, b], c| ops::matrix_addition(on, a, b, c))
        }
    })
}

/// Y = 1 / (1 + e^-X). Y may be X.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_sigmoid(X: *const c_float, Y: *mut c_float, N: usize) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { operate([("X", X, N)], ("Y", Y, N), true, |on, [x], y| ops::sigmoid(on, x, y)) })
}

/// output = input * sigmoid(input). Output may be input.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_silu(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe { operate([("input", input, n)], ("output", output, n), true, |on, [x], y| ops::silu(on, x, y)) }
    })
}

/// output = silu of the first half of input * its second half. N is even.
///
/// # Safety
/// The pointers address N floats and N / 2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_swiglu(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = half("N", N)?;
        let halves = [("input", input, n), ("input", input.wrapping_add(n), n)];
        // SAFETY: the caller's contract.
        unsafe { operate(halves, ("output", output, n), false, |on, [a, b], y| ops::swiglu(on, a, b, y)) }
    })
}

/// output = the first half of input * the exact GELU of its second half. N is even.
///
/// # Safety
/// The pointers address N floats and N / 2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_geglu(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = half("N", N)?;
        let halves = [("input", input, n), ("input", input.wrapping_add(n), n)];
        // SAFETY: the caller's contract.
        unsafe { operate(halves, ("output", output, n), false, |on, [a, b], y| ops::geglu(on, a, b, y)) }
    })
}

fn half(name: &str, n: c_int) -> Result<usize> {
    let n = int(name, n)?;
    if n % 2 == 0 { Ok(n / 2) } else { Err(Failure::argument(format!("{name} is {n}: an odd length has no halves"))) }
}

/// output = input, at least lo and at most hi. A NaN stays. Output may be input.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_value_clipping(
    input: *const c_float,
    output: *mut c_float,
    lo: c_float,
    hi: c_float,
    N: c_int,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, n), true, |on, [x], y| {
                ops::value_clipping(on, x, y, lo, hi)
            })
        }
    })
}

/// output[2 i] = A[i], output[2 i + 1] = B[i].
///
/// # Safety
/// The pointers address N floats, N and 2 N.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_interleave(
    A: *const c_float,
    B: *const c_float,
    output: *mut c_float,
    N: c_int,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("A", A, n), ("B", B, n)], ("output", output, 2 * n), false, |on, [a, b], y| {
                ops::interleave(on, a, b, y)
            })
        }
    })
}

/// output = 0.299 red + 0.587 green + 0.114 blue of each pixel.
///
/// # Safety
/// The pointers address 3 * width * height floats and width * height.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_rgb_to_grayscale(
    input: *const c_float,
    output: *mut c_float,
    width: c_int,
    height: c_int,
) -> c_int {
    enter(|| {
        let n = area(int("width", width)?, int("height", height)?)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, area(n, 3)?)], ("output", output, n), false, |on, [x], y| {
                ops::rgb_to_grayscale(on, x, y)
            })
        }
    })
}

/// output = Q * cos + rotated * sin, all M x D: rotated has minus the second half of each row of Q, then its first
/// half. D is even.
///
/// # Safety
/// The pointers address M * D floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_rope_embedding(
    Q: *const c_float,
    cos: *const c_float,
    sin: *const c_float,
    output: *mut c_float,
    M: c_int,
    D: c_int,
) -> c_int {
    enter(|| {
        let columns = 2 * half("D", D)?;
        let n = area(int("M", M)?, columns)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate(
                [("Q", Q, n), ("cos", cos, n), ("sin", sin, n)],
                ("output", output, n),
                false,
                |on, [x, c, s], y| ops::rope_embedding(on, x, c, s, y, columns),
            )
        }
    })
}

/// Y = X, M x N, each element times the scale of its square of TILE_SIZE rows and columns. Y may be X.
///
/// # Safety
/// The pointers address M * N floats, ceil(M / TILE_SIZE) * ceil(N / TILE_SIZE) and M * N.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_weight_dequantization(
    X: *const c_float,
    S: *const c_float,
    Y: *mut c_float,
    M: c_int,
    N: c_int,
    TILE_SIZE: c_int,
) -> c_int {
    enter(|| {
        let (rows, columns, side) = (int("M", M)?, int("N", N)?, int("TILE_SIZE", TILE_SIZE)?);
        if side == 0 {
            return Err(Failure::argument("TILE_SIZE is 0: a square has a row at least".into()));
        }
        let (n, scales) = (area(rows, columns)?, volume(&[rows.div_ceil(side), columns.div_ceil(side)])?);
        if scales > 0 && !Y.is_null() && S == Y.cast_const() {
            return Err(Failure::overlap("S and Y overlap: give the output memory of its own".into()));
        }
        // SAFETY: the caller's contract.
        unsafe {
            operate([("X", X, n), ("S", S, scales)], ("Y", Y, n), true, |on, [x, s], y| {
                ops::weight_dequantization(on, x, s, y, [rows, columns], side)
            })
        }
    })
}
