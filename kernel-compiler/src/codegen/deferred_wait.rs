//! Loops whose products are waited for one iteration late.

use crate::codegen::context::Codegen;
use crate::codegen::role::Role;
use crate::codegen::warp_specialize;
use crate::ir::{Stmt, Value};
use crate::plan::warp_specialized::Pipeline;

impl Codegen<'_> {
    /// The loop `s`, if its products are waited for late; whether it has been lowered.
    pub(super) fn deferred_loop(&mut self, s: &Stmt, body: &[Stmt]) -> bool {
        let Role::Consumer(p) = self.role else { return false };
        let Some(&late) = p.late.get(&s.id) else { return false };
        let (c, m) = (p.operand_groups[late.operand_group].ring, self.var(late.of.var));
        let site = self.site(self.f.values[late.of.product.0 as usize].span);
        self.line(format!("let mut used{c}: u32 = 0; let mut late{c} = false;"));
        let outer = self.late.replace(late.of);
        self.unroll(s, |cx| cx.stmts(body));
        self.late = outer;
        self.line(format!(
            "{m} = d::wgmma_done::<_, _, 0, {}>({m}, {site}); {}",
            p.dots[&late.of.product].tiling.n,
            self.give_back(p, c)
        ));
        true
    }

    /// After the last product of an iteration.
    pub(super) fn release_deferred(&mut self, p: &Pipeline, c: usize) {
        self.line(format!("d::wgmma_wait_previous(0); {} used{c} = s{c}; late{c} = true;", self.give_back(p, c)));
    }

    /// The buffers of the iteration before, if there was one.
    fn give_back(&self, p: &Pipeline, c: usize) -> String {
        let used = if planted!("deferred-release-of-current-stage") { "s" } else { "used" };
        warp_specialize::empty(c, p.rings[c].copiers, &format!("{used}{c}"), &format!("late{c} & "))
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
