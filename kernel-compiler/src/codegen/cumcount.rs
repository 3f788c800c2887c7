//! Counts of equal elements: each warp counts its own in shared memory, and then adds those of the warps before it.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{all_of, each, of_r};
use crate::dtype::DType;
use crate::ir::Value;
use crate::layout::linear::LANE_BITS;
use crate::plan::collectives::{CUMCOUNT_BYTES, Collective};
use crate::thread_ir::{BinaryOp, Device, Expr, Function, Local, Name, Scratch, Stmt, ThreadIr, Ty, call};

impl Codegen<'_> {
    pub(super) fn cumcount(&mut self, v: Value, value: Value, bins: usize, mask: Option<Value>) {
        let f = self.f;
        let site = self.site(f.span(v));
        let collectives = &self.plan.collectives;
        let Collective::Cumcount { layout, counters, bytes } = &collectives[&v] else {
            unreachable!("counts of equal elements")
        };
        let of = f.ty(value).dtype;
        let index = self.demand(value, layout).at(Local::R);
        let mask = mask.map(|m| self.demand(m, layout));
        let valid = self.valid(layout, f.shape(value));

        let unsigned = if of.size() == 8 { DType::U64 } else { DType::U32 };
        let inside = call!(Function::Cast; [of, unsigned]; index.clone()).less(bins).group();
        let inside = if planted!("cumcount-counts-what-is-outside") { true.into() } else { inside };
        let conditions = [valid, Some(Regs(inside)), mask].into_iter().flatten().map(|r| r.at(Local::R));
        let counts = all_of(conditions, BinaryOp::And);
        // An element that does not count also gets the address of a counter.
        let limit = counters - 1;
        let bits = counters.trailing_zeros();
        let bin = (call!(Function::Cast; [of, DType::U32]; index) & limit).group();

        let bins_at = || Expr::Scratch(Scratch::Unplaced);
        let lanes = 1usize << layout.lane_bases().iter().filter(|&&b| b != 0).count();
        let in_warp = call!(
            Device::CumcountInWarp; [layout.regs(), bits, lanes];
            bins_at(), of_r(bin.clone()), of_r(counts.clone()), site
        );
        let own = self.fresh();
        let mut steps = vec![vec![Stmt::bind(own, in_warp)]];
        let mut total = Expr::from(own).element(Local::R);
        let warps = 1usize << layout.warp_bases().iter().filter(|&&b| b != 0).count();
        if warps > 1 && !planted!("cumcount-of-one-warp") {
            let threads = f.warps as usize * 32;
            let of_warps = call!(Device::CumcountOfWarps; [warps, bits, threads]; bins_at(), site);
            let warp = ((Expr::from(Name::Tid) >> LANE_BITS).group() & (warps - 1)).group();
            let place = (((warp << bits).group() | bin).group() * CUMCOUNT_BYTES).group();
            // The second word has the number.
            let load = call!(
                Device::SharedLoad; [DType::U32, layout.regs(), 1usize];
                of_r(bins_at() + place + 4usize), of_r(counts), site
            );
            let before = self.fresh();
            steps.extend([vec![of_warps.into()], vec![Stmt::bind(before, load)]]);
            total = total + Expr::from(before).element(Local::R);
        }
        self.node(ThreadIr::Scratch { bytes: *bytes, steps, at: self.at, site });
        let total = call!(Function::Cast; [DType::U32, DType::I32]; total);
        let name = self.bind(Ty::array(DType::I32, layout.regs()), each(total));
        self.define_results(v, layout, vec![Regs::of(name)]);
    }
}
