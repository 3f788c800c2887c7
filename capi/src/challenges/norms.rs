//! Normalization.

use super::arrays::{operate, run};
use crate::guard::{Failure, enter};
use crate::memory::{Array, area, int, volume};
use core::ffi::{c_float, c_int};
use tilewright_challenges::{self as ops, EmbeddingTables};
use tilewright_ops::{add_rms_norm, layer_norm};

/// output = input / sqrt(mean of input^2 + eps) * gamma + beta, of the whole array. Output may be input.
///
/// # Safety
/// The pointers address N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_rms_normalization(
    input: *const c_float,
    gamma: c_float,
    beta: c_float,
    output: *mut c_float,
    N: c_int,
    eps: c_float,
) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("input", input, n)], ("output", output, n), true, |on, [x], y| {
                ops::rms_normalization(on, x, y, gamma, beta, eps)
            })
        }
    })
}

/// output = (input - mean) / sqrt(variance + eps) * gamma + beta, by columns of an N x C matrix. The variance is that
/// of the population.
///
/// # Safety
/// The pointers address N * C floats, C, C and N * C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_batch_normalization(
    input: *const c_float,
    gamma: *const c_float,
    beta: *const c_float,
    output: *mut c_float,
    N: c_int,
    C: c_int,
    eps: c_float,
) -> c_int {
    enter(|| {
        let columns = int("C", C)?;
        let n = area(int("N", N)?, columns)?;
        let inputs = [("input", input, n), ("gamma", gamma, columns), ("beta", beta, columns)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, n), false, |on, [x, g, b], y| {
                ops::batch_normalization(on, x, g, b, y, eps)
            })
        }
    })
}

/// output = (input - mean) / sqrt(variance + eps) * weight + bias, by rows of an N x C matrix. The variance is that of
/// the population.
///
/// # Safety
/// The pointers address N * C floats, C, C and N * C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_layer_normalization(
    input: *const c_float,
    weight: *const c_float,
    bias: *const c_float,
    output: *mut c_float,
    N: c_int,
    C: c_int,
    eps: c_float,
) -> c_int {
    enter(|| {
        let columns = int("C", C)?;
        let n = area(int("N", N)?, columns)?;
        let inputs = [("input", input, n), ("weight", weight, columns), ("bias", bias, columns)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("output", output, n), false, |on, [x, w, b], y| layer_norm(on.options(), x, w, b, y, eps))
        }
    })
}

/// out = s / sqrt(mean of s^2 + eps) * weight, by rows of N x C matrices, where s is x + residual.
///
/// # Safety
/// The pointers address N * C floats, N * C, C and N * C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_fused_residual_add_rms_norm(
    x: *const c_float,
    residual: *const c_float,
    weight: *const c_float,
    out: *mut c_float,
    N: c_int,
    C: c_int,
    eps: c_float,
) -> c_int {
    enter(|| {
        let columns = int("C", C)?;
        let n = area(int("N", N)?, columns)?;
        let inputs = [("x", x, n), ("residual", residual, n), ("weight", weight, columns)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("out", out, n), false, |on, [x, r, w], y| {
                add_rms_norm(on.options(), x, r, w, &mut [][..], y, eps)
            })
        }
    })
}

/// Y = (X - mean) / sqrt(variance + eps) * gamma + beta, of N x C x H x W arrays. Mean and variance are those of a
/// sample's group of C / G channels.
///
/// # Safety
/// The pointers address N * C * H * W floats, C, C and N * C * H * W.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_group_normalization(
    X: *const c_float,
    gamma: *const c_float,
    beta: *const c_float,
    Y: *mut c_float,
    N: c_int,
    C: c_int,
    H: c_int,
    W: c_int,
    G: c_int,
    eps: c_float,
) -> c_int {
    enter(|| {
        let (channels, groups) = (int("C", C)?, int("G", G)?);
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(Failure::argument(format!("G is {groups}: {channels} channels do not make so many groups")));
        }
        let extents = [int("N", N)?, channels, area(int("H", H)?, int("W", W)?)?];
        let n = volume(&extents)?;
        let inputs = [("X", X, n), ("gamma", gamma, channels), ("beta", beta, channels)];
        // SAFETY: the caller's contract.
        unsafe {
            operate(inputs, ("Y", Y, n), false, |on, [x, g, b], y| {
                ops::group_normalization(on, x, g, b, y, extents, groups, eps)
            })
        }
    })
}

/// output = the layer norm, with gamma and beta, of a row of each table, added: those of token_ids[b, t] and of
/// position_ids[t]. An index that is not in its table stands for a row of zeros.
///
/// # Safety
/// The pointers address B * T integers, T integers, V * D floats, P * D, D, D and B * T * D.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_token_embedding_layer(
    token_ids: *const c_int,
    position_ids: *const c_int,
    token_embeddings: *const c_float,
    position_embeddings: *const c_float,
    gamma: *const c_float,
    beta: *const c_float,
    output: *mut c_float,
    B: c_int,
    T: c_int,
    V: c_int,
    P: c_int,
    D: c_int,
    eps: c_float,
) -> c_int {
    enter(|| {
        let (batch, steps, d) = (int("B", B)?, int("T", T)?, int("D", D)?);
        let (tokens, positions) = (area(int("V", V)?, d)?, area(int("P", P)?, d)?);
        let (rows, n) = (area(batch, steps)?, volume(&[batch, steps, d])?);
        if n == 0 {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        let (ids, places, tables, y) = unsafe {
            (
                Array::new("token_ids", token_ids, rows)?,
                Array::new("position_ids", position_ids, steps)?,
                EmbeddingTables {
                    tokens: Array::new("token_embeddings", token_embeddings, tokens)?,
                    positions: Array::new("position_embeddings", position_embeddings, positions)?,
                    gamma: Array::new("gamma", gamma, d)?,
                    beta: Array::new("beta", beta, d)?,
                },
                Array::new("output", output.cast_const(), n)?,
            )
        };
        y.apart(&ids)?;
        y.apart(&places)?;
        for x in [&tables.tokens, &tables.positions, &tables.gamma, &tables.beta] {
            y.apart(x)?;
        }
        run(n, |on, device| {
            let tables = EmbeddingTables {
                tokens: tables.tokens.input(device),
                positions: tables.positions.input(device),
                gamma: tables.gamma.input(device),
                beta: tables.beta.input(device),
            };
            ops::token_embedding_layer(on, ids.input(device), places.input(device), tables, y.output(device), eps)
        })
    })
}
