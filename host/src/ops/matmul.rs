//! Products of two matrices.

use super::Launch;
use super::product::{Extents, Operand, Transpose, apart};
use super::repack::{Bits, with_rows};
use crate::error::{Error, Result};
use device_kernels::matmul::products as k;
use kernel_core::{AsView, AsViewMut, Call, Element, KernelDesc, ViewArg, ViewMutArg, bf16, f16, f8e4m3};

/// The arithmetic of a product of f32. That of every other type is exact but for the accumulation in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// [`Precision::F32`].
    #[default]
    Default,
    /// As accurate as multiply-adds in f32. Where an operand is infinite, a sum may be NaN instead of infinite.
    F32,
    /// Operands are rounded to tf32: 10 bits of fraction.
    Tf32,
}

/// The element types of [`matmul`].
pub trait Multiply: Element {
    /// That of the result: i32 for i8, bf16 for 8-bit floats, else the type itself.
    type Product: Element;
    #[doc(hidden)]
    type Bits: Bits;
    #[doc(hidden)]
    const WHAT: Kernels;
    #[doc(hidden)]
    fn call<'a>(way: Way, a: ViewArg<'a, Self, 2>, b: ViewArg<'a, Self, 2>, c: ViewMutArg<'a, Self::Product, 2>, below: f32) -> Call<'a>;
    #[doc(hidden)]
    fn desc(way: Way) -> &'static KernelDesc;
}

/// Which kernels a type has.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// As fast with any operand transposed.
    AnyRows,
    /// Fastest with A as it is and B transposed.
    DepthRows,
    /// As `AnyRows`, and with operands rounded to tf32, as `DepthRows`.
    F32,
}

/// Which kernel.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub transpose: Transpose,
    pub tf32: bool,
}

macro_rules! pick { ($way:expr, $nn:expr, $nt:expr, $tn:expr, $tt:expr) => {
    match ($way.transpose.a, $way.transpose.b) {
        (false, false) => $nn,
        (false, true) => $nt,
        (true, false) => $tn,
        (true, true) => $tt,
    }
} }

macro_rules! desc { ($t:ty, $kernel:ident) => { <($t,) as k::$kernel::Types>::DESC } }
macro_rules! multiply { ($($t:ty, $product:ty, $bits:ty, $what:ident: $nn:ident $nt:ident $tn:ident $tt:ident;)*) => { $(
    impl Multiply for $t {
        type Product = $product;
        type Bits = $bits;
        const WHAT: Kernels = Kernels::$what;
        fn call<'a>(way: Way, a: ViewArg<'a, $t, 2>, b: ViewArg<'a, $t, 2>, c: ViewMutArg<'a, $product, 2>, below: f32) -> Call<'a> {
            pick!(way, k::$nn(a, b, c, below), k::$nt(a, b, c, below), k::$tn(a, b, c, below), k::$tt(a, b, c, below))
        }
        fn desc(way: Way) -> &'static KernelDesc {
            pick!(way, desc!($t, $nn), desc!($t, $nt), desc!($t, $tn), desc!($t, $tt))
        }
    }
)* } }
multiply! {
    f16, f16, u16, AnyRows: matmul_nn matmul_nt matmul_tn matmul_tt;
    bf16, bf16, u16, AnyRows: matmul_nn matmul_nt matmul_tn matmul_tt;
    i8, i32, u8, DepthRows: matmul_i8_nn matmul_i8_nt matmul_i8_tn matmul_i8_tt;
    f8e4m3, bf16, u8, DepthRows: matmul_f8_nn matmul_f8_nt matmul_f8_tn matmul_f8_tt;
}

impl Multiply for f32 {
    type Product = f32;
    type Bits = u32;
    const WHAT: Kernels = Kernels::F32;
    fn call<'a>(way: Way, a: ViewArg<'a, f32, 2>, b: ViewArg<'a, f32, 2>, c: ViewMutArg<'a, f32, 2>, below: f32) -> Call<'a> {
        use k::*;
        if way.tf32 {
            return pick!(way, matmul_tf32_nn(a, b, c, below), matmul_tf32_nt(a, b, c, below), matmul_tf32_tn(a, b, c, below), matmul_tf32_tt(a, b, c, below));
        }
        pick!(way, matmul_f32_nn(a, b, c, below), matmul_f32_nt(a, b, c, below), matmul_f32_tn(a, b, c, below), matmul_f32_tt(a, b, c, below))
    }
    fn desc(way: Way) -> &'static KernelDesc {
        if way.tf32 {
            return pick!(way, desc!(f32, matmul_tf32_nn), desc!(f32, matmul_tf32_nt), desc!(f32, matmul_tf32_tn), desc!(f32, matmul_tf32_tt));
        }
        pick!(way, desc!(f32, matmul_f32_nn), desc!(f32, matmul_f32_nt), desc!(f32, matmul_f32_tn), desc!(f32, matmul_f32_tt))
    }
}

