//! Products in batches.

use super::align_operand::{AlignedOperand, memory_of};
use super::candidates::Target;
use super::multiply::{Kernels, Typed, Views};
use super::plan::{Layout, MatmulPlan, Problem, Variant, math_of};
use super::prediction::{Prediction, predictions};
use super::product::{GemmShape, Operand, Transpose, is_work};
use super::{Matmul, Multiply, f32_3xtf32, one_product};
use crate::decide::Limits;
use crate::planner::{Candidate, Question};
use crate::stream_k::Workspace;
use crate::tma::{batch_takes_tma, width_of_batch};
use crate::{Executor, decide};
use tilewright_core::{
    AsView, AsViewMut, Call, Element, KernelDesc, SliceArg, SliceMutArg, ViewArg, ViewMutArg, bf16, f16,
};
use tilewright_kernels as k;
use tilewright_kernels::matmul_f32::f32_products::batched_matmul_f32_3xtf32;
use tilewright_runtime::{Error, Result};

/// The element types of [`batched_matmul`]: f32, f16 and bf16. The example of [`batched_matmul`] has one of them. The
/// trait is sealed.
/// ```compile_fail,E0277
/// struct Mine;
/// impl tilewright_ops::BatchMultiply for Mine {}
/// ```
pub trait BatchMultiply: Multiply<Product = Self> + BatchKernel {}

impl BatchMultiply for f32 {}
impl BatchMultiply for f16 {}
impl BatchMultiply for bf16 {}

/// Partial sums and semaphores of a [`Workspace`].
type Parts<'a> = (SliceMutArg<'a, f32>, SliceMutArg<'a, u64>);

/// The kernel of batches of an element type.
pub trait BatchKernel: Kernels {
    fn batch_desc() -> &'static KernelDesc;
    /// # Safety
    /// `workspace` is as large as the configuration needs.
    unsafe fn batch_call<'a>(
        a: ViewArg<'a, Self, 3>,
        b: ViewArg<'a, Self, 3>,
        workspace: Parts<'a>,
        c: ViewMutArg<'a, Self, 3>,
    ) -> Call<'a>;
}

macro_rules! batch { ($($t:ty: $kernel:ident, $desc:expr;)*) => { $(impl BatchKernel for $t {
    fn batch_desc() -> &'static KernelDesc {
        use k::batched_matmul::batched::*;
        $desc
    }
    unsafe fn batch_call<'a>(
        a: ViewArg<'a, $t, 3>,
        b: ViewArg<'a, $t, 3>,
        (sums, semaphores): Parts<'a>,
        c: ViewMutArg<'a, $t, 3>,
    ) -> Call<'a> {
        // SAFETY: the caller's contract.
        unsafe { k::batched_matmul::batched::$kernel(a, b, sums, semaphores, c) }
    }
})* } }
batch! {
    f32: batched_matmul_f32, batched_matmul_f32::DESCS[0];
    f16: batched_matmul, <(f16,) as batched_matmul::Types>::DESC;
    bf16: batched_matmul, <(bf16,) as batched_matmul::Types>::DESC;
}

/// `C[i] = A[i] B[i]` for every `i` of a batch, in one launch beside copies. Operands of f32 are decomposed for 3xTF32
/// where that is faster. Sums are accumulated in f32 and rounded once; products of f32 have the accuracy of
/// [`Precision::F32`](super::Precision::F32). An operand may be the same for the whole batch, with a stride of 0. Rows
/// that do not start at multiples of 16 bytes are copied to scratch memory first, where the products are large enough
/// to win by it and their matrices follow each other as rows do. A batch is computed as one product where all matrices
/// have one B, and the rows of A and C follow each other. Nothing is enqueued before [`BatchedMatmul::launch`].
///
/// Shapes: `a` is `batch x m x k`, `b` `batch x k x n`, `c` `batch x m x n`. Errors: as [`Matmul`](super::Matmul).
///
/// # Examples
/// Every plan of a batch gives the same result:
/// ```
/// use tilewright::ops::BatchedMatmul;
/// use tilewright::{Buffer, Runtime};
///
/// let rt = Runtime::cpu();
/// let (a, b) = (Buffer::from_slice(&rt, &[1.0f32, 2.0])?, Buffer::from_slice(&rt, &[10.0f32, 100.0])?);
/// let mut c = Buffer::<f32>::zeros(&rt, 2)?;
/// // Two products of one element each.
/// let dims = [2, 1, 1];
/// for prediction in BatchedMatmul::new(a.view(dims)?, b.view(dims)?, c.view_mut(dims)?).plans(&rt)? {
///     let batch = BatchedMatmul::new(a.view(dims)?, b.view(dims)?, c.view_mut(dims)?);
///     batch.launch_by(&rt, &prediction.plan)?;
///     assert_eq!(c.to_vec()?, [10.0, 200.0], "{}", prediction.plan);
/// }
/// # Ok::<(), tilewright::Error>(())
/// ```
#[must_use = "nothing is enqueued before `launch`"]
pub struct BatchedMatmul<'a, T: Element> {
    a: ViewArg<'a, T, 3>,
    b: ViewArg<'a, T, 3>,
    c: ViewMutArg<'a, T, 3>,
}

