//! Products of two matrices.

use super::Launch;
use super::product::{Extents, Operand, Transpose, is_work};
use super::repack::{Bits, with_copies};
use super::route::{self, Route, Split, Turned};
use super::scratch_matrix::{ScratchMatrix, if_room};
use super::split;
use super::stream_k::{self, Workspace};
use super::wide::Wide;
use crate::error::{Error, Result};
use tilewright_core::{
    AsView, AsViewMut, Call, DType, Element, KernelDesc, SliceMutArg, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16,
};
use tilewright_kernels as k;

/// The arithmetic of a product of f32. That of every other type is exact but for the accumulation in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// [`Precision::F32`].
    #[default]
    Default,
    /// As accurate as multiply-adds in f32. Where an operand is infinite, a sum may be NaN instead of infinite. An operand
    /// below 2^-126 may count as 0, and one that rounds to infinity in tf32 as infinite.
    F32,
    /// Operands are rounded to tf32: 10 bits of fraction. They may be cut off instead, and the greatest ones may be rounded to
    /// infinity. An operand below 2^-126 may count as 0.
    Tf32,
}

/// The element types of [`matmul`].
pub trait Multiply: Element {
    /// That of the result: i32 for i8, bf16 for 8-bit floats, else the type itself.
    type Product: Element;
    #[doc(hidden)]
    type Bits: Bits;
    /// That in which products are added up.
    #[doc(hidden)]
    type Sum: Element;
    /// Whether there is a kernel for this way; there always is one for A as it is and B transposed.
    #[doc(hidden)]
    fn has(way: Way) -> bool {
        way.transpose == Transpose::OF_B
    }
    /// `workspace` is for configurations with stream-K alone.
    #[doc(hidden)]
    fn call<'a>(
        way: Way,
        a: ViewArg<'a, Self, 2>,
        b: ViewArg<'a, Self, 2>,
        workspace: (SliceMutArg<'a, Self::Sum>, SliceMutArg<'a, u64>),
        c: ViewMutArg<'a, Self::Product, 2>,
        negative_slope: f32,
    ) -> Call<'a>;
    #[doc(hidden)]
    fn desc(way: Way) -> &'static KernelDesc;
    /// Whether the kernel has configurations with stream-K.
    #[doc(hidden)]
    fn has_stream_k(way: Way) -> bool {
        Self::has(way)
    }
    /// The kernel that takes few rows of A as f16, and B as it is, if there is one.
    #[doc(hidden)]
    fn wide_desc() -> Option<&'static KernelDesc> {
        None
    }
    #[doc(hidden)]
    fn wide_call<'a>(
        _a: ViewArg<'a, f16, 2>,
        _b: ViewArg<'a, Self, 2>,
        _workspace: (SliceMutArg<'a, Self::Sum>, SliceMutArg<'a, u64>),
        _c: ViewMutArg<'a, Self::Product, 2>,
        _negative_slope: f32,
    ) -> Call<'a> {
        unreachable!("for types that have one")
    }
    /// A copy as f16, with ones in the rows that it has more.
    #[doc(hidden)]
    fn widen_call<'a>(_x: ViewArg<'a, Self, 2>, _y: ViewMutArg<'a, f16, 2>) -> Call<'a> {
        unreachable!("for types that have such a kernel")
    }
    /// Its transpose, of types that have few columns ([`route`]).
    #[doc(hidden)]
    fn turn(_: &impl Launch, _: ViewArg<Self::Product, 2>, _: ViewMutArg<Self::Product, 2>) -> Result<()> {
        unreachable!("for types that have few columns")
    }
    /// In one of the ways that there are for f32.
    #[doc(hidden)]
    fn multiply_parts(
        _: &impl Launch,
        _: Extents,
        _: Split,
        _: (Operand<Self>, Operand<Self>),
        _: ViewMutArg<Self::Product, 2>,
        _: f32,
    ) -> Result<()> {
        unreachable!("for types that have them")
    }
}

/// Which kernel.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub transpose: Transpose,
    pub tf32: bool,
}

macro_rules! halves { ($($t:ty)*) => { $(impl Multiply for $t {
    type Product = $t;
    type Bits = u16;
    type Sum = f32;
    fn has(_: Way) -> bool {
        true
    }
    fn call<'a>(
        way: Way,
        a: ViewArg<'a, $t, 2>,
        b: ViewArg<'a, $t, 2>,
        (workspace, semaphores): (SliceMutArg<'a, f32>, SliceMutArg<'a, u64>),
        c: ViewMutArg<'a, $t, 2>,
        slope: f32,
    ) -> Call<'a> {
        use k::matmul::products::*;
        // SAFETY: the launcher takes no configuration that needs a larger workspace.
        unsafe {
            match (way.transpose.a, way.transpose.b) {
                (false, false) => matmul_nn(a, b, workspace, semaphores, c, slope),
                (false, true) => matmul_nt(a, b, workspace, semaphores, c, slope),
                (true, false) => matmul_tn(a, b, workspace, semaphores, c, slope),
                (true, true) => matmul_tt(a, b, workspace, semaphores, c, slope),
            }
        }
    }
    fn desc(way: Way) -> &'static KernelDesc {
        use k::matmul::products::*;
        match (way.transpose.a, way.transpose.b) {
            (false, false) => <($t,) as matmul_nn::Types>::DESC,
            (false, true) => <($t,) as matmul_nt::Types>::DESC,
            (true, false) => <($t,) as matmul_tn::Types>::DESC,
            (true, true) => <($t,) as matmul_tt::Types>::DESC,
        }
    }
})* } }
halves!(f16 bf16);