/// `C = op(A) op(B)`, where `transpose` says which operands are given transposed.
///
/// Sums are accumulated in f32 (of i8 in i32, where they wrap) and rounded once. A sum of nothing is 0. Any strides will
/// do; rows whose elements are neighbours are fast. Operands whose rows do not start at multiples of 16 bytes are copied
/// to scratch memory first where the product is large enough to win by it.
///
/// Shapes: op(A) is `m x k`, op(B) `k x n`, `c` `m x n`. Errors: [`Error::Shape`], also for [`Precision::Tf32`] of another
/// type than f32; [`Error::Alias`] where `c` shares memory with an operand; a launch's.
pub fn matmul<'a, T: Multiply>(
    on: &impl Launch,
    a: impl AsView<'a, T, 2>,
    b: impl AsView<'a, T, 2>,
    c: impl AsViewMut<'a, T::Product, 2>,
    transpose: Transpose,
    precision: Precision,
) -> Result<()> {
    multiply("matmul", on, a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg(), transpose, precision, 1.0)
}

/// `C = max(op(A) op(B), 0)`, in one launch; a NaN stays a NaN. Else as [`matmul`].
pub fn matmul_relu<'a, T: Multiply>(
    on: &impl Launch,
    a: impl AsView<'a, T, 2>,
    b: impl AsView<'a, T, 2>,
    c: impl AsViewMut<'a, T::Product, 2>,
    transpose: Transpose,
    precision: Precision,
) -> Result<()> {
    multiply("matmul_relu", on, a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg(), transpose, precision, 0.0)
}

/// As [`matmul`], with negative sums multiplied by `slope` before they are rounded, in one launch.
///
/// Errors: those of [`matmul`], and [`Error::Shape`] for products of integers.
#[allow(clippy::too_many_arguments)]
pub fn matmul_leaky_relu<'a, T: Multiply>(
    on: &impl Launch,
    a: impl AsView<'a, T, 2>,
    b: impl AsView<'a, T, 2>,
    c: impl AsViewMut<'a, T::Product, 2>,
    transpose: Transpose,
    precision: Precision,
    slope: f32,
) -> Result<()> {
    const WHAT: &str = "matmul_leaky_relu";
    if T::DTYPE == kernel_core::DType::I8 {
        return Err(Error::Shape { what: WHAT, why: "a fraction of an integer is none: use f32, f16, bf16 or f8e4m3".into() });
    }
    multiply(WHAT, on, a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg(), transpose, precision, slope)
}

/// `C = A B` of f32, to the accuracy of f32: [`matmul`] with [`Precision::F32`].
///
/// Shapes: `a` is `m x k`, `b` `k x n`, `c` `m x n`.
pub fn matrix_multiplication<'a>(
    on: &impl Launch,
    a: impl AsView<'a, f32, 2>,
    b: impl AsView<'a, f32, 2>,
    c: impl AsViewMut<'a, f32, 2>,
) -> Result<()> {
    let (a, b, c) = (a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg());
    multiply("matrix_multiplication", on, a, b, c, Transpose::NONE, Precision::F32, 1.0)
}

#[allow(clippy::too_many_arguments)]
fn multiply<T: Multiply>(
    what: &'static str,
    on: &impl Launch,
    a: ViewArg<T, 2>,
    b: ViewArg<T, 2>,
    c: ViewMutArg<T::Product, 2>,
    transpose: Transpose,
    precision: Precision,
    below: f32,
) -> Result<()> {
    let e = Extents::of(what, a.dims(), b.dims(), c.as_view().dims(), transpose)?;
    let tf32 = precision == Precision::Tf32;
    if tf32 && T::WHAT != Kernels::F32 {
        return Err(Error::Shape { what, why: format!("tf32 is a precision of f32, not of {}", T::DTYPE.name()) });
    }
    apart(what, ("c", &c), ("a", &a))?;
    apart(what, ("c", &c), ("b", &b))?;
    if e.m == 0 || e.n == 0 {
        return Ok(());
    }
    let depth_rows = T::WHAT == Kernels::DepthRows || tf32;
    let wanted = depth_rows.then_some(Transpose { a: false, b: true });
    let (a, b) = (Operand::new(a, transpose.a), Operand::new(b, transpose.b));
    with_rows::<T, T::Bits>(on, e, (a, b), wanted, |transpose| T::desc(Way { transpose, tf32 }), |a, b| {
        let way = Way { transpose: Transpose { a: a.transposed, b: b.transposed }, tf32 };
        on.launch(T::call(way, a.view, b.view, c, below))
    })
}
