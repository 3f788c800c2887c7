//! Products and choices of rows.

use crate::check::{counts_in_i32, length, rows, shape};
use crate::kernels::rows as kernels;
use crate::queue::Queue;
use tilewright::{AsSlice, AsSliceMut, Result};

/// `y = A x`, of a dense matrix. A sparse matrix whose zeros are stored is one.
///
/// Shapes: `a` is `[rows, columns]`, `x` is `[columns]`, `y` is `[rows]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 2];
/// let (a, x) = ([1.0f32, 2.0, 0.0, 4.0], [3.0f32, 5.0]);
/// tilewright_challenges::matrix_vector_product(&tilewright::Runtime::cpu(), &a, &x, &mut y)?;
/// assert_eq!(y, [13.0, 20.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn matrix_vector_product<'a>(
    on: &impl Queue,
    a: impl AsSlice<'a, f32>,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (a, x, y) = (a.as_slice_arg(), x.as_slice_arg(), y.as_slice_mut_arg());
    length("matrix_vector_product", "a", a.len(), &[y.len(), x.len()])?;
    on.launch(kernels::row_products(a, x, y))
}

/// The `k` greatest logits of each row: their columns, in descending order, and their softmax. Of equal logits the
/// first column comes first. NaN is greater than all numbers.
///
/// Shapes: `logits` is `[rows, experts]`, `weights` and `indices` are `[rows, k]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or `k` is more than `experts`.
///
/// # Examples
/// ```
/// let (mut weights, mut indices) = ([0.0f32; 2], [0; 2]);
/// tilewright_challenges::moe_topk_gating(
///     &tilewright::Runtime::cpu(), &[1.0, 7.0, -3.0, 7.0], &mut weights, &mut indices, 4, 2)?;
/// assert_eq!((weights, indices), ([0.5, 0.5], [1, 3]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn moe_topk_gating<'a>(
    on: &impl Queue,
    logits: impl AsSlice<'a, f32>,
    weights: impl AsSliceMut<'a, f32>,
    indices: impl AsSliceMut<'a, i32>,
    experts: usize,
    k: usize,
) -> Result<()> {
    let (logits, weights, indices) = (logits.as_slice_arg(), weights.as_slice_mut_arg(), indices.as_slice_mut_arg());
    let op = "moe_topk_gating";
    shape(op, k <= experts, || format!("k is {k}, of {experts} experts"))?;
    counts_in_i32(op, "the number of experts", experts)?;
    let rows = rows(op, "logits", logits.len(), experts)?;
    length(op, "weights", weights.len(), &[rows, k])?;
    length(op, "indices", indices.len(), &[rows, k])?;
    on.launch(kernels::top_softmax(logits, weights, indices, rows, experts, k))
}
