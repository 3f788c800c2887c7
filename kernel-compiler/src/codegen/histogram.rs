//! Histograms: counters in shared memory, to which the threads add.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::parts::all;
use crate::codegen::pieces::{acts, all_of, any, of_r};
use crate::dtype::DType;
use crate::ir::Value;
use crate::plan::collectives::Collective;
use crate::thread_ir::{BinaryOp, Device, Expr, Function, Local, Scratch, Stmt, ThreadIr, call};

impl Codegen<'_> {
    pub(super) fn histogram(&mut self, v: Value, value: Value, weights: Option<Value>, mask: Option<Value>) {
        let f = self.f;
        let (site, dtype, bins) = (self.site(f.span(v)), f.ty(v).dtype, f.shape(v)[0]);
        let bytes = dtype.size();
        let collectives = &self.plan.collectives;
        let Collective::Histogram { layout, counters, bytes: scratch_bytes, result } = &collectives[&v] else {
            unreachable!("a histogram")
        };
        let index = self.demand(value, layout).at(Local::R);
        let weight = match weights {
            Some(w) => self.demand(w, layout).at(Local::R),
            None => Expr::typed(1, dtype),
        };
        let mask = mask.map(|m| self.demand(m, layout));

        // One copy of each element is counted, and padding is not.
        let once = if planted!("histogram-counts-copies") { None } else { self.once(layout, f.shape(value)) };
        let from = f.ty(value).dtype;
        let wide = if planted!("histogram-index-in-32-bits") { DType::U32 } else { DType::U64 };
        let inside = call!(Function::Cast; [from, wide]; index.clone()).less(bins).group();
        let inside = if planted!("histogram-counts-what-is-outside") { true.into() } else { inside };
        let conditions = [once, Some(Regs(inside)), mask].into_iter().flatten().map(|r| r.at(Local::R));
        let counts = all_of(conditions, BinaryOp::And);

        let scratch = || Expr::Scratch(Scratch::Unplaced);
        // An index that is not counted also gets the address of a counter.
        let limit = counters - 1;
        let place = ((call!(Function::Cast; [from, DType::U32]; index) & limit).group() * bytes).group();
        let free = result.free_mask();
        let stored: Vec<usize> = (0..result.regs()).filter(|r| r & free.regs as usize == 0).collect();
        let own = self.byte_offset(result, &stored, bytes).at(Local::R);
        let zero = call!(
            Device::SharedStore; [dtype, stored.len(), 1usize];
            of_r(scratch() + own), any(acts(free.threads)), any(Expr::zero(dtype)), site
        );
        let add = call!(
            Device::SharedAtomicAdd; [dtype, layout.regs()];
            of_r(scratch() + place), of_r(counts), of_r(weight), site
        );
        let own = self.byte_offset(result, &all(result), bytes).at(Local::R);
        let load = call!(
            Device::SharedLoad; [dtype, result.regs(), 1usize]; of_r(scratch() + own), any(true), site
        );
        let name = self.fresh();
        let steps = vec![vec![zero.into()], vec![add.into()], vec![Stmt::bind(name, load)]];
        self.node(ThreadIr::Scratch { bytes: *scratch_bytes, steps, at: self.at, site });
        self.define_results(v, result, vec![Regs::of(name)]);
    }
}
