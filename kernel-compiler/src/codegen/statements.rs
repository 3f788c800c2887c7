//! Statements, and the values that they define.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{each, message};
use crate::codegen::role::Role;
use crate::dtype::DType;
use crate::ir::{self, Op, StmtKind, Value, Var, VarInfo};
use crate::layout::linear::Layout;
use crate::thread_ir::{Body, Device, Expr, Local, Name, Stmt, ThreadIr, Ty, call, closure};

impl Codegen<'_> {
    pub(super) fn declare_vars(&self) -> Vec<Stmt> {
        let f = self.f;
        let declare = |(i, v): (usize, &VarInfo)| {
            let var = Var(i as u32);
            let ty = match v.ty.is_scalar() {
                true => v.ty.dtype.into(),
                false => {
                    let layout_of_value = self.plan.layouts.of_var(f, var);
                    match self.is_paired(var) {
                        true => Ty::array(Ty::U32, layout_of_value.regs() / 2),
                        false => Ty::array(v.ty.dtype, layout_of_value.regs()),
                    }
                }
            };
            Stmt::variable(Name::Var(var), Some(ty), None)
        };
        let declared = |v: &VarInfo| v.ty.is_scalar() || !matches!(self.role, Role::Producer(_));
        let fresh = (0..f.vars.len()).map(|i| Var(i as u32)).filter(|&v| self.is_fresh(v));
        let fresh = fresh.map(|v| Stmt::variable(Name::FreshVar(v), Some(DType::Bool.into()), None));
        f.vars.iter().enumerate().filter(|(_, v)| declared(v)).map(declare).chain(fresh).collect()
    }

    pub(super) fn stmts(&mut self, stmts: &[ir::Stmt]) {
        for s in stmts {
            self.stmt(s);
        }
    }

    pub(super) fn stmt(&mut self, s: &ir::Stmt) {
        let around = std::mem::replace(&mut self.at, s.id);
        self.flush(s);
        match self.role {
            Role::Whole => self.plain(s),
            Role::Producer(p) => self.produce(s, p),
            Role::Consumer(p) => {
                if let Some(matrices) = p.writes.get(&s.id) {
                    self.write_matrices(p, matrices);
                }
                match &s.kind {
                    StmtKind::Let(v) if let Some((operand_group, _)) = self.copied(*v) => {
                        self.arrived(*v, operand_group, &p.operand_groups[operand_group])
                    }
                    _ if p.wgmma_waits.postponed.contains(&s.id) => {}
                    _ => self.plain(s),
                }
                self.after(s, p);
            }
        }
        self.at = around;
    }

    pub(super) fn plain(&mut self, s: &ir::Stmt) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) => self.define(*v),
            StmtKind::Assign(var, _) if self.role.consumer().is_some_and(|p| p.unset.contains(&s.id)) => {
                let is_fresh = Stmt::assign(Name::FreshVar(*var), true);
                self.lines(vec![Stmt::assign(self.var(*var), call!(Device::Unset;)), is_fresh]);
            }
            StmtKind::Assign(var, v) => {
                let to = self.var(*var);
                if f.ty(*v).is_scalar() {
                    self.line(Stmt::assign(to, *v));
                } else {
                    let fresh = self.is_fresh(*var);
                    let layout_of_value = self.plan.layouts.of_var(f, *var).clone();
                    let regs = self.demand(*v, &layout_of_value);
                    let (t, r) = (f.ty(*v).dtype, || Expr::from(Local::R));
                    let one = if self.is_paired(*var) {
                        let (low, high) = ((Expr::from(2) * r()).group(), (Expr::from(2) * r() + 1).group());
                        call!(Device::Pair; [t]; regs.at(low), regs.at(high))
                    } else {
                        regs.at(r())
                    };
                    let written = fresh.then(|| Stmt::assign(Name::FreshVar(*var), false));
                    self.lines([Stmt::assign(to, each(one))].into_iter().chain(written).collect());
                }
            }
            StmtKind::Store { .. } => match self.plan.staged_stores.0.get(&s.id) {
                Some(staged) => self.staged_store(s, staged),
                None => self.store(s),
            },
            StmtKind::Clear { array, span } => self.clear(*array, self.site(*span)),
            StmtKind::If { cond, then, other } => {
                let (then, other) = (self.nested(|cx| cx.stmts(then)), self.nested(|cx| cx.stmts(other)));
                self.node(ThreadIr::If { cond: (*cond).into(), then, other });
            }
            StmtKind::For { .. } | StmtKind::Loop { .. } => match self.plan.one_warp.results.get(&s.id) {
                Some(results) => self.one_warp_loop(s, results),
                None => self.loops(s),
            },
            StmtKind::Break => self.node(ThreadIr::Break),
            StmtKind::Continue => self.node(ThreadIr::Continue),
            StmtKind::Return => self.node(ThreadIr::Return),
            StmtKind::Assert { cond, message, span } => self.assert(*cond, message, *span),
            StmtKind::Print { message, value, watch: true, span } => self.watch(message, *value, *span),
            StmtKind::Print { message, value, watch: false, span } => self.print(message, *value, *span),
        }
    }

    pub(super) fn loops(&mut self, s: &ir::Stmt) {
        match &s.kind {
            StmtKind::For { .. } if self.plan.cp_async.buffers.contains_key(&s.id) => self.staged(s),
            StmtKind::For { body, .. } => {
                if !self.deferred_loop(s, body) {
                    self.unroll(s, |cx| cx.stmts(body));
                }
            }
            StmtKind::Loop { body } => {
                let body = self.nested(|cx| cx.stmts(body));
                self.node(ThreadIr::Loop { body });
            }
            _ => unreachable!("a loop"),
        }
    }

    fn define(&mut self, v: Value) {
        let f = self.f;
        match f.op(v) {
            _ if self.by_pieces(v) => {}
            Op::Load { .. } if self.plan.cp_async.tiles.contains_key(&v) => {}
            Op::Load { .. } => self.load(v),
            Op::Dot { .. } => self.dot(v),
            Op::Atomic { .. } => self.atomic(v),
            Op::Reduce { .. } | Op::ArgReduce { .. } => self.reduce(v),
            Op::Scan { .. } => self.scan(v),
            Op::Join(a, b) => self.join(v, *a, *b),
            Op::Slice { value, axis, start } => self.slice(v, *value, *axis, *start),
            Op::Gather { .. } => self.gather(v),
            Op::ClusterGather { .. } => self.cluster_gather(v),
            Op::Histogram { value, weights, mask } => self.histogram(v, *value, *weights, *mask),
            Op::Cumcount { value, bins, mask } => self.cumcount(v, *value, *bins, *mask),
            Op::Sort { .. } => self.sort(v),
            Op::Result(of, index) => self.further_result(v, *of, *index),
            _ if f.ty(v).is_scalar() => {
                let e = self.scalar_op(v);
                self.line(Stmt::define(v, f.ty(v).dtype.into(), e));
            }
            Op::ReadVar(var) => {
                if self.is_fresh(*var) {
                    self.read_fresh(v, *var);
                }
                self.line(Stmt::bind(v, self.var(*var)));
                let (layout_of_value, t) = (self.plan.layouts.of(v).clone(), f.ty(v).dtype);
                let regs = if self.is_paired(*var) {
                    let pair = Expr::from(v).element(Expr::Register.group() / 2);
                    Regs(call!(Device::OfPair; [t]; pair, Expr::Register))
                } else {
                    Regs::of(v)
                };
                self.make_available(v, self.plan.tiles.id(&layout_of_value), regs);
            }
            op if op.is_elementwise() && !self.plan.layouts.is_cheap(v) => {
                let layout_of_value = self.plan.layouts.of(v).clone();
                self.demand(v, &layout_of_value);
            }
            // Shape operations and index arithmetic are computed at their uses.
            _ => {}
        }
    }

    fn assert(&mut self, cond: Value, text: &str, span: proc_macro2::Span) {
        let (text, site) = (message(text), self.site(span));
        if self.f.ty(cond).is_scalar() {
            self.line(call!(Device::Assert; cond, text, site));
            return;
        }
        let (layout, regs) = self.at_use(cond);
        let regs = regs.at(Local::R);
        let ok = match self.valid(layout, self.f.shape(cond)) {
            Some(valid) if !planted!("padding-is-asserted") => (!valid.at(Local::R)).or_else(regs),
            _ => regs,
        };
        self.for_each(layout, call!(Device::Assert; ok, text, site));
    }

    fn print(&mut self, text: &str, value: Value, span: proc_macro2::Span) {
        let (text, site) = (message(text), self.site(span));
        if self.f.ty(value).is_scalar() {
            let print = call!(Device::Print; text, value, site);
            self.line(Stmt::If { cond: Expr::from(Name::Tid).equals(0), then: vec![print.into()] });
            return;
        }
        let (layout, regs) = self.at_use(value);
        let regs = regs.at(Local::R);
        let once = self.once(layout, self.f.shape(value)).map_or(true.into(), |r| r.at(Local::R));
        let print = Body::of(call!(Device::Print; text, regs, site));
        self.for_each(layout, Expr::If { cond: Box::new(once), then: print, other: None });
    }

    /// Hands every register of a tile to the emulated SM, which puts the tile together by its layout.
    fn watch(&mut self, name: &str, value: Value, span: proc_macro2::Span) {
        let (name, site, shape) = (message(name), self.site(span), self.f.shape(value).to_vec());
        let list = |of: &[u32]| Expr::Array(of.iter().map(|&n| n.into()).collect()).by_ref();
        let extents: Vec<u32> = shape.iter().map(|&n| n as u32).collect();
        if shape.is_empty() {
            let watch = call!(Device::Watch; name, list(&[]), list(&[]), list(&[]), 0, value, site);
            self.line(Stmt::If { cond: Expr::from(Name::Tid).equals(0), then: vec![watch.into()] });
            return;
        }
        let (layout, regs) = self.at_use(value);
        let regs = regs.at(Local::R);
        let (of_registers, of_threads) = (list(layout.reg_bases()), list(&layout.thread_bases()));
        let watch = call!(Device::Watch; name, list(&extents), of_registers, of_threads, Local::R, regs, site);
        self.for_each(layout, watch);
    }

    /// An array with a value for each register of a layout.
    fn for_each(&mut self, layout: &Layout, does: Expr) {
        self.line(call!(Device::Each; [Ty::Tuple(vec![]), layout.regs()]; closure([Local::R], does)));
    }
}
