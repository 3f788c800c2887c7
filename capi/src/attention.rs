//! Attention.

use crate::at::At;
use crate::codes::{TILE_DTYPE_BF16, TILE_DTYPE_F16};
use crate::guard::{Failure, Result, enter};
use crate::memory::{Array, flag, long, operand, volume};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_core::{bf16, f16};
use tilewright_ops::{Attend, Attention};

/// o = softmax(scale q k^T) v for every head: q and o are heads x queries x d, k and v shared x keys x d. Each of
/// shared serves heads / shared consecutive heads of q; d is 128 at most. With causal of 1 the last query sees all
/// keys, the one before it all but the last, and so on. scale is a number of at least 1e-30. dtype: 1 f16, 2 bf16.
///
/// # Safety
/// The pointers address as many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_attention(
    dtype: c_int,
    q: *const c_void,
    k: *const c_void,
    v: *const c_void,
    o: *mut c_void,
    heads: c_longlong,
    shared: c_longlong,
    queries: c_longlong,
    keys: c_longlong,
    d: c_longlong,
    scale: c_float,
    causal: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { attention(At::Thread, dtype, [q, k, v], o, [heads, shared, queries, keys, d], scale, causal) })
}

/// # Safety
/// As of [`tile_attention`].
pub(crate) unsafe fn attention(
    at: At<'_>,
    dtype: c_int,
    inputs: [*const c_void; 3],
    o: *mut c_void,
    [heads, shared, queries, keys, d]: [c_longlong; 5],
    scale: f32,
    causal: c_int,
) -> Result<()> {
    let causal = flag("causal", causal)?;
    let (q_dims, k_dims) = (
        [long("heads", heads)?, long("queries", queries)?, long("d", d)?],
        [long("shared", shared)?, long("keys", keys)?, long("d", d)?],
    );
    // SAFETY: the caller's contract.
    unsafe {
        match dtype {
            TILE_DTYPE_F16 => typed::<f16>(at, inputs, o, q_dims, k_dims, scale, causal),
            TILE_DTYPE_BF16 => typed::<bf16>(at, inputs, o, q_dims, k_dims, scale, causal),
            other => Err(Failure::argument(format!("dtype is {other}: 1 is f16, 2 bf16"))),
        }
    }
}

/// # Safety
/// The pointers address as many elements as the extents say.
unsafe fn typed<T: Attend>(
    at: At<'_>,
    [q, k, v]: [*const c_void; 3],
    o: *mut c_void,
    q_dims: [usize; 3],
    k_dims: [usize; 3],
    scale: f32,
    causal: bool,
) -> Result<()> {
    let n = volume(&q_dims)?;
    let of_k = operand(&k_dims, n)?;
    // SAFETY: the caller's contract.
    let (q, k, v, o) = unsafe {
        (
            Array::<T>::new("q", q.cast(), n)?,
            Array::<T>::new("k", k.cast(), of_k)?,
            Array::<T>::new("v", v.cast(), of_k)?,
            Array::<T>::new("o", o.cast_const().cast(), n)?,
        )
    };
    for input in [&q, &k, &v] {
        o.apart(input)?;
    }
    at.run(n, |on, device| {
        let (q, o) = (q.input(device).view(q_dims)?, o.output(device).view(q_dims)?);
        let (k, v) = (k.input(device).view(k_dims)?, v.input(device).view(k_dims)?);
        let attention = Attention::<T>::new(q, k, v, o).scale(scale);
        let attention = if causal { attention.causal() } else { attention };
        attention.launch(on)
    })
}
