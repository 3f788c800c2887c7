//! Attention over a cache of 8-bit keys and values.

use crate::check::{length, shape};
use crate::kernels::attention as k;
use crate::queue::Queue;
use tilewright::{AsSlice, AsSliceMut, Result};

/// Keys and values of 8 bits. Those of a position have a scale each.
///
/// # Examples
/// [`int8_kv_cache_attention`] has one.
#[derive(Clone, Copy, Debug)]
pub struct Int8Cache<K, V, S, T> {
    /// `[heads, positions, dim]`
    pub keys: K,
    /// `[heads, positions, dim]`
    pub values: V,
    /// `[heads, positions]`
    pub key_scales: S,
    /// `[heads, positions]`
    pub value_scales: T,
}

/// `y = softmax(q K^T / sqrt(dim)) V`, of one query a head, in two launches. A key or a value is an integer times the
/// scale of its position. Without positions `y` is 0.
///
/// Shapes: `q` and `y` are `[heads, dim]`; `extents` are `[heads, positions, dim]`, with a `dim` of 1024 at most.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// use tilewright_challenges::{Int8Cache, int8_kv_cache_attention};
///
/// // The second key is the query's. It outweighs the first.
/// let cache = Int8Cache {
///     keys: &[100i8, 0, 0, 100],
///     values: &[1i8, 2, 3, 4],
///     key_scales: &[1.0f32, 1.0],
///     value_scales: &[1.0f32, 10.0],
/// };
/// let mut y = [0.0f32; 2];
/// int8_kv_cache_attention(&tilewright::Runtime::cpu(), &[0.0, 10.0], cache, &mut y, [1, 2, 2])?;
/// assert_eq!(y, [30.0, 40.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn int8_kv_cache_attention<'a>(
    on: &impl Queue,
    q: impl AsSlice<'a, f32>,
    cache: Int8Cache<impl AsSlice<'a, i8>, impl AsSlice<'a, i8>, impl AsSlice<'a, f32>, impl AsSlice<'a, f32>>,
    y: impl AsSliceMut<'a, f32>,
    [heads, positions, dim]: [usize; 3],
) -> Result<()> {
    let (q, y) = (q.as_slice_arg(), y.as_slice_mut_arg());
    let (keys, values) = (cache.keys.as_slice_arg(), cache.values.as_slice_arg());
    let (key_scales, value_scales) = (cache.key_scales.as_slice_arg(), cache.value_scales.as_slice_arg());
    let op = "int8_kv_cache_attention";
    shape(op, dim <= 1024, || format!("a dim of {dim} is more than 1024"))?;
    length(op, "q", q.len(), &[heads, dim])?;
    length(op, "keys", keys.len(), &[heads, positions, dim])?;
    length(op, "values", values.len(), &[heads, positions, dim])?;
    length(op, "key_scales", key_scales.len(), &[heads, positions])?;
    length(op, "value_scales", value_scales.len(), &[heads, positions])?;
    length(op, "y", y.len(), &[heads, dim])?;
    if y.is_empty() {
        return Ok(());
    }
    // Programs for eight on each multiprocessor, of some 128 positions at least.
    let splits = (8 * on.num_sms()).div_ceil(heads).min(positions.div_ceil(128)).clamp(1, 64);
    let mut sums = on.stream().scratch::<f32>(2 * heads * splits)?;
    let mut parts = on.stream().scratch::<f32>(heads * splits * dim)?;
    let scale = 1.0 / (dim as f32).sqrt();
    on.launch(k::attend_int8(
        q,
        keys,
        values,
        key_scales,
        value_scales,
        &mut sums,
        &mut parts,
        heads,
        positions,
        dim,
        splits,
        scale,
    ))?;
    on.launch(k::combine_parts(&sums, &parts, y, heads, dim, splits))
}
