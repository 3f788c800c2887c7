//! Products of tiles.

use crate::stub;
use crate::value::{Element, SumOf, Tile};

/// `acc + a·b`, of tiles `[M, K]`, `[K, N]` and `[M, N]`, or of batches `[B, M, K]`, `[B, K, N]` and `[B, M, N]`, with
/// up to three dimensions before the matrices.
///
/// Both operands have one type: f16, bf16, 8-bit floats, f32, f64 or i8. `acc` has f32, f64 for f64, or i32 for i8; of
/// f16 and 8-bit floats it may have f16, which rounds sums of f32. It is a tile, or a scalar such as `0.0`, which
/// broadcasts to the result. `K` and `B` are powers of two, and so are `M` and `N`, of which one may be 3, 5 or 7 times
/// a power of two. Tensor cores want at least 16, 8 and 16 of M, N and K; f32 and f64 are multiplied by fused
/// multiply-adds, unless [`tf32`](Tile::tf32), [`tf32x3`](Tile::tf32x3), [`bf16x3`](Tile::bf16x3) or
/// [`bf16x6`](Tile::bf16x6) follow f32. Operands of two types, or of extents that do not fit, are an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
///     let mut acc = zeros::<f32>([16, 16]);
///     for k in range(0, a.dim(1), 16) {
///         acc = dot(a.tile([0, k], [16, 16]), b.tile([k, 0], [16, 16]), acc);
///     }
///     c.store([0, 0], acc);
/// }
/// # }
/// let rt = Runtime::cpu();
/// let a = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0].map(f16::from_f32))?;
/// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
/// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
/// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dot<T: Element, C: SumOf<T>>(a: Tile<T>, b: Tile<T>, acc: C) -> Tile<C::Elem> {
    let _ = (a, b, acc);
    stub()
}

impl<T> Tile<T> {
    /// Follows a [`dot`] of f32: tensor cores multiply operands with 10 bits of fraction.
    ///
    /// An error of up to 2^-10 of a product is possible, and one of up to 2^-9 where warpgroups take operands from
    /// memory. It is an error after anything but a `dot` of f32.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    ///     c.store([0, 0], dot(a.tile([0, 0], [16, 16]), b.tile([0, 0], [16, 16]), 0.0).tf32());
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn tf32(self) -> Tile<T> {
        stub()
    }

    /// Follows a [`dot`] of f32: tensor cores multiply high and low parts of operands in three products, to the
    /// accuracy of f32.
    ///
    /// It is an error after anything but a `dot` of f32.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    ///     c.store([0, 0], dot(a.tile([0, 0], [16, 16]), b.tile([0, 0], [16, 16]), 0.0).tf32x3());
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn tf32x3(self) -> Tile<T> {
        stub()
    }

    /// Follows a [`dot`] of f32: tensor cores multiply two bf16 parts of each operand in three products, with errors of
    /// about 2^-16 of a product.
    ///
    /// It is an error after anything but a `dot` of f32.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    ///     c.store([0, 0], dot(a.tile([0, 0], [16, 16]), b.tile([0, 0], [16, 16]), 0.0).bf16x3());
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn bf16x3(self) -> Tile<T> {
        stub()
    }

    /// Follows a [`dot`] of f32: tensor cores multiply three bf16 parts of each operand in six products, to the
    /// accuracy of f32.
    ///
    /// It is an error after anything but a `dot` of f32.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    ///     c.store([0, 0], dot(a.tile([0, 0], [16, 16]), b.tile([0, 0], [16, 16]), 0.0).bf16x6());
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn bf16x6(self) -> Tile<T> {
        stub()
    }
}
