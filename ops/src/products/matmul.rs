//! Products of two matrices.

use super::align_operand::with_copies;
use super::candidates::{Target, TileKernels};
use super::mixed_input::MixedInput;
use super::multiply::{MatmulVariant, Typed, Views};
use super::plan::{Layout, MatmulPlan, Orientation, Problem, Variant, math_of};
use super::prediction::{Prediction, predictions};
use super::product::{GemmShape, Operand, Transpose, is_work};
use super::scratch_matrix::ScratchMatrix;
use super::{Multiply, f32_3xtf32, gemm};
use crate::decide::Limits;
use crate::planner::cost::Traffic;
use crate::planner::device::Math;
use crate::planner::{Candidate, Question};
use crate::stream_k::Workspace;
use crate::{Executor, decide};
use core::marker::PhantomData;
use tilewright_core::{AsView, AsViewMut, DType, KernelDesc, ViewArg, ViewMutArg, f16};
use tilewright_runtime::{Error, Result};

/// The arithmetic of a product of f32. Products of other types are exact but for the accumulation in f32.
///
/// # Examples
/// ```
/// use tilewright::ops::{Matmul, Precision};
/// use tilewright::{Buffer, Runtime};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.5f32])?;
/// let mut c = Buffer::<f32>::zeros(&rt, 1)?;
/// Matmul::new(x.view([1, 1])?, x.view([1, 1])?, c.view_mut([1, 1])?).precision(Precision::Tf32).launch(&rt)?;
/// assert_eq!(c.to_vec()?, [2.25]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// [`Precision::F32`].
    #[default]
    Default,
    /// As accurate as multiply-adds in f32. If an operand is infinite, a sum may be NaN instead of infinite. An operand
    /// below 2^-126 may count as 0, and an operand that rounds to infinity in tf32 may count as infinite.
    F32,
    /// Operands are rounded to tf32: 10 bits of fraction. They may be cut off instead, and the greatest ones may be
    /// rounded to infinity. An operand below 2^-126 may count as 0.
    Tf32,
}

/// A function applied to each accumulated element before it is rounded and stored. [`Matmul`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Epilogue {
    /// The sum itself.
    #[default]
    None,
    /// `max(sum, 0)`. A NaN stays a NaN.
    Relu,
    /// Negative sums are multiplied by this slope. Products of i8 have no such epilogue.
    LeakyRelu(f32),
}

impl Epilogue {
    /// The factor of negative sums.
    fn negative_slope(self) -> f32 {
        match self {
            Epilogue::None => 1.0,
            Epilogue::Relu => 0.0,
            Epilogue::LeakyRelu(slope) => slope,
        }
    }
}

