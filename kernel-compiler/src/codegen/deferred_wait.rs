//! Loops whose products are waited for one iteration late.

use crate::codegen::context::Codegen;
use crate::codegen::pieces::done;
use crate::codegen::role::Role;
use crate::codegen::warp_specialize;
use crate::ir::{self, Value};
use crate::plan::warp_specialized::Pipeline;
use crate::thread_ir::{Device, Expr, Name, Ring, Stmt, Ty, call};

impl Codegen<'_> {
    /// The loop `s`, if its products are waited for late; whether it has been lowered.
    pub(super) fn deferred_loop(&mut self, s: &ir::Stmt, body: &[ir::Stmt]) -> bool {
        let Role::Consumer(p) = self.role else { return false };
        let Some(&late) = p.late.get(&s.id) else { return false };
        let (c, m) = (p.operand_groups[late.operand_group].ring, self.var(late.of.var));
        let site = self.site(self.f.values[late.of.product.0 as usize].span);
        self.lines(vec![
            Stmt::variable(Name::Ring(Ring::Used, c), Some(Ty::U32), Some(0.into())),
            Stmt::variable(Name::Ring(Ring::Late, c), None, Some(false.into())),
        ]);
        let outer = self.late.replace(late.of);
        self.unroll(s, |cx| cx.stmts(body));
        self.late = outer;
        let sums = done(m, 0, p.dots[&late.of.product].tiling.n, site);
        self.lines(vec![Stmt::assign(m, sums), self.give_back(p, c)]);
        true
    }

    /// After the last product of an iteration.
    pub(super) fn release_deferred(&mut self, p: &Pipeline, c: usize) {
        self.lines(vec![
            call!(Device::WgmmaWaitPrevious; 0).into(),
            self.give_back(p, c),
            Stmt::assign(Name::Ring(Ring::Used, c), Name::Ring(Ring::Stage, c)),
            Stmt::assign(Name::Ring(Ring::Late, c), true),
        ]);
    }

    /// The buffers of the iteration before, if there was one.
    fn give_back(&self, p: &Pipeline, c: usize) -> Stmt {
        let used = if planted!("deferred-release-of-current-stage") { Ring::Stage } else { Ring::Used };
        let (stage, when) = (Name::Ring(used, c), Expr::from(Name::Ring(Ring::Late, c)));
        warp_specialize::empty(c, p.rings[c].copiers, stage, Some(when)).into()
    }

    /// Whether a product is waited for where it stands.
    pub(super) fn ends_at_once(&self, v: Value) -> bool {
        let late = self.late.is_some_and(|l| l.product == v);
        !late && !self.is_chained(v) && !self.is_deferred(v)
    }

    /// Whether its wait stands further down.
    pub(super) fn is_deferred(&self, v: Value) -> bool {
        self.role.pipeline().is_some_and(|p| p.waits.deferred.contains(&v))
    }

    /// Whether the next product goes on where this one ends.
    pub(super) fn is_chained(&self, v: Value) -> bool {
        self.role.pipeline().is_some_and(|p| p.chained.contains(&v))
    }
}
