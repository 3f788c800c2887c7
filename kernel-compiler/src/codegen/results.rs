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
    pub(super) fn define_results(&mut self, v: Value, layout: &Layout, results: Vec<Regs>) {
        for (i, regs) in results.into_iter().enumerate() {
            if i == 0 {
                self.define_result(v, layout, &regs);
            } else {
                self.results.insert((v, i), (layout.clone(), regs));
            }
        }
    }

    /// A further result.
    pub(super) fn further_result(&mut self, v: Value, of: Value, index: usize) {
        let (layout, regs) = self.results[&(of, index)].clone();
        self.define_result(v, &layout, &regs);
    }

    fn define_result(&mut self, v: Value, layout: &Layout, regs: &Regs) {
        let t = self.f.ty(v).dtype;
        if self.f.ty(v).is_scalar() {
            self.line(Stmt::define(v, t.into(), regs.at(0)));
            return;
        }
        self.line(Stmt::define(v, Ty::array(t, layout.regs()), each(regs.at(Local::R))));
        self.defined(v, layout, Regs::of(v));
    }
}
