//! The element types of products, and their kernels.

use super::align_operand::Bits;
use super::product::Transpose;
use crate::Executor;
use tilewright_core::{Call, Element, KernelDesc, SliceMutArg, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16};
use tilewright_kernels as k;

/// The element types that [`Matmul`](super::Matmul) multiplies: f32, f16, bf16, i8, f8e4m3 and f8e5m2.
///
/// [`Matmul`](super::Matmul) has an example. The trait is sealed.
/// ```compile_fail,E0277
/// struct Mine;
/// impl tilewright_ops::Multiply for Mine {
///     type Product = f32;
/// }
/// ```
pub trait Multiply: Kernels<Output = <Self as Multiply>::Product> {
    /// The element type of the result: i32 for i8, bf16 for 8-bit floats, else the type itself.
    type Product: Element;
}

macro_rules! multiply { ($($t:ty => $product:ty),*) => { $(impl Multiply for $t {
    type Product = $product;
})* } }
multiply! { f32 => f32, f16 => f16, bf16 => bf16, i8 => i32, f8e4m3 => bf16, f8e5m2 => bf16 }

/// Partial sums and semaphores of programs that share tiles.
pub type WorkspaceArgs<'a, S> = (SliceMutArg<'a, S>, SliceMutArg<'a, u64>);

/// The kernels of an element type.
pub trait Kernels: Element {
    type Output: Element;
    /// The type whose kernels copy these elements.
    type Bits: Bits;
    /// The type in which products are added up.
    type Sum: Element;

    /// Whether there is a kernel of its own for this order. There always is one for A as it is and B transposed.
    fn has(variant: MatmulVariant) -> bool {
        variant.transpose == Transpose::OF_B
    }

    /// The kernel for this order, or the one for A as it is and B transposed.
    fn desc(variant: MatmulVariant) -> &'static KernelDesc;

    /// A call of that kernel. Configurations with stream-K alone use the workspace.
    ///
    /// # Safety
    /// The semaphores are zero. The launcher takes no configuration that needs more partial sums.
    unsafe fn call<'a>(
        variant: MatmulVariant,
        a: ViewArg<'a, Self, 2>,
        b: ViewArg<'a, Self, 2>,
        workspace: WorkspaceArgs<'a, Self::Sum>,
        c: ViewMutArg<'a, Self::Output, 2>,
        negative_slope: f32,
    ) -> Call<'a>;

    /// The kernel for few rows of A, if there is one.
    fn mixed_input() -> Option<MixedInputKernel<Self>> {
        None
    }

    /// The kernel for one row of A or a few, if there is one.
    fn gemv() -> Option<GemvKernel<Self>> {
        None
    }

    /// The kernel for a small K, if there is one.
    fn outer() -> Option<OuterKernel<Self>> {
        None
    }

    /// The operands, by their type where it has plans of its own.
    fn typed<const R: usize>(operands: Views<'_, Self, R>) -> Typed<'_, Self, R> {
        Typed::Other(operands)
    }
}

/// A kernel, by its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatmulVariant {
    pub transpose: Transpose,
    pub tf32: bool,
}

/// Two operands and the result.
pub struct Views<'a, T: Kernels, const R: usize> {
    pub a: ViewArg<'a, T, R>,
    pub b: ViewArg<'a, T, R>,
    pub c: ViewMutArg<'a, T::Output, R>,
}

impl<'a, T: Kernels> Views<'a, T, 2> {
    /// The same matrices. The stride that a single row or column has no use of is one that kernels for vectors and TMA
    /// take. Results that may not depend on the number of rows do without: of several rows the stride counts.
    pub fn of(self, on: &impl Executor) -> Self {
        if on.batch_invariant() {
            return self;
        }
        Views { a: self.a.regular(), b: self.b.regular(), c: self.c.regular() }
    }
}

/// Operands of a type that has plans of its own, or of another one.
pub enum Typed<'a, T: Kernels, const R: usize> {
    F32(Views<'a, f32, R>),
    F16(Views<'a, f16, R>),
    Other(Views<'a, T, R>),
}

/// # Safety
/// As [`Kernels::call`].
type MixedInputCall<T> = for<'a> unsafe fn(
    ViewArg<'a, f16, 2>,
    ViewArg<'a, T, 2>,
    WorkspaceArgs<'a, <T as Kernels>::Sum>,
    ViewMutArg<'a, <T as Kernels>::Output, 2>,
    f32,
) -> Call<'a>;

/// A kernel that takes few rows of A as f16, and B as it is.
#[derive(Clone, Copy)]
pub struct MixedInputKernel<T: Kernels> {
    pub desc: &'static KernelDesc,
    pub call: MixedInputCall<T>,
    /// Copies A as f16, with ones in the rows that the copy has more.
    pub upcast: for<'a> fn(ViewArg<'a, T, 2>, ViewMutArg<'a, f16, 2>) -> Call<'a>,
}

/// # Safety
/// The workspace is as large as `f32_3xtf32::gemv_workspace` says for so many splits, and its semaphores are zero.
type GemvCall<T> = for<'a> unsafe fn(
    ViewArg<'a, T, 2>,
    ViewArg<'a, T, 2>,
    bool,
    WorkspaceArgs<'a, f32>,
    ViewMutArg<'a, <T as Kernels>::Output, 2>,
    f32,
    usize,
) -> Call<'a>;

