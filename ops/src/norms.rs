//! Norms of rows, and their gradients.

use super::{Executor, check};
use crate::by_type::by_type;
use tilewright_core::{AsSlice, AsSliceMut, Call, SliceArg, SliceMutArg, bf16, f16};
use tilewright_kernels::norms as k;
use tilewright_runtime::Result;

by_type! {
    /// The element types of norms: `f32`, `f16` and `bf16`. The trait is sealed.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{AsSlice, Buffer, Result, Runtime, ops};
    ///
    /// /// Rows of `columns` elements over their root mean squares.
    /// fn by_root_mean_square<T: ops::Normalize>(rt: &Runtime, x: &Buffer<T>, ones: &Buffer<T>) -> Result<Vec<T>> {
    ///     let mut y = Buffer::<T>::zeros(rt, x.len())?;
    ///     ops::rms_norm(rt, x, ones, &mut y, 0.0)?;
    ///     y.to_vec()
    /// }
    /// let rt = Runtime::cpu();
    /// let (x, ones) = (Buffer::from_slice(&rt, &[3.0f32, -3.0])?, Buffer::from_slice(&rt, &[1.0f32, 1.0])?);
    /// assert_eq!(by_root_mean_square(&rt, &x, &ones)?, [1.0, -1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    /// Other crates cannot implement it:
    /// ```compile_fail,E0277
    /// struct Mine;
    /// impl tilewright_ops::Normalize for Mine {}
    /// ```
    pub trait Normalize: NormKernels<'a> for [f32, f16, bf16] {
        fn norm(
            norm: Norm,
            x: SliceArg<'a, Self>,
            weight: SliceArg<'a, Self>,
            bias: SliceArg<'a, Self>,
            y: SliceMutArg<'a, Self>,
            of: Rows,
        ) -> Call<'a> {
            let Rows { rows, columns, eps } = of;
            match norm {
                Norm::Layer => k::layer_norm(x, weight, bias, y, rows, columns, eps),
                Norm::Rms => k::rms_norm(x, weight, bias, y, rows, columns, eps),
            }
        }
        fn add_rms_norm(
            x: SliceArg<'a, Self>,
            residual: SliceArg<'a, Self>,
            weight: SliceArg<'a, Self>,
            sum: SliceMutArg<'a, Self>,
            y: SliceMutArg<'a, Self>,
            of: Rows,
        ) -> Call<'a> {
            k::add_rms_norm(x, residual, weight, sum, y, of.rows, of.columns, of.eps)
        }
        fn gradient(
            norm: Norm,
            x: SliceArg<'a, Self>,
            weight: SliceArg<'a, Self>,
            dy: SliceArg<'a, Self>,
            dx: SliceMutArg<'a, Self>,
            sums: SliceMutArg<'a, f32>,
            of: Rows,
            programs: usize,
        ) -> Call<'a> {
            let Rows { rows, columns, eps } = of;
            match norm {
                Norm::Layer => k::layer_norm_gradient(x, weight, dy, dx, sums, rows, columns, programs, eps),
                Norm::Rms => k::rms_norm_gradient(x, weight, dy, dx, sums, rows, columns, programs, eps),
            }
        }
        fn partial_moments(
            norm: Norm,
            x: SliceArg<'a, Self>,
            weight: SliceArg<'a, Self>,
            dy: SliceArg<'a, Self>,
            moments: SliceMutArg<'a, f32>,
            of: Rows,
            parts: usize,
        ) -> Call<'a> {
            let Rows { rows, columns, .. } = of;
            match norm {
                Norm::Layer => k::layer_norm_partial_moments(x, weight, dy, moments, rows, columns, parts),
                Norm::Rms => k::rms_norm_partial_moments(x, weight, dy, moments, rows, columns, parts),
            }
        }
        fn gradient_of_columns(
            norm: Norm,
            x: SliceArg<'a, Self>,
            weight: SliceArg<'a, Self>,
            dy: SliceArg<'a, Self>,
            of_rows: SliceArg<'a, f32>,
            dx: SliceMutArg<'a, Self>,
            sums: SliceMutArg<'a, f32>,
            of: Rows,
            programs: usize,
        ) -> Call<'a> {
            let Rows { rows, columns, .. } = of;
            match norm {
                Norm::Layer => {
                    k::layer_norm_gradient_of_columns(x, weight, dy, of_rows, dx, sums, rows, columns, programs)
                }
                Norm::Rms => k::rms_norm_gradient_of_columns(x, weight, dy, of_rows, dx, sums, rows, columns, programs),
            }
        }
        fn sums(
            sums: SliceArg<'a, f32>,
            dw: SliceMutArg<'a, Self>,
            db: SliceMutArg<'a, Self>,
            columns: usize,
            programs: usize,
        ) -> Call<'a> {
            k::sums_of_programs(sums, dw, db, columns, programs)
        }
    }
}

