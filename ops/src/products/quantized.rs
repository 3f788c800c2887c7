//! Products of quantized matrices.

use super::align_operand::with_copies;
use super::candidates::{Target, TileKernels, copy_of};
use super::mixed_input::MixedInput;
use super::multiply;
use super::multiply::{Kernels as _, MatmulVariant};
use super::plan::{Layout, MatmulPlan, Orientation, Problem, Variant};
use super::product::{GemmShape, Operand, Transpose, is_work};
use super::scratch_matrix::ScratchMatrix;
use crate::decide::Limits;
use crate::planner::Question;
use crate::planner::cost::Traffic;
use crate::planner::device::Math;
use crate::stream_k::Workspace;
use crate::{Executor, decide};
use tilewright_core::{AsSlice, AsView, AsViewMut, KernelDesc, SliceArg, ViewArg, ViewMutArg};
use tilewright_kernels::matmul_int8::quantized::{int8_row_sums, matmul_int8 as quantized, quantize};
use tilewright_runtime::{Error, Result, Scratch};

const WHAT: &str = "matmul_int8";

/// The scales and the zero points of quantized matrices: an element stands for `scale * (element - zero)`. The example
/// of [`matmul_int8`] has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// The scale of A: finite, not zero.
    pub scale_a: f32,
    /// The scale of B: finite, not zero.
    pub scale_b: f32,
    /// The scale of C: finite, not zero, with a finite reciprocal.
    pub scale_c: f32,
    /// The zero point of A.
    pub zero_a: i8,
    /// The zero point of B.
    pub zero_b: i8,
    /// The zero point of C.
    pub zero_c: i8,
}

/// The product of quantized matrices, quantized.
///
/// The sums of `(a - zero_a) (b - zero_b)` are exact. Each is converted to f32 and multiplied by `scale_a`, `scale_b`
/// and `1 / scale_c`, in this order, with a rounding to f32 after each. The result is rounded to nearest even, `zero_c`
/// is added, and it saturates.
///
/// Sums are made in 32 bits, which limits `k`: to 33 025 for the most distant zero points, to 131 071 without any.
///
/// Scratch memory may hold copies of operands, as for [`Matmul`](super::Matmul), the sums of their rows and columns,
/// and the product before it is quantized.
///
/// Shapes: `a` is `m x k`, `b` `k x n`, `c` `m x n`. Errors: [`Error::Shape`];
/// [`Error::InvalidArgument`] where a sum may leave 32 bits, and for scales that [`Quantization::check`] refuses;
/// otherwise as [`Matmul`](super::Matmul).
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, ops};
/// use tilewright::ops::Quantization;
///
/// let rt = Runtime::cpu();
/// let (a, b) = (Buffer::from_slice(&rt, &[1i8, 2])?, Buffer::from_slice(&rt, &[3i8, 5])?);
/// let mut c = Buffer::<i8>::zeros(&rt, 1)?;
/// let q = Quantization { scale_a: 0.5, scale_b: 0.5, scale_c: 0.25, zero_a: 0, zero_b: 1, zero_c: -1 };
/// ops::matmul_int8(&rt, a.view([1, 2])?, b.view([2, 1])?, c.view_mut([1, 1])?, &q)?;
/// // The sum is 1 (3 - 1) + 2 (5 - 1), the result 10 * 0.5 * 0.5 / 0.25 - 1.
/// assert_eq!(c.to_vec()?, [9]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn matmul_int8<'a>(
    on: &impl Executor,
    a: impl AsView<'a, i8, 2>,
    b: impl AsView<'a, i8, 2>,
    c: impl AsViewMut<'a, i8, 2>,
    q: &Quantization,
) -> Result<()> {
    q.check()?;
    let (a, b, c) = (a.as_view_arg(), b.as_view_arg(), c.as_view_mut_arg());
    let e = GemmShape::of(WHAT, a.dims(), b.dims(), c.as_view().dims(), Transpose::NONE)?;
    if e.k > q.max_depth() {
        let why = format!(
            "k is {}: with zero points of {} and {}, sums of more than {} products may leave 32 bits",
            e.k,
            q.zero_a,
            q.zero_b,
            q.max_depth()
        );
        return Err(Error::InvalidArgument { what: WHAT, why });
    }
    if !is_work(WHAT, e, &a, &b, &c)? {
        return Ok(());
    }
    let (a, b, c) = (a.regular(), b.regular(), c.regular());
    let (a, b) = (Operand::new(a, false).as_transposed(false), Operand::new(b, false));
    // A row of ones below A makes the sums of B's columns.
    let ones = usize::from(q.zero_a != 0);
    let problem = Problem::new(e, Layout::of(&a), Layout::of(&b), &c, Math::Byte, size_of::<i8>());
    let question = Question {
        op: WHAT,
        types: "",
        version: super::kernels::version(),
        sizes: [e.m, e.n, e.k, 0],
        layout: problem.layout() | (ones as u64) << 20,
        recorded: &|| {
            vec![(&a.view).into(), (&b.view).into(), b.transposed.into(), (&c).into(), (q.zero_a != 0).into()]
        },
    };
    let candidates = |limits: Limits| {
        let (target, mut out) = (Target::new(on, limits), vec![]);
        let kernels = Kernels { after: quantization([e.m, e.n]) };
        if !b.transposed {
            // Kernels of tiles take a B that is transposed, and are slow on any other.
            let transposed = Problem { b: Layout::copied(true), ..problem };
            let front = copy_of([e.k, e.n], true, size_of::<i8>());
            target.tiles(&mut out, &transposed, Orientation::AsGiven, &kernels, front);
            out.iter_mut().for_each(|candidate| candidate.plan.transpose_b());
        }
        if out.is_empty() {
            target.tiles(&mut out, &problem, Orientation::AsGiven, &kernels, Traffic::default());
        }
        if let Some(kernel) = i8::mixed_input() {
            target.mixed_input(&mut out, &problem, kernel.desc, ones, quantization([e.m.saturating_add(ones), e.n]));
        }
        out
    };
    decide::run(on, &question, &c, candidates, |plan: &MatmulPlan| {
        // SAFETY: one launch has it at a time.
        run(on, plan, (e, ones), (a, b), unsafe { decide::again(&c) }, q)
    })
}

