//! Products of two matrices.

use super::Launch;
use super::product::{Extents, Operand, Transpose, is_work};
use super::repack::{Bits, LEAST, LEAST_OF_BYTES, with_rows};
use super::scratch_matrix::ScratchMatrix;
use super::shared::Sharing;
use super::wide::Wide;
use super::{shared, split, wide};
use crate::error::{Error, Result};
use device_kernels as k;
use kernel_core::{AsView, AsViewMut, Call, DType, Element, KernelDesc, SliceMutArg, ViewArg, ViewMutArg, bf16, f16, f8e4m3, f8e5m2};

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
    /// That in which products are added up.
    #[doc(hidden)]
    type Sum: Element;
    /// Whether there is a kernel for this way; there always is one for A as it is and B transposed.
    #[doc(hidden)]
    fn has(way: Way) -> bool {
        way.transpose == Transpose::OF_B
    }
    #[doc(hidden)]
    fn call<'a>(way: Way, a: ViewArg<'a, Self, 2>, b: ViewArg<'a, Self, 2>, c: ViewMutArg<'a, Self::Product, 2>, below: f32) -> Call<'a>;
    #[doc(hidden)]
    fn desc(way: Way) -> &'static KernelDesc;
    /// The kernel whose programs share the tiles of the last wave, if there is one.
    #[doc(hidden)]
    fn shared_desc(_: Way) -> Option<&'static KernelDesc> {
        None
    }
    #[doc(hidden)]
    #[allow(clippy::too_many_arguments)]
    fn shared_call<'a>(
        _: Way,
        _a: ViewArg<'a, Self, 2>,
        _b: ViewArg<'a, Self, 2>,
        _slots: SliceMutArg<'a, Self::Sum>,
        _tickets: SliceMutArg<'a, u64>,
        _c: ViewMutArg<'a, Self::Product, 2>,
        _below: f32,
    ) -> Call<'a> {
        unreachable!("for types that have one")
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
        _slots: SliceMutArg<'a, Self::Sum>,
        _tickets: SliceMutArg<'a, u64>,
        _c: ViewMutArg<'a, Self::Product, 2>,
        _below: f32,
    ) -> Call<'a> {
        unreachable!("for types that have one")
    }
    /// A copy as f16, with ones in the rows that it has more.
    #[doc(hidden)]
    fn widen_call<'a>(_x: ViewArg<'a, Self, 2>, _y: ViewMutArg<'a, f16, 2>) -> Call<'a> {
        unreachable!("for types that have such a kernel")
    }
    /// Whether columns are so few that they are better made as rows of the transpose, which is turned then.
    #[doc(hidden)]
    fn few_columns(_: Extents) -> bool {
        false
    }
    #[doc(hidden)]
    fn turn(_: &impl Launch, _: ViewArg<Self::Product, 2>, _: ViewMutArg<Self::Product, 2>) -> Result<()> {
        unreachable!("for types that have few columns")
    }
    /// How a product is best made of the operands' parts, if it is.
    #[doc(hidden)]
    fn in_parts(_: &impl Launch, _: Extents, _b: &Operand<Self>, _c_in_rows: bool) -> Option<split::Way> {
        None
    }
    #[doc(hidden)]
    fn multiply_parts(_: &impl Launch, _: Extents, _: split::Way, _: (Operand<Self>, Operand<Self>), _: ViewMutArg<Self::Product, 2>, _: f32) -> Result<()> {
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
    fn call<'a>(way: Way, a: ViewArg<'a, $t, 2>, b: ViewArg<'a, $t, 2>, c: ViewMutArg<'a, $t, 2>, below: f32) -> Call<'a> {
        use k::matmul::products::*;
        match (way.transpose.a, way.transpose.b) {
            (false, false) => matmul_nn(a, b, c, below),
            (false, true) => matmul_nt(a, b, c, below),
            (true, false) => matmul_tn(a, b, c, below),
            (true, true) => matmul_tt(a, b, c, below),
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
    fn shared_desc(way: Way) -> Option<&'static KernelDesc> {
        use k::matmul_shared::shared::*;
        Some(match (way.transpose.a, way.transpose.b) {
            (false, false) => <($t,) as matmul_shared_nn::Types>::DESC,
            (false, true) => <($t,) as matmul_shared_nt::Types>::DESC,
            (true, false) => <($t,) as matmul_shared_tn::Types>::DESC,
            (true, true) => <($t,) as matmul_shared_tt::Types>::DESC,
        })
    }
    fn shared_call<'a>(
        way: Way,
        a: ViewArg<'a, $t, 2>,
        b: ViewArg<'a, $t, 2>,
        slots: SliceMutArg<'a, f32>,
        tickets: SliceMutArg<'a, u64>,
        c: ViewMutArg<'a, $t, 2>,
        below: f32,
    ) -> Call<'a> {
        use k::matmul_shared::shared::*;
        // SAFETY: `shared` makes both as large as any configuration needs.
        unsafe {
            match (way.transpose.a, way.transpose.b) {
                (false, false) => matmul_shared_nn(a, b, slots, tickets, c, below),
                (false, true) => matmul_shared_nt(a, b, slots, tickets, c, below),
                (true, false) => matmul_shared_tn(a, b, slots, tickets, c, below),
                (true, true) => matmul_shared_tt(a, b, slots, tickets, c, below),
            }
        }
    }
})* } }
halves!(f16 bf16);

