//! Shapes of tiles.

use crate::stub;
use crate::value::{Shape, Tile, Value};

/// Changes of shape.
pub trait Shapes: Value {
    /// A dimension of extent 1 before dimension `axis`: `[N]` becomes `[N, 1]` by 1 and `[1, N]` by 0.
    ///
    /// A tile has at most three dimensions; an axis beyond them is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let (rows, columns) = (arange(16), arange(32));
    ///     let i = rows.expand(1) * 32 + columns.expand(0);
    ///     store(y, i, load(x, i));
    /// }
    /// ```
    fn expand(self, axis: usize) -> Self {
        let _ = axis;
        stub()
    }

    /// The value spread to a shape: an extent of 1 becomes that of the shape.
    ///
    /// The extents are constants. Other extents than 1 stay. The ranks agree, but for a scalar.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(16).expand(1) * 32 + arange(32).expand(0);
    ///     store(y, i, load(x, arange(32)).expand(0).broadcast([16, 32]));
    /// }
    /// ```
    fn broadcast(self, shape: impl Shape) -> Tile<Self::Elem> {
        let _ = shape;
        stub()
    }

    /// The elements in another shape, in the order of rows.
    ///
    /// The extents are constants, with as many elements. Extents that are no powers of two stay, but for dimensions of 1.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let v = load(x, arange(512)).reshape([16, 32]);
    ///     store(y, arange(16), v.reduce(1, |a, b| a + b));
    /// }
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
    /// # use tilewright_lang::*;
    /// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], x.tile([0, 0], [16, 32]).trans());
    /// }
    /// ```
    fn trans(self) -> Self {
        stub()
    }

    /// The dimensions in another order: dimension `i` of the result is dimension `order[i]` of the tile.
    ///
    /// The order is a constant with each axis once.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: View<f32, 3>, mut y: ViewMut<f32, 3>) {
    ///     y.store([0, 0, 0], x.tile([0, 0, 0], [4, 8, 16]).permute([1, 0, 2]));
    /// }
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
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let v = load(x, arange(64));
    ///     store(y, 0, sum(v) / v.dim(0) as f32);
    /// }
    /// ```
    fn dim(self, axis: usize) -> usize {
        let _ = axis;
        stub()
    }
}

impl<V: Value> Shapes for V {}

/// A dimension of extent 1 before dimension `axis`: `[N]` becomes `[N, 1]` by 1 and `[1, N]` by 0.
///
/// A tile has at most three dimensions; an axis beyond them is an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let (rows, columns) = (arange(16), arange(32));
///     let i = rows.expand(1) * 32 + columns.expand(0);
///     store(y, i, load(x, i));
/// }
/// ```
pub fn expand<V: Value>(t: V, axis: usize) -> V {
    let _ = (t, axis);
    stub()
}

/// The value spread to a shape: an extent of 1 becomes that of the shape.
///
/// The extents are constants. Other extents than 1 stay. The ranks agree, but for a scalar.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let i = arange(16).expand(1) * 32 + arange(32).expand(0);
///     store(y, i, load(x, arange(32)).expand(0).broadcast([16, 32]));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let v = load(x, arange(512)).reshape([16, 32]);
///     store(y, arange(16), v.reduce(1, |a, b| a + b));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
///     y.store([0, 0], x.tile([0, 0], [16, 32]).trans());
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: View<f32, 3>, mut y: ViewMut<f32, 3>) {
///     y.store([0, 0, 0], x.tile([0, 0, 0], [4, 8, 16]).permute([1, 0, 2]));
/// }
/// ```
pub fn permute<V: Value>(t: V, order: impl Shape) -> V {
    let _ = (t, order);
    stub()
}