/// [`BatchedMatmul`], launched at once.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, ops};
///
/// let rt = Runtime::cpu();
/// // Two matrices of one row, and one of one column for both.
/// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let b = Buffer::from_slice(&rt, &[10.0f32, 100.0])?;
/// let mut c = Buffer::<f32>::zeros(&rt, 2)?;
/// let same_for_all = b.slice(..)?.strided([2, 2, 1], [0, 1, 1])?;
/// ops::batched_matmul(&rt, a.view([2, 1, 2])?, same_for_all, c.view_mut([2, 1, 1])?)?;
/// assert_eq!(c.to_vec()?, [210.0, 430.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn batched_matmul<'a, T: BatchMultiply>(
    on: &impl Executor,
    a: impl AsView<'a, T, 3>,
    b: impl AsView<'a, T, 3>,
    c: impl AsViewMut<'a, T, 3>,
) -> Result<()> {
    BatchedMatmul::new(a, b, c).launch(on)
}

impl<'a, T: BatchMultiply> BatchedMatmul<'a, T> {
    /// The products `C[i] = A[i] B[i]`.
    pub fn new(a: impl AsView<'a, T, 3>, b: impl AsView<'a, T, 3>, c: impl AsViewMut<'a, T, 3>) -> Self {
        BatchedMatmul { a: a.as_view_arg(), b: b.as_view_arg(), c: c.as_view_mut_arg() }
    }