/// `C = epilogue(op(A) op(B))`, or for f16 `C = alpha op(A) op(B) + beta C`, where `op` transposes operands that are
/// given transposed.
///
/// Sums are accumulated in f32 (of i8 in i32, where they wrap) and rounded once. A sum of nothing is 0. An operand may
/// have any strides; contiguous rows are fast. Nothing is enqueued before [`Matmul::launch`].
///
/// Shapes: `op(A)` is `m x k`, `op(B)` `k x n`, `C` `m x n`. The result of i8 is i32, and that of 8-bit floats bf16.
///
/// Scratch memory may hold:
/// - copies of operands whose rows do not start at multiples of 16 bytes, or whose order tensor cores do not take,
/// - the decomposed operands of products of f32,
/// - partial sums of programs that share a tile, where tiles do not fill the device in whole waves,
/// - a result of few columns before it is transposed.
///
/// For some sizes the fastest of several plans is measured once, where the tuner may measure.
///
/// # Examples
/// ```
/// use tilewright_ops::{Epilogue, Matmul};
/// use tilewright_runtime::{Buffer, Runtime};
///
/// let rt = Runtime::cpu();
/// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
/// // The transpose of `[[1, 0], [-1, 1]]`.
/// let b = Buffer::from_slice(&rt, &[1.0f32, -1.0, 0.0, 1.0])?;
/// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
/// Matmul::new(a.view([2, 2])?, b.view([2, 2])?, c.view_mut([2, 2])?)
///     .transpose_b()
///     .epilogue(Epilogue::Relu)
///     .launch(&rt)?;
/// assert_eq!(c.to_vec()?, [0.0, 2.0, 0.0, 4.0]);
/// # Ok::<(), tilewright_runtime::Error>(())
/// ```
///
/// Only products of f32 have a precision, and only products of f16 are scaled:
/// ```compile_fail,E0599
/// # use tilewright_ops::{Matmul, Precision};
/// # use tilewright_runtime::{Buffer, Result};
/// fn of_bytes(a: &Buffer<i8>, c: &mut Buffer<i32>) -> Result<()> {
///     let product = Matmul::new(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?);
///     product.precision(Precision::Tf32);
///     Ok(())
/// }
/// ```
#[must_use = "nothing is enqueued before `launch`"]
pub struct Matmul<'a, T: Multiply> {
    views: Views<'a, T, 2>,
    transpose: Transpose,
    precision: Precision,
    epilogue: Epilogue,
    /// `alpha` and `beta`, where either was set.
    scale: Option<(f32, f32)>,
}

const WHAT: &str = "matmul";

