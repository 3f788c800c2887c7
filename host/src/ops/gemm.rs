//! Products with more around them: scaled, and in batches.

use super::multiply::{Kernels, Typed, Views};
use super::product::{GemmShape, Operand, Transpose, is_work};
use super::repack::{Packed, memory_of, with_copies};
use super::route::{self, LEAST, LEAST_OF_BATCHES, Least};
use super::stream_k::{self, Workspace};
use super::{Launch, Multiply, split};
use crate::error::{Error, Result};
use crate::launch::LaunchOptions;
use tilewright_core::{AsView, AsViewMut, Call, Element, KernelDesc, SliceArg, ViewArg, ViewMutArg, bf16, f16};
use tilewright_kernels as k;

/// `C = alpha A B + beta C`, of checked matrices; see [`Matmul::alpha`](super::Matmul::alpha).
pub(super) fn scaled(
    on: &impl Launch,
    mut e: GemmShape,
    (a, b): (ViewArg<f16, 2>, ViewArg<f16, 2>),
    c: ViewMutArg<f16, 2>,
    (alpha, beta): (f32, f32),
) -> Result<()> {
    use k::gemm::scaled::{gemm as scaled, scaled_product};
    let (a, b) = if alpha == 0.0 && beta == 0.0 { (a.narrowed(1, 0), b.narrowed(0, 0)) } else { (a, b) };
    e.k = a.dims()[1];
    // A sum of nothing scaled with an infinite alpha would be NaN.
    let alpha = if e.k == 0 { 0.0 } else { alpha };
    // Not of `Operand::new`: there is one kernel, and it transposes nothing.
    let as_is = |view| Operand { view, transposed: false };
    let desc = |_| if beta == 0.0 { scaled_product::DESCS[0] } else { scaled::DESCS[0] };
    let (a, b) = (as_is(a), as_is(b));
    let copies = route::copies(LEAST, on, e, (&a, &b), Transpose::NONE, desc);
    with_copies::<f16, u16>(on, copies, (a, b), |a, b| {
        let name = if beta == 0.0 { stream_k::SCALED_PRODUCT } else { stream_k::GEMM };
        let kernel = stream_k::Kernel { desc: desc(Transpose::NONE), after: None, name, transpose: Transpose::NONE };
        stream_k::multiply(on, e, kernel, (a, b), c, |workspace: &mut Workspace<f32>, c| {
            // SAFETY: each program reads the tile that it writes then.
            let old = unsafe { c.aliased() };
            let (sums, semaphores) = workspace.parts();
            // SAFETY: the launcher takes no configuration that needs a larger workspace.
            let call = unsafe {
                match beta == 0.0 {
                    true => scaled_product(a.view, b.view, old, sums, semaphores, c, alpha, beta),
                    false => scaled(a.view, b.view, old, sums, semaphores, c, alpha, beta),
                }
            };
            on.launch_as(call, LaunchOptions { allow_exact_alias: true, ..Default::default() })
        })
    })
}

/// The element types of [`batched_matmul`]: f32, f16 and bf16. The trait is sealed.
pub trait BatchMultiply: Multiply<Product = Self> + BatchKernel {}

impl BatchMultiply for f32 {}
impl BatchMultiply for f16 {}
impl BatchMultiply for bf16 {}

/// The kernel of batches of an element type.
pub trait BatchKernel: Kernels {
    fn batch_desc() -> &'static KernelDesc;
    fn batch_call<'a>(a: ViewArg<'a, Self, 3>, b: ViewArg<'a, Self, 3>, c: ViewMutArg<'a, Self, 3>) -> Call<'a>;
}

macro_rules! batch { ($($t:ty: $kernel:ident, $desc:expr;)*) => { $(impl BatchKernel for $t {
    fn batch_desc() -> &'static KernelDesc {
        use k::batched_matmul::batched::*;
        $desc
    }
    fn batch_call<'a>(a: ViewArg<'a, $t, 3>, b: ViewArg<'a, $t, 3>, c: ViewMutArg<'a, $t, 3>) -> Call<'a> {
        k::batched_matmul::batched::$kernel(a, b, c)
    }
})* } }
batch! {
    f32: batched_matmul_f32, batched_matmul_f32::DESCS[0];
    f16: batched_matmul, <(f16,) as batched_matmul::Types>::DESC;
    bf16: batched_matmul, <(bf16,) as batched_matmul::Types>::DESC;
}

