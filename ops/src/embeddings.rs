//! Rows of a table by index, rotary position embeddings, and their gradients.

use super::{Executor, check};
use crate::by_type::by_type;
use tilewright_core::{AsSlice, AsSliceMut, Call, SliceArg, SliceMutArg, bf16, f16};
use tilewright_kernels::embeddings as k;
use tilewright_runtime::{Error, Result};

by_type! {
    /// The element types of embeddings: `f32`, `f16` and `bf16`. The trait is sealed.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Result, Runtime, bf16, ops};
    ///
    /// /// The rows of a table of `columns` columns that indices name.
    /// fn rows<T: ops::Embed>(rt: &Runtime, table: &Buffer<T>, ids: &[i32], columns: usize) -> Result<Vec<T>> {
    ///     let mut y = Buffer::<T>::zeros(rt, ids.len() * columns)?;
    ///     ops::embedding(rt, table, ids, &mut y, columns)?;
    ///     y.to_vec()
    /// }
    /// let rt = Runtime::cpu();
    /// let table = Buffer::from_slice(&rt, &[bf16::ZERO, bf16::ONE])?;
    /// assert_eq!(rows(&rt, &table, &[1, 0, 1], 1)?, [bf16::ONE, bf16::ZERO, bf16::ONE]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    /// Other crates cannot implement it:
    /// ```compile_fail,E0277
    /// struct Mine;
    /// impl tilewright_ops::Embed for Mine {}
    /// ```
    pub trait Embed: EmbeddingKernels<'a> for [f32, f16, bf16] {
        fn embedding_call(
            table: SliceArg<'a, Self>,
            ids: SliceArg<'a, i32>,
            y: SliceMutArg<'a, Self>,
            rows: usize,
            columns: usize,
        ) -> Call<'a> {
            k::embedding(table, ids, y, rows, columns)
        }
        fn embedding_gradient_call(
            ids: SliceArg<'a, i32>,
            dy: SliceArg<'a, Self>,
            d_table: SliceMutArg<'a, f32>,
            rows: usize,
            columns: usize,
        ) -> Call<'a> {
            k::embedding_gradient(ids, dy, d_table, rows, columns)
        }
        fn rope_call(
            x: SliceArg<'a, Self>,
            positions: SliceArg<'a, i32>,
            cosines: SliceArg<'a, f32>,
            sines: SliceArg<'a, f32>,
            y: SliceMutArg<'a, Self>,
            of: Rotation,
        ) -> Call<'a> {
            let Rotation { tokens, heads, columns, half, rows, interleaved, direction } = of;
            if interleaved {
                k::rope_interleaved(x, positions, cosines, sines, y, tokens, heads, columns, half, rows, direction)
            } else {
                k::rope(x, positions, cosines, sines, y, tokens, heads, columns, half, rows, direction)
            }
        }
    }
}

/// Row `ids[t]` of the table for each token `t`. A negative index gives zeros, and one that is no row gives NaN.
///
/// Shapes: `table` is `[rows, columns]`, `ids` is `[tokens]`, `y` is `[tokens, columns]`. A GPU takes some 67 million
/// columns at most.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [9.0f32; 6];
/// ops::embedding(&Runtime::cpu(), &[1.0, 2.0, 3.0, 4.0], &[1, -1, 0], &mut y, 2)?;
/// assert_eq!(y, [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn embedding<'a, T: Embed>(
    on: &impl Executor,
    table: impl AsSlice<'a, T>,
    ids: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, T>,
    columns: usize,
) -> Result<()> {
    const WHAT: &str = "embedding";
    let (table, ids, y) = (table.as_slice_arg(), ids.as_slice_arg(), y.as_slice_mut_arg());
    let rows = check::whole_rows(WHAT, "table", table.len(), columns, "")?;
    let area = check::area(WHAT, ids.len(), columns)?;
    check::length(WHAT, "y", y.len(), area, &format!("{} rows of {columns}", ids.len()))?;
    on.launch(T::embedding_call(table, ids, y, rows, columns))
}

