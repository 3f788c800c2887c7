//! The waits of consumers for products, and the release of buffers after them.

use crate::codegen::context::Codegen;
use crate::codegen::pieces::done;
use crate::ir::{self, StmtKind};
use crate::plan::warp_specialized::{Pipeline, Step};
use crate::thread_ir::Stmt;

impl Codegen<'_> {
    /// The steps of a consumer after a statement.
    pub(super) fn after(&mut self, s: &ir::Stmt, p: &Pipeline) {
        for step in p.wgmma_waits.after.get(&s.id).into_iter().flatten() {
            match *step {
                Step::Wait { product, later, to } => {
                    let site = self.site(self.f.values[product.0 as usize].span);
                    let sums = done(product, later, p.dots[&product].tiling.n, site);
                    self.line(Stmt::bind(product, sums));
                    self.landed(product, &p.dots[&product].tiling.accumulator(self.f.shape(product)));
                    if let Some(var) = to {
                        self.plain(&StmtKind::Assign(var, product).into());
                    }
                }
                Step::Release(operand_group) => self.release(p, operand_group),
            }
        }
    }
}
