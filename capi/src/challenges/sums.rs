//! One number of many: sums, counts, and losses, which are means.

use super::arrays::{inclusive, one, operate, run};
use crate::guard::enter;
use crate::memory::{Array, area, int, volume};
use core::ffi::{c_float, c_int};
use tilewright_challenges as ops;

/// *result = the sum of A[i] B[i]; of none, 0.
///
/// # Safety
/// The pointers address N floats, N and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_dot_product(
    A: *const c_float,
    B: *const c_float,
    result: *mut c_float,
    N: c_int,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("A", A, n), ("B", B, n)], ("result", result, one(n, result)), false, |on, [a, b], y| {
                ops::dot_product(on, a, b, y)
            })
        }
    })
}

/// *result = (b - a) times the mean of the samples; of none, NaN.
///
/// # Safety
/// The pointers address n_samples floats and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_monte_carlo_integration(
    y_samples: *const c_float,
    result: *mut c_float,
    a: c_float,
    b: c_float,
    n_samples: c_int,
) -> c_int {
    enter(|| {
        let n = int("n_samples", n_samples)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("y_samples", y_samples, n)], ("result", result, one(n, result)), false, |on, [x], y| {
                ops::monte_carlo_integration(on, x, y, a, b)
            })
        }
    })
}

/// *output = how many elements of the N x M x K array equal P.
///
/// # Safety
/// The pointers address N * M * K elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_count_3d_array_element(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    M: c_int,
    K: c_int,
    P: c_int,
) -> c_int {
    enter(|| {
        let n = volume(&[int("N", N)?, int("M", M)?, int("K", K)?])?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, one(n, output)), false, |on, [x], y| {
                ops::count_elements(on, x, y, P)
            })
        }
    })
}

/// *output = the sum of the elements from S to E, both included, modulo 2^32. With an E of S - 1 there are none, and
/// the sum is 0.
///
/// # Safety
/// The pointers address N elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_subarray_sum(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    S: c_int,
    E: c_int,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        let range = inclusive(("S", S), ("E", E), n)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, one(n, output)), false, |on, [x], y| {
                ops::subarray_sum(on, x, y, range)
            })
        }
    })
}

/// The same of rows S_ROW to E_ROW and columns S_COL to E_COL of an N x M matrix.
///
/// # Safety
/// The pointers address N * M elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_2d_subarray_sum(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    M: c_int,
    S_ROW: c_int,
    E_ROW: c_int,
    S_COL: c_int,
    E_COL: c_int,
) -> c_int {
    enter(|| {
        let extents = [1, int("N", N)?, int("M", M)?];
        let rows = inclusive(("S_ROW", S_ROW), ("E_ROW", E_ROW), extents[1])?;
        let columns = inclusive(("S_COL", S_COL), ("E_COL", E_COL), extents[2])?;
        let n = volume(&extents)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, one(n, output)), false, |on, [x], y| {
                ops::subarray_sum_3d(on, x, y, extents, [0..1, rows, columns])
            })
        }
    })
}

/// The same of a box of an N x M x K array.
///
/// # Safety
/// The pointers address N * M * K elements and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_3d_subarray_sum(
    input: *const c_int,
    output: *mut c_int,
    N: c_int,
    M: c_int,
    K: c_int,
    S_DEP: c_int,
    E_DEP: c_int,
    S_ROW: c_int,
    E_ROW: c_int,
    S_COL: c_int,
    E_COL: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("N", N)?, int("M", M)?, int("K", K)?];
        let planes = inclusive(("S_DEP", S_DEP), ("E_DEP", E_DEP), extents[0])?;
        let rows = inclusive(("S_ROW", S_ROW), ("E_ROW", E_ROW), extents[1])?;
        let columns = inclusive(("S_COL", S_COL), ("E_COL", E_COL), extents[2])?;
        let n = volume(&extents)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, one(n, output)), false, |on, [x], y| {
                ops::subarray_sum_3d(on, x, y, extents, [planes, rows, columns])
            })
        }
    })
}

/// *mse = the mean of (predictions[i] - targets[i])^2; of none, NaN.
///
/// # Safety
/// The pointers address N floats, N and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_mean_squared_error(
    predictions: *const c_float,
    targets: *const c_float,
    mse: *mut c_float,
    N: c_int,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        let inputs = [("predictions", predictions, n), ("targets", targets, n)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("mse", mse, one(n, mse)), false, |on, [p, t], y| ops::mean_squared_error(on, p, t, y))
        }
    })
}