impl<'a, T: Multiply> Matmul<'a, T> {
    /// The plain product `C = A B`.
    pub fn new(
        a: impl AsView<'a, T, 2>,
        b: impl AsView<'a, T, 2>,
        c: impl AsViewMut<'a, T::Product, 2>,
    ) -> Matmul<'a, T> {
        Matmul {
            views: Views { a: a.as_view_arg(), b: b.as_view_arg(), c: c.as_view_mut_arg() },
            transpose: Transpose::NONE,
            precision: Precision::Default,
            epilogue: Epilogue::None,
            scale: None,
        }
    }

    /// A is given transposed, as a `k x m` matrix.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::Matmul;
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 1)?;
    /// Matmul::new(a.view([2, 1])?, a.view([2, 1])?, c.view_mut([1, 1])?).transpose_a().launch(&rt)?;
    /// assert_eq!(c.to_vec()?, [5.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn transpose_a(self) -> Self {
        let transpose = Transpose { a: true, ..self.transpose };
        self.transpose(transpose)
    }

    /// B is given transposed, as an `n x k` matrix. [`Matmul::transpose_a`] has an example of A.
    pub fn transpose_b(self) -> Self {
        let transpose = Transpose { b: true, ..self.transpose };
        self.transpose(transpose)
    }

    /// Sets which operands are given transposed. [`Matmul::transpose_a`] has an example.
    pub fn transpose(self, transpose: Transpose) -> Self {
        Matmul { transpose, ..self }
    }

    /// Sets the function that is applied to each sum. [`Matmul`] has an example.
    pub fn epilogue(self, epilogue: Epilogue) -> Self {
        Matmul { epilogue, ..self }
    }

    /// Enqueues the product: on the default stream of a [`Runtime`](tilewright_runtime::Runtime), or where an
    /// [`ExecOptions`](crate::ExecOptions) says.
    ///
    /// # Errors
    /// - [`Error::Shape`] where extents do not agree,
    /// - [`Error::Alias`] where `C` shares memory with an operand,
    /// - [`Error::InvalidArgument`] for [`Epilogue::LeakyRelu`] of i8, and for an epilogue of a scaled product,
    /// - those of a launch.
    ///
    /// The first three are returned before anything is written.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::Matmul;
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// Matmul::new(a.view([2, 1])?, a.view([1, 2])?, c.view_mut([2, 2])?).launch(&rt)?;
    /// assert_eq!(c.to_vec()?, [1.0, 2.0, 2.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn launch(self, on: &impl Executor) -> Result<()> {
        match self.check(on)? {
            Checked::Empty => Ok(()),
            Checked::Scaled(e, (a, b), c, scale) => gemm::scaled(on, e, (a, b), c, scale),
            Checked::F32(p) => planned(on, &p, f32_plans, run_f32),
            Checked::F16(p) => planned(on, &p, plans::<_, f16>, run),
            Checked::Other(p) => planned(on, &p, plans::<_, T>, run),
        }
    }

    /// The plans that exist for this product on this device, with their predicted times, the shortest first. Nothing is
    /// launched. A scaled product and one without elements have none.
    ///
    /// # Errors
    /// As [`Matmul::launch`], but for those of a launch.
    ///
    /// # Examples
    /// Every plan of a product gives the same result:
    /// ```
    /// use tilewright::ops::Matmul;
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 1)?;
    /// let plans = Matmul::new(a.view([1, 2])?, a.view([2, 1])?, c.view_mut([1, 1])?).plans(&rt)?;
    /// for prediction in plans {
    ///     let product = Matmul::new(a.view([1, 2])?, a.view([2, 1])?, c.view_mut([1, 1])?);
    ///     product.launch_by(&rt, &prediction.plan)?;
    ///     assert_eq!(c.to_vec()?, [5.0], "{}, predicted {:?}", prediction.plan, prediction.time);
    /// }
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn plans(self, on: &impl Executor) -> Result<Vec<Prediction>> {
        let limits = Limits { scratch: on.runtime().scratch_limit(), pin: on.pin() };
        let all = match self.check(on)? {
            Checked::Empty | Checked::Scaled(..) => vec![],
            Checked::F32(p) => f32_plans(on, &p.problem(), limits),
            Checked::F16(p) => plans::<_, f16>(on, &p.problem(), limits),
            Checked::Other(p) => plans::<_, T>(on, &p.problem(), limits),
        };
        Ok(predictions(on, all))
    }

    /// Enqueues the product by a plan of [`Matmul::plans`], instead of the planner's choice.
    ///
    /// # Errors
    /// As [`Matmul::launch`]; [`Error::InvalidArgument`] for a plan of another type or a scaled product; where the
    /// plan's kernel cannot run for these arguments, [`Error::CannotLaunch`].
    pub fn launch_by(self, on: &impl Executor, plan: &MatmulPlan) -> Result<()> {
        match self.check(on)? {
            Checked::Empty => Ok(()),
            Checked::Scaled(..) => Err(no_kernel::<T>(on)),
            Checked::F32(p) => run_f32(on, plan, p),
            Checked::F16(p) => run(on, plan, p),
            Checked::Other(p) => run(on, plan, p),
        }
    }

    /// The checked product.
    fn check(self, on: &impl Executor) -> Result<Checked<'a, T>> {
        let Matmul { views, transpose, precision, epilogue, scale } = self;
        let invalid = |why: &str| Err(Error::InvalidArgument { what: WHAT, why: why.into() });
        if T::DTYPE == DType::I8 && matches!(epilogue, Epilogue::LeakyRelu(_)) {
            return invalid(
                "leaky ReLU of integers is not supported, because a fraction of an integer is none: \
                 use f32, f16, bf16, f8e4m3 or f8e5m2",
            );
        }
        if scale.is_some() && epilogue != Epilogue::None {
            return invalid("a product with alpha or beta has no epilogue: apply the function in a launch of its own");
        }
        let e = GemmShape::of(WHAT, views.a.dims(), views.b.dims(), views.c.as_view().dims(), transpose)?;
        if !is_work(WHAT, e, &views.a, &views.b, &views.c)? {
            return Ok(Checked::Empty);
        }
        let tf32 = T::DTYPE == DType::F32 && precision == Precision::Tf32;
        let arithmetic = Arithmetic { tf32, negative_slope: epilogue.negative_slope() };
        Ok(match (T::typed(views), scale) {
            (Typed::F16(v), Some(scale)) => {
                let flipped_if = |flip: bool, view: ViewArg<'a, f16, 2>| if flip { view.flipped() } else { view };
                Checked::Scaled(e, (flipped_if(transpose.a, v.a), flipped_if(transpose.b, v.b)), v.c, scale)
            }
            (Typed::F32(v), _) => Checked::F32(Product::new(e, v.of(on), transpose, arithmetic)),
            (Typed::F16(v), None) => Checked::F16(Product::new(e, v.of(on), transpose, arithmetic)),
            (Typed::Other(v), _) => Checked::Other(Product::new(e, v.of(on), transpose, arithmetic)),
        })
    }
}