/// A norm of rows: its kernels.
#[derive(Clone, Copy, PartialEq)]
pub enum Norm {
    /// The mean is subtracted, and a bias may be added.
    Layer,
    /// By the root of the mean square.
    Rms,
}

impl Norm {
    /// The arrays of sums that a program of the gradient has: of the weight, and of the bias.
    fn sums(self) -> usize {
        if self == Norm::Layer { 2 } else { 1 }
    }
}

/// Rows of `columns` elements.
#[derive(Clone, Copy)]
pub struct Rows {
    rows: usize,
    columns: usize,
    eps: f32,
}

/// Rows of as many elements as the weight has.
fn rows(what: &'static str, name: &str, len: usize, columns: usize, eps: f32) -> Result<Rows> {
    Ok(Rows { rows: check::whole_rows(what, name, len, columns, ", as weight has")?, columns, eps })
}

/// `y = (x - mean) / sqrt(variance + eps) * weight + bias`, of each row. The variance is that of the population. 16-bit
/// types are computed in f32 and rounded once.
///
/// Shapes: `x` and `y` are `[rows, columns]`, `weight` and `bias` are `[columns]`. A `bias` of no elements is one of
/// zeros.
///
/// A row with a NaN or an infinity gives NaN.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 4];
/// ops::layer_norm(&Runtime::cpu(), &[1.0, 3.0, -5.0, 5.0], &[1.0, 10.0], &[0.0, 0.5], &mut y, 0.0)?;
/// assert_eq!(y, [-1.0, 10.5, -1.0, 10.5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn layer_norm<'a, T: Normalize>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    weight: impl AsSlice<'a, T>,
    bias: impl AsSlice<'a, T>,
    y: impl AsSliceMut<'a, T>,
    eps: f32,
) -> Result<()> {
    const WHAT: &str = "layer_norm";
    let (x, weight, bias, y) = (x.as_slice_arg(), weight.as_slice_arg(), bias.as_slice_arg(), y.as_slice_mut_arg());
    let of = rows(WHAT, "x", x.len(), weight.len(), eps)?;
    check::same_length(WHAT, &[("x", x.len()), ("y", y.len())])?;
    if bias.is_empty() {
        return on.launch(T::norm(Norm::Layer, x, weight, check::nothing(), y, of));
    }
    check::same_length(WHAT, &[("weight", weight.len()), ("bias", bias.len())])?;
    on.launch(T::norm(Norm::Layer, x, weight, bias, y, of))
}

/// `y = x / sqrt(mean of x² + eps) * weight`, of each row. 16-bit types are computed in f32 and rounded once.
///
/// Shapes: `x` and `y` are `[rows, columns]`, `weight` is `[columns]`.
///
/// A row with a NaN gives NaN; one with an infinity gives NaN there, and zeros elsewhere.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 2];
/// ops::rms_norm(&Runtime::cpu(), &[3.0, -3.0], &[1.0, 2.0], &mut y, 0.0)?;
/// assert_eq!(y, [1.0, -2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn rms_norm<'a, T: Normalize>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    weight: impl AsSlice<'a, T>,
    y: impl AsSliceMut<'a, T>,
    eps: f32,
) -> Result<()> {
    const WHAT: &str = "rms_norm";
    let (x, weight, y) = (x.as_slice_arg(), weight.as_slice_arg(), y.as_slice_mut_arg());
    let of = rows(WHAT, "x", x.len(), weight.len(), eps)?;
    check::same_length(WHAT, &[("x", x.len()), ("y", y.len())])?;
    on.launch(T::norm(Norm::Rms, x, weight, check::nothing(), y, of))
}

