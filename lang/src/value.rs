//! Scalars, tiles and their operators.

use crate::stub;
use std::marker::PhantomData;
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};
use tilewright_core::{bf16, f8e4m3, f8e5m2, f16};

/// A small array of fixed extents, in the registers of a program's threads. Its rank is 1 to 5.
///
/// Operators work on each element. A scalar is broadcast to a tile, and an extent of 1 to a larger one. Ranks have to
/// agree: [`expand`](crate::Shapes::expand) adds a dimension.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, tile_kernel};
///
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let column = load(x, arange(2)).expand(1);                 // of shape [2, 1]
///     let table = 10.0 * column + column.trans();                // [2, 1] and [1, 2] broadcast to [2, 2]
///     let i = 2 * arange(2).expand(1) + arange(2).expand(0);
///     store(y, i, where_(table > 20.0, -table, table));          // a comparison is a tile of `bool`
/// }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y))?;
/// assert_eq!(y, [11.0, 12.0, -21.0, -22.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub struct Tile<T>(PhantomData<T>);

impl<T> Clone for Tile<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tile<T> {}

/// A scalar or a tile: a bound of operations, which kernels do not write.
pub trait Value: Copy {
    /// The type of its elements.
    type Elem: Element;
    /// A value of the same shape with other elements.
    type With<U>;
}

/// A tile, or a tuple of up to 8 of them: a bound of reductions and scans, which kernels do not write.
pub trait Tiles: Copy {
    /// An element of each.
    type Elems: Copy;
}

impl<V: Value> Tiles for V {
    type Elems = V::Elem;
}

/// The result of an [`asm`](crate::asm) closure: an element or a tuple of up to 8. Kernels do not name this trait.
pub trait Meaning {
    /// A tile for each.
    type Tiles;
}

impl<T: Element> Meaning for T {
    type Tiles = Tile<T>;
}

macro_rules! tuples {
    ($($($t:ident)+;)+) => { $(
        impl<$($t: Value),+> Tiles for ($($t,)+) {
            type Elems = ($($t::Elem,)+);
        }

        impl<$($t: Element),+> Meaning for ($($t,)+) {
            type Tiles = ($(Tile<$t>,)+);
        }
    )+ };
}

tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// The type of an element of a tile.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, tile_kernel};
///
/// #[tile_kernel(types(T = [f32, bool]), grid = [1])]
/// fn k<T: Element>(x: &[T], y: &mut [T]) {
///     store(y, arange(2), load(x, arange(2)));
/// }
/// let mut y = [false; 2];
/// Runtime::cpu().launch(k::<bool>(&[true, false], &mut y))?;
/// assert_eq!(y, [true, false]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub trait Element: Value<Elem = Self> + 'static {}

/// Elements that operators take.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, tile_kernel};
///
/// #[tile_kernel(types(T = [f32, u8]), grid = [1])]
/// fn k<T: Num>(x: &[T], y: &mut [T]) {
///     let v = load(x, arange(2));
///     store(y, arange(2), v + v);
/// }
/// let mut y = [0; 2];
/// Runtime::cpu().launch(k::<u8>(&[1, 128], &mut y))?; // integers wrap
/// assert_eq!(y, [2, 0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub trait Num:
    Element
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + PartialOrd
{
}

/// Floating-point elements. Those of 8 bits are loaded, stored, converted and multiplied by `dot`, and not computed
/// with.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, tile_kernel};
///
/// #[tile_kernel(types(T = [f32, f64]), grid = [1])]
/// fn k<T: Float>(x: &[T], y: &mut [T]) {
///     store(y, arange(2), sqrt(load(x, arange(2))));
/// }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k::<f64>(&[4.0, 9.0], &mut y))?;
/// assert_eq!(y, [2.0, 3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub trait Float: Element {}

/// Integer elements.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, tile_kernel};
///
/// #[tile_kernel(types(T = [i32, u64]), grid = [1])]
/// fn k<T: Int>(x: &[T], y: &mut [T]) {
///     store(y, arange(2), load(x, arange(2)) / load(x, arange(2) + 1));
/// }
/// let mut y = [9; 2];
/// Runtime::cpu().launch(k::<i32>(&[7, 2, 0], &mut y))?; // a division by zero gives 0
/// assert_eq!(y, [3, 0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub trait Int: Num {}

/// Extents of a tile, `[M, N]`, which are constants: a bound of operations, which kernels do not write.
pub trait Shape: Copy {}

impl<const R: usize> Shape for [usize; R] {}

/// A `bool`, or a tile of them: a bound of operations, which kernels do not write.
pub trait Condition: Copy {
    /// The result of [`where_`](crate::where_) with this condition.
    type Choice<V: Value>;
}

impl Condition for bool {
    type Choice<V: Value> = V;
}

impl Condition for Tile<bool> {
    type Choice<V: Value> = Tile<V::Elem>;
}

/// Two values that broadcast to one shape: a bound of operations, which kernels do not write.
pub trait Meets<Other>: Value {
    /// A value of that shape.
    type Output: Value<Elem = Self::Elem>;
    /// The result of a comparison of the two.
    type Compared: Condition;
}

/// A scalar `T`, or a tile of them: a bound of operations, which kernels do not write.
pub trait Of<T>: Value {}