macro_rules! bytes { ($($t:ty, $product:ty, $sum:ty, $kernel:ident, $desc:expr, $shared:ident, $shared_desc:expr, $wide:ident, $wide_desc:expr;)*) => { $(impl Multiply for $t {
    type Product = $product;
    type Bits = u8;
    type Sum = $sum;
    fn call<'a>(_: Way, a: ViewArg<'a, $t, 2>, b: ViewArg<'a, $t, 2>, c: ViewMutArg<'a, $product, 2>, below: f32) -> Call<'a> {
        k::matmul_8bit::bytes::$kernel(a, b, c, below)
    }
    fn desc(_: Way) -> &'static KernelDesc {
        use k::matmul_8bit::bytes::*;
        $desc
    }
    fn shared_desc(way: Way) -> Option<&'static KernelDesc> {
        use k::matmul_shared::shared::*;
        Self::has(way).then_some($shared_desc)
    }
    fn shared_call<'a>(
        _: Way,
        a: ViewArg<'a, $t, 2>,
        b: ViewArg<'a, $t, 2>,
        slots: SliceMutArg<'a, $sum>,
        tickets: SliceMutArg<'a, u64>,
        c: ViewMutArg<'a, $product, 2>,
        below: f32,
    ) -> Call<'a> {
        // SAFETY: `shared` makes both as large as any configuration needs.
        unsafe { k::matmul_shared::shared::$shared(a, b, slots, tickets, c, below) }
    }
    fn wide_desc() -> Option<&'static KernelDesc> {
        use k::matmul_shared::shared::*;
        Some($wide_desc)
    }
    fn wide_call<'a>(
        a: ViewArg<'a, f16, 2>,
        b: ViewArg<'a, $t, 2>,
        slots: SliceMutArg<'a, $sum>,
        tickets: SliceMutArg<'a, u64>,
        c: ViewMutArg<'a, $product, 2>,
        below: f32,
    ) -> Call<'a> {
        // SAFETY: as above.
        unsafe { k::matmul_shared::shared::$wide(a, b, slots, tickets, c, below) }
    }
    fn widen_call<'a>(x: ViewArg<'a, $t, 2>, y: ViewMutArg<'a, f16, 2>) -> Call<'a> {
        k::matmul_shared::shared::widen(x, y)
    }
})* } }
bytes! {
    i8, i32, i32, matmul_i8, matmul_i8::DESCS[0], matmul_shared_i8, matmul_shared_i8::DESCS[0], matmul_wide_i8, matmul_wide_i8::DESCS[0];
    f8e4m3, bf16, f32, matmul_f8, <(f8e4m3,) as matmul_f8::Types>::DESC, matmul_shared_f8, <(f8e4m3,) as matmul_shared_f8::Types>::DESC, matmul_wide_f8, <(f8e4m3,) as matmul_wide_f8::Types>::DESC;
    f8e5m2, bf16, f32, matmul_f8, <(f8e5m2,) as matmul_f8::Types>::DESC, matmul_shared_f8, <(f8e5m2,) as matmul_shared_f8::Types>::DESC, matmul_wide_f8, <(f8e5m2,) as matmul_wide_f8::Types>::DESC;
}