/// Adds the gradient of [`embedding`] to `d_table`: each row of `dy`, the gradient of `y`, to the row that its index
/// names. Indices that are no rows are left out.
///
/// Sums are those of f32, for tables of 16 bits too. Rows with the same index are added in an order that may change
/// from call to call, and their sums with it.
///
/// Shapes: `ids` is `[tokens]`, `dy` is `[tokens, columns]`, `d_table` is `[rows, columns]`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut d_table = [0.0, 0.0, 10.0, 10.0];
/// ops::embedding_backward(&Runtime::cpu(), &[1, -1, 1], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &mut d_table, 2)?;
/// assert_eq!(d_table, [0.0, 0.0, 16.0, 18.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn embedding_backward<'a, T: Embed>(
    on: &impl Executor,
    ids: impl AsSlice<'a, i32>,
    dy: impl AsSlice<'a, T>,
    d_table: impl AsSliceMut<'a, f32>,
    columns: usize,
) -> Result<()> {
    const WHAT: &str = "embedding_backward";
    let (ids, dy, d_table) = (ids.as_slice_arg(), dy.as_slice_arg(), d_table.as_slice_mut_arg());
    let rows = check::whole_rows(WHAT, "d_table", d_table.len(), columns, "")?;
    let area = check::area(WHAT, ids.len(), columns)?;
    check::length(WHAT, "dy", dy.len(), area, &format!("{} rows of {columns}", ids.len()))?;
    on.launch(T::embedding_gradient_call(ids, dy, d_table, rows, columns))
}

/// Rotations as a kernel has them.
#[derive(Clone, Copy)]
pub struct Rotation {
    tokens: usize,
    heads: usize,
    columns: usize,
    half: usize,
    rows: usize,
    interleaved: bool,
    direction: f32,
}

/// A rotary position embedding (RoPE), and its gradient: pairs of the elements of each head rotate by angles that
/// depend on the position of a token.
///
/// `y_a = x_a * cos - x_b * sin` and `y_b = x_b * cos + x_a * sin` for each pair. The pairs of a head are its elements
/// `i` and `i + half`, for `i` below `half`, as in Llama and GPT-NeoX; or `2 i` and `2 i + 1`, as in GPT-J, with
/// [`interleaved`](Self::interleaved). `half` is the number of columns of the tables. Elements behind the pairs are
/// copied. 16-bit types are computed in f32 and rounded once.
///
/// Shapes: `x` and `y` are `[tokens, heads, columns]`, `cosines` and `sines` are `[rows, half]`, with `2 * half` at
/// most `columns`. Token `t` has the row of the tables that is its position: `positions[t]` where there are
/// [`positions`](Self::positions), else `t % n` for sequences of `n` tokens: see [`sequences_of`](Self::sequences_of).
/// A position that is no row gives NaN. `y` may be the memory of `x`. A GPU takes some 500 000 heads at most.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// // Two tokens of a head of four elements. The second one rotates by a right angle.
/// let x = [1.0f32, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0];
/// let (cosines, sines) = ([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]);
/// let (rt, mut y, mut back) = (Runtime::cpu(), [9.0f32; 8], [9.0f32; 8]);
/// ops::Rope::new(&cosines, &sines, 2).launch(&rt, &x, &mut y, 1, 4)?;
/// assert_eq!(y, [1.0, 2.0, 3.0, 4.0, -3.0, -4.0, 1.0, 2.0]);
/// ops::Rope::new(&cosines, &sines, 2).launch_backward(&rt, &y, &mut back, 1, 4)?;
/// assert_eq!(back, x);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Rope<'a> {
    cosines: SliceArg<'a, f32>,
    sines: SliceArg<'a, f32>,
    positions: SliceArg<'a, i32>,
    half: usize,
    sequence: Option<usize>,
    interleaved: bool,
}

impl<'a> Rope<'a> {
    /// A rotation with these tables of the cosines and sines of the angles: for each position a row of `half` of them.
    /// [`Rope`] has an example.
    pub fn new(cosines: impl AsSlice<'a, f32>, sines: impl AsSlice<'a, f32>, half: usize) -> Self {
        let (cosines, sines) = (cosines.as_slice_arg(), sines.as_slice_arg());
        Rope { cosines, sines, positions: check::nothing(), half, sequence: None, interleaved: false }
    }

