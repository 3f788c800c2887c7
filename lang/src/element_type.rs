//! Element types as values.

use crate::memory::{View, ViewMut};
use crate::pointer::{Ptr, PtrMut};
use crate::stub;
use crate::value::{Element, Meets, Value};
use std::marker::PhantomData;

/// The element type of an array or of a tile, as a value: [`dtype`](Typed::dtype) gives it. Conversions and tiles of
/// zeros take it, and `==` compares it.
pub struct DType<T>(PhantomData<T>);

impl<T> Clone for DType<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DType<T> {}

impl<T: Element> Value for DType<T> {
    type Elem = bool;
    type With<U> = U;
}

impl<T: Element, U: Element> Meets<DType<U>> for DType<T> {
    type Output = bool;
    type Compared = bool;
}

/// Types that have an element type: slices, views, pointers, tiles and scalars. Kernels do not write it.
pub trait Typed {
    /// The type of its elements.
    type Elem;

    /// The element type.
    ///
    /// It is known when the kernel is compiled. `x.to(y.dtype())` converts to it, `zeros([M, N], y.dtype())` is a tile
    /// of zeros of it, and an `if` on a comparison of two types is decided at compile time.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(types(T = [i32, f16]), grid = [1])]
    /// fn k<T: Num>(x: &[f32], y: &mut [T]) {
    ///     let scale = if y.dtype() == dtype::<i32>() { 100.0 } else { 1.0 };
    ///     store(y, arange(2), (scale * load(x, arange(2))).to(y.dtype()));
    /// }
    /// let mut y = [0; 2];
    /// Runtime::cpu().launch(k(&[0.25, 0.5], &mut y))?;
    /// assert_eq!(y, [25, 50]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn dtype(&self) -> DType<Self::Elem> {
        stub()
    }
}

impl<V: Value> Typed for V {
    type Elem = V::Elem;
}

impl<T> Typed for [T] {
    type Elem = T;
}

macro_rules! typed { ($($array:ident<T $(, $rank:ident)?>)+) => { $(
    impl<T $(, const $rank: usize)?> Typed for $array<T $(, $rank)?> {
        type Elem = T;
    }
)+ } }
typed! { View<T, R> ViewMut<T, R> Ptr<T> PtrMut<T> }

/// The element type of a name, to compare with that of a value: `dtype::<f16>()`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// #[tile_kernel(types(T = [f32, f16]), grid = [1])]
/// fn k<T: Num>(x: &[T], y: &mut [u32]) {
///     store(y, 0, if x.dtype() == dtype::<f16>() { 16u32 } else { 32 });
/// }
/// let mut y = [0];
/// Runtime::cpu().launch(k(&[1.0f32], &mut y))?;
/// assert_eq!(y, [32]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dtype<T: Element>() -> DType<T> {
    stub()
}

/// Operations that take an element type as their last argument.
pub mod overloads {
    use super::DType;
    use crate::stub;
    use crate::value::{Element, Shape, Tile, Value};

    /// The value with elements of another type: `to(x, y.dtype())`, or `x.to(y.dtype())`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(types(T = [f32, u8]), grid = [1])]
    /// fn k<T: Num>(x: &[f32], y: &mut [T]) {
    ///     store(y, arange(2), load(x, arange(2)).to(y.dtype()));
    /// }
    /// let mut y = [0u8; 2];
    /// Runtime::cpu().launch(k(&[1.0, 300.0], &mut y))?;
    /// assert_eq!(y, [1, 255]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn to<U: Element, V: Value>(x: V, of: DType<U>) -> V::With<U> {
        let _ = (x, of);
        stub()
    }

    /// The bits of each element as a `U` of the same size: `bitcast(x, y.dtype())`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [u32]) {
    ///     store(y, 0, bitcast(load(x, 0), y.dtype()));
    /// }
    /// let mut y = [0];
    /// Runtime::cpu().launch(k(&[1.0], &mut y))?;
    /// assert_eq!(y, [0x3f80_0000]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn bitcast<U: Element, V: Value>(x: V, of: DType<U>) -> V::With<U> {
        let _ = (x, of);
        stub()
    }

    /// A tile of zeros of an element type: `zeros([M, N], y.dtype())`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(types(T = [i32, f32]), grid = [1])]
    /// fn k<T: Num>(y: &mut [T]) {
    ///     store(y, arange(2), zeros([2], y.dtype()));
    /// }
    /// let mut y = [7; 2];
    /// Runtime::cpu().launch(k(&mut y))?;
    /// assert_eq!(y, [0, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn zeros<T: Element>(shape: impl Shape, of: DType<T>) -> Tile<T> {
        let _ = (shape, of);
        stub()
    }
}