impl Multiply for f32 {
    type Product = f32;
    type Bits = u32;
    type Sum = f32;
    fn has(way: Way) -> bool {
        !way.transpose.a
    }
    fn call<'a>(way: Way, a: ViewArg<'a, f32, 2>, b: ViewArg<'a, f32, 2>, c: ViewMutArg<'a, f32, 2>, below: f32) -> Call<'a> {
        use k::matmul_f32::f32_products::*;
        match (way.tf32, way.transpose.b) {
            (true, true) => matmul_tf32(a, b, c, below),
            (true, false) => matmul_tf32_nn(a, b, c, below),
            (false, true) => matmul_f32(a, b, c, below),
            (false, false) => matmul_f32_nn(a, b, c, below),
        }
    }
    fn desc(way: Way) -> &'static KernelDesc {
        use k::matmul_f32::f32_products::*;
        match (way.tf32, way.transpose.b) {
            (true, true) => matmul_tf32::DESCS[0],
            (true, false) => matmul_tf32_nn::DESCS[0],
            (false, true) => matmul_f32::DESCS[0],
            (false, false) => matmul_f32_nn::DESCS[0],
        }
    }
    fn few_columns(e: Extents) -> bool {
        split::few_columns(e)
    }
    fn turn(on: &impl Launch, x: ViewArg<f32, 2>, y: ViewMutArg<f32, 2>) -> Result<()> {
        split::turn(on, x, y)
    }
    fn shared_desc(way: Way) -> Option<&'static KernelDesc> {
        use k::matmul_shared::shared::*;
        let desc = if way.transpose.b { matmul_shared_tf32_nt::DESCS[0] } else { matmul_shared_tf32_nn::DESCS[0] };
        (way.tf32 && !way.transpose.a).then_some(desc)
    }
    fn shared_call<'a>(
        way: Way,
        a: ViewArg<'a, f32, 2>,
        b: ViewArg<'a, f32, 2>,
        slots: SliceMutArg<'a, f32>,
        tickets: SliceMutArg<'a, u64>,
        c: ViewMutArg<'a, f32, 2>,
        below: f32,
    ) -> Call<'a> {
        use k::matmul_shared::shared::*;
        // SAFETY: as above.
        unsafe { if way.transpose.b { matmul_shared_tf32_nt(a, b, slots, tickets, c, below) } else { matmul_shared_tf32_nn(a, b, slots, tickets, c, below) } }
    }
    fn in_parts(on: &impl Launch, e: Extents, b: &Operand<f32>, c_in_rows: bool) -> Option<split::Way> {
        split::way(on, e, b, c_in_rows)
    }
    fn multiply_parts(on: &impl Launch, e: Extents, way: split::Way, operands: (Operand<f32>, Operand<f32>), c: ViewMutArg<f32, 2>, below: f32) -> Result<()> {
        split::multiply(on, e, way, operands, c, below)
    }
}

/// `C = op(A) op(B)`, where `transpose` says which operands are given transposed.
///
/// Sums are accumulated in f32 (of i8 in i32, where they wrap) and rounded once. A sum of nothing is 0. Any strides will
/// do; rows whose elements are neighbours are fast. In scratch memory there may be copies of operands, where their rows do not start at
/// multiples of 16 bytes, or of few rows that lie across or of 8 bits, or of f32 that are taken apart; the sums of programs that share a tile, where
/// tiles do not fill the device in whole waves; and a result of few columns before it is turned. Which of several ways is the fastest
/// is measured once for some sizes, where the tuner may.
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
        return Err(Error::Shape { what: WHAT, why: "a fraction of an integer is none: use f32, f16, bf16, f8e4m3 or f8e5m2".into() });
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
        return Err(Error::Shape { what, why: format!("tf32 is a precision of f32, not of {}", T::DTYPE.name()) });
    }
    if !is_work(what, e, &a, &b, &c)? {
        return Ok(());
    }
    let (a, b) = (Operand::new(a, transpose.a), Operand::new(b, transpose.b));
    // A column is a row of the transpose, which is read once: `Cᵀ = Bᵀ Aᵀ`.
    match e {
        e if e.n == 1 && e.m > 1 && on.pin().is_none() => product(on, e.turned(), (b.transpose().turned(false), a.transpose()), c.flipped().regular(), tf32, below),
        e if on.pin().is_none() && T::few_columns(e) && turns(on, e, &a, tf32) => {
            let mut turned = match ScratchMatrix::new(on, [e.n, e.m], 1) {
                // It is only slower without.
                Err(Error::OutOfMemory { .. }) => return product(on, e, (a, b), c, tf32, below),
                turned => turned?,
            };
            product::<T>(on, e.turned(), (b.transpose(), a.transpose()), turned.view_mut()?, tf32, below)?;
            T::turn(on, turned.view()?, c)
        }
        e => product(on, e, (a, b), c, tf32, below),
    }
}