/// `C[i] = A[i] B[i]` for every `i` of a batch, in one launch, but for copies and for f32, of which A is taken apart first where that pays. Accumulated in f32
/// and rounded once; of f32 to its accuracy. An operand may be the same for the whole batch, with a stride of 0. Rows that do not start at multiples of 16
/// bytes are copied to scratch memory first, where the products are large enough to win by it and their matrices follow each other as
/// rows do.
///
/// Shapes: `a` is `batch x m x k`, `b` `batch x k x n`, `c` `batch x m x n`. Errors: as [`Matmul`](super::Matmul).
pub fn batched_matmul<'a, T: BatchMultiply>(
    on: &impl Launch,
    a: impl AsView<'a, T, 3>,
    b: impl AsView<'a, T, 3>,
    c: impl AsViewMut<'a, T, 3>,
) -> Result<()> {
    batched_from(LEAST_OF_BATCHES, on, a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg())
}

fn batched_from<T: BatchMultiply>(
    least: Least,
    on: &impl Launch,
    a: ViewArg<T, 3>,
    b: ViewArg<T, 3>,
    c: ViewMutArg<T, 3>,
) -> Result<()> {
    const WHAT: &str = "batched_matmul";
    let ([na, m, ka], [nb, kb, n], [nc, mc, n_c]) = (a.dims(), b.dims(), c.as_view().dims());
    if na != nb || na != nc {
        return Err(Error::Shape { what: WHAT, why: format!("batches of {na}, {nb} and {nc}: they must be equal") });
    }
    let e = GemmShape::of(WHAT, [m, ka], [kb, n], [mc, n_c], Transpose::NONE)?;
    if !is_work(WHAT, e, &a, &b, &c)? || na == 0 {
        return Ok(());
    }
    match T::typed(Views { a, b, c }) {
        Typed::F32(v) => split_or_batch(least, on, e, v),
        Typed::F16(v) => batch_by_one_kernel(least, on, e, v),
        Typed::Other(v) => batch_by_one_kernel(least, on, e, v),
    }
}

/// A batch of products of f32, of which A is decomposed first where that pays.
fn split_or_batch(least: Least, on: &impl Launch, e: GemmShape, v: Views<f32, 3>) -> Result<()> {
    let Views { a, b, c } = v;
    // Tensor maps take no stride of 0, and a result's rows alone.
    if let (Some(x), Some(y)) = (stacked(a), stacked(b))
        && b.strides()[0] > 0
        && c.as_view().strides()[2] == 1
        && route::batch_in_parts(on, e, a.dims()[0], &y)
    {
        let rows_of_a = if a.strides()[0] == 0 { 0 } else { e.m };
        if y.tma_compatible() {
            return split::multiply_batch(on, x, rows_of_a, b, c);
        }
        let rows = Packed::<u32>::new(on, &y, false)?;
        let copied =
            batch_of(rows.operand()?.view, b).ok_or(Error::TooLarge { len: b.span(), size: size_of::<f32>() })?;
        return split::multiply_batch(on, x, rows_of_a, copied, c);
    }
    batch_by_one_kernel(least, on, e, Views { a, b, c })
}

fn batch_by_one_kernel<T: BatchMultiply>(least: Least, on: &impl Launch, e: GemmShape, v: Views<T, 3>) -> Result<()> {
    let Views { a, b, c } = v;
    let (Some(x), Some(y)) = (stacked(a), stacked(b)) else { return on.launch(T::batch_call(a, b, c)) };
    // As much work as one product that is so much deeper.
    let all = GemmShape { k: e.k.saturating_mul(a.dims()[0]), ..e };
    let copies = route::copies(least, on, all, (&x, &y), Transpose::NONE, |_| T::batch_desc());
    with_copies::<T, T::Bits>(on, copies, (x, y), |x, y| match (batch_of(x.view, a), batch_of(y.view, b)) {
        (Some(a), Some(b)) => on.launch(T::batch_call(a, b, c)),
        _ => Err(Error::TooLarge { len: a.span().max(b.span()), size: size_of::<T>() }),
    })
}

