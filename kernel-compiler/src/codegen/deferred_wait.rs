//! Loops whose products are waited for in the next iteration.

use crate::codegen::context::Codegen;
use crate::codegen::pieces::done;
use crate::codegen::role::Role;
use crate::codegen::warp_specialize;
use crate::ir;
use crate::plan::warp_specialized::Pipeline;
use crate::thread_ir::{BufferPart, Device, Expr, Name, Stmt, Ty, call};

impl Codegen<'_> {
    /// Lowers the loop `s` if its products are waited for in the next iteration. Returns whether it does.
    pub(super) fn deferred_loop(&mut self, s: &ir::Stmt, body: &[ir::Stmt]) -> bool {
        let Role::Consumer(p) = self.role else { return false };
        let Some(&deferred_wait) = p.deferred_waits.get(&s.id) else { return false };
        let (c, m) = (p.operand_groups[deferred_wait.operand_group].circular_buffer, self.var(deferred_wait.of.var));
        let site = self.site(self.f.values[deferred_wait.of.product.0 as usize].span);
        self.lines(vec![
            Stmt::variable(Name::CircularBuffer(BufferPart::Used, c), Some(Ty::U32), Some(0.into())),
            Stmt::variable(Name::CircularBuffer(BufferPart::InFlight, c), None, Some(false.into())),
        ]);
        self.unroll(s, |cx| cx.stmts(body));
        let sums = done(m, 0, p.dots[&deferred_wait.of.product].tiling.n, site);
        self.lines(vec![Stmt::assign(m, sums), self.give_back(p, c)]);
        true
    }

    /// The code after the last product of an iteration.
    pub(super) fn release_deferred(&mut self, p: &Pipeline, c: usize) {
        self.lines(vec![
            call!(Device::WgmmaWaitPrevious; 0).into(),
            self.give_back(p, c),
            Stmt::assign(Name::CircularBuffer(BufferPart::Used, c), Name::CircularBuffer(BufferPart::Stage, c)),
            Stmt::assign(Name::CircularBuffer(BufferPart::InFlight, c), true),
        ]);
    }

    /// The release of the buffers of the previous iteration, if there was one.
    fn give_back(&self, p: &Pipeline, c: usize) -> Stmt {
        let used = if planted!("deferred-release-of-current-stage") { BufferPart::Stage } else { BufferPart::Used };
        let (stage, when) = (Name::CircularBuffer(used, c), Expr::from(Name::CircularBuffer(BufferPart::InFlight, c)));
        warp_specialize::empty(c, p.circular_buffers[c].copiers, stage, Some(when)).into()
    }
}
