//! Products with more around them: scaled, in batches, of quantised matrices.

use super::Launch;
use super::product::{Extents, Operand, Transpose, apart};
use super::repack::{Packed, with_rows};
use crate::error::{Error, Result};
use crate::launch::LaunchOptions;
use device_kernels as k;
use kernel_core::{AsView, AsViewMut, Call, Element, ViewArg, ViewMutArg, bf16, f16};

/// `C = alpha A B + beta C` of f16, accumulated in f32 and rounded once. With a `beta` of 0 what is in `c` does not count,
/// with a `k` of 0 `alpha` does not.
///
/// Shapes: `a` is `m x k`, `b` `k x n`, `c` `m x n`. Errors: as [`matmul`](super::matmul).
pub fn gemm<'a>(
    on: &impl Launch,
    a: impl AsView<'a, f16, 2>,
    b: impl AsView<'a, f16, 2>,
    c: impl AsViewMut<'a, f16, 2>,
    alpha: f32,
    beta: f32,
) -> Result<()> {
    use k::gemm::scaled::{gemm as scaled, scaled_product};
    const WHAT: &str = "gemm";
    let (a, b, c) = (a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg());
    let e = Extents::of(WHAT, a.dims(), b.dims(), c.as_view().dims(), Transpose::NONE)?;
    apart(WHAT, ("c", &c), ("a", &a))?;
    apart(WHAT, ("c", &c), ("b", &b))?;
    if e.m == 0 || e.n == 0 {
        return Ok(());
    }
    // Nothing scaled with an infinite alpha would be NaN.
    let alpha = if e.k == 0 { 0.0 } else { alpha };
    // Not of `Operand::new`: there is one kernel, and it transposes nothing.
    let as_is = |view| Operand { view, transposed: false };
    let desc = |_| if beta == 0.0 { scaled_product::DESCS[0] } else { scaled::DESCS[0] };
    with_rows::<f16, u16>(on, e, (as_is(a), as_is(b)), None, desc, |a, b| {
        if beta == 0.0 {
            return on.launch(scaled_product(a.view, b.view, c, alpha));
        }
        // SAFETY: each program reads the tile that it writes then.
        let old = unsafe { c.aliased() };
        on.launch_as(scaled(a.view, b.view, old, c, alpha, beta), LaunchOptions { allow_exact_alias: true, ..Default::default() })
    })
}

/// The element types of [`batched_matmul`]: f32, f16 and bf16.
pub trait BatchMultiply: Element {
    #[doc(hidden)]
    fn call<'a>(a: ViewArg<'a, Self, 3>, b: ViewArg<'a, Self, 3>, c: ViewMutArg<'a, Self, 3>) -> Call<'a>;
}

macro_rules! batch { ($($t:ty: $kernel:ident;)*) => { $(impl BatchMultiply for $t {
    fn call<'a>(a: ViewArg<'a, $t, 3>, b: ViewArg<'a, $t, 3>, c: ViewMutArg<'a, $t, 3>) -> Call<'a> {
        k::batched_matmul::batched::$kernel(a, b, c)
    }
})* } }
batch! { f32: batched_matmul_f32; f16: batched_matmul; bf16: batched_matmul; }

/// `C[i] = A[i] B[i]` for every `i` of a batch, in one launch. Accumulated in f32 and rounded once; of f32 in its own
/// arithmetic. An operand may be the same for the whole batch, with a stride of 0.
///
/// Shapes: `a` is `batch x m x k`, `b` `batch x k x n`, `c` `batch x m x n`. Errors: as [`matmul`](super::matmul).
pub fn batched_matmul<'a, T: BatchMultiply>(
    on: &impl Launch,
    a: impl AsView<'a, T, 3>,
    b: impl AsView<'a, T, 3>,
    c: impl AsViewMut<'a, T, 3>,
) -> Result<()> {
    const WHAT: &str = "batched_matmul";
    let (a, b, c) = (a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg());
    let ([na, m, ka], [nb, kb, n], [nc, mc, n_c]) = (a.dims(), b.dims(), c.as_view().dims());
    if na != nb || na != nc {
        return Err(Error::Shape { what: WHAT, why: format!("batches of {na}, {nb} and {nc}: they must be equal") });
    }
    let e = Extents::of(WHAT, [m, ka], [kb, n], [mc, n_c], Transpose::NONE)?;
    apart(WHAT, ("c", &c), ("a", &a))?;
    apart(WHAT, ("c", &c), ("b", &b))?;
    if na == 0 || e.m == 0 || e.n == 0 {
        return Ok(());
    }
    on.launch(T::call(a, b, c))
}

/// What numbers quantised matrices stand for: `scale * (element - zero)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantisation {
    pub scale_a: f32,
    pub scale_b: f32,
    pub scale_c: f32,
    pub zero_a: i8,
    pub zero_b: i8,
    pub zero_c: i8,
}

/// The product of quantised matrices, quantised: the sums of `(a - zero_a) (b - zero_b)`, in i32, where they wrap; these as
/// f32 times `scale_a scale_b / scale_c`; that rounded to nearest even, plus `zero_c`, saturated.
///
/// Up to three launches before the product's, of scratch memory for B transposed and the sums of rows and columns.
///
/// Shapes: `a` is `m x k`, `b` `k x n`, `c` `m x n`. Errors: as [`matmul`](super::matmul).
pub fn matmul_int8<'a>(
    on: &impl Launch,
    a: impl AsView<'a, i8, 2>,
    b: impl AsView<'a, i8, 2>,
    c: impl AsViewMut<'a, i8, 2>,
    q: &Quantisation,
) -> Result<()> {
    const WHAT: &str = "matmul_int8";
    let (a, b, c) = (a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg());
    let e = Extents::of(WHAT, a.dims(), b.dims(), c.as_view().dims(), Transpose::NONE)?;
    apart(WHAT, ("c", &c), ("a", &a))?;
    apart(WHAT, ("c", &c), ("b", &b))?;
    if e.m == 0 || e.n == 0 {
        return Ok(());
    }
    let b = Operand::new(b, false);
    let packed = (!b.transposed).then(|| Packed::<u8>::new(on, &b, true)).transpose()?;
    let b = packed.as_ref().map_or(Ok(b), Packed::operand)?;
    let rows = |v: ViewArg<i8, 2>, n: u64, zero: i8| -> Result<_> {
        let mut sums = on.stream().scratch::<i32>(if zero == 0 { 0 } else { n as usize })?;
        if zero != 0 {
            on.launch(k::matmul_int8::int8_row_sums(v, &mut sums))?;
        }
        Ok(sums)
    };
    let (row_sums, column_sums) = (rows(a, e.m, q.zero_b)?, rows(b.view, e.n, q.zero_a)?);
    let scale = q.scale_a * q.scale_b / q.scale_c;
    let [za, zb, zc] = [q.zero_a, q.zero_b, q.zero_c].map(i32::from);
    on.launch(k::matmul_int8::matmul_int8(a, b.view, c, &row_sums, &column_sums, scale, za, zb, zc))
}
