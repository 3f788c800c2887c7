//! Products of scaled operands, and the formats of MX and NVFP4.

use crate::stub;
use crate::value::{Element, Of, Tile, Value};
use tilewright_core::f8e4m3;

/// The scales of an operand, or `None`: a bound of [`dot_scaled`], which kernels do not write.
pub trait Scale {}

impl Scale for Tile<u8> {}
impl Scale for Tile<f8e4m3> {}
impl Scale for Option<Tile<u8>> {}

/// `acc + a·b`, of operands with a scale for each group of elements along `K`.
///
/// A u8 operand has two numbers of e2m1 along `K` in each byte, the lower half first: `[M, K / 2]` and `[K / 2, N]`.
/// Other operands are f8e4m3, f8e5m2, bf16 or f16, `[M, K]` and `[K, N]`. A scale of u8 is e8m0, one for 32 along `K`,
/// and one of f8e4m3 is for 16: `[M, K / 32]`, and `[N, K / 32]` of `b`. `None` is no scale. Operands may be batches.
///
/// Each operand times its scales is rounded once to bf16, or to f16 where one operand is f16, and multiplied as by
/// [`dot`](crate::dot). A scale of another shape, a `K` that is no multiple of the group, or an operand of another type
/// is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(a: View<u8, 2>, a_scale: View<u8, 2>, b: View<u8, 2>, mut c: ViewMut<f32, 2>) {
///     let (x, y) = (a.tile([0, 0], [16, 16]), trans(b.tile([0, 0], [8, 16])));
///     c.store([0, 0], dot_scaled(x, a_scale.tile([0, 0], [16, 1]), y, None, 0.0));
/// }
/// # }
/// let rt = Runtime::cpu();
/// // 1 and 6, with a scale of 2^1, times 2 and 0.5.
/// let (a, scale, b) = (Buffer::from_slice(&rt, &[0x72u8])?, Buffer::from_slice(&rt, &[128u8])?, Buffer::from_slice(&rt, &[0x14u8])?);
/// let mut c = Buffer::<f32>::zeros(&rt, 1)?;
/// rt.launch(k(a.view([1, 1])?, scale.view([1, 1])?, b.view([1, 1])?, c.view_mut([1, 1])?))?;
/// assert_eq!(c.to_vec()?, [2.0 * (1.0 * 2.0 + 6.0 * 0.5)]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dot_scaled<A: Element, B: Element, C: Of<f32>>(
    a: Tile<A>,
    a_scale: impl Scale,
    b: Tile<B>,
    b_scale: impl Scale,
    acc: C,
) -> Tile<C::Elem> {
    let _ = (a, b, acc, (a_scale, b_scale));
    stub()
}

macro_rules! conversions {
    ($( $(#[$doc:meta])* fn $name:ident<$($to:ident)?>($($axis:ident)?) -> $elem:ident; )*) => {
        /// Conversions of the formats of MX and NVFP4.
        pub trait Formats: Value {
            $(
                $(#[$doc])*
                fn $name$(<$to: Element>)?(self $(, $axis: usize)?) -> Self::With<$elem> {
                    $( let _ = $axis; )?
                    stub()
                }
            )*
        }

        impl<V: Value> Formats for V {}

        $(
            $(#[$doc])*
            pub fn $name<$($to: Element,)? V: Value>(x: V $(, $axis: usize)?) -> V::With<$elem> {
                let _ = (x $(, $axis)?);
                stub()
            }
        )*
    };
}

conversions! {
    /// The numbers of e2m1 in the halves of bytes, the lower half first, as f32, bf16 or f16.
    ///
    /// The extent along the axis doubles. Extents are powers of two. Every number is exact: 0, 0.5, 1, 1.5, 2, 3, 4, 6
    /// and those with the other sign.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u8], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(2)).unpack_e2m1::<f32>(0));
    /// }
    /// # }
    /// let mut y = [9.0; 4];
    /// Runtime::cpu().launch(k(&[0x71, 0xa4], &mut y))?;
    /// assert_eq!(y, [0.5, 6.0, 2.0, -1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn unpack_e2m1<U>(axis) -> U;

    /// The reverse of [`unpack_e2m1`]: two numbers in a byte, each the nearest, of two the one with an even last bit.
    ///
    /// The tile is of f32, bf16 or f16, and its extents are powers of two; the one along the axis halves. Values beyond
    /// 6 become 6, and so does NaN.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [u8]) {
    ///     store(y, arange(2), pack_e2m1(load(x, arange(4)), 0));
    /// }
    /// # }
    /// let mut y = [0; 2];
    /// Runtime::cpu().launch(k(&[0.5, 100.0, 2.4, -1.1], &mut y))?;
    /// assert_eq!(y, [0x71, 0xa4]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn pack_e2m1<>(axis) -> u8;

    /// The power of two of each byte of e8m0, 2^(x - 127), as f32, bf16 or f16; 255 is NaN.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u8], y: &mut [f32]) {
    ///     store(y, arange(2), load(x, arange(2)).from_e8m0::<f32>());
    /// }
    /// # }
    /// let mut y = [9.0; 2];
    /// Runtime::cpu().launch(k(&[127, 124], &mut y))?;
    /// assert_eq!(y, [1.0, 0.125]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn from_e8m0<U>() -> U;

    /// The greatest power of two that is not above each absolute value, as e8m0; of NaN it is 255.
    ///
    /// The value is f32, bf16 or f16. Below 2^-127 it is 2^-127, also of 0, and of an infinity 2^127.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [u8]) {
    ///     store(y, arange(3), to_e8m0(load(x, arange(3))));
    /// }
    /// # }
    /// let mut y = [0; 3];
    /// Runtime::cpu().launch(k(&[1.9, -0.125, 0.0], &mut y))?;
    /// assert_eq!(y, [127, 124, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn to_e8m0<>() -> u8;
}
