//! 3xTF32: products of f32 on tensor cores, whose operands are decomposed into two tf32 each. And GEMV, which takes
//! operands as they are.

use super::align_operand::{AlignedOperand, CopyKernels as _, memory_of};
use super::plan::{MatmulPlan, Variant};
use super::product::{GemmShape, Operand};
use super::scratch_matrix::ScratchMatrix;
use crate::Executor;
use crate::stream_k::Workspace;
use tilewright_core::{KernelDesc, SliceMutArg, ViewArg, ViewMutArg};
use tilewright_kernels::matmul_f32::f32_products as k;
use tilewright_runtime::{Error, LaunchOptions, Pdl, Result};

/// Columns of a program that makes a row, of B as it is, most often, and of B transposed, at least.
pub(super) const ROW_COLUMNS: [usize; 2] = [32, 4];
/// The smallest and the largest tile of `matmul_f32_3xtf32`.
const MIN_TILE: [usize; 2] = [16, 64];
const MAX_TILE: [usize; 2] = [128, 128];
/// Columns of a program that makes a row, at most.
const MAX_ROW_COLUMNS: usize = 64;

/// `y = xᵀ`.
pub(super) fn transpose(on: &impl Executor, x: ViewArg<f32, 2>, y: ViewMutArg<f32, 2>) -> Result<()> {
    let to = y.as_view();
    // SAFETY: the same memory, borrowed as long, as integers of the same size: any bits are one.
    let (x_bits, y_bits) =
        unsafe { (memory_of::<f32, u32, 2>(x), SliceMutArg::<u32>::from_raw(to.addr(), to.span(), to.device())) };
    let (x, y) = (x_bits.strided(x.dims(), x.strides())?, y_bits.strided(to.dims(), to.strides())?);
    on.launch(u32::align_call(x, y, true))
}

pub(super) fn desc(b_transposed: bool) -> &'static KernelDesc {
    if b_transposed { k::matmul_f32_3xtf32_nt::DESCS[0] } else { k::matmul_f32_3xtf32_nn::DESCS[0] }
}

pub(super) fn presplit_desc() -> &'static KernelDesc {
    k::matmul_f32_3xtf32_presplit::DESCS[0]
}

/// An axis of the grid enumerates output tiles. The bounds are columns of the narrowest tiles.
pub(super) const MAX_COLUMNS: usize = 65535 * MIN_TILE[1];
pub(super) const MAX_GEMV_COLUMNS: usize = 65535 * ROW_COLUMNS[1];

/// The workspace of a GEMV of any type.
pub(super) fn gemv_workspace(on: &impl Executor, e: GemmShape, splits: usize) -> Result<Workspace<f32>> {
    workspace(on, e, splits, [1, ROW_COLUMNS[1]], [1, MAX_ROW_COLUMNS])
}

/// The workspace of a launch whose tiles are within `min` and `max`: whole tiles of partial sums, and a semaphore for
/// each tile. It is empty where programs share no tile.
fn workspace(
    on: &impl Executor,
    e: GemmShape,
    splits: usize,
    min: [usize; 2],
    max: [usize; 2],
) -> Result<Workspace<f32>> {
    if splits == 1 {
        return Workspace::none(on);
    }
    let padded = |extent: usize, most: usize| extent.checked_add(most - 1);
    let sums = padded(e.m, max[0]).zip(padded(e.n, max[1])).and_then(|(m, n)| m.checked_mul(n)?.checked_mul(splits));
    Workspace::of(on, sums, e.m.div_ceil(min[0]).checked_mul(e.n.div_ceil(min[1])))
}

/// `f(op(A) op(B))` by a plan of 3xTF32.
pub(super) fn multiply(
    on: &impl Executor,
    e: GemmShape,
    plan: &MatmulPlan,
    (a, b): (Operand<f32>, Operand<f32>),
    c: ViewMutArg<f32, 2>,
    negative_slope: f32,
) -> Result<()> {
    let options = LaunchOptions::new().config(plan.config.map(|c| c.id));
    let a = a.as_transposed(false).view;
    let Variant::Tf32x3 { splits, copy_b } = plan.variant else {
        let (a, b) = (Decomposed::of(on, a)?, Decomposed::of(on, b.as_transposed(true).view)?);
        let (a_high, a_low, b_high, b_low) = (a.high.view()?, a.low.view()?, b.high.view()?, b.low.view()?);
        return on.launch_as(k::matmul_f32_3xtf32_presplit(a_high, a_low, b_high, b_low, c, negative_slope), options);
    };
    if copy_b {
        let rows = AlignedOperand::<u32>::new(on, &b, b.transposed)?;
        let copied: Operand<f32> = rows.operand()?;
        if !copied.tma_compatible() {
            return Err(Error::TooLarge { len: b.view.span(), size: size_of::<f32>() });
        }
        let plan = MatmulPlan { variant: Variant::Tf32x3 { splits, copy_b: false }, ..*plan };
        return multiply(on, e, &plan, (Operand::new(a, false), copied), c, negative_slope);
    }
    let mut workspace = workspace(on, e, splits, MIN_TILE, MAX_TILE)?;
    let (sums, semaphores) = workspace.parts();
    // Last, so that nothing but this launch stands before the next, not even in a graph.
    let a = Decomposed::of(on, a)?;
    let (high, low) = (a.high.view()?, a.low.view()?);
    // SAFETY: the scratch memory is as large as every configuration asks.
    let call = unsafe {
        match b.transposed {
            true => k::matmul_f32_3xtf32_nt(high, low, b.view, sums, semaphores, c, negative_slope, splits),
            false => k::matmul_f32_3xtf32_nn(high, low, b.view, sums, semaphores, c, negative_slope, splits),
        }
    };
    // SAFETY: the launch in front makes the parts of A, which this one reads after its wait, as it stores after it.
    let options = options.pdl(unsafe { Pdl::allowed() });
    on.launch_as(call, options)
}

/// Products of a batch, whose matrices of A stand one below the other, `rows` rows apart.
pub(super) fn multiply_batch(
    on: &impl Executor,
    a: Operand<f32>,
    rows: usize,
    b: ViewArg<f32, 3>,
    c: ViewMutArg<f32, 3>,
    options: LaunchOptions,
) -> Result<()> {
    let a = Decomposed::of(on, a.as_transposed(false).view)?;
    on.launch_as(k::batched_matmul_f32_3xtf32(a.high.view()?, a.low.view()?, rows, b, c), options)
}

/// The two parts of an operand, in scratch memory.
struct Decomposed {
    high: ScratchMatrix<f32>,
    low: ScratchMatrix<f32>,
}

impl Decomposed {
    fn of(on: &impl Executor, x: ViewArg<f32, 2>) -> Result<Decomposed> {
        let (mut high, mut low) = (ScratchMatrix::aligned(on, x.dims())?, ScratchMatrix::aligned(on, x.dims())?);
        let (h, l) = (high.view_mut()?, low.view_mut()?);
        // Columns in memory are read as rows of the transpose.
        on.launch(if x.strides()[1] == 1 {
            k::tf32_decompose(x, h, l)
        } else {
            k::tf32_decompose_transposed(x.flipped(), h, l)
        })?;
        Ok(Decomposed { high, low })
    }
}