/// Carries out a plan.
fn run(
    on: &impl Executor,
    plan: &MatmulPlan,
    (e, ones): (GemmShape, usize),
    (a, b): (Operand<i8>, Operand<i8>),
    c: ViewMutArg<i8, 2>,
    q: &Quantization,
) -> Result<()> {
    let Variant::Tiles { copies, stream_k } = plan.variant else {
        let Some(kernel) = i8::mixed_input() else {
            return Err(Error::InvalidArgument { what: WHAT, why: format!("`{plan}` is no plan of this product") });
        };
        let mut product = ScratchMatrix::new(on, [e.m.saturating_add(ones), e.n], 1)?;
        let rows = row_sums(on, a.view, q.zero_b)?;
        MixedInput::of(on, kernel, &a, ones)?.multiply(on, &b, product.view_mut()?, 1.0, plan.options())?;
        return finish(on, e, q, product.first_rows(e.m)?, c, (&rows).as_slice_arg(), product.tail(e.m));
    };
    let b = if copies.b.is_none() { b.as_transposed(true) } else { b };
    with_copies::<i8, u8>(on, copies, (a, b), |a, b| {
        let (rows, columns) = (row_sums(on, a.view, q.zero_b)?, row_sums(on, b.view, q.zero_a)?);
        let [za, zb, zc] = q.zeros();
        let [sa, sb, inverse] = q.scales();
        if !stream_k {
            let call = quantized(a.view, b.view, c, &rows, &columns, sa, sb, inverse, za, zb, zc);
            return on.launch_as(call, plan.options());
        }
        let mut workspace = Workspace::new(on)?;
        let mut product = ScratchMatrix::new(on, [e.m, e.n], 1)?;
        let sums = product.view_mut()?;
        // SAFETY: the workspace was made for this launch.
        let call = unsafe { <i8 as multiply::Kernels>::call(VARIANT, a.view, b.view, workspace.parts(), sums, 1.0) };
        on.launch_as(call, plan.options())?;
        finish(on, e, q, product.view()?, c, (&rows).as_slice_arg(), (&columns).as_slice_arg())
    })
}

/// The kernels of products whose results are quantized.
struct Kernels {
    /// The launch of `quantize`.
    after: Traffic,
}