/// A product whose arguments were checked, by its type.
enum Checked<'a, T: Multiply> {
    /// The result has no elements.
    Empty,
    Scaled(GemmShape, (ViewArg<'a, f16, 2>, ViewArg<'a, f16, 2>), ViewMutArg<'a, f16, 2>, (f32, f32)),
    F32(Product<'a, f32>),
    F16(Product<'a, f16>),
    Other(Product<'a, T>),
}

impl Matmul<'_, f32> {
    /// Sets the precision of an f32 product.
    pub fn precision(self, precision: Precision) -> Self {
        Matmul { precision, ..self }
    }
}

/// Scaled products. With a `beta` of 0 the elements of `C` do not count, and with a `k` of 0 `alpha` does not. As in
/// torch, `C` is 0 where both are 0. Otherwise `alpha` multiplies every sum, and a NaN in A or B makes a NaN in `C`.
///
/// One kernel multiplies by rows of both operands. Others are copied first where products are large, or read by their
/// strides.
///
/// # Examples
/// ```
/// use tilewright::ops::Matmul;
/// use tilewright::{Buffer, Runtime, f16};
///
/// let rt = Runtime::cpu();
/// let of = |v: &[f32]| Buffer::from_slice(&rt, &v.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>());
/// let (a, mut c) = (of(&[1.0, 2.0])?, of(&[100.0])?);
/// Matmul::new(a.view([1, 2])?, a.view([2, 1])?, c.view_mut([1, 1])?).alpha(2.0).beta(0.5).launch(&rt)?;
/// assert_eq!(c.to_vec()?[0].to_f32(), 60.0);
/// # Ok::<(), tilewright::Error>(())
/// ```
impl Matmul<'_, f16> {
    /// The factor of `op(A) op(B)`, 1 unless it is set.
    pub fn alpha(self, alpha: f32) -> Self {
        let (_, beta) = self.scale.unwrap_or((1.0, 0.0));
        Matmul { scale: Some((alpha, beta)), ..self }
    }

    /// The factor of the old elements of `C`, 0 unless it is set.
    pub fn beta(self, beta: f32) -> Self {
        let (alpha, _) = self.scale.unwrap_or((1.0, 0.0));
        Matmul { scale: Some((alpha, beta)), ..self }
    }
}

/// The arithmetic of a product.
#[derive(Clone, Copy)]
struct Arithmetic {
    tf32: bool,
    negative_slope: f32,
}

/// A product of checked operands.
pub(super) struct Product<'a, T: Multiply> {
    pub e: GemmShape,
    pub a: Operand<'a, T>,
    pub b: Operand<'a, T>,
    pub c: ViewMutArg<'a, T::Product, 2>,
    arithmetic: Arithmetic,
}

impl<'a, T: Multiply> Product<'a, T> {
    fn new(e: GemmShape, views: Views<'a, T, 2>, transpose: Transpose, arithmetic: Arithmetic) -> Self {
        let (a, b) = (Operand::new(views.a, transpose.a), Operand::new(views.b, transpose.b));
        Product { e, a, b, c: views.c, arithmetic }
    }