/// *loss = the mean over the N rows of logits, N x C, of the logarithm of the sum of exponentials, less the logit of
/// the label. It is NaN of no rows, and where a label is no column.
///
/// # Safety
/// The pointers address N * C floats, N integers and one float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_categorical_cross_entropy_loss(
    logits: *const c_float,
    true_labels: *const c_int,
    loss: *mut c_float,
    N: c_int,
    C: c_int,
) -> c_int {
    enter(|| {
        let rows = int("N", N)?;
        let (n, one) = (area(rows, int("C", C)?)?, one(rows, loss));
        // SAFETY: the caller's contract.
        let (x, labels, y) = unsafe {
            (
                Array::new("logits", logits, n)?,
                Array::new("true_labels", true_labels, rows)?,
                Array::new("loss", loss.cast_const(), one)?,
            )
        };
        y.apart(&x)?;
        y.apart(&labels)?;
        run(one, |on, device| ops::softmax_cross_entropy(on, x.input(device), labels.input(device), y.output(device)))
    })
}

/// *output = minus the mean over B x S tokens of the lesser of ratio * advantage and the same of the ratio, clipped to
/// within clip_eps of 1, where ratio is exp(log_pi - log_pi_old). Of none it is NaN.
///
/// # Safety
/// The pointers address B * S floats each, and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_ppo_clipped_surrogate_loss(
    advantages: *const c_float,
    log_pi: *const c_float,
    log_pi_old: *const c_float,
    output: *mut c_float,
    clip_eps: c_float,
    B: c_int,
    S: c_int,
) -> c_int {
    enter(|| {
        let n = area(int("B", B)?, int("S", S)?)?;
        let inputs = [("advantages", advantages, n), ("log_pi", log_pi, n), ("log_pi_old", log_pi_old, n)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, one(n, output)), false, |on, [a, new, old], y| {
                ops::ppo_clipped_surrogate_loss(on, a, new, old, y, clip_eps)
            })
        }
    })
}

/// *output = minus the mean of log(sigmoid(beta * ((chosen - rejected) - (chosen_ref - rejected_ref)))); of none, NaN.
///
/// # Safety
/// The pointers address B floats each, and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_dpo_sequence_loss(
    chosen_logps: *const c_float,
    rejected_logps: *const c_float,
    chosen_ref_logps: *const c_float,
    rejected_ref_logps: *const c_float,
    output: *mut c_float,
    beta: c_float,
    B: c_int,
) -> c_int {
    enter(|| {
        let n = int("B", B)?;
        let inputs = [
            ("chosen_logps", chosen_logps, n),
            ("rejected_logps", rejected_logps, n),
            ("chosen_ref_logps", chosen_ref_logps, n),
            ("rejected_ref_logps", rejected_ref_logps, n),
        ];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, one(n, output)), false, |on, [a, b, c, d], y| {
                ops::dpo_sequence_loss(on, a, b, c, d, y, beta)
            })
        }
    })
}

/// *output = minus the mean over B x G x S tokens of the surrogate of solve_ppo_clipped_surrogate_loss, less beta *
/// (exp(d) - d - 1), where d is log_ref - log_pi. The advantage of a response is its reward less the mean of its group,
/// over the standard deviation of the group and 1e-8. Of none the loss is NaN.
///
/// # Safety
/// The pointers address B * G floats, B * G * S three times, and one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_grpo_surrogate_loss(
    rewards: *const c_float,
    log_pi: *const c_float,
    log_pi_old: *const c_float,
    log_ref: *const c_float,
    output: *mut c_float,
    clip_eps: c_float,
    beta: c_float,
    B: c_int,
    G: c_int,
    S: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("B", B)?, int("G", G)?, int("S", S)?];
        let (rows, n) = (area(extents[0], extents[1])?, volume(&extents)?);
        let inputs =
            [("rewards", rewards, rows), ("log_pi", log_pi, n), ("log_pi_old", log_pi_old, n), ("log_ref", log_ref, n)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, one(n, output)), false, |on, [r, new, old, reference], y| {
                ops::grpo_surrogate_loss(on, r, new, old, reference, y, extents, clip_eps, beta)
            })
        }
    })
}
