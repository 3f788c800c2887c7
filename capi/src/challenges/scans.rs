//! Scans: each element is combined with all before it.

use super::arrays::{operate, run};
use crate::guard::{Failure, enter};
use crate::memory::{Array, area, int, volume};
use core::ffi::{c_float, c_int};
use tilewright_challenges::{self as ops, SelectiveScan};

/// output[i] = input[0] + .. + input[i]. The sums of blocks are added in an order that may change from call to call,
/// and the last bits of long arrays with it.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_prefix_sum(input: *const c_float, output: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe { operate([("input", input, n)], ("output", output, n), false, |on, [x], y| ops::prefix_sum(on, x, y)) }
    })
}

/// output[i] = the sum of the values before i, from the last one on whose flag is not 0; 0 where the flag of i is not
/// 0. The sums of blocks are added in an order that may change from call to call, and the last bits of long arrays with
/// it.
///
/// # Safety
/// The pointers address N elements each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_segmented_prefix_sum(
    values: *const c_float,
    flags: *const c_int,
    output: *mut c_float,
    N: c_int,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        let (x, flags, y) = unsafe {
            (
                Array::new("values", values, n)?,
                Array::new("flags", flags, n)?,
                Array::new("output", output.cast_const(), n)?,
            )
        };
        y.apart(&x)?;
        y.apart(&flags)?;
        run(n, |on, device| ops::segmented_prefix_sum(on, x.input(device), flags.input(device), y.output(device)))
    })
}

/// out = the elements of A that are greater than 0, in order, and then zeros.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_stream_compaction(A: *const c_float, N: c_int, out: *mut c_float) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe { operate([("A", A, n)], ("out", out, n), false, |on, [x], y| ops::stream_compaction(on, x, y)) }
    })
}

/// *output = the greatest sum of window_size successive elements, modulo 2^32. Without elements nothing is written.
///
/// # Safety
/// The pointers address N elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_max_subarray_sum(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    window_size: c_int,
) -> c_int {
    enter(|| {
        let (n, window) = (int("N", N)?, int("window_size", window_size)?);
        if window > n && n > 0 {
            return Err(Failure::argument(format!("window_size is {window}: more than the {n} elements of the input")));
        }
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, usize::from(n > 0)), false, |on, [x], y| {
                ops::max_subarray_sum(on, x, y, window)
            })
        }
    })
}

/// h[t] = a[t] h[t - 1] + x[t] in each of B rows of L elements, where h[-1] is 0. Blocks of a row are composed maps, in
/// which 0 times infinity counts as 0. After an element that is not finite, and where the product of some elements of a
/// that follow each other is infinite, h may differ from the recurrence.
///
/// # Safety
/// The pointers address B * L floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_linear_recurrence(
    a: *const c_float,
    x: *const c_float,
    h: *mut c_float,
    B: c_int,
    L: c_int,
) -> c_int {
    enter(|| {
        let (rows, columns) = (int("B", B)?, int("L", L)?);
        let n = area(rows, columns)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("a", a, n), ("x", x, n)], ("h", h, n), false, |on, [a, x], h| {
                ops::linear_recurrence(on, a, x, h, columns)
            })
        }
    })
}

/// advantages[t] = rewards[t] + gamma * values[t + 1] - values[t] + gamma * lam * advantages[t + 1] in each of B rows
/// of S elements, behind which values and advantages are 0.
///
/// # Safety
/// The pointers address B * S floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_gae_reverse_scan(
    rewards: *const c_float,
    values: *const c_float,
    advantages: *mut c_float,
    gamma: c_float,
    lam: c_float,
    B: c_int,
    S: c_int,
) -> c_int {
    enter(|| {
        let (rows, columns) = (int("B", B)?, int("S", S)?);
        let n = area(rows, columns)?;
        let inputs = [("rewards", rewards, n), ("values", values, n)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("advantages", advantages, n), false, |on, [r, v], y| {
                ops::gae_reverse_scan(on, r, v, y, gamma, lam, columns)
            })
        }
    })
}

/// A selective state space model: h[t, n] = exp(delta[t, d] A[d, n]) h[t - 1, n] + delta[t, d] B[t, n] u[t, d] for each
/// channel d of each sequence, and y[t, d] = the sum of C[t, n] h[t, n] over n, and skip[d] u[t, d]. u, delta and y are
/// batch x seq_len x d_model, A is d_model x d_state, B and C are batch x seq_len x d_state.
///
/// Blocks of steps are composed maps, in which 0 times infinity counts as 0. After a value that is not finite, and
/// where the product of the factors of some steps that follow each other is infinite, y may differ from the recurrence.
///
/// # Safety
/// The pointers address as many floats as these extents multiply to, and `skip` addresses d_model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_ssm_selective_scan(
    u: *const c_float,
    delta: *const c_float,
    A: *const c_float,
    B: *const c_float,
    C: *const c_float,
    skip: *const c_float,
    y: *mut c_float,
    batch: c_int,
    seq_len: c_int,
    d_model: c_int,
    d_state: c_int,
) -> c_int {
    enter(|| {
        let [batch, steps] = [int("batch", batch)?, int("seq_len", seq_len)?];
        let [channels, states] = [int("d_model", d_model)?, int("d_state", d_state)?];
        let n = volume(&[batch, steps, channels])?;
        if n == 0 {
            return Ok(());
        }
        let (of_channels, of_steps) = (area(channels, states)?, volume(&[batch, steps, states])?);
        let inputs = [
            ("u", u, n),
            ("delta", delta, n),
            ("A", A, of_channels),
            ("B", B, of_steps),
            ("C", C, of_steps),
            ("skip", skip, channels),
        ];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("y", y, n), false, |on, [u, delta, a, b, c, skip], y| {
                let x = SelectiveScan { u, delta, a, b, c, skip };
                ops::ssm_selective_scan(on, x, y, [batch, steps, channels, states])
            })
        }
    })
}
