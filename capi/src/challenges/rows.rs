//! Rows, and all pairs of elements.

use super::arrays::{operate, run};
use crate::guard::{Failure, enter};
use crate::memory::{Array, area, int, volume};
use core::ffi::{c_float, c_int};
use tilewright_challenges::{self as ops, Int8Cache};

/// y = A x, of an M x N matrix whose zeros are stored. nnz, how many are none, does not count.
///
/// # Safety
/// The pointers address M * N floats, N and M.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_sparse_matrix_vector_multiplication(
    A: *const c_float,
    x: *const c_float,
    y: *mut c_float,
    M: c_int,
    N: c_int,
    nnz: c_int,
) -> c_int {
    enter(|| {
        let (rows, columns) = (int("M", M)?, int("N", N)?);
        int("nnz", nnz)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("A", A, area(rows, columns)?), ("x", x, columns)], ("y", y, rows), false, |on, [a, x], y| {
                ops::matrix_vector_product(on, a, x, y)
            })
        }
    })
}

/// The k greatest logits of each of M rows of E: their softmax, and their columns, in descending order. Of equal logits
/// the first column comes first. NaN is greater than all numbers.
///
/// # Safety
/// The pointers address M * E floats, M * k floats and M * k integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_moe_topk_gating(
    logits: *const c_float,
    topk_weights: *mut c_float,
    topk_indices: *mut c_int,
    M: c_int,
    E: c_int,
    k: c_int,
) -> c_int {
    enter(|| {
        let (rows, experts, k) = (int("M", M)?, int("E", E)?, int("k", k)?);
        if k > experts {
            return Err(Failure::argument(format!("k is {k}: there are {experts} experts")));
        }
        let n = area(rows, k)?;
        if n == 0 {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        let (x, weights, indices) = unsafe {
            (
                Array::new("logits", logits, area(rows, experts)?)?,
                Array::new("topk_weights", topk_weights.cast_const(), n)?,
                Array::new("topk_indices", topk_indices.cast_const(), n)?,
            )
        };
        weights.apart(&x)?;
        indices.apart(&x)?;
        indices.apart(&weights)?;
        run(n, |on, device| {
            ops::moe_topk_gating(on, x.input(device), weights.output(device), indices.output(device), experts, k)
        })
    })
}

/// indices[i] = the nearest other point of N points x, y, z; of several that are as near, the first.
///
/// # Safety
/// The pointers address 3 * N floats and N integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_nearest_neighbor(points: *const c_float, indices: *mut c_int, N: c_int) -> c_int {
    enter(|| {
        let n = int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("points", points, 3 * n)], ("indices", indices, n), false, |on, [x], y| {
                ops::nearest_neighbor(on, x, y)
            })
        }
    })
}

/// A step of N agents x, y, vx, vy: the velocity comes nearer by a twentieth to the mean velocity of the other agents
/// that are nearer than 5, and the place moves by the new velocity. Without such agents the velocity stays.
///
/// # Safety
/// The pointers address 4 * N floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_multi_agent_sim(agents: *const c_float, agents_next: *mut c_float, N: c_int) -> c_int {
    enter(|| {
        let n = 4 * int("N", N)?;
        // SAFETY: the caller's contract.
        unsafe {
            operate([("agents", agents, n)], ("agents_next", agents_next, n), false, |on, [x], y| {
                ops::multi_agent_sim(on, x, y)
            })
        }
    })
}

/// output = softmax(Q K^T / sqrt(head_dim)) V, of one query for each of num_heads heads. A key or a value, of num_heads
/// x seq_len x head_dim, is an integer times the scale of its head and position. head_dim is at most 1024. Without
/// positions output is 0.
///
/// # Safety
/// The pointers address num_heads * head_dim floats, num_heads * seq_len * head_dim bytes twice, num_heads * seq_len
/// floats twice, and num_heads * head_dim floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_int8_kv_cache_attention(
    Q: *const c_float,
    K_int8: *const i8,
    V_int8: *const i8,
    k_scale: *const c_float,
    v_scale: *const c_float,
    output: *mut c_float,
    num_heads: c_int,
    seq_len: c_int,
    head_dim: c_int,
) -> c_int {
    enter(|| {
        let extents = [int("num_heads", num_heads)?, int("seq_len", seq_len)?, int("head_dim", head_dim)?];
        let [heads, positions, dim] = extents;
        if dim > 1024 {
            return Err(Failure::argument(format!("head_dim is {dim}: 1024 at most")));
        }
        let (outputs, elements, scales) = (area(heads, dim)?, volume(&extents)?, area(heads, positions)?);
        if outputs == 0 {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        let (q, cache, y) = unsafe {
            (
                Array::new("Q", Q, outputs)?,
                Int8Cache {
                    keys: Array::new("K_int8", K_int8, elements)?,
                    values: Array::new("V_int8", V_int8, elements)?,
                    key_scales: Array::new("k_scale", k_scale, scales)?,
                    value_scales: Array::new("v_scale", v_scale, scales)?,
                },
                Array::new("output", output.cast_const(), outputs)?,
            )
        };
        for x in [&q, &cache.key_scales, &cache.value_scales] {
            y.apart(x)?;
        }
        y.apart(&cache.keys)?;
        y.apart(&cache.values)?;
        run(outputs, |on, device| {
            let cache = Int8Cache {
                keys: cache.keys.input(device),
                values: cache.values.input(device),
                key_scales: cache.key_scales.input(device),
                value_scales: cache.value_scales.input(device),
            };
            ops::int8_kv_cache_attention(on, q.input(device), cache, y.output(device), extents)
        })
    })
}