    fn problem(&self) -> Problem {
        let math = math_of::<T>(self.arithmetic.tf32);
        Problem::new(self.e, Layout::of(&self.a), Layout::of(&self.b), &self.c, math, size_of::<T>())
    }

    /// The same product for one more launch.
    ///
    /// # Safety
    /// One launch has the result at a time.
    unsafe fn again(&self) -> Product<'_, T> {
        // SAFETY: the caller's contract.
        Product { e: self.e, a: self.a, b: self.b, c: unsafe { decide::again(&self.c) }, arithmetic: self.arithmetic }
    }

    /// `Cᵀ = Bᵀ Aᵀ`, by columns of C.
    fn transposed(self) -> Self {
        let p = self.of_transpose();
        Product { c: p.c.flipped(), ..p }
    }

    /// `Bᵀ Aᵀ`, into the same memory: the caller replaces C.
    fn of_transpose(self) -> Self {
        Product { e: self.e.transposed(), a: self.b.transpose(), b: self.a.transpose(), ..self }
    }
}

/// Computes a product by the plan that is decided on for it.
fn planned<L: Executor, T: Multiply>(
    on: &L,
    p: &Product<T>,
    plans: impl Fn(&L, &Problem, Limits) -> Vec<Candidate<MatmulPlan>>,
    run: impl Fn(&L, &MatmulPlan, Product<T>) -> Result<()>,
) -> Result<()> {
    let problem = p.problem();
    let problem = problem.of_rows(decide::batch_size(on, problem.shape.m));
    let question = Question {
        op: WHAT,
        types: T::DTYPE.name(),
        version: super::kernels::version(),
        sizes: [problem.shape.m, problem.shape.n, problem.shape.k, 0],
        layout: problem.layout(),
        recorded: &|| {
            let operand = |o: &Operand<T>| [(&o.view).into(), o.transposed.into()];
            let of_result = [(&p.c).into(), p.arithmetic.tf32.into()];
            [operand(&p.a), operand(&p.b), of_result].concat()
        },
    };
    decide::run(
        on,
        &question,
        &p.c,
        |limits| plans(on, &problem, limits),
        |plan| {
            // SAFETY: one launch has the result at a time.
            run(on, plan, unsafe { p.again() })
        },
    )
}

/// The kernels of an element type that compute tiles.
struct Tiles<T>(bool, PhantomData<T>);

impl<T: Multiply> TileKernels for Tiles<T> {
    fn desc(&self, order: Transpose, _: bool) -> Option<&'static KernelDesc> {
        let variant = MatmulVariant { transpose: order, tf32: self.0 };
        T::has(variant).then(|| T::desc(variant))
    }
}

/// The plans of a product by kernels that every type has.
fn plans<L: Executor, T: Multiply>(on: &L, p: &Problem, limits: Limits) -> Vec<Candidate<MatmulPlan>> {
    let (target, mut out) = (Target::new(on, limits), vec![]);
    let tiles = Tiles::<T>(p.math == Math::Tf32, PhantomData);
    let transposed = p.transposed();
    for (orientation, p) in [(Orientation::AsGiven, p), (Orientation::Transposed, &transposed)] {
        if !target.considers(orientation, p) {
            continue;
        }
        target.tiles(&mut out, p, orientation, &tiles, Traffic::default());
        if let Some(kernel) = T::gemv() {
            target.gemv(&mut out, p, orientation, (kernel.desc)(p.b.transposed));
        }
        if let Some(kernel) = T::outer() {
            target.outer_products(&mut out, p, orientation, (kernel.desc)(p.a.transposed));
        }
    }
    if let Some(kernel) = T::mixed_input() {
        target.mixed_input(&mut out, p, kernel.desc, 0, Traffic::default());
    }
    out
}