/// Whether there are kernels by which few columns are faster as rows; in tf32 only where A would have to be turned, which is larger.
fn turns<T: Multiply>(on: &impl Launch, e: Extents, a: &Operand<T>, tf32: bool) -> bool {
    if tf32 {
        let way = Way { transpose: Transpose { a: false, b: !a.transposed }, tf32 };
        return a.transposed && T::shared_desc(way).is_some_and(|desc| on.runtime().0.takes_maps(desc));
    }
    T::in_parts(on, e.turned(), &a.transpose(), true).is_some()
}

/// The product of operands that are checked.
fn product<T: Multiply>(on: &impl Launch, e: Extents, (a, b): (Operand<T>, Operand<T>), c: ViewMutArg<T::Product, 2>, tf32: bool, below: f32) -> Result<()> {
    // Where there is no kernel for these rows, strides say what is transposed, or copies are made. A pinned kernel is taken for them.
    let columns = Transpose::OF_B;
    let pinned = on.pin().is_some_and(|(kernel, _)| core::ptr::eq(kernel, T::desc(Way { transpose: columns, tf32 })));
    let usable = |transpose: Transpose| transpose == columns || (!pinned && T::has(Way { transpose, tf32 }));
    // Tensor maps take f32 as it is for products in tf32 only.
    let (copies, given) = (T::DTYPE != DType::F32 || tf32, Transpose { a: a.transposed, b: b.transposed });
    let rows = Transpose { a: false, ..given };
    // Few rows are soon copied, where they must be, or where programs share tiles of rows alone.
    let shares = |transpose: Transpose| T::shared_desc(Way { transpose, tf32 }).is_some();
    let few = given.a && on.pin().is_none() && shared::soon_copied(e) && shares(rows) && !(shares(given) && a.maps());
    let wanted = (few || !usable(given)).then(|| if usable(rows) { rows } else { columns });
    // One row is read once, in f32 as fast.
    if (!tf32 || e.m == 1) && let Some(way) = T::in_parts(on, e, &b, c.as_view().strides()[1] == 1) {
        return T::multiply_parts(on, e, way, (a, b), c, below);
    }
    if wide::pays(on, e, 0, &b, c.as_view().strides()[1] == 1)
        && let Some(wide) = Wide::of(on, &a, 0)?
    {
        return wide.multiply(on, &b, c, below);
    }
    let run = |a: Operand<T>, b: Operand<T>| {
        let (a, b) = if usable(Transpose { a: a.transposed, b: b.transposed }) { (a, b) } else { (a.turned(false), b.turned(true)) };
        let way = Way { transpose: Transpose { a: a.transposed, b: b.transposed }, tf32 };
        let Some(desc) = T::shared_desc(way) else { return on.launch(T::call(way, a.view, b.view, c, below)) };
        let sharing = Sharing { desc, helper: None, name: "matmul_way", transpose: way.transpose };
        shared::multiply(
            on,
            e,
            sharing,
            (a, b),
            c,
            |c| on.launch(T::call(way, a.view, b.view, c, below)),
            |slots, tickets, c| on.launch(T::shared_call(way, a.view, b.view, slots, tickets, c, below)),
        )
    };
    let least = if size_of::<T>() == 1 { LEAST_OF_BYTES } else { LEAST };
    if copies { with_rows::<T, T::Bits>(least, on, e, (a, b), wanted, |transpose| T::desc(Way { transpose, tf32 }), run) } else { run(a, b) }
}
