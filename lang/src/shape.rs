//! Shapes of tiles.

use crate::stub;
use crate::value::{Shape, Tile, Value};

/// Changes of shape.
pub trait Shapes: Value {
    /// A dimension of extent 1 before dimension `axis`: `[N]` becomes `[N, 1]` by 1 and `[1, N]` by 0.
    ///
    /// A tile has at most five dimensions; an axis beyond them is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(y: &mut [usize]) {
    ///     let (rows, columns) = (arange(2).expand(1), arange(4).expand(0)); // [2, 1] and [1, 4]
    ///     store(y, rows * 4 + columns, rows * 10 + columns);
    /// }
    /// # }
    /// let mut y = [99; 8];
    /// Runtime::cpu().launch(k(&mut y))?;
    /// assert_eq!(y, [0, 1, 2, 3, 10, 11, 12, 13]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn expand(self, axis: usize) -> Self {
        let _ = axis;
        stub()
    }

    /// The value broadcast to a shape: an extent of 1 becomes that of the shape.
    ///
    /// The extents are constants. Other extents than 1 stay. The ranks agree, but for a scalar.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(2).expand(1) * 2 + arange(2).expand(0);
    ///     store(y, i, load(x, arange(2)).expand(0).broadcast([2, 2]));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn broadcast(self, shape: impl Shape) -> Tile<Self::Elem> {
        let _ = shape;
        stub()
    }

    /// The elements in another shape, in the order of rows.
    ///
    /// The extents are constants, with as many elements. Extents that are no powers of two stay, but for dimensions of
    /// 1.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let v = load(x, arange(8)).reshape([2, 4]);
    ///     store(y, arange(2), v.reduce(1, |a, b| a + b));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [10.0, 26.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn reshape(self, shape: impl Shape) -> Tile<Self::Elem> {
        let _ = shape;
        stub()
    }

    /// The last two dimensions exchanged: `[M, N]` becomes `[N, M]`.
    ///
    /// A tile of rank 1 is an error. Of an operand of `dot` it costs nothing where memory has the order of the result.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], x.tile([0, 0], [2, 4]).trans());
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let mut y = Buffer::<f32>::zeros(&rt, 6)?;
    /// rt.launch(k(x.view([2, 3])?, y.view_mut([3, 2])?))?;
    /// assert_eq!(y.to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn trans(self) -> Self {
        stub()
    }

    /// The dimensions in another order: dimension `i` of the result is dimension `order[i]` of the tile.
    ///
    /// The order is a constant with each axis once.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: View<f32, 3>, mut y: ViewMut<f32, 3>) {
    ///     y.store([0, 0, 0], x.tile([0, 0, 0], [2, 2, 2]).permute([1, 0, 2]));
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
    /// let mut y = Buffer::<f32>::zeros(&rt, 8)?;
    /// rt.launch(k(x.view([2, 2, 2])?, y.view_mut([2, 2, 2])?))?;
    /// assert_eq!(y.to_vec()?, [1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn permute(self, order: impl Shape) -> Self {
        let _ = order;
        stub()
    }

    /// The extent of the tile along `axis`: a constant.
    ///
    /// An axis beyond the rank is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let v = load(x, arange(4));
    ///     store(y, 0, sum(v) / v.dim(0) as f32);
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 6.0], &mut y))?;
    /// assert_eq!(y, [3.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn dim(self, axis: usize) -> usize {
        let _ = axis;
        stub()
    }
}

impl<V: Value> Shapes for V {}

/// A dimension of extent 1 before dimension `axis`: `[N]` becomes `[N, 1]` by 1 and `[1, N]` by 0.
///
/// A tile has at most five dimensions; an axis beyond them is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(y: &mut [usize]) {
///     let (rows, columns) = (arange(2).expand(1), arange(4).expand(0)); // [2, 1] and [1, 4]
///     store(y, rows * 4 + columns, rows * 10 + columns);
/// }
/// # }
/// let mut y = [99; 8];
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [0, 1, 2, 3, 10, 11, 12, 13]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn expand<V: Value>(t: V, axis: usize) -> V {
    let _ = (t, axis);
    stub()
}

/// The value broadcast to a shape: an extent of 1 becomes that of the shape.
///
/// The extents are constants. Other extents than 1 stay. The ranks agree, but for a scalar.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let i = arange(2).expand(1) * 2 + arange(2).expand(0);
///     store(y, i, load(x, arange(2)).expand(0).broadcast([2, 2]));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y))?;
/// assert_eq!(y, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn broadcast<V: Value>(t: V, shape: impl Shape) -> Tile<V::Elem> {
    let _ = (t, shape);
    stub()
}

/// The elements in another shape, in the order of rows.
///
/// The extents are constants, with as many elements. Extents that are no powers of two stay, but for dimensions of 1.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let v = load(x, arange(8)).reshape([2, 4]);
///     store(y, arange(2), v.reduce(1, |a, b| a + b));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
/// assert_eq!(y, [10.0, 26.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn reshape<V: Value>(t: V, shape: impl Shape) -> Tile<V::Elem> {
    let _ = (t, shape);
    stub()
}

/// The last two dimensions exchanged: `[M, N]` becomes `[N, M]`.
///
/// A tile of rank 1 is an error. Of an operand of `dot` it costs nothing where memory has the order of the result.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
///     y.store([0, 0], x.tile([0, 0], [2, 4]).trans());
/// }
/// # }
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut y = Buffer::<f32>::zeros(&rt, 6)?;
/// rt.launch(k(x.view([2, 3])?, y.view_mut([3, 2])?))?;
/// assert_eq!(y.to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn trans<V: Value>(t: V) -> V {
    let _ = t;
    stub()
}

/// The dimensions in another order: dimension `i` of the result is dimension `order[i]` of the tile.
///
/// The order is a constant with each axis once.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: View<f32, 3>, mut y: ViewMut<f32, 3>) {
///     y.store([0, 0, 0], x.tile([0, 0, 0], [2, 2, 2]).permute([1, 0, 2]));
/// }
/// # }
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
/// let mut y = Buffer::<f32>::zeros(&rt, 8)?;
/// rt.launch(k(x.view([2, 2, 2])?, y.view_mut([2, 2, 2])?))?;
/// assert_eq!(y.to_vec()?, [1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn permute<V: Value>(t: V, order: impl Shape) -> V {
    let _ = (t, order);
    stub()
}