macro_rules! bytes { ($($t:ty, $product:ty, $sum:ty, $kernel:ident, $desc:expr, $wide:ident, $wide_desc:expr;)*) => { $(impl Multiply for $t {
    type Product = $product;
    type Bits = u8;
    type Sum = $sum;
    fn call<'a>(
        _: Way,
        a: ViewArg<'a, $t, 2>,
        b: ViewArg<'a, $t, 2>,
        (workspace, semaphores): (SliceMutArg<'a, $sum>, SliceMutArg<'a, u64>),
        c: ViewMutArg<'a, $product, 2>,
        slope: f32,
    ) -> Call<'a> {
        // SAFETY: the launcher takes no configuration that needs a larger workspace.
        unsafe { k::matmul::products::$kernel(a, b, workspace, semaphores, c, slope) }
    }
    fn desc(_: Way) -> &'static KernelDesc {
        use k::matmul::products::*;
        $desc
    }
    fn wide_desc() -> Option<&'static KernelDesc> {
        use k::matmul::products::*;
        Some($wide_desc)
    }
    fn wide_call<'a>(
        a: ViewArg<'a, f16, 2>,
        b: ViewArg<'a, $t, 2>,
        (workspace, semaphores): (SliceMutArg<'a, $sum>, SliceMutArg<'a, u64>),
        c: ViewMutArg<'a, $product, 2>,
        slope: f32,
    ) -> Call<'a> {
        // SAFETY: as above.
        unsafe { k::matmul::products::$wide(a, b, workspace, semaphores, c, slope) }
    }
    fn widen_call<'a>(x: ViewArg<'a, $t, 2>, y: ViewMutArg<'a, f16, 2>) -> Call<'a> {
        k::repack::copies::widen(x, y)
    }
})* } }
bytes! {
    i8, i32, i32, matmul_i8, matmul_i8::DESCS[0], matmul_f16_i8, matmul_f16_i8::DESCS[0];
    f8e4m3, bf16, f32, matmul_f8, <(f8e4m3,) as matmul_f8::Types>::DESC, matmul_f16_f8, <(f8e4m3,) as matmul_f16_f8::Types>::DESC;
    f8e5m2, bf16, f32, matmul_f8, <(f8e5m2,) as matmul_f8::Types>::DESC, matmul_f16_f8, <(f8e5m2,) as matmul_f16_f8::Types>::DESC;
}

impl Multiply for f32 {
    type Product = f32;
    type Bits = u32;
    type Sum = f32;
    fn has(way: Way) -> bool {
        !way.transpose.a || way.tf32 && way.transpose.b
    }
    fn call<'a>(
        way: Way,
        a: ViewArg<'a, f32, 2>,
        b: ViewArg<'a, f32, 2>,
        (workspace, semaphores): (SliceMutArg<'a, f32>, SliceMutArg<'a, u64>),
        c: ViewMutArg<'a, f32, 2>,
        slope: f32,
    ) -> Call<'a> {
        use k::matmul::products::*;
        use k::matmul_f32::f32_products::*;
        // SAFETY: the launcher takes no configuration that needs a larger workspace.
        unsafe {
            match (way.tf32, way.transpose.a, way.transpose.b) {
                (true, true, true) => matmul_tf32_tt(a, b, workspace, semaphores, c, slope),
                (true, false, false) => matmul_tf32_nn(a, b, workspace, semaphores, c, slope),
                (true, ..) => matmul_tf32(a, b, workspace, semaphores, c, slope),
                (false, false, false) => matmul_f32_nn(a, b, c, slope),
                (false, ..) => matmul_f32(a, b, c, slope),
            }
        }
    }
    fn desc(way: Way) -> &'static KernelDesc {
        use k::matmul::products::*;
        use k::matmul_f32::f32_products::*;
        match (way.tf32, way.transpose.a, way.transpose.b) {
            (true, true, true) => matmul_tf32_tt::DESCS[0],
            (true, false, false) => matmul_tf32_nn::DESCS[0],
            (true, ..) => matmul_tf32::DESCS[0],
            (false, false, false) => matmul_f32_nn::DESCS[0],
            (false, ..) => matmul_f32::DESCS[0],
        }
    }
    fn has_stream_k(way: Way) -> bool {
        way.tf32 && Self::has(way)
    }
    fn turn(on: &impl Launch, x: ViewArg<f32, 2>, y: ViewMutArg<f32, 2>) -> Result<()> {
        split::turn(on, x, y)
    }
    fn multiply_parts(
        on: &impl Launch,
        e: Extents,
        way: Split,
        operands: (Operand<f32>, Operand<f32>),
        c: ViewMutArg<f32, 2>,
        below: f32,
    ) -> Result<()> {
        split::multiply(on, e, way, operands, c, below)
    }
}

