//! Waits of consumers for products, and the release of buffers after them.

use crate::codegen::context::Codegen;
use crate::codegen::text::scalar;
use crate::ir::{Stmt, StmtKind};
use crate::plan::warp_specialized::{Pipeline, Step};

impl Codegen<'_> {
    /// What a consumer does after a statement.
    pub(super) fn after(&mut self, s: &Stmt, p: &Pipeline) {
        for step in p.waits.after.get(&s.id).into_iter().flatten() {
            match *step {
                Step::Wait { product, later, to } => {
                    let (name, site) = (scalar(product), self.site(self.f.values[product.0 as usize].span));
                    self.line(format!(
                        "let {name} = d::wgmma_done::<_, _, {later}, {}>({name}, {site});",
                        p.dots[&product].tiling.n
                    ));
                    self.landed(product, p.dots[&product].tiling.accumulator(self.f.shape(product)));
                    if let Some(var) = to {
                        self.plain(&StmtKind::Assign(var, product).into());
                    }
                }
                Step::Release(operand_group) => self.release(p, operand_group),
            }
        }
    }
}