/// A batch as one matrix: of matrices that are all the same, or follow each other as rows do.
fn stacked<'a, T: Element>(v: ViewArg<'a, T, 3>) -> Option<Operand<'a, T>> {
    let ([batch, rows, cols], [step, row, element]) = (v.dims(), v.strides());
    let rows = match step {
        0 => rows,
        _ if rows.checked_mul(row) == Some(step) => batch.checked_mul(rows)?,
        _ => return None,
    };
    // SAFETY: the same elements.
    let all: SliceArg<'a, T> = unsafe { memory_of(v) };
    Some(Operand { view: all.strided([rows, cols], [row, element]).ok()?, transposed: false })
}

/// The batch that `stacked` made a matrix of, where the matrix, or its copy, is.
fn batch_of<'a, T: Element>(v: ViewArg<'a, T, 2>, batch: ViewArg<T, 3>) -> Option<ViewArg<'a, T, 3>> {
    let ([row, element], [step, ..]) = (v.strides(), batch.strides());
    let step = if step == 0 { 0 } else { batch.dims()[1].checked_mul(row)? };
    // SAFETY: the same elements.
    let all: SliceArg<'a, T> = unsafe { memory_of(v) };
    all.strided(batch.dims(), [step, row, element]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::launch::emulated_with_maps;
    use crate::{Buffer, Runtime};
    use tilewright_core::{AsSlice, AsSliceMut};

    const BATCH: usize = 3;

    /// Small integers, so that every sum is exact: C of a batch whose operands lie by these strides.
    fn multiplied<T: BatchMultiply>(
        least: Least,
        rt: &Runtime,
        of: fn(f32) -> T,
        to: fn(T) -> f32,
        [m, n, k]: [usize; 3],
        strides: [[usize; 3]; 2],
    ) {
        let span = |dims: [usize; 3], strides: [usize; 3]| {
            1 + dims.iter().zip(strides).map(|(d, s)| (d - 1) * s).sum::<usize>()
        };
        let make = |dims, strides, seed: usize| -> Vec<f32> {
            (0..span(dims, strides)).map(|i| ((i * 7 + i / 5 + seed) % 5) as f32 - 2.0).collect()
        };
        let (dims_a, dims_b) = ([BATCH, m, k], [BATCH, k, n]);
        let (x, y) = (make(dims_a, strides[0], 1), make(dims_b, strides[1], 2));
        let on_device = |v: &[f32]| Buffer::from_slice(rt, &v.iter().map(|&v| of(v)).collect::<Vec<T>>()).unwrap();
        let (a, b, mut c) = (on_device(&x), on_device(&y), on_device(&vec![99.0; BATCH * m * n]));
        fn view<T: Element>(v: &Buffer<T>, dims: [usize; 3], strides: [usize; 3]) -> ViewArg<'_, T, 3> {
            v.slice(..).unwrap().strided(dims, strides).unwrap()
        }
        let product = (&mut c).as_slice_mut_arg().view([BATCH, m, n]).unwrap();
        batched_from::<T>(least, rt, view(&a, dims_a, strides[0]), view(&b, dims_b, strides[1]), product).unwrap();
        let at = |v: &[f32], s: [usize; 3], i: usize, r: usize, c: usize| v[i * s[0] + r * s[1] + c * s[2]];
        for (e, found) in c.to_vec().unwrap().into_iter().enumerate() {
            let (i, r, c) = (e / (m * n), e / n % m, e % n);
            let wanted: f32 = (0..k).map(|l| at(&x, strides[0], i, r, l) * at(&y, strides[1], i, l, c)).sum();
            assert_eq!(to(found), wanted, "{m} {n} {k} {strides:?}: element {e}");
        }
    }

    #[test]
    fn batches_are_matrices_and_batches_again() {
        let data = [0f32; 600];
        let of = |dims: [usize; 3], strides| data.as_slice().as_slice_arg().strided(dims, strides).unwrap();
        for (strides, rows) in [([35, 7, 1], 15), ([0, 7, 1], 5), ([50, 10, 1], 15), ([70, 14, 2], 15)] {
            let batch = of([3, 5, 7], strides);
            let o = stacked(batch).unwrap();
            assert_eq!((o.view.dims(), o.view.strides()), ([rows, 7], [strides[1], strides[2]]));
            assert_eq!(batch_of(o.view, batch).unwrap().strides(), strides);
            // A copy with rows of 8.
            let copy = data.as_slice().as_slice_arg().strided([rows, 7], [8, 1]).unwrap();
            assert_eq!(batch_of(copy, batch).unwrap().strides(), [if strides[0] == 0 { 0 } else { 40 }, 8, 1]);
        }
        for strides in [[35, 1, 5], [36, 7, 1], [7, 21, 1]] {
            assert!(stacked(of([3, 5, 7], strides)).is_none(), "{strides:?}");
        }
    }

    #[test]
    fn rows_that_no_map_takes_are_copied_where_it_pays() {
        let rt = Runtime::emulator(5);
        let desc = <f16 as BatchKernel>::batch_desc();
        let on = crate::ops::On::new(&rt).pin(Some(emulated_with_maps(desc)));
        let zeros = |dims: [usize; 3]| Buffer::<f16>::zeros(&rt, dims.iter().product()).unwrap();
        let (a, b, mut c) = (zeros([2, 64, 9]), zeros([2, 9, 33]), zeros([2, 64, 33]));
        for (least, copied) in [(Least { product: 0, reuse: 0 }, true), (LEAST_OF_BATCHES, false)] {
            let (x, y) =
                (a.slice(..).unwrap().view([2, 64, 9]).unwrap(), b.slice(..).unwrap().view([2, 9, 33]).unwrap());
            let product = (&mut c).as_slice_mut_arg().view([2, 64, 33]).unwrap();
            match batched_from::<f16>(least, &on, x, y, product) {
                Ok(()) => assert!(copied),
                Err(e) => assert!(!copied && matches!(e, Error::CannotLaunch { .. }), "{e}"),
            }
        }
    }

    #[test]
    fn batches_with_any_strides() {
        // Without copies of what tensor maps do not take, and with them.
        let all = Least { product: 0, reuse: 0 };
        for (rt, least) in
            [(Runtime::cpu(), LEAST_OF_BATCHES), (Runtime::emulator(5), LEAST_OF_BATCHES), (Runtime::emulator(5), all)]
        {
            for [m, n, k] in [[16, 24, 32], [17, 33, 9], [65, 7, 40]] {
                let (by_rows_a, by_columns_a, by_rows_b, by_columns_b) =
                    ([m * k, k, 1], [m * k, 1, m], [k * n, n, 1], [k * n, 1, k]);
                let cases = [
                    // One operand for the whole batch.
                    [[0, k, 1], by_rows_b],
                    [by_rows_a, [0, n, 1]],
                    [[0, 1, m], [0, 1, k]],
                    // By columns, with gaps, and batches between each other's rows.
                    [by_columns_a, by_rows_b],
                    [by_rows_a, by_columns_b],
                    [by_columns_a, by_columns_b],
                    [[m * (k + 3) + 1, k + 3, 1], [k * (n + 8), n + 8, 1]],
                    [[k, BATCH * k, 1], [n, BATCH * n, 1]],
                ];
                for strides in cases {
                    multiplied::<f16>(least, &rt, f16::from_f32, f16::to_f32, [m, n, k], strides);
                    multiplied::<f32>(least, &rt, |v| v, |v| v, [m, n, k], strides);
                }
                multiplied::<bf16>(least, &rt, bf16::from_f32, bf16::to_f32, [m, n, k], [[0, 1, m], by_columns_b]);
            }
        }
    }
}