/// A kernel that computes rows of a product by fused multiply-adds in f32.
#[derive(Clone, Copy)]
pub struct GemvKernel<T: Kernels> {
    /// For a B that is given transposed, or not.
    pub desc: fn(bool) -> &'static KernelDesc,
    pub call: GemvCall<T>,
}

type OuterCall<T> =
    for<'a> fn(ViewArg<'a, T, 2>, ViewArg<'a, T, 2>, bool, ViewMutArg<'a, <T as Kernels>::Output, 2>, f32) -> Call<'a>;

/// A kernel that adds up K outer products in f32.
#[derive(Clone, Copy)]
pub struct OuterKernel<T: Kernels> {
    /// For an A that is given transposed, or not.
    pub desc: fn(bool) -> &'static KernelDesc,
    pub call: OuterCall<T>,
}

macro_rules! multiply_adds {
    ($t:ty) => {
        fn outer() -> Option<OuterKernel<Self>> {
            use k::matmul_f32::f32_products::{matmul_outer, matmul_outer_t};
            fn desc(a_transposed: bool) -> &'static KernelDesc {
                match a_transposed {
                    true => <($t,) as matmul_outer_t::Types>::DESC,
                    false => <($t,) as matmul_outer::Types>::DESC,
                }
            }
            fn call<'a>(
                a: ViewArg<'a, $t, 2>,
                b: ViewArg<'a, $t, 2>,
                a_transposed: bool,
                c: ViewMutArg<'a, $t, 2>,
                negative_slope: f32,
            ) -> Call<'a> {
                match a_transposed {
                    true => matmul_outer_t(a, b, c, negative_slope),
                    false => matmul_outer(a, b, c, negative_slope),
                }
            }
            Some(OuterKernel { desc, call })
        }
        fn gemv() -> Option<GemvKernel<Self>> {
            use k::matmul_f32::f32_products::{matmul_row_nn, matmul_row_nt};
            fn desc(b_transposed: bool) -> &'static KernelDesc {
                match b_transposed {
                    true => <($t,) as matmul_row_nt::Types>::DESC,
                    false => <($t,) as matmul_row_nn::Types>::DESC,
                }
            }
            /// # Safety
            /// As [`GemvCall`].
            unsafe fn call<'a>(
                a: ViewArg<'a, $t, 2>,
                b: ViewArg<'a, $t, 2>,
                b_transposed: bool,
                (workspace, semaphores): WorkspaceArgs<'a, f32>,
                c: ViewMutArg<'a, $t, 2>,
                negative_slope: f32,
                splits: usize,
            ) -> Call<'a> {
                // SAFETY: the caller's contract.
                unsafe {
                    match b_transposed {
                        true => matmul_row_nt(a, b, workspace, semaphores, c, negative_slope, splits),
                        false => matmul_row_nn(a, b, workspace, semaphores, c, negative_slope, splits),
                    }
                }
            }
            Some(GemvKernel { desc, call })
        }
    };
}

macro_rules! halves { ($($t:ty: $($typed:ident)?;)*) => { $(impl Kernels for $t {
    type Output = $t;
    type Bits = u16;
    type Sum = f32;
    fn has(_: MatmulVariant) -> bool {
        true
    }
    fn desc(variant: MatmulVariant) -> &'static KernelDesc {
        use k::matmul::products::*;
        match (variant.transpose.a, variant.transpose.b) {
            (false, false) => <($t,) as matmul_nn::Types>::DESC,
            (false, true) => <($t,) as matmul_nt::Types>::DESC,
            (true, false) => <($t,) as matmul_tn::Types>::DESC,
            (true, true) => <($t,) as matmul_tt::Types>::DESC,
        }
    }
    unsafe fn call<'a>(
        variant: MatmulVariant,
        a: ViewArg<'a, $t, 2>,
        b: ViewArg<'a, $t, 2>,
        (workspace, semaphores): WorkspaceArgs<'a, f32>,
        c: ViewMutArg<'a, $t, 2>,
        negative_slope: f32,
    ) -> Call<'a> {
        use k::matmul::products::*;
        // SAFETY: the caller's contract.
        unsafe {
            match (variant.transpose.a, variant.transpose.b) {
                (false, false) => matmul_nn(a, b, workspace, semaphores, c, negative_slope),
                (false, true) => matmul_nt(a, b, workspace, semaphores, c, negative_slope),
                (true, false) => matmul_tn(a, b, workspace, semaphores, c, negative_slope),
                (true, true) => matmul_tt(a, b, workspace, semaphores, c, negative_slope),
            }
        }
    }
    multiply_adds!($t);
    $(fn typed<const R: usize>(operands: Views<'_, Self, R>) -> Typed<'_, Self, R> {
        Typed::$typed(operands)
    })?
})* } }
halves! { f16: F16; bf16: ; }

