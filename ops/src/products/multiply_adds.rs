//! Plans by f32 fused multiply-adds: of few rows, and of a small K.

use super::candidates::{PINNED_SPLITS, Target};
use super::f32_3xtf32;
use super::plan::{MatmulPlan, Orientation, Problem, Variant};
use crate::Executor;
use crate::planner::Candidate;
use crate::planner::cost::Moved;
use crate::planner::device::Math;
use crate::planner::gemm::GemmWork;
use tilewright_core::{KernelDesc, Width};

/// The largest K of outer products. Beyond it, tiles that go through shared memory take less time.
const MAX_DEPTH: usize = 16;

impl<L: Executor> Target<'_, L> {
    /// Plans by a GEMV kernel for each row.
    pub fn gemv(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        orientation: Orientation,
        kernel: &'static KernelDesc,
    ) {
        const MAX_ROWS: usize = 64;
        const MIN_DEPTH: usize = 256;
        if !self.allows(kernel)
            || p.shape.m > MAX_ROWS && self.limits.pin.is_none()
            || p.shape.n > f32_3xtf32::MAX_GEMV_COLUMNS
            || self.columns_are_unbounded(orientation)
        {
            return;
        }
        let programs =
            p.shape.m.saturating_mul(p.shape.n.div_ceil(f32_3xtf32::ROW_COLUMNS[usize::from(p.b.transposed)])).max(1);
        let most = (p.shape.k / MIN_DEPTH).max(1);
        let full = if self.limits.scratch > 0 && !self.on.batch_invariant() {
            (2 * self.num_sms / programs).clamp(1, most)
        } else {
            1
        };
        let pinned = self.limits.pin.map(|_| [PINNED_SPLITS, PINNED_SPLITS]);
        let [few, many] = pinned.unwrap_or([full.div_ceil(4), full]);
        for splits in if few == many { vec![few] } else { vec![few, many] } {
            let work = GemmWork::gemv(p.shape, p.bytes, (p.a.tma && p.b.tma, p.c.tma), p.b.transposed, splits);
            let plan = MatmulPlan { orientation, variant: Variant::Gemv { splits }, kernel, config: None };
            self.add_configurations(out, plan, &work, p.width(p.a, p.b), Moved::default());
        }
    }

    /// Plans that add up the outer products of a small K. The results are most of the memory traffic.
    pub fn outer_products(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        orientation: Orientation,
        kernel: &'static KernelDesc,
    ) {
        let is_pinned = self.limits.pin.is_some();
        if !self.allows(kernel) || p.shape.k > MAX_DEPTH || self.is_cpu() && !is_pinned {
            return;
        }
        let work = GemmWork { math: Math::Gemv, tma: false, grid: true, ..p.work(p.a, p.b) };
        let plan = MatmulPlan { orientation, variant: Variant::OuterProducts, kernel, config: None };
        // The elements of A are loaded one by one, for every alignment of its rows.
        let width = if p.b.transposed { Width::Elements } else { p.b.width.min(p.c.width) };
        self.add_configurations(out, plan, &work, width, Moved::default());
    }
}