    /// Enqueues the products. Errors: as [`Matmul::launch`](super::Matmul::launch).
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::BatchedMatmul;
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let (a, b) = (Buffer::from_slice(&rt, &[1.0f32, 2.0])?, Buffer::from_slice(&rt, &[10.0f32, 100.0])?);
    /// let mut c = Buffer::<f32>::zeros(&rt, 2)?;
    /// // Two products of one element each.
    /// let dims = [2, 1, 1];
    /// BatchedMatmul::new(a.view(dims)?, b.view(dims)?, c.view_mut(dims)?).launch(&rt)?;
    /// assert_eq!(c.to_vec()?, [10.0, 200.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn launch(self, on: &impl Executor) -> Result<()> {
        match self.check(may_be_one::<T>(on))? {
            Checked::Empty => Ok(()),
            Checked::One(product) => product.launch(on),
            Checked::Batch(e, Typed::F32(v)) => planned(on, e, &v, f32_plans, run_f32),
            Checked::Batch(e, Typed::F16(v)) => planned(on, e, &v, plans::<_, f16>, run),
            Checked::Batch(e, Typed::Other(v)) => planned(on, e, &v, plans::<_, T>, run),
        }
    }

    /// The plans that exist for this batch on this device, with their predicted times, the shortest first. Nothing is
    /// launched. A batch without elements has none. Errors: as [`BatchedMatmul::launch`], but for those of a launch.
    pub fn plans(self, on: &impl Executor) -> Result<Vec<Prediction>> {
        let limits = Limits { scratch: on.runtime().scratch_limit(), pin: on.pin() };
        let all = match self.check(may_be_one::<T>(on))? {
            Checked::Empty => vec![],
            Checked::One(product) => return product.plans(on),
            Checked::Batch(e, Typed::F32(v)) => f32_plans(on, &Batch::of(on, e, &v), limits),
            Checked::Batch(e, Typed::F16(v)) => plans::<_, f16>(on, &Batch::of(on, e, &v), limits),
            Checked::Batch(e, Typed::Other(v)) => plans::<_, T>(on, &Batch::of(on, e, &v), limits),
        };
        Ok(predictions(on, all))
    }

    /// Enqueues the products by a plan of [`BatchedMatmul::plans`], instead of the planner's choice. Errors: as
    /// [`Matmul::launch_by`](super::Matmul::launch_by).
    pub fn launch_by(self, on: &impl Executor, plan: &MatmulPlan) -> Result<()> {
        match self.check(!is_of_batches::<T>(plan.kernel))? {
            Checked::Empty => Ok(()),
            Checked::One(product) => product.launch_by(on, plan),
            Checked::Batch(_, Typed::F32(v)) => run_f32(on, plan, v),
            Checked::Batch(_, Typed::F16(v)) => run(on, plan, v),
            Checked::Batch(_, Typed::Other(v)) => run(on, plan, v),
        }
    }

    /// The checked batch, which is one product where it can be and `may_be_one`.
    fn check(self, may_be_one: bool) -> Result<Checked<Matmul<'a, T>, Typed<'a, T, 3>>> {
        let BatchedMatmul { a, b, c } = self;
        let ([na, m, ka], [nb, kb, n], [nc, mc, n_c]) = (a.dims(), b.dims(), c.as_view().dims());
        if na != nb || na != nc {
            let why = format!("batches of {na}, {nb} and {nc}: they must be equal");
            return Err(Error::Shape { what: WHAT, why });
        }
        let e = GemmShape::of(WHAT, [m, ka], [kb, n], [mc, n_c], Transpose::NONE)?;
        if !is_work(WHAT, e, &a, &b, &c)? || na == 0 {
            return Ok(Checked::Empty);
        }
        let views = Views { a, b, c };
        Ok(match one_product::operands(&views).filter(|_| may_be_one) {
            Some((a, b)) => Checked::One(Matmul::new(a, b, one_product::result(views.c))),
            None => Checked::Batch(e, T::typed(views)),
        })
    }
}

/// A batch whose arguments were checked. (An enum of `T` itself, with a field of a type that `T::Product` makes, panics
/// rustdoc 1.95.)
enum Checked<Product, Views> {
    /// The result has no elements.
    Empty,
    /// All matrices have one B: the product of all rows of A.
    One(Product),
    /// The shape of each product and the arguments, by their type.
    Batch(GemmShape, Views),
}

/// Whether a batch may be computed as one product. Whether it can be depends on the rows of its matrices, on which
/// batch-invariant results may not depend. A pinned kernel of batches stays one.
fn may_be_one<T: BatchMultiply>(on: &impl Executor) -> bool {
    !on.batch_invariant() && !on.pin().is_some_and(|(kernel, _)| is_of_batches::<T>(kernel))
}

/// Whether a kernel computes batches.
fn is_of_batches<T: BatchMultiply>(kernel: &KernelDesc) -> bool {
    [T::batch_desc(), batched_matmul_f32_3xtf32::DESCS[0]].iter().any(|desc| core::ptr::eq(*desc, kernel))
}

const WHAT: &str = "batched_matmul";

/// The properties of a batch that its plans depend on.
struct Batch {
    problem: Problem,
    count: usize,
    /// Whether A, and B, may be copied first.
    copyable: (bool, bool),
    /// 3xTF32 takes the strides.
    decomposes: bool,
    /// All matrices have one A.
    shares_a: bool,
}

/// How a batch lies in memory, by the strides of all its dimensions.
fn of_batch<T: Element>(v: ViewArg<T, 3>) -> Layout {
    Layout { transposed: false, tma: batch_takes_tma(v), width: width_of_batch(v), in_sectors: false }
}

