//! Normalization of rows, of groups of channels, of columns, and of a whole vector.

use crate::check::{length, rows, shape};
use crate::kernels::{elementwise, norms as k, sums};
use crate::queue::{Queue, Workspace};
use tilewright::{AsSlice, AsSliceMut, Result};

/// `y = x / sqrt(mean of x^2 + eps) * gamma + beta`, of the whole array, in two launches.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both have the same length.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 2];
/// tilewright_challenges::rms_normalization(&tilewright::Runtime::cpu(), &[3.0, -3.0], &mut y, 2.0, 0.5, 0.0)?;
/// assert_eq!(y, [2.5, -1.5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn rms_normalization<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    gamma: f32,
    beta: f32,
    eps: f32,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("rms_normalization", "x", x.len(), &[y.len()])?;
    let n = x.len() as f32;
    let mut squares = on.stream().scratch::<f32>(1)?;
    let mut w = Workspace::new(on)?;
    on.launch(sums::sum_of_squares(x, 1.0, 1.0, &mut w.words, &mut w.counter, &mut squares))?;
    on.launch(elementwise::over_root_mean_square(x, &squares, n, gamma, beta, eps, y))
}

/// `y = (x - mean) / sqrt(variance + eps) * gamma + beta`, by columns, in two launches. The variance is that of the
/// population.
///
/// Shapes: `x` and `y` are `[rows, columns]`, `gamma` and `beta` are `[columns]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 4];
/// tilewright_challenges::batch_normalization(
///     &tilewright::Runtime::cpu(), &[1.0, 7.0, 3.0, 7.0], &[1.0, 1.0], &[0.0, 0.5], &mut y, 0.0001)?;
/// assert!((y[2] - 1.0).abs() < 1e-3);
/// assert_eq!((y[1], y[3], y[0]), (0.5, 0.5, -y[2]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn batch_normalization<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    gamma: impl AsSlice<'a, f32>,
    beta: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    eps: f32,
) -> Result<()> {
    let (x, gamma, beta, y) = (x.as_slice_arg(), gamma.as_slice_arg(), beta.as_slice_arg(), y.as_slice_mut_arg());
    let (op, columns) = ("batch_normalization", gamma.len());
    let rows = rows(op, "x", x.len(), columns)?;
    length(op, "beta", beta.len(), &[columns])?;
    length(op, "y", y.len(), &[rows, columns])?;
    // Parts of the rows, of some 64 rows at least: the second launch combines 32 at most.
    let splits = rows.div_ceil(64).clamp(1, 32);
    let mut moments = on.stream().scratch::<f32>(3 * splits * columns)?;
    on.launch(k::column_moments(x, &mut moments, rows, columns, splits))?;
    on.launch(k::normalize_columns(x, &moments, gamma, beta, y, rows, columns, splits, eps))
}

/// `y = (x - mean) / sqrt(variance + eps) * gamma + beta`. Mean and variance, that of the population, are those of a
/// group of neighboring channels of a sample.
///
/// Shapes: `x` and `y` are `[samples, channels, area]`, `gamma` and `beta` are `[channels]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or channels do not make `groups` groups.
///
/// # Examples
/// Two channels of two elements, in one group and in two:
/// ```
/// let (rt, x, mut y) = (tilewright::Runtime::cpu(), [1.0f32, 1.0, 3.0, 3.0], [0.0f32; 4]);
/// let of = |groups, y: &mut [f32; 4]| {
///     tilewright_challenges::group_normalization(&rt, &x, &[1.0, 2.0], &[0.0, 0.5], y, [1, 2, 2], groups, 1e-12)
/// };
/// of(1, &mut y)?;
/// assert_eq!(y, [-1.0, -1.0, 2.5, 2.5]);
/// of(2, &mut y)?;
/// assert_eq!(y, [0.0, 0.0, 0.5, 0.5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn group_normalization<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    gamma: impl AsSlice<'a, f32>,
    beta: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [samples, channels, area]: [usize; 3],
    groups: usize,
    eps: f32,
) -> Result<()> {
    let (x, gamma, beta, y) = (x.as_slice_arg(), gamma.as_slice_arg(), beta.as_slice_arg(), y.as_slice_mut_arg());
    let op = "group_normalization";
    let divides = groups > 0 && channels.is_multiple_of(groups);
    shape(op, divides, || format!("{channels} channels do not make {groups} groups"))?;
    length(op, "x", x.len(), &[samples, channels, area])?;
    length(op, "gamma", gamma.len(), &[channels])?;
    length(op, "beta", beta.len(), &[channels])?;
    length(op, "y", y.len(), &[samples, channels, area])?;
    if y.is_empty() {
        return Ok(());
    }
    on.launch(k::group_norm(x, gamma, beta, y, samples * groups, groups, channels / groups, area, eps))
}

/// The tables of [`token_embedding_layer`], and the scale and the bias of its norm.
///
/// # Examples
/// [`token_embedding_layer`] has one.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingTables<T, P, G, B> {
    /// `[tokens, columns]`
    pub tokens: T,
    /// `[positions, columns]`
    pub positions: P,
    /// `[columns]`
    pub gamma: G,
    /// `[columns]`
    pub beta: B,
}

/// The layer norm of a row of the table of tokens and one of the table of positions, added. An index that is not in its
/// table stands for a row of zeros.
///
/// Shapes: `token_ids` has an index for each row of `y`, `[rows, columns]`. `position_ids` has one for each row of a
/// sequence, and serves all sequences.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// use tilewright_challenges::{EmbeddingTables, token_embedding_layer};
///
/// let tables = EmbeddingTables {
///     tokens: &[0.0f32, 0.0, 1.0, 5.0],
///     positions: &[0.0f32, 2.0],
///     gamma: &[1.0f32, 1.0],
///     beta: &[0.0f32, 10.0],
/// };
/// let mut y = [0.0f32; 4];
/// token_embedding_layer(&tilewright::Runtime::cpu(), &[1, 0], &[0, 0], tables, &mut y, 0.0)?;
/// assert_eq!(y, [-1.0, 11.0, -1.0, 11.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn token_embedding_layer<'a>(
    on: &impl Queue,
    token_ids: impl AsSlice<'a, i32>,
    position_ids: impl AsSlice<'a, i32>,
    tables: EmbeddingTables<impl AsSlice<'a, f32>, impl AsSlice<'a, f32>, impl AsSlice<'a, f32>, impl AsSlice<'a, f32>>,
    y: impl AsSliceMut<'a, f32>,
    eps: f32,
) -> Result<()> {
    let (ids, places, y) = (token_ids.as_slice_arg(), position_ids.as_slice_arg(), y.as_slice_mut_arg());
    let (tokens, positions) = (tables.tokens.as_slice_arg(), tables.positions.as_slice_arg());
    let (gamma, beta) = (tables.gamma.as_slice_arg(), tables.beta.as_slice_arg());
    let (op, columns) = ("token_embedding_layer", gamma.len());
    rows(op, "the table of tokens", tokens.len(), columns)?;
    rows(op, "the table of positions", positions.len(), columns)?;
    rows(op, "token_ids", ids.len(), places.len())?;
    length(op, "beta", beta.len(), &[columns])?;
    length(op, "y", y.len(), &[ids.len(), columns])?;
    on.launch(k::embed(ids, places, tokens, positions, gamma, beta, y, columns, eps))
}