impl<T: Element> Of<T> for T {}
impl<T: Element> Of<T> for Tile<T> {}

/// An accumulator of [`dot`](crate::dot) for tiles of `T`: a bound of it, which kernels do not write.
pub trait SumOf<T>: Value {}

impl<T: Element> Value for Tile<T> {
    type Elem = T;
    type With<U> = Tile<U>;
}

impl<T: Element> Meets<Tile<T>> for Tile<T> {
    type Output = Tile<T>;
    type Compared = Tile<bool>;
}

impl<T: Element> Meets<T> for Tile<T> {
    type Output = Tile<T>;
    type Compared = Tile<bool>;
}

macro_rules! elements {
    ($($t:ident: $sum:ident),*) => { $(
        impl Value for $t {
            type Elem = $t;
            type With<U> = U;
        }
        impl Element for $t {}
        impl SumOf<$t> for $sum {}
        impl SumOf<$t> for Tile<$sum> {}
        impl Meets<$t> for $t {
            type Output = $t;
            type Compared = bool;
        }
        impl Meets<Tile<$t>> for $t {
            type Output = Tile<$t>;
            type Compared = Tile<bool>;
        }
    )* };
}

elements!(
    f16: f32, bf16: f32, f8e4m3: f32, f8e5m2: f32, f32: f32, f64: f64, i8: i32, i16: i16, i32: i32, i64: i64, isize: isize,
    u8: u8, u16: u16, u32: u32, u64: u64, usize: usize, bool: bool
);

macro_rules! halves {
    ($($t:ident)*) => { $(
        impl SumOf<$t> for f16 {}
        impl SumOf<$t> for Tile<f16> {}
    )* };
}
halves!(f16 f8e4m3 f8e5m2);

macro_rules! numbers {
    ($($t:ident)*) => { $( impl Num for $t {} )* };
}
numbers!(f16 bf16 f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! kinds {
    ($kind:ident: $($t:ident)*) => { $( impl $kind for $t {} )* };
}
kinds!(Float: f16 bf16 f8e4m3 f8e5m2 f32 f64);
kinds!(Int: i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! operators {
    ($($op:ident $method:ident $assign:ident $assign_method:ident: $($t:ident)*;)*) => { $(
        impl<T: Element> $op<Tile<T>> for Tile<T> {
            type Output = Tile<T>;
            fn $method(self, _: Tile<T>) -> Tile<T> {
                stub()
            }
        }
        impl<T: Element> $op<T> for Tile<T> {
            type Output = Tile<T>;
            fn $method(self, _: T) -> Tile<T> {
                stub()
            }
        }
        impl<T: Element> $assign<Tile<T>> for Tile<T> {
            fn $assign_method(&mut self, _: Tile<T>) {
                stub()
            }
        }
        impl<T: Element> $assign<T> for Tile<T> {
            fn $assign_method(&mut self, _: T) {
                stub()
            }
        }
        $( impl $op<Tile<$t>> for $t {
            type Output = Tile<$t>;
            fn $method(self, _: Tile<$t>) -> Tile<$t> {
                stub()
            }
        } )*
    )* };
}

operators! {
    Add add AddAssign add_assign: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize;
    Sub sub SubAssign sub_assign: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize;
    Mul mul MulAssign mul_assign: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize;
    Div div DivAssign div_assign: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize;
    Rem rem RemAssign rem_assign: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize;
    BitAnd bitand BitAndAssign bitand_assign: i8 i16 i32 i64 u8 u16 u32 u64 usize bool;
    BitOr bitor BitOrAssign bitor_assign: i8 i16 i32 i64 u8 u16 u32 u64 usize bool;
    BitXor bitxor BitXorAssign bitxor_assign: i8 i16 i32 i64 u8 u16 u32 u64 usize bool;
    Shl shl ShlAssign shl_assign: i8 i16 i32 i64 u8 u16 u32 u64 usize;
    Shr shr ShrAssign shr_assign: i8 i16 i32 i64 u8 u16 u32 u64 usize;
}

impl<T: Element> Neg for Tile<T> {
    type Output = Tile<T>;
    fn neg(self) -> Tile<T> {
        stub()
    }
}

impl<T: Element> Not for Tile<T> {
    type Output = Tile<T>;
    fn not(self) -> Tile<T> {
        stub()
    }
}

impl<T: Element> PartialEq<Tile<T>> for Tile<T> {
    fn eq(&self, _: &Tile<T>) -> bool {
        stub()
    }
}

impl<T: Element> PartialEq<T> for Tile<T> {
    fn eq(&self, _: &T) -> bool {
        stub()
    }
}

impl<T: Element> PartialOrd<Tile<T>> for Tile<T> {
    fn partial_cmp(&self, _: &Tile<T>) -> Option<std::cmp::Ordering> {
        stub()
    }
}

impl<T: Element> PartialOrd<T> for Tile<T> {
    fn partial_cmp(&self, _: &T) -> Option<std::cmp::Ordering> {
        stub()
    }
}

/// `a == b`, `a < b` and so on.
pub fn compare<A: Meets<B>, B: Value>(_: A, _: B) -> A::Compared {
    stub()
}

/// `x as U`
pub fn cast<U, V: Value>(_: V) -> V::With<U> {
    stub()
}