/// `sum = x + residual`, and `y` is the [`rms_norm`] of that: one step of a transformer. 16-bit types round the sum,
/// whether it is stored or not.
///
/// Shapes: `x`, `residual`, `sum` and `y` are `[rows, columns]`, `weight` is `[columns]`. A `sum` of no elements is not
/// stored. `sum` may be the memory of `residual`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let (mut sum, mut y) = ([0.0f32; 2], [0.0f32; 2]);
/// ops::add_rms_norm(&Runtime::cpu(), &[1.0, 2.0], &[2.0, -5.0], &[1.0, 2.0], &mut sum, &mut y, 0.0)?;
/// assert_eq!((sum, y), ([3.0, -3.0], [1.0, -2.0]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn add_rms_norm<'a, T: Normalize>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    residual: impl AsSlice<'a, T>,
    weight: impl AsSlice<'a, T>,
    sum: impl AsSliceMut<'a, T>,
    y: impl AsSliceMut<'a, T>,
    eps: f32,
) -> Result<()> {
    const WHAT: &str = "add_rms_norm";
    let (x, residual, weight) = (x.as_slice_arg(), residual.as_slice_arg(), weight.as_slice_arg());
    let (sum, y) = (sum.as_slice_mut_arg(), y.as_slice_mut_arg());
    let of = rows(WHAT, "x", x.len(), weight.len(), eps)?;
    check::same_length(WHAT, &[("x", x.len()), ("residual", residual.len()), ("y", y.len())])?;
    let sum = check::optional(WHAT, ("sum", sum), ("x", x.len()))?;
    on.launch(T::add_rms_norm(x, residual, weight, sum, y, of))
}

/// The gradients of [`layer_norm`]: `dx` of `x`, `dw` of `weight`, `db` of `bias`, where `dy` is that of `y`.
///
/// Two launches, or four for rows that no multiprocessor holds. Scratch is `2 * columns` floats for each program, and,
/// of four launches, 4 floats for each 4096 elements of `x`. Sums are those of f32, in an order that the device decides
/// alone.
///
/// Shapes: `x`, `dy` and `dx` are `[rows, columns]`, `weight`, `dw` and `db` are `[columns]`. A `db` of no elements is
/// not stored.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let (x, weight, dy) = ([1.0f32, 3.0], [1.0, 10.0], [5.0, 0.5]);
/// let (mut dx, mut dw, mut db) = ([9.0; 2], [9.0; 2], [9.0; 2]);
/// ops::layer_norm_backward(&Runtime::cpu(), &x, &weight, &dy, &mut dx, &mut dw, &mut db, 0.0)?;
/// assert_eq!((dx, dw, db), ([0.0, 0.0], [-5.0, 0.5], [5.0, 0.5]));
/// # Ok::<(), tilewright::Error>(())
/// ```
#[allow(clippy::too_many_arguments, reason = "as many as the gradient has")]
pub fn layer_norm_backward<'a, T: Normalize>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    weight: impl AsSlice<'a, T>,
    dy: impl AsSlice<'a, T>,
    dx: impl AsSliceMut<'a, T>,
    dw: impl AsSliceMut<'a, T>,
    db: impl AsSliceMut<'a, T>,
    eps: f32,
) -> Result<()> {
    let db = db.as_slice_mut_arg();
    backward("layer_norm_backward", Norm::Layer, on, x.as_slice_arg(), weight, dy, dx, dw, db, eps)
}

/// The gradients of [`rms_norm`]: `dx` of `x` and `dw` of `weight`, where `dy` is that of `y`.
///
/// Launches and scratch are as of [`layer_norm_backward`], with `columns` floats for each program. Sums are those of
/// f32, in an order that the device decides alone.
///
/// Shapes: `x`, `dy` and `dx` are `[rows, columns]`, `weight` and `dw` are `[columns]`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let (mut dx, mut dw) = ([9.0; 2], [9.0; 2]);
/// ops::rms_norm_backward(&Runtime::cpu(), &[3.0f32, -3.0], &[1.0, 2.0], &[3.0, 0.0], &mut dx, &mut dw, 0.0)?;
/// assert_eq!((dx, dw), ([0.5, 0.5], [3.0, 0.0]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn rms_norm_backward<'a, T: Normalize>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    weight: impl AsSlice<'a, T>,
    dy: impl AsSlice<'a, T>,
    dx: impl AsSliceMut<'a, T>,
    dw: impl AsSliceMut<'a, T>,
    eps: f32,
) -> Result<()> {
    backward("rms_norm_backward", Norm::Rms, on, x.as_slice_arg(), weight, dy, dx, dw, check::nothing_mut(), eps)
}