/// `C = op(A) op(B)`, where `transpose` says which operands are given transposed.
///
/// Sums are accumulated in f32 (of i8 in i32, where they wrap) and rounded once. A sum of nothing is 0. Any strides will
/// do; rows whose elements are neighbours are fast. In scratch memory there may be copies of operands, where their rows do not start at
/// multiples of 16 bytes, or of few rows that lie across or of 8 bits, or one of two that lie across in tf32, or of f32 that are taken apart; the sums of programs that share a tile, where
/// tiles do not fill the device in whole waves; and a result of few columns before it is turned. Which of several ways is the fastest
/// is measured once for some sizes, where the tuner may.
///
/// Shapes: op(A) is `m x k`, op(B) `k x n`, `c` `m x n`. Errors: [`Error::Shape`]; [`Error::InvalidArgument`] for [`Precision::Tf32`] of
/// another type than f32; [`Error::Alias`] where `c` shares memory with an operand; a launch's.
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
/// Errors: those of [`matmul`], and [`Error::InvalidArgument`] for products of integers.
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
    if T::DTYPE == tilewright_core::DType::I8 {
        return Err(Error::InvalidArgument {
            what: WHAT,
            why: "a fraction of an integer is none: use f32, f16, bf16, f8e4m3 or f8e5m2".into(),
        });
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
    if tf32 && T::DTYPE != DType::F32 {
        return Err(Error::InvalidArgument {
            what,
            why: format!("tf32 is a precision of f32, not of {}", T::DTYPE.name()),
        });
    }
    if !is_work(what, e, &a, &b, &c)? {
        return Ok(());
    }
    let (a, b) = (Operand::new(a, transpose.a), Operand::new(b, transpose.b));
    match route::turned(on, e, &a, tf32) {
        Some(Turned::Column) => {
            product(on, e.turned(), (b.transpose().turned(false), a.transpose()), c.flipped().regular(), tf32, below)
        }
        Some(Turned::Few) => match if_room(ScratchMatrix::new(on, [e.n, e.m], 1))? {
            Some(mut turned) => {
                product::<T>(on, e.turned(), (b.transpose(), a.transpose()), turned.view_mut()?, tf32, below)?;
                T::turn(on, turned.view()?, c)
            }
            None => product(on, e, (a, b), c, tf32, below),
        },
        None => product(on, e, (a, b), c, tf32, below),
    }
}

/// The product of operands that are checked.
fn product<T: Multiply>(
    on: &impl Launch,
    e: Extents,
    (a, b): (Operand<T>, Operand<T>),
    c: ViewMutArg<T::Product, 2>,
    tf32: bool,
    below: f32,
) -> Result<()> {
    match route::route(on, e, &b, c.as_view().strides()[1] == 1, tf32) {
        Route::Split(way) => return T::multiply_parts(on, e, way, (a, b), c, below),
        Route::Wide => {
            if let Some(wide) = Wide::of(on, &a, 0)? {
                return wide.multiply(on, &b, c, below);
            }
        }
        Route::Tiles => {}
    }
    with_copies::<T, T::Bits>(on, route::copies_of_product(on, e, (&a, &b), tf32), (a, b), |a, b| {
        tiles(on, e, (a, b), c, tf32, below)
    })
}

/// The product tile by tile, of operands that are copied, if they should be.
fn tiles<T: Multiply>(
    on: &impl Launch,
    e: Extents,
    (a, b): (Operand<T>, Operand<T>),
    c: ViewMutArg<T::Product, 2>,
    tf32: bool,
    below: f32,
) -> Result<()> {
    let given = Way { transpose: a.order(&b), tf32 };
    let (a, b) = if route::has_order::<T>(on, given) { (a, b) } else { (a.turned(false), b.turned(true)) };
    let way = Way { transpose: a.order(&b), tf32 };
    let launch = |workspace: &mut Workspace<T::Sum>, c: ViewMutArg<T::Product, 2>| {
        on.launch(T::call(way, a.view, b.view, workspace.parts(), c, below))
    };
    if !T::has_stream_k(way) {
        return launch(&mut Workspace::none(on)?, c);
    }
    let kernel = stream_k::Kernel { desc: T::desc(way), after: None, name: stream_k::MATMUL, transpose: way.transpose };
    stream_k::multiply(on, e, kernel, (a, b), c, launch)
}