/// The plans of a product of f32.
fn f32_plans<L: Executor>(on: &L, p: &Problem, limits: Limits) -> Vec<Candidate<MatmulPlan>> {
    let mut out = plans::<L, f32>(on, p, limits);
    if p.math == Math::F32 {
        let target = Target::new(on, limits);
        target.tf32x3(&mut out, p, Orientation::AsGiven, Traffic::default());
        let transposed = p.transposed().in_scratch();
        if target.considers(Orientation::TransposedInScratch, &transposed) {
            let scratch = p.shape.m.saturating_mul(p.shape.n).saturating_mul(p.bytes[1]);
            let transposition = Traffic { bytes: scratch.saturating_mul(2), scratch };
            target.tf32x3(&mut out, &transposed, Orientation::TransposedInScratch, transposition);
        }
    }
    out
}

/// Carries out a plan of f32.
fn run_f32(on: &impl Executor, plan: &MatmulPlan, p: Product<f32>) -> Result<()> {
    match plan.orientation {
        Orientation::TransposedInScratch => {
            let mut rows = ScratchMatrix::new(on, [p.e.n, p.e.m], 1)?;
            let Product { e, a, b, c, arithmetic } = p;
            let transposed = Product { e, a, b, c: rows.view_mut()?, arithmetic }.of_transpose();
            run_f32(on, &MatmulPlan { orientation: Orientation::AsGiven, ..*plan }, transposed)?;
            f32_3xtf32::transpose(on, rows.view()?, c)
        }
        Orientation::AsGiven if plan.is_tf32x3() => {
            f32_3xtf32::multiply(on, p.e, plan, (p.a, p.b), p.c, p.arithmetic.negative_slope)
        }
        _ => run(on, plan, p),
    }
}

/// Carries out a plan of kernels that every type has.
fn run<T: Multiply>(on: &impl Executor, plan: &MatmulPlan, p: Product<T>) -> Result<()> {
    let p = if plan.orientation == Orientation::Transposed { p.transposed() } else { p };
    let Product { e, a, b, c, arithmetic: Arithmetic { tf32, negative_slope } } = p;
    let options = plan.options();
    match plan.variant {
        Variant::Tiles { copies, stream_k } => with_copies::<T, T::Bits>(on, copies, (a, b), |a, b| {
            // A kernel of another order reads operands by their strides.
            let order = a.order(&b);
            let own = MatmulVariant { transpose: order, tf32 };
            let strided = !core::ptr::eq(T::desc(own), plan.kernel) || !T::has(own);
            let (a, b) = if strided { (a.as_transposed(false), b.as_transposed(true)) } else { (a, b) };
            let variant = MatmulVariant { transpose: a.order(&b), tf32 };
            let mut workspace = Workspace::of_scheduler(on, stream_k)?;
            // SAFETY: the workspace was made for this launch.
            let call = unsafe { T::call(variant, a.view, b.view, workspace.parts(), c, negative_slope) };
            on.launch_as(call, options)
        }),
        Variant::Gemv { splits } => {
            let Some(kernel) = T::gemv() else { return Err(no_kernel::<T>(on)) };
            let mut workspace = f32_3xtf32::gemv_workspace(on, e, splits)?;
            let a = a.as_transposed(false).view;
            // SAFETY: the workspace was made for this launch, of so many splits.
            let call = unsafe { (kernel.call)(a, b.view, b.transposed, workspace.parts(), c, negative_slope, splits) };
            on.launch_as(call, options)
        }
        Variant::OuterProducts => {
            let Some(kernel) = T::outer() else { return Err(no_kernel::<T>(on)) };
            let b = b.as_transposed(false).view;
            on.launch_as((kernel.call)(a.view, b, a.transposed, c, negative_slope), options)
        }
        Variant::MixedInput => {
            let Some(kernel) = T::mixed_input() else { return Err(no_kernel::<T>(on)) };
            MixedInput::of(on, kernel, &a, 0)?.multiply(on, &b, c, negative_slope, options)
        }
        Variant::Tf32x3 { .. } | Variant::DecomposedTf32x3 => Err(no_kernel::<T>(on)),
    }
}

