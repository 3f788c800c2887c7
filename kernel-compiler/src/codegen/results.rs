//! The results of operations that choose the layout of their result: reductions, scans, sorts, and parts of tiles.
//! An operation on several tiles has one result for each.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::each;
use crate::ir::Value;
use crate::layout::linear::Layout;
use crate::thread_ir::{Local, Stmt, Ty};

impl Codegen<'_> {
    /// The results of an operation in this layout. The first is the value's own.
    /// [`Op::Result`](crate::ir::Op::Result) takes the others.
    pub(super) fn define_results(&mut self, v: Value, layout: &Layout, results: Vec<Regs>, site: u32) {
        for (i, regs) in results.into_iter().enumerate() {
            if i == 0 {
                self.define_result(v, layout, &regs, site);
            } else {
                self.results.insert((v, i), (layout.clone(), regs));
            }
        }
    }

    /// A further result.
    pub(super) fn further_result(&mut self, v: Value, of: Value, index: usize) {
        let (layout, regs) = self.results[&(of, index)].clone();
        let site = self.site(self.f.span(v));
        self.define_result(v, &layout, &regs, site);
    }

    fn define_result(&mut self, v: Value, layout: &Layout, regs: &Regs, site: u32) {
        let t = self.f.ty(v).dtype;
        if self.f.ty(v).is_scalar() {
            self.line(Stmt::define(v, t.into(), regs.at(0)));
            return;
        }
        let of_value = self.plan.layouts.of(v).clone();
        self.line(Stmt::define(v, Ty::array(t, layout.regs()), each(regs.at(Local::R))));
        let here = Regs::of(v);
        let converted = match of_value == *layout {
            true => here.clone(),
            false => self.convert(&here, t, layout, &of_value, site),
        };
        self.at_hand(v, layout.clone(), here);
        self.at_hand(v, of_value, converted);
    }
}