#[allow(clippy::too_many_arguments, reason = "as many as the gradient has")]
fn backward<'a, T: Normalize>(
    what: &'static str,
    norm: Norm,
    on: &impl Executor,
    x: SliceArg<'a, T>,
    weight: impl AsSlice<'a, T>,
    dy: impl AsSlice<'a, T>,
    dx: impl AsSliceMut<'a, T>,
    dw: impl AsSliceMut<'a, T>,
    db: SliceMutArg<'a, T>,
    eps: f32,
) -> Result<()> {
    /// The elements of rows that a multiprocessor holds at once. Of a wider row it holds parts.
    const AT_HAND: usize = 8192;
    let (weight, dy, dx, dw) = (weight.as_slice_arg(), dy.as_slice_arg(), dx.as_slice_mut_arg(), dw.as_slice_mut_arg());
    let columns = weight.len();
    let of = rows(what, "x", x.len(), columns, eps)?;
    check::same_length(what, &[("x", x.len()), ("dy", dy.len()), ("dx", dx.len())])?;
    check::same_length(what, &[("weight", columns), ("dw", dw.len())])?;
    let db = check::optional(what, ("db", db), ("weight", columns))?;
    if columns > AT_HAND {
        return wide_gradient(norm, on, x, weight, dy, dx, dw, db, of);
    }
    // Each program has sums that are stored and loaded.
    let per_sm = (AT_HAND / columns.max(1)).clamp(2, 8);
    let programs = of.rows.min(per_sm * on.num_sms());
    let mut sums = on.stream().scratch::<f32>(norm.sums() * programs * columns)?;
    on.launch(T::gradient(norm, x, weight, dy, dx, sums.as_slice_mut_arg(), of, programs))?;
    on.launch(T::sums(sums.as_slice_arg(), dw, db, columns, programs))
}

/// The gradients of rows that no program has at once.
#[allow(clippy::too_many_arguments, reason = "as many as the gradient has")]
fn wide_gradient<'a, T: Normalize>(
    norm: Norm,
    on: &impl Executor,
    x: SliceArg<'a, T>,
    weight: SliceArg<'a, T>,
    dy: SliceArg<'a, T>,
    dx: SliceMutArg<'a, T>,
    dw: SliceMutArg<'a, T>,
    db: SliceMutArg<'a, T>,
    of: Rows,
) -> Result<()> {
    /// The columns of a part of a row.
    const PART: usize = 4096;
    /// The rows and the columns of a tile of the gradient.
    const TILE: [usize; 2] = [4, 1024];
    /// The programs that a multiprocessor runs at once.
    const PER_SM: usize = 3;
    let Rows { rows, columns, eps } = of;
    let (stream, parts) = (on.stream(), columns.div_ceil(PART));
    let mut moments = stream.scratch::<f32>(4 * rows * parts)?;
    on.launch(T::partial_moments(norm, x, weight, dy, moments.as_slice_mut_arg(), of, parts))?;
    let mut of_rows = stream.scratch::<f32>(4 * rows)?;
    let (from, to) = (moments.as_slice_arg(), of_rows.as_slice_mut_arg());
    on.launch(match norm {
        Norm::Layer => k::layer_norm_moments(from, to, rows, columns, parts, PART, eps),
        Norm::Rms => k::rms_norm_moments(from, to, rows, columns, parts, PART, eps),
    })?;
    let programs = PER_SM * on.num_sms() / columns.div_ceil(TILE[1]);
    let programs = programs.clamp(1, rows.div_ceil(TILE[0]).max(1));
    let mut sums = stream.scratch::<f32>(norm.sums() * programs * columns)?;
    let of_rows = of_rows.as_slice_arg();
    on.launch(T::gradient_of_columns(norm, x, weight, dy, of_rows, dx, sums.as_slice_mut_arg(), of, programs))?;
    on.launch(T::sums(sums.as_slice_arg(), dw, db, columns, programs))
}