impl Batch {
    fn of<T: BatchMultiply>(on: &impl Executor, e: GemmShape, v: &Views<T, 3>) -> Batch {
        let (x, y) = (stacked(v.a), stacked(v.b));
        // Matrices that make one are copied together. A matrix that is the same for all still is after a copy, and TMA
        // takes no stride of 0.
        let copyable = |o: &Option<Operand<T>>, v: ViewArg<T, 3>| o.is_some() && v.strides()[0] > 0;
        // Whether those of A make one depends on their rows, on which results may not depend.
        let any_rows = !on.batch_invariant();
        // Strides of an operand that is not stacked: rows of its first matrix stand for all.
        let layout = |o: &Option<Operand<T>>, v: ViewArg<T, 3>| {
            o.as_ref().map_or_else(
                || of_batch(v),
                |o| Layout { tma: o.tma_compatible() && v.strides()[0] > 0, ..Layout::of(o) },
            )
        };
        let c = v.c.as_view();
        let rows = c.strides()[2] == 1;
        let problem = Problem {
            shape: e,
            a: layout(&x, v.a),
            b: layout(&y, v.b),
            c: Layout { in_sectors: batch_takes_tma(c), ..of_batch(c) },
            c_transposed: Layout::TRANSPOSE_OF_ROWS,
            math: math_of::<T>(false),
            bytes: [size_of::<T>(); 2],
        };
        Batch {
            problem,
            count: v.a.dims()[0],
            copyable: (any_rows && copyable(&x, v.a), copyable(&y, v.b)),
            // TMA takes a result's rows alone.
            decomposes: any_rows && x.is_some() && copyable(&y, v.b) && rows,
            shares_a: v.a.strides()[0] == 0,
        }
    }
}

fn planned<L: Executor, T: BatchMultiply>(
    on: &L,
    e: GemmShape,
    v: &Views<T, 3>,
    plans: impl Fn(&L, &Batch, Limits) -> Vec<Candidate<MatmulPlan>>,
    run: impl Fn(&L, &MatmulPlan, Views<T, 3>) -> Result<()>,
) -> Result<()> {
    let mut batch = Batch::of(on, e, v);
    batch.count = decide::batch_size(on, batch.count);
    batch.problem = batch.problem.of_rows(decide::batch_size(on, e.m));
    let flags = u64::from(batch.copyable.0) | u64::from(batch.copyable.1) << 1 | u64::from(batch.decomposes) << 2;
    let shared = u64::from(v.a.strides()[0] == 0) | u64::from(v.b.strides()[0] == 0) << 1;
    let question = Question {
        op: WHAT,
        types: T::DTYPE.name(),
        version: super::kernels::version(),
        sizes: [batch.count, batch.problem.shape.m, e.n, e.k],
        layout: batch.problem.layout() | flags << 20 | shared << 24,
        recorded: &|| vec![(&v.a).into(), (&v.b).into(), (&v.c).into()],
    };
    decide::run(
        on,
        &question,
        &v.c,
        |limits| plans(on, &batch, limits),
        |plan| {
            // SAFETY: one launch has the result at a time.
            run(on, plan, Views { a: v.a, b: v.b, c: unsafe { decide::again(&v.c) } })
        },
    )
}

/// The plans by the kernel that every type has.
fn plans<L: Executor, T: BatchMultiply>(on: &L, b: &Batch, limits: Limits) -> Vec<Candidate<MatmulPlan>> {
    let mut out = vec![];
    Target::new(on, limits).batches(&mut out, &b.problem, b.count, b.copyable, T::batch_desc());
    out
}

fn f32_plans<L: Executor>(on: &L, b: &Batch, limits: Limits) -> Vec<Candidate<MatmulPlan>> {
    let mut out = plans::<L, f32>(on, b, limits);
    if b.decomposes {
        let target = Target::new(on, limits);
        target.decomposed_batches(&mut out, &b.problem, b.count, b.shares_a, batched_matmul_f32_3xtf32::DESCS[0]);
    }
    out
}

fn too_large<T: Element>(v: ViewArg<T, 3>) -> Error {
    Error::TooLarge { len: v.span(), size: size_of::<T>() }
}

