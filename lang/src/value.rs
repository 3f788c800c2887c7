//! Scalars, tiles, and what operators make of them.

use crate::stub;
use std::marker::PhantomData;
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};
use tilewright_core::{bf16, f8e4m3, f8e5m2, f16};

/// A small array of fixed extents, in the registers of a program's threads. Its rank is 1 to 3.
///
/// Operators work on each element. A scalar is spread over a tile, and an extent of 1 over a larger one. Ranks have to
/// agree: [`expand`](crate::Shapes::expand) adds a dimension.
pub struct Tile<T>(PhantomData<T>);

impl<T> Clone for Tile<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tile<T> {}

/// A scalar or a tile.
pub trait Value: Copy {
    /// The type of its elements.
    type Elem: Element;
    /// A value of the same shape with other elements.
    type With<U>;
}

/// The type of an element of a tile.
pub trait Element: Value<Elem = Self> + 'static {
    /// What a product of tiles of this type is summed in.
    type Sum: Element;
}

/// Elements that operators take.
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

/// Floating-point elements. Those of 8 bits are loaded, stored, converted and multiplied alone.
pub trait Float: Element {}

/// Integer elements.
pub trait Int: Num {}

/// Extents of a tile, `[M, N]`: constants.
pub trait Shape: Copy {}

impl<const R: usize> Shape for [usize; R] {}

/// A `bool`, or a tile of them.
pub trait Condition: Copy {
    /// What a choice by this condition between two values gives.
    type Choice<V: Value>;
}

impl Condition for bool {
    type Choice<V: Value> = V;
}

impl Condition for Tile<bool> {
    type Choice<V: Value> = Tile<V::Elem>;
}

/// Two values that spread to one shape.
pub trait Meets<Other>: Value {
    /// A value of that shape.
    type Output: Value<Elem = Self::Elem>;
    /// What a comparison of the two gives.
    type Compared: Condition;
}

/// A scalar `T`, or a tile of them.
pub trait Of<T>: Value {}

impl<T: Element> Of<T> for T {}
impl<T: Element> Of<T> for Tile<T> {}

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
        impl Element for $t {
            type Sum = $sum;
        }
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
