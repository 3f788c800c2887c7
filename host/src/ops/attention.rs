//! Attention.

use super::Launch;
use super::product::apart;
use crate::error::{Error, Result};
use device_kernels::attention::heads::{attention_64, attention_128};
use kernel_core::{AsView, AsViewMut, Call, Element, ViewArg, ViewMutArg, bf16, f16};

/// The element types of [`attention`]: f16 and bf16.
pub trait Attend: Element {
    #[doc(hidden)]
    fn call<'a>(
        wide: bool,
        inputs: (ViewArg<'a, Self, 3>, ViewArg<'a, Self, 3>, ViewArg<'a, Self, 3>),
        o: ViewMutArg<'a, Self, 3>,
        scale: f32,
        causal: bool,
    ) -> Call<'a>;
}

macro_rules! attend { ($($t:ty)*) => { $(impl Attend for $t {
    fn call<'a>(
        wide: bool,
        (q, k, v): (ViewArg<'a, $t, 3>, ViewArg<'a, $t, 3>, ViewArg<'a, $t, 3>),
        o: ViewMutArg<'a, $t, 3>,
        scale: f32,
        causal: bool,
    ) -> Call<'a> {
        if wide { attention_128::<$t>(q, k, v, o, scale, causal) } else { attention_64::<$t>(q, k, v, o, scale, causal) }
    }
})* } }
attend! { f16 bf16 }

/// Elements that a head may have.
const MOST: u64 = 128;
/// With less, keys that do not count would.
const LEAST_SCALE: f32 = 1e-30;

/// `O = softmax(scale · Q Kᵀ) V` for every head, in one launch and without any memory for scores. Scores, weights' sums and results are
/// accumulated in f32, weights are rounded to `T` before they multiply values, results once.
///
/// With `causal`, the last query sees all keys, the one before it all but the last, and so on; a query that sees no key gives zeros,
/// as all do where there are no keys. Several heads of `q` may share one of `k` and `v`: as many as follow each other as there are of
/// `q` for each of them.
///
/// Shapes: `q` and `o` are `heads x queries x d`, `k` and `v` `shared x keys x d`, with `heads` a multiple of `shared` and `d` of 1 to 128;
/// batches are heads one after another. Errors: [`Error::Shape`], also where `scale` is less than 1e-30 or no number; otherwise as [`matmul`](super::matmul).
pub fn attention<'a, T: Attend>(
    on: &impl Launch,
    q: impl AsView<'a, T, 3>,
    k: impl AsView<'a, T, 3>,
    v: impl AsView<'a, T, 3>,
    o: impl AsViewMut<'a, T, 3>,
    scale: f32,
    causal: bool,
) -> Result<()> {
    const WHAT: &str = "attention";
    let (q, k, v, o) = (q.as_view_arg(), k.as_view_arg(), v.as_view_arg(), o.as_view_mut_arg());
    let ([heads, queries, d], [shared, _, of_key], out) = (q.dims(), k.dims(), o.as_view().dims());
    let error = |why: String| Err(Error::Shape { what: WHAT, why });
    let text = |[h, n, d]: [u64; 3]| format!("{h} x {n} x {d}");
    if k.dims() != v.dims() {
        return error(format!("K is {} and V is {}: they must be equal", text(k.dims()), text(v.dims())));
    }
    if out != q.dims() {
        return error(format!("O is {} and Q is {}: they must be equal", text(out), text(q.dims())));
    }
    if d != of_key || d > MOST {
        return error(format!("heads of {d} elements in Q and {of_key} in K: they must be equal, and {MOST} at most"));
    }
    if heads != 0 && (shared == 0 || heads % shared != 0) {
        return error(format!("{heads} heads of Q share {shared} of K: the one must be a multiple of the other"));
    }
    if !(scale >= LEAST_SCALE && scale.is_finite()) {
        return error(format!("scores are scaled with {scale}: that must be a number from {LEAST_SCALE:e} on"));
    }
    for (name, other) in [("q", &q), ("k", &k), ("v", &v)] {
        apart(WHAT, ("o", &o), (name, other))?;
    }
    if heads.saturating_mul(queries.div_ceil(64)) >= 1 << 31 {
        return error(format!("{heads} heads of {queries} queries: fewer than 2^31 blocks of 64 queries are counted"));
    }
    if heads == 0 || queries == 0 || d == 0 {
        return Ok(());
    }
    on.launch(T::call(d > 64, (q, k, v), o, scale, causal))
}