fn run_f32(on: &impl Executor, plan: &MatmulPlan, v: Views<f32, 3>) -> Result<()> {
    let Variant::Tf32x3 { copy_b, .. } = plan.variant else { return run(on, plan, v) };
    let (Some(x), Some(y)) = (stacked(v.a), stacked(v.b)) else { return run(on, plan, v) };
    let rows_of_a = if v.a.strides()[0] == 0 { 0 } else { v.a.dims()[1] };
    if !copy_b {
        return f32_3xtf32::multiply_batch(on, x, rows_of_a, v.b, v.c, plan.options());
    }
    let rows = AlignedOperand::<u32>::new(on, &y, false)?;
    let copied = batch_of(rows.operand()?.view, v.b).ok_or_else(|| too_large(v.b))?;
    f32_3xtf32::multiply_batch(on, x, rows_of_a, copied, v.c, plan.options())
}

fn run<T: BatchMultiply>(on: &impl Executor, plan: &MatmulPlan, v: Views<T, 3>) -> Result<()> {
    let Views { a, b, c } = v;
    let Variant::Tiles { copies, stream_k } = plan.variant else {
        return Err(Error::InvalidArgument { what: WHAT, why: format!("`{plan}` is no plan of a batch") });
    };
    let x = copies.a.and_then(|_| stacked(a)).map(|x| AlignedOperand::<T::Bits>::new(on, &x, false)).transpose()?;
    let y = copies.b.and_then(|_| stacked(b)).map(|y| AlignedOperand::<T::Bits>::new(on, &y, false)).transpose()?;
    let a = match &x {
        Some(rows) => batch_of(rows.operand()?.view, a).ok_or_else(|| too_large(a))?,
        None => a,
    };
    let b = match &y {
        Some(rows) => batch_of(rows.operand()?.view, b).ok_or_else(|| too_large(b))?,
        None => b,
    };
    let mut workspace = Workspace::<f32>::of_scheduler(on, stream_k)?;
    // SAFETY: the launcher takes no configuration that needs a larger workspace.
    on.launch_as(unsafe { T::batch_call(a, b, workspace.parts(), c) }, plan.options())
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
    use tilewright_core::{AsSlice, AsSliceMut};
    use tilewright_runtime::{Buffer, Runtime};

    const BATCH: usize = 3;

    /// Small integers, so that every sum is exact: C of a batch whose operands lie by these strides.
    fn multiplied<T: BatchMultiply>(
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
        let at = |v: &[f32], s: [usize; 3], i: usize, r: usize, c: usize| v[i * s[0] + r * s[1] + c * s[2]];
        let wanted = |e: usize| -> f32 {
            let (i, r, c) = (e / (m * n), e / n % m, e % n);
            (0..k).map(|l| at(&x, strides[0], i, r, l) * at(&y, strides[1], i, l, c)).sum()
        };
        let wanted: Vec<f32> = (0..BATCH * m * n).map(wanted).collect();
        let e = GemmShape { m, n, k };
        let plans = {
            let product = (&mut c).as_slice_mut_arg().view([BATCH, m, n]).unwrap();
            let views = Views { a: view(&a, dims_a, strides[0]), b: view(&b, dims_b, strides[1]), c: product };
            plans::<_, T>(rt, &Batch::of(rt, e, &views), Limits { scratch: rt.scratch_limit(), pin: None })
        };
        assert!(!plans.is_empty());
        for Candidate { plan, .. } in plans {
            c.copy_from(&vec![of(99.0); BATCH * m * n]).unwrap();
            let product = (&mut c).as_slice_mut_arg().view([BATCH, m, n]).unwrap();
            let views = Views { a: view(&a, dims_a, strides[0]), b: view(&b, dims_b, strides[1]), c: product };
            run::<T>(rt, &plan, views).unwrap_or_else(|e| panic!("{m} {n} {k} {strides:?}: {plan}: {e}"));
            let found: Vec<f32> = c.to_vec().unwrap().into_iter().map(to).collect();
            assert_eq!(found, wanted, "{m} {n} {k} {strides:?}: {plan}");
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

    /// A copy of a matrix that is the same for all is not read by TMA either. Whether the rows of A follow those of
    /// another matrix depends on how many there are.
    #[test]
    fn operands_that_are_copied() {
        let rt = Runtime::cpu();
        let (x, mut z) = ([0f32; 600], [0f32; 75]);
        let e = GemmShape { m: 5, n: 5, k: 7 };
        let mut copyable = |on: &crate::ExecOptions, a: [usize; 3], b: [usize; 3]| {
            let of = |dims: [usize; 3], strides| x.as_slice().as_slice_arg().strided(dims, strides).unwrap();
            let c = z.as_mut_slice().as_slice_mut_arg().view([3, 5, 5]).unwrap();
            let batch = Batch::of(on, e, &Views { a: of([3, 5, 7], a), b: of([3, 7, 5], b), c });
            (batch.copyable, batch.decomposes)
        };
        let (any, invariant) = (crate::ExecOptions::new(&rt), crate::ExecOptions::new(&rt).batch_invariant(true));
        assert_eq!(copyable(&any, [35, 7, 1], [35, 5, 1]), ((true, true), true));
        assert_eq!(copyable(&any, [0, 7, 1], [35, 5, 1]), ((false, true), true));
        assert_eq!(copyable(&any, [35, 7, 1], [0, 5, 1]), ((true, false), false));
        for a in [[35, 7, 1], [42, 7, 1]] {
            assert_eq!(copyable(&invariant, a, [35, 5, 1]), ((false, true), false));
        }
    }

    /// All rows are those of one product, unless results may not depend on the number of rows or a kernel is pinned.
    #[test]
    fn a_batch_of_one_b_is_one_product() {
        let rt = Runtime::cpu();
        let [m, n, k] = [4, 3, 5];
        let of = |len: usize| (0..len).map(|i| ((i * 7 + i / 5) % 5) as f32 - 2.0).collect::<Vec<f32>>();
        let (x, y) = (of(BATCH * m * k), of(k * n));
        let (a, b) = (Buffer::from_slice(&rt, &x).unwrap(), Buffer::from_slice(&rt, &y).unwrap());
        let mut c = Buffer::<f32>::zeros(&rt, BATCH * m * n).unwrap();
        let with = |c: &mut Buffer<f32>, strides: [usize; 3], run: &mut dyn FnMut(BatchedMatmul<f32>) -> Result<()>| {
            let b = b.slice(..).unwrap().strided([BATCH, k, n], strides).unwrap();
            let c = c.view_mut([BATCH, m, n]).unwrap();
            run(BatchedMatmul::new(a.view([BATCH, m, k]).unwrap(), b, c)).unwrap();
        };
        let desc = <f32 as BatchKernel>::batch_desc();
        let options = [
            (crate::ExecOptions::new(&rt), true),
            (crate::ExecOptions::new(&rt).batch_invariant(true), false),
            (crate::ExecOptions::new(&rt).pin((desc, &desc.configs[0])), false),
        ];
        for (on, is_one) in options {
            for strides in [[0, n, 1], [0, 1, k]] {
                let mut all = vec![];
                with(&mut c, strides, &mut |batch| batch.plans(&on).map(|plans| all = plans));
                assert!(all.iter().all(|p| is_of_batches::<f32>(p.plan.kernel) != is_one), "{all:?}");
                let product = |e: usize, l: usize| x[e / n * k + l] * y[l * strides[1] + e % n * strides[2]];
                let wanted: Vec<f32> = (0..BATCH * m * n).map(|e| (0..k).map(|l| product(e, l)).sum()).collect();
                with(&mut c, strides, &mut |batch| batch.launch(&on));
                assert_eq!(c.to_vec().unwrap(), wanted, "{strides:?}");
                for Prediction { plan, .. } in all {
                    c.fill_zero().unwrap();
                    with(&mut c, strides, &mut |batch| batch.launch_by(&on, &plan));
                    assert_eq!(c.to_vec().unwrap(), wanted, "{strides:?}: {plan}");
                }
            }
        }
    }

    #[test]
    fn batches_with_any_strides() {
        for rt in [Runtime::cpu(), Runtime::emulator(5)] {
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
                    multiplied::<f16>(&rt, f16::from_f32, f16::to_f32, [m, n, k], strides);
                    multiplied::<f32>(&rt, |v| v, |v| v, [m, n, k], strides);
                }
                multiplied::<bf16>(&rt, bf16::from_f32, bf16::to_f32, [m, n, k], [[0, 1, m], by_columns_b]);
            }
        }
    }
}