macro_rules! bytes { ($($t:ty, $output:ty, $sum:ty, $kernel:ident, $desc:expr, $mixed:ident, $mixed_desc:expr;)*) => { $(impl Kernels for $t {
    type Output = $output;
    type Bits = u8;
    type Sum = $sum;
    fn desc(_: MatmulVariant) -> &'static KernelDesc {
        use k::matmul::products::*;
        $desc
    }
    unsafe fn call<'a>(
        _: MatmulVariant,
        a: ViewArg<'a, $t, 2>,
        b: ViewArg<'a, $t, 2>,
        (workspace, semaphores): WorkspaceArgs<'a, $sum>,
        c: ViewMutArg<'a, $output, 2>,
        negative_slope: f32,
    ) -> Call<'a> {
        // SAFETY: the caller's contract.
        unsafe { k::matmul::products::$kernel(a, b, workspace, semaphores, c, negative_slope) }
    }
    fn mixed_input() -> Option<MixedInputKernel<Self>> {
        use k::matmul::products::*;
        /// # Safety
        /// As [`Kernels::call`].
        unsafe fn call<'a>(
            a: ViewArg<'a, f16, 2>,
            b: ViewArg<'a, $t, 2>,
            (workspace, semaphores): WorkspaceArgs<'a, $sum>,
            c: ViewMutArg<'a, $output, 2>,
            negative_slope: f32,
        ) -> Call<'a> {
            // SAFETY: the caller's contract.
            unsafe { $mixed(a, b, workspace, semaphores, c, negative_slope) }
        }
        fn upcast<'a>(x: ViewArg<'a, $t, 2>, y: ViewMutArg<'a, f16, 2>) -> Call<'a> {
            k::align_operand::copies::upcast_to_f16(x, y)
        }
        Some(MixedInputKernel { desc: $mixed_desc, call, upcast })
    }
})* } }
bytes! {
    i8, i32, i32, matmul_i8, matmul_i8::DESCS[0], matmul_f16_i8, matmul_f16_i8::DESCS[0];
    f8e4m3, bf16, f32, matmul_f8, <(f8e4m3,) as matmul_f8::Types>::DESC, matmul_f16_f8, <(f8e4m3,) as matmul_f16_f8::Types>::DESC;
    f8e5m2, bf16, f32, matmul_f8, <(f8e5m2,) as matmul_f8::Types>::DESC, matmul_f16_f8, <(f8e5m2,) as matmul_f16_f8::Types>::DESC;
}

impl Kernels for f32 {
    type Output = f32;
    type Bits = u32;
    type Sum = f32;
    fn has(variant: MatmulVariant) -> bool {
        !(variant.transpose.a && variant.transpose.b) || variant.tf32
    }
    fn desc(variant: MatmulVariant) -> &'static KernelDesc {
        use k::matmul::products::*;
        use k::matmul_f32::f32_products::*;
        match (variant.tf32, variant.transpose.a, variant.transpose.b) {
            (true, true, true) => matmul_tf32_tt::DESCS[0],
            (true, false, false) => matmul_tf32_nn::DESCS[0],
            (true, true, false) => matmul_tf32_tn::DESCS[0],
            (true, ..) => matmul_tf32::DESCS[0],
            (false, false, false) => matmul_f32_nn::DESCS[0],
            (false, true, false) => matmul_f32_tn::DESCS[0],
            (false, ..) => matmul_f32::DESCS[0],
        }
    }
    unsafe fn call<'a>(
        variant: MatmulVariant,
        a: ViewArg<'a, f32, 2>,
        b: ViewArg<'a, f32, 2>,
        (workspace, semaphores): WorkspaceArgs<'a, f32>,
        c: ViewMutArg<'a, f32, 2>,
        negative_slope: f32,
    ) -> Call<'a> {
        use k::matmul::products::*;
        use k::matmul_f32::f32_products::*;
        // SAFETY: the caller's contract.
        unsafe {
            match (variant.tf32, variant.transpose.a, variant.transpose.b) {
                (true, true, true) => matmul_tf32_tt(a, b, workspace, semaphores, c, negative_slope),
                (true, false, false) => matmul_tf32_nn(a, b, workspace, semaphores, c, negative_slope),
                (true, true, false) => matmul_tf32_tn(a, b, workspace, semaphores, c, negative_slope),
                (true, ..) => matmul_tf32(a, b, workspace, semaphores, c, negative_slope),
                (false, false, false) => matmul_f32_nn(a, b, workspace, semaphores, c, negative_slope),
                (false, true, false) => matmul_f32_tn(a, b, workspace, semaphores, c, negative_slope),
                (false, ..) => matmul_f32(a, b, workspace, semaphores, c, negative_slope),
            }
        }
    }
    multiply_adds!(f32);
    fn typed<const R: usize>(operands: Views<'_, Self, R>) -> Typed<'_, Self, R> {
        Typed::F32(operands)
    }
}