/// A launch of `quantize`: it reads a product of i32 from scratch memory and writes bytes.
fn quantization([rows, cols]: [usize; 2]) -> Traffic {
    let area = rows.saturating_mul(cols);
    let scratch = area.saturating_mul(size_of::<i32>());
    Traffic { bytes: scratch.saturating_add(area), scratch }
}

impl TileKernels for Kernels {
    fn desc(&self, order: Transpose, stream_k: bool) -> Option<&'static KernelDesc> {
        let desc = if stream_k { <i8 as multiply::Kernels>::desc(VARIANT) } else { quantized::DESCS[0] };
        (order == Transpose::OF_B).then_some(desc)
    }

    fn after(&self) -> Option<(&'static KernelDesc, Traffic)> {
        Some((quantize::DESCS[0], self.after))
    }
}

/// Of the product that is quantized then.
const VARIANT: MatmulVariant = MatmulVariant { transpose: Transpose::OF_B, tf32: false };

impl Quantization {
    /// Checks the scales.
    ///
    /// Errors: [`Error::InvalidArgument`] where a scale or `1 / scale_c` is zero, infinite or a NaN: a result could be
    /// a NaN, which no integer stands for.
    ///
    /// # Examples
    /// ```
    /// let q = tilewright::ops::Quantization {
    ///     scale_a: 0.5,
    ///     scale_b: 0.0,
    ///     scale_c: 1.0,
    ///     zero_a: 0,
    ///     zero_b: 0,
    ///     zero_c: 0,
    /// };
    /// assert!(q.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        for (name, scale) in [("scale_a", self.scale_a), ("scale_b", self.scale_b), ("scale_c", self.scale_c)] {
            if scale == 0.0 || !scale.is_finite() {
                let why = format!("{name} is {scale}: a scale must be a finite number other than zero");
                return Err(Error::InvalidArgument { what: WHAT, why });
            }
        }
        if !(1.0 / self.scale_c).is_finite() {
            let why = format!("scale_c is {:e}: its reciprocal must be a finite number", self.scale_c);
            return Err(Error::InvalidArgument { what: WHAT, why });
        }
        Ok(())
    }

    /// The factors of a sum, in their order.
    fn scales(&self) -> [f32; 3] {
        [self.scale_a, self.scale_b, 1.0 / self.scale_c]
    }

    /// The greatest K at which no sum leaves 32 bits: that of the largest products of elements less their zero
    /// points.
    fn max_depth(&self) -> usize {
        let reach = |zero: i8| usize::from(i8::MAX.abs_diff(zero).max(i8::MIN.abs_diff(zero)));
        i32::MAX as usize / (reach(self.zero_a) * reach(self.zero_b))
    }

    fn zeros(&self) -> [f32; 3] {
        [self.zero_a, self.zero_b, self.zero_c].map(f32::from)
    }
}

/// The sums of rows, which nobody asks for where the other operand's zero point is 0.
fn row_sums(on: &impl Executor, v: ViewArg<i8, 2>, zero: i8) -> Result<Scratch<i32>> {
    let mut sums = on.stream().scratch::<i32>(if zero == 0 { 0 } else { v.dims()[0] })?;
    if zero != 0 {
        on.launch(int8_row_sums(v, &mut sums))?;
    }
    Ok(sums)
}