/// The error of a plan of another type.
fn no_kernel<T: Multiply>(on: &impl Executor) -> Error {
    Error::InvalidArgument {
        what: WHAT,
        why: format!("the plan is of no kernel for {} on {}", T::DTYPE.name(), on.runtime().device().name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_runtime::{Buffer, Runtime};

    /// `m x k` and `k x n` small integers, and the transposes of both.
    fn operands(rt: &Runtime, [m, n, k]: [usize; 3]) -> [Buffer<f16>; 4] {
        let (a, b) = (|i: usize, l: usize| (i * 3 + l) % 5, |l: usize, j: usize| (l + j * 2) % 4);
        let made = |rows: usize, columns: usize, at: &dyn Fn(usize, usize) -> usize| {
            let all: Vec<f16> =
                (0..rows * columns).map(|e| f16::from_f32(at(e / columns, e % columns) as f32 - 1.0)).collect();
            Buffer::from_slice(rt, &all).unwrap()
        };
        [made(m, k, &a), made(k, n, &b), made(k, m, &|l, i| a(i, l)), made(n, k, &|j, l| b(l, j))]
    }

    #[test]
    fn scaled_products_take_transposed_operands() {
        let rt = Runtime::cpu();
        let [m, n, k] = [5, 7, 11];
        let [a, b, a_transposed, b_transposed] = operands(&rt, [m, n, k]);
        let multiplied = |turn_a: bool, turn_b: bool, alpha: f32, beta: f32| {
            let mut c = Buffer::from_slice(&rt, &vec![f16::from_f32(3.0); m * n]).unwrap();
            let a = if turn_a { a_transposed.view([k, m]) } else { a.view([m, k]) }.unwrap();
            let b = if turn_b { b_transposed.view([n, k]) } else { b.view([k, n]) }.unwrap();
            Matmul::new(a, b, c.view_mut([m, n]).unwrap())
                .transpose(Transpose { a: turn_a, b: turn_b })
                .alpha(alpha)
                .beta(beta)
                .launch(&rt)
                .unwrap();
            c.to_vec().unwrap().into_iter().map(f16::to_f32).collect::<Vec<_>>()
        };
        let plain = multiplied(false, false, 1.0, 0.0);
        for (turn_a, turn_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let found = multiplied(turn_a, turn_b, 2.0, -1.0);
            assert_eq!(found, plain.iter().map(|sum| 2.0 * sum - 3.0).collect::<Vec<_>>(), "{turn_a} {turn_b}");
        }
    }

    #[test]
    fn combinations_without_a_kernel_write_nothing() {
        let rt = Runtime::cpu();
        let a = Buffer::from_slice(&rt, &[f16::ONE; 4]).unwrap();
        let mut c = Buffer::from_slice(&rt, &[f16::ONE; 4]).unwrap();
        let refused = Matmul::new(a.view([2, 2]).unwrap(), a.view([2, 2]).unwrap(), c.view_mut([2, 2]).unwrap())
            .beta(2.0)
            .epilogue(Epilogue::Relu)
            .launch(&rt);
        assert!(matches!(refused, Err(Error::InvalidArgument { what: "matmul", .. })), "{refused:?}");
        assert_eq!(c.to_vec().unwrap(), [f16::ONE; 4]);
        let (a, mut c) = (Buffer::from_slice(&rt, &[1i8; 4]).unwrap(), Buffer::from_slice(&rt, &[7i32; 4]).unwrap());
        let refused = Matmul::new(a.view([2, 2]).unwrap(), a.view([2, 2]).unwrap(), c.view_mut([2, 2]).unwrap())
            .epilogue(Epilogue::LeakyRelu(0.5))
            .launch(&rt);
        assert!(matches!(refused, Err(Error::InvalidArgument { what: "matmul", .. })), "{refused:?}");
        assert_eq!(c.to_vec().unwrap(), [7; 4]);
    }
}