    /// Sets the position of each token. An array without elements sets none.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, ops};
    ///
    /// // Rows of one pair: no angle, and a right angle.
    /// let (cosines, sines) = ([1.0f32, 0.0], [0.0f32, 1.0]);
    /// // Two tokens of a head of two elements.
    /// let (rt, x, mut y) = (Runtime::cpu(), [1.0f32, 2.0, 1.0, 2.0], [9.0f32; 4]);
    /// ops::Rope::new(&cosines, &sines, 1).positions(&[1, 0]).launch(&rt, &x, &mut y, 1, 2)?;
    /// assert_eq!(y, [-2.0, 1.0, 1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn positions(self, positions: impl AsSlice<'a, i32>) -> Self {
        let positions = positions.as_slice_arg();
        Rope { positions: if positions.is_empty() { check::nothing() } else { positions }, ..self }
    }

    /// Takes the tokens as sequences of this many tokens each, whose positions begin with 0. The default is the number
    /// of rows of the tables. Positions, where they are set, replace it.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, ops};
    ///
    /// // Rows of one pair: no angle, and a right angle.
    /// let (cosines, sines) = ([1.0f32, 0.0], [0.0f32, 1.0]);
    /// // Two tokens of a head of two elements.
    /// let (rt, x, mut y) = (Runtime::cpu(), [1.0f32, 2.0, 1.0, 2.0], [9.0f32; 4]);
    /// // Each token is the first of its sequence.
    /// ops::Rope::new(&cosines, &sines, 1).sequences_of(1).launch(&rt, &x, &mut y, 1, 2)?;
    /// assert_eq!(y, x);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn sequences_of(self, tokens: usize) -> Self {
        Rope { sequence: Some(tokens), ..self }
    }

    /// With `true` the pairs are neighbors, the elements `2 i` and `2 i + 1`.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, ops};
    ///
    /// // One token of a head of four elements, whose two pairs are rotated by a right angle.
    /// let (cosines, sines) = ([0.0f32, 0.0], [1.0f32, 1.0]);
    /// let (rt, x, mut y) = (Runtime::cpu(), [1.0f32, 2.0, 3.0, 4.0], [9.0f32; 4]);
    /// ops::Rope::new(&cosines, &sines, 2).interleaved(true).launch(&rt, &x, &mut y, 1, 4)?;
    /// assert_eq!(y, [-2.0, 1.0, -4.0, 3.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn interleaved(self, on: bool) -> Self {
        Rope { interleaved: on, ..self }
    }

    /// Enqueues the rotation of the heads of `x`. [`Rope`] has an example.
    pub fn launch<T: Embed>(
        self,
        on: &impl Executor,
        x: impl AsSlice<'a, T>,
        y: impl AsSliceMut<'a, T>,
        heads: usize,
        columns: usize,
    ) -> Result<()> {
        self.rotate("rope", on, x.as_slice_arg(), y.as_slice_mut_arg(), [heads, columns], 1.0)
    }

    /// Enqueues the gradient `dx` of `x` from the gradient `dy` of `y`, which is the rotation back. [`Rope`] has an
    /// example.
    pub fn launch_backward<T: Embed>(
        self,
        on: &impl Executor,
        dy: impl AsSlice<'a, T>,
        dx: impl AsSliceMut<'a, T>,
        heads: usize,
        columns: usize,
    ) -> Result<()> {
        self.rotate("rope_backward", on, dy.as_slice_arg(), dx.as_slice_mut_arg(), [heads, columns], -1.0)
    }

    fn rotate<T: Embed>(
        self,
        what: &'static str,
        on: &impl Executor,
        x: SliceArg<'a, T>,
        y: SliceMutArg<'a, T>,
        [heads, columns]: [usize; 2],
        direction: f32,
    ) -> Result<()> {
        let Rope { cosines, sines, positions, half, sequence, interleaved } = self;
        let of_token = check::area(what, heads, columns)?;
        let tokens = check::whole_rows(what, "x", x.len(), of_token, "")?;
        check::same_length(what, &[("x", x.len()), ("y", y.len())])?;
        check::same_length(what, &[("cosines", cosines.len()), ("sines", sines.len())])?;
        let rows = check::whole_rows(what, "cosines", cosines.len(), half, "")?;
        if half > columns / 2 {
            let why = format!("{half} pairs of elements, of heads that have {columns} elements");
            return Err(Error::Shape { what, why });
        }
        if tokens == 0 {
            return Ok(());
        }
        let used = if positions.is_empty() { sequence.unwrap_or(rows) } else { rows };
        if !positions.is_empty() {
            check::length(what, "positions", positions.len(), tokens, &format!("{tokens} tokens"))?;
        } else if half > 0 && (used == 0 || used > rows) {
            let why = format!("cosines has {rows} rows, for sequences of {used} tokens without positions");
            return Err(Error::Shape { what, why });
        }
        // Without pairs no row is looked at.
        let of = Rotation { tokens, heads, columns, half, rows: used.max(1), interleaved, direction };
        on.launch(T::rope_call(x, positions, cosines, sines, y, of))
    }
}
