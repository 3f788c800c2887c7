//! Scaled products.

use super::align_operand::with_copies;
use super::candidates::{Target, TileKernels};
use super::plan::{Layout, MatmulPlan, Orientation, Problem, Variant};
use super::product::{GemmShape, Operand, Transpose};
use crate::planner::Question;
use crate::planner::cost::Traffic;
use crate::planner::device::Math;
use crate::stream_k::Workspace;
use crate::{Executor, decide};
use tilewright_core::{KernelDesc, ViewArg, ViewMutArg, f16};
use tilewright_kernels as k;
use tilewright_runtime::{Error, Result};

/// `C = alpha A B + beta C`, of checked matrices; see [`Matmul::alpha`](super::Matmul::alpha).
pub(super) fn scaled(
    on: &impl Executor,
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
    let kernels = Kernels { beta: beta != 0.0 };
    let (a, b) = (as_is(a), as_is(b));
    let problem = Problem::new(e, Layout::of(&a), Layout::of(&b), &c, Math::Half, size_of::<f16>());
    let problem = problem.of_rows(decide::batch_size(on, e.m));
    let question = Question {
        op: if kernels.beta { "gemm" } else { "scaled_product" },
        types: "",
        version: super::kernels::version(),
        sizes: [problem.shape.m, e.n, e.k, 0],
        layout: problem.layout(),
        recorded: &|| vec![(&a.view).into(), (&b.view).into(), (&c).into()],
    };
    let candidates = |limits| {
        let mut out = vec![];
        Target::new(on, limits).tiles(&mut out, &problem, Orientation::AsGiven, &kernels, Traffic::default());
        out
    };
    decide::run(on, &question, &c, candidates, |plan: &MatmulPlan| {
        let Variant::Tiles { copies, stream_k } = plan.variant else {
            return Err(Error::InvalidArgument {
                what: "gemm",
                why: format!("`{plan}` is no plan of a scaled product"),
            });
        };
        // SAFETY: one launch has it at a time.
        let c = unsafe { decide::again(&c) };
        with_copies::<f16, u16>(on, copies, (a, b), |a, b| {
            let mut workspace = Workspace::<f32>::of_scheduler(on, stream_k)?;
            // SAFETY: `old` and `c` are an `alias` of the kernel. Each program reads a tile before it stores that tile.
            let old = unsafe { c.aliased() };
            let (sums, semaphores) = workspace.parts();
            // SAFETY: the launcher takes no configuration that needs a larger workspace.
            let call = unsafe {
                match kernels.beta {
                    false => scaled_product(a.view, b.view, old, sums, semaphores, c, alpha, beta),
                    true => scaled(a.view, b.view, old, sums, semaphores, c, alpha, beta),
                }
            };
            on.launch_as(call, plan.options())
        })
    })
}

/// The kernel of scaled products, with a `beta` or without.
struct Kernels {
    beta: bool,
}

impl TileKernels for Kernels {
    fn desc(&self, order: Transpose, _: bool) -> Option<&'static KernelDesc> {
        use k::gemm::scaled::{gemm, scaled_product};
        (order == Transpose::NONE).then_some(if self.beta { gemm::DESCS[0] } else { scaled_product::DESCS[0] })
    }
}
