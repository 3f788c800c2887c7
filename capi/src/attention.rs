//! Attention.

use crate::backend;
use crate::guard::{Failure, Result, enter};
use crate::memory::{Array, flag, long, operand, volume};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_core::{bf16, f16};
use tilewright_runtime::ops::{self, Attend};

/// o = softmax(scale q k^T) v for every head: q and o are heads x queries x d, k and v shared x keys x d, each of shared serving heads / shared
/// of q that follow each other; d is 128 at most. With causal of 1 the last query sees all keys, the one before it all but the last,
/// and so on. scale is a number of at least 1e-30. dtype: 1 f16, 2 bf16.
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
    enter(|| {
        let causal = flag("causal", causal)?;
        let (q_dims, k_dims) = (
            [long("heads", heads)?, long("queries", queries)?, long("d", d)?],
            [long("shared", shared)?, long("keys", keys)?, long("d", d)?],
        );
        // SAFETY: the caller's contract.
        unsafe {
            match dtype {
                1 => typed::<f16>([q, k, v], o, q_dims, k_dims, scale, causal),
                2 => typed::<bf16>([q, k, v], o, q_dims, k_dims, scale, causal),
                other => Err(Failure::argument(format!("dtype is {other}: 1 is f16, 2 bf16"))),
            }
        }
    })
}

/// # Safety
/// The pointers address as many elements as the extents say.
unsafe fn typed<T: Attend>(
    [q, k, v]: [*const c_void; 3],
    o: *mut c_void,
    q_dims: [u64; 3],
    k_dims: [u64; 3],
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
    backend::with(n, |on, place| {
        let (q, o) = (q.input(place).view(q_dims), o.output(place).view(q_dims));
        match (q, k.input(place).view(k_dims), v.input(place).view(k_dims), o) {
            (Some(q), Some(k), Some(v), Some(o)) => ops::attention::<T>(on, q, k, v, o, scale, causal),
            _ => Err(tilewright_runtime::Error::Shape {
                what: "attention",
                why: "an array is not as long as its heads".into(),
            }),
        }
    })
}
