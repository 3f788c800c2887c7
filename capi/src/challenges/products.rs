//! The challenges that multiply matrices.

use crate::at::At;
use crate::batched::batched;
use crate::guard::{Failure, enter};
use crate::matmul::Operands;
use crate::memory::int;
use core::ffi::{c_float, c_int};
use tilewright_core::f16;
use tilewright_ops::{self as ops, Matmul, Precision, Quantization};

/// C = A B to the accuracy of f32: A is M x N, B is N x K, C is M x K.
///
/// # Safety
/// The pointers address M * N, N * K and M * K floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_matrix_multiplication(
    A: *const c_float,
    B: *const c_float,
    C: *mut c_float,
    M: c_int,
    N: c_int,
    K: c_int,
) -> c_int {
    enter(|| {
        let (m, n, k) = (int("M", M)?, int("N", N)?, int("K", K)?);
        // SAFETY: the caller's contract.
        let p = unsafe { Operands::new(["A", "B", "C"], A, B, C, [m, n], [n, k], [m, k]) }?;
        p.run(At::Thread, |on, a, b, c| Matmul::new(a, b, c).precision(Precision::F32).launch(on))
    })
}

/// C = alpha A B + beta C of f16 bits, accumulated in f32: A is M x K, B is K x N, C is M x N. With a beta of 0 the old
/// C does not count.
///
/// # Safety
/// The pointers address M * K, K * N and M * N elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_gemm(
    A: *const u16,
    B: *const u16,
    C: *mut u16,
    M: c_int,
    N: c_int,
    K: c_int,
    alpha: c_float,
    beta: c_float,
) -> c_int {
    enter(|| {
        let (m, n, k) = (int("M", M)?, int("N", N)?, int("K", K)?);
        let (a, b, c) = (A.cast::<f16>(), B.cast(), C.cast::<f16>());
        // SAFETY: the caller's contract.
        let p = unsafe { Operands::new(["A", "B", "C"], a, b, c, [m, k], [k, n], [m, n]) }?;
        p.run(At::Thread, |on, a, b, c| Matmul::new(a, b, c).alpha(alpha).beta(beta).launch(on))
    })
}

/// C = A B of quantized matrices, quantized: A is M x K, B is K x N, C is M x N, and an element stands for scale *
/// (element - zero_point). Sums are exact: a K at which one may leave 32 bits is an error (more than 33025 for the most
/// distant zero points, more than 131071 without any). A sum, as a float, is multiplied by scale_A, by scale_B and by 1
/// / scale_C, each product rounded to float; the result is rounded to nearest even, moved by zero_point_C and
/// saturated. A scale, or 1 / scale_C, that is zero, infinite or a NaN is an error.
///
/// # Safety
/// The pointers address M * K, K * N and M * N elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_int8_quantized_matmul(
    A: *const i8,
    B: *const i8,
    C: *mut i8,
    M: c_int,
    N: c_int,
    K: c_int,
    scale_A: c_float,
    scale_B: c_float,
    scale_C: c_float,
    zero_point_A: c_int,
    zero_point_B: c_int,
    zero_point_C: c_int,
) -> c_int {
    enter(|| {
        let (m, n, k) = (int("M", M)?, int("N", N)?, int("K", K)?);
        let zero =
            |name, v| i8::try_from(v).map_err(|_| Failure::argument(format!("{name} is {v}: an int8 is -128 to 127")));
        let (zero_a, zero_b, zero_c) = (
            zero("zero_point_A", zero_point_A)?,
            zero("zero_point_B", zero_point_B)?,
            zero("zero_point_C", zero_point_C)?,
        );
        let q = Quantization { scale_a: scale_A, scale_b: scale_B, scale_c: scale_C, zero_a, zero_b, zero_c };
        q.check()?;
        // SAFETY: the caller's contract.
        let p = unsafe { Operands::new(["A", "B", "C"], A, B, C, [m, k], [k, n], [m, n]) }?;
        p.run(At::Thread, |on, a, b, c| ops::matmul_int8(on, a, b, c, &q))
    })
}

/// C[i] = A[i] B[i] for every i of BATCH: A is BATCH x M x K, B is BATCH x K x N, C is BATCH x M x N.
///
/// # Safety
/// The pointers address BATCH * M * K, BATCH * K * N and BATCH * M * N floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_batched_matrix_multiplication(
    A: *const c_float,
    B: *const c_float,
    C: *mut c_float,
    BATCH: c_int,
    M: c_int,
    N: c_int,
    K: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("BATCH", BATCH)?, int("M", M)?, int("N", N)?, int("K", K)?];
        // SAFETY: the caller's contract.
        unsafe { batched(At::Thread, ["A", "B", "C"], A, B, C, extents) }
    })
}

/// The same of f16 bits, accumulated in f32.
///
/// # Safety
/// The pointers address BATCH * M * K, BATCH * K * N and BATCH * M * N elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_fp16_batched_matmul(
    A: *const u16,
    B: *const u16,
    C: *mut u16,
    BATCH: c_int,
    M: c_int,
    N: c_int,
    K: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("BATCH", BATCH)?, int("M", M)?, int("N", N)?, int("K", K)?];
        // SAFETY: the caller's contract.
        unsafe { batched::<f16>(At::Thread, ["A", "B", "C"], A.cast(), B.cast(), C.cast(), extents) }
    })
}