/// Quantizes a product.
fn finish(
    on: &impl Executor,
    e: GemmShape,
    q: &Quantization,
    sums: ViewArg<i32, 2>,
    c: ViewMutArg<i8, 2>,
    rows: SliceArg<i32>,
    columns: SliceArg<i32>,
) -> Result<()> {
    let [za, zb, zc] = q.zeros();
    let [sa, sb, inverse] = q.scales();
    on.launch(quantize(sums, c, rows, columns, e.k, sa, sb, inverse, za, zb, zc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::AsSliceMut;
    use tilewright_runtime::Runtime;

    #[test]
    fn ties_are_rounded_in_the_order_of_the_factors() {
        let q = Quantization { scale_a: 0.05, scale_b: 0.1, scale_c: 0.01, zero_a: 0, zero_b: 0, zero_c: 0 };
        // A row (s / 127, s % 127) by the column (127, 1) makes s.
        let sums: Vec<i32> = (-260..=260).collect();
        let a: Vec<i8> = sums.iter().flat_map(|s| [(s / 127) as i8, (s % 127) as i8]).collect();
        let m = sums.len();
        let mut c = vec![99i8; sums.len()];
        let (x, y) = (a.as_slice(), [127i8, 1]);
        let product = c.as_mut_slice().as_slice_mut_arg().view([m, 1]).unwrap();
        let (x, y) = (x.as_slice_arg().view([m, 2]).unwrap(), y.as_slice().as_slice_arg().view([2, 1]).unwrap());
        matmul_int8(&Runtime::cpu(), x, y, product, &q).unwrap();
        let wanted = |&s: &i32| (s as f32 * 0.05 * 0.1 * (1.0 / 0.01f32)).round_ties_even().clamp(-128.0, 127.0) as i8;
        assert_eq!(c, sums.iter().map(wanted).collect::<Vec<_>>());
    }

    #[test]
    fn scales_of_which_no_integer_stands_for_a_product_are_refused() {
        let fine = Quantization { scale_a: 1.0, scale_b: -1e38, scale_c: 1e-38, zero_a: 0, zero_b: 0, zero_c: 0 };
        assert!(fine.check().is_ok());
        let refused = |q: Quantization, what: &str| {
            let (x, mut c) = ([1i8], [99i8]);
            let view = || x.as_slice().as_slice_arg().view([1, 1]).unwrap();
            let product = c.as_mut_slice().as_slice_mut_arg().view([1, 1]).unwrap();
            let e = matmul_int8(&Runtime::cpu(), view(), view(), product, &q).unwrap_err().to_string();
            assert!(e.contains(what) && c == [99], "{e}");
        };
        for scale in [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            refused(Quantization { scale_a: scale, ..fine }, "scale_a");
            refused(Quantization { scale_b: scale, ..fine }, "scale_b");
            refused(Quantization { scale_c: scale, ..fine }, "scale_c");
        }
        refused(Quantization { scale_c: 1e-39, ..fine }, "reciprocal");
    }

    /// B is given by rows: without scratch memory it is read as it is.
    #[test]
    fn products_without_scratch_memory() {
        let (m, n, k) = (17, 40, 33);
        let q = Quantization { scale_a: 1.0, scale_b: 1.0, scale_c: 8.0, zero_a: 0, zero_b: 0, zero_c: 1 };
        let a: Vec<i8> = (0..m * k).map(|i| (i % 7) as i8 - 3).collect();
        let b: Vec<i8> = (0..k * n).map(|i| (i % 11) as i8 - 5).collect();
        let mut wanted = vec![];
        for rt in [Runtime::cpu(), Runtime::emulator(3)] {
            for limit in [rt.scratch_limit(), 0] {
                rt.set_scratch_limit(limit);
                let mut c = vec![99i8; m * n];
                let x = a.as_slice().as_slice_arg().view([m, k]).unwrap();
                let y = b.as_slice().as_slice_arg().view([k, n]).unwrap();
                matmul_int8(&rt, x, y, c.as_mut_slice().as_slice_mut_arg().view([m, n]).unwrap(), &q).unwrap();
                if wanted.is_empty() {
                    wanted = c.clone();
                }
                assert_eq!(c, wanted, "{limit}");
            }
        }
    }

    #[test]
    fn a_depth_whose_sums_leave_32_bits_is_refused() {
        for (zero_a, zero_b, k) in [(-128, -128, 33_025), (127, 127, 33_025), (0, 0, 131_071), (127, 0, 65_793)] {
            let q = Quantization { scale_a: 1.0, scale_b: 1.0, scale_c: 1e8, zero_a, zero_b, zero_c: 0 };
            assert_eq!(q.max_depth(), k, "{zero_a} {zero_b}");
            for (k, fits) in [(k, true), (k + 1, false)] {
                let extreme = |zero: i8| if zero < 0 { 127i8 } else { -128 };
                let (a, b) = (vec![extreme(zero_a); k], vec![extreme(zero_b); k]);
                let mut c = [99i8];
                let product = c.as_mut_slice().as_slice_mut_arg().view([1, 1]).unwrap();
                let x = a.as_slice().as_slice_arg().view([1, k]).unwrap();
                let y = b.as_slice().as_slice_arg().view([k, 1]).unwrap();
                match matmul_int8(&Runtime::cpu(), x, y, product, &q) {
                    Ok(()) => assert!(fits && c == [21], "{k}: {c:?}"),
                    Err(e) => assert!(!fits && matches!(e, Error::InvalidArgument { .. }), "{k}: {e}"),
                }
            }
        }
    }
}
