//! Exchanges between the CTAs of a cluster through distributed shared memory.

use crate::codegen::barriers::{barrier, cluster_barrier};
use crate::codegen::context::{Codegen, Regs};
use crate::codegen::parts::all;
use crate::codegen::pieces::{any, of_r};
use crate::dtype::DType;
use crate::ir::walk::values;
use crate::ir::{Op, Value};
use crate::thread_ir::{Device, Expr, Local, Name, Stmt, Ty, call};

impl Codegen<'_> {
    /// A barrier before the first exchange: a CTA may store to the memory of another one only after that has begun.
    pub(super) fn begin_cluster(&mut self) {
        let f = self.f;
        let exchanges = values(&f.body).any(|v| matches!(f.op(v), Op::ClusterGather { .. }));
        if exchanges && !planted!("cluster-begins-unawaited") {
            self.node(cluster_barrier(0));
        }
    }

    /// A barrier of all threads that access the same arrays.
    pub(super) fn barrier(&mut self, site: u32) {
        self.node(barrier(self.plan.barriers.access, site));
    }

    /// Each CTA stores its part to the memory of all, in the order of the ranks, and loads all parts from its own.
    pub(super) fn cluster_gather(&mut self, v: Value) {
        let f = self.f;
        let Op::ClusterGather { value, array, repeats } = *f.op(v) else { unreachable!("a cluster gather") };
        let (site, dtype, ctas) = (self.site(f.span(v)), f.ty(v).dtype, f.ctas as usize);
        let begin = self.shared_begin(array);
        let rank = || call!(Device::ClusterRank;).cast(DType::U32);
        let bytes = f.shared[array].len / ctas * dtype.size();
        let first = self.bind(Ty::U32, Expr::from(begin) + (rank().group() * bytes).group());
        let store = if f.ty(value).is_scalar() {
            // All threads have the element. Each stores it to the CTA whose rank is the number of the thread.
            call!(
                Device::ClusterStore; [dtype, 1usize];
                any(Name::Tid), any(first), any(Expr::from(Name::Tid).less(ctas)), any(value), site
            )
        } else {
            let (layout, regs) = self.at_use(value);
            let once = self.once(layout, &layout.shape());
            // Each element goes to every CTA.
            let register = || (Expr::from(Local::R) / ctas).group();
            let stored = match planted!("cluster-gather-of-other-elements") {
                true => (Expr::from(Local::R) % layout.regs()).group(),
                false => register(),
            };
            let offset = self.byte_offset(layout, &all(layout), dtype.size()).at(stored);
            call!(
                Device::ClusterStore; [dtype, layout.regs() * ctas];
                of_r((Expr::from(Local::R) % ctas).group().cast(DType::U32)),
                of_r(Expr::from(first) + offset),
                of_r(once.map_or(true.into(), |r| r.at(register()))),
                of_r(regs.at(register())), site
            )
        };
        self.line(store);
        if !planted!("cluster-gather-without-barrier") {
            self.node(cluster_barrier(site));
        }
        let layout = self.plan.layouts.of(v).clone();
        let offset = self.byte_offset(&layout, &all(&layout), dtype.size()).at(Local::R);
        let load = call!(
            Device::SharedLoad; [dtype, layout.regs(), 1usize];
            of_r(Expr::from(begin) + offset), any(true), site
        );
        self.line(Stmt::define(v, Ty::array(dtype, layout.regs()), load));
        // All CTAs load the parts before any CTA stores parts again.
        if repeats && !planted!("cluster-gather-overwrites") {
            self.node(cluster_barrier(site));
        }
        self.make_available(v, self.plan.tiles.id(&layout), Regs::of(v));
    }
}
