//! Statements, and the values that they define.

use crate::codegen::context::{Codegen, Regs, paired};
use crate::codegen::role::Role;
use crate::codegen::text::{cstr, each, scalar};
use crate::codegen::thread_ir::ThreadIr;
use crate::ir::{Op, Stmt, StmtKind, Value, Var, VarInfo};

impl Codegen<'_> {
    pub(super) fn declare_vars(&self) -> Vec<String> {
        let f = self.f;
        let declare = |(i, v): (usize, &VarInfo)| {
            let t = v.ty.dtype.rust();
            match v.ty.is_scalar() {
                true => format!("let mut m{i}: {t};"),
                false => {
                    let home = self.layouts.of_var(f, Var(i as u32));
                    match paired(v.ty.dtype, home) {
                        true => format!("let mut m{i}: [u32; {}];", home.regs() / 2),
                        false => format!("let mut m{i}: [{t}; {}];", home.regs()),
                    }
                }
            }
        };
        let declared = |v: &VarInfo| v.ty.is_scalar() || !matches!(self.role, Role::Producer(_));
        let fresh =
            (0..f.vars.len()).filter(|&i| self.is_fresh(Var(i as u32))).map(|i| format!("let mut fresh_m{i}: bool;"));
        f.vars.iter().enumerate().filter(|(_, v)| declared(v)).map(declare).chain(fresh).collect()
    }

    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            self.stmt(s);
        }
    }

    pub(super) fn stmt(&mut self, s: &Stmt) {
        self.flush(s);
        match self.role {
            Role::Whole => self.plain(s),
            Role::Producer(p) => self.produce(s, p),
            Role::Consumer(p) => {
                match &s.kind {
                    StmtKind::Let(v) if let Some((operand_group, _)) = self.copied(*v) => {
                        self.arrived(*v, operand_group, &p.operand_groups[operand_group])
                    }
                    _ if p.waits.postponed.contains(&s.id) => {}
                    _ => self.plain(s),
                }
                self.after(s, p);
            }
        }
    }

    pub(super) fn plain(&mut self, s: &Stmt) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) => self.define(*v),
            StmtKind::Assign(var, v) => {
                let to = self.var(*var);
                if f.ty(*v).is_scalar() {
                    self.line(format!("{to} = {};", scalar(*v)));
                } else {
                    let fresh = self.is_fresh(*var);
                    if fresh && f.is_zeros(*v) {
                        self.line(format!("{to} = d::unset(); fresh_{to} = true;"));
                        return;
                    }
                    let home = self.layouts.of_var(f, *var).clone();
                    let regs = self.demand(*v, &home);
                    let (t, paired) = (f.ty(*v).dtype, paired(f.ty(*v).dtype, &home));
                    let one = if paired {
                        format!("d::pair::<{}>({}, {})", t.rust(), regs.at("(2 * r)"), regs.at("(2 * r + 1)"))
                    } else {
                        regs.at("r")
                    };
                    self.line(format!(
                        "{to} = {};{}",
                        each(&one),
                        if fresh { format!(" fresh_{to} = false;") } else { String::new() }
                    ));
                }
            }
            StmtKind::Store { place, value, mask, hint, span, .. } => {
                if !self.tma_store(s) {
                    self.store(place, *value, *mask, *hint, *span);
                }
            }
            StmtKind::If { cond, then, other } => {
                let (then, other) = (self.nested(|cx| cx.stmts(then)), self.nested(|cx| cx.stmts(other)));
                self.node(ThreadIr::If { cond: scalar(*cond), then, other });
            }
            StmtKind::For { .. } if self.ahead.rings.contains_key(&s.id) => self.staged(s),
            StmtKind::For { body, .. } => {
                if !self.deferred_loop(s, body) {
                    self.unroll(s, |cx| cx.stmts(body));
                }
            }
            StmtKind::Loop { body } => {
                let body = self.nested(|cx| cx.stmts(body));
                self.node(ThreadIr::Loop { body });
            }
            StmtKind::Break => self.node(ThreadIr::Break),
            StmtKind::Continue => self.node(ThreadIr::Continue),
            StmtKind::Return => self.node(ThreadIr::Return),
            StmtKind::Assert { cond, message, span } => self.assert(*cond, message, *span),
            StmtKind::Print { message, value, span } => self.print(message, *value, *span),
        }
    }

    fn define(&mut self, v: Value) {
        let f = self.f;
        match f.op(v) {
            _ if self.by_pieces(v) => {}
            Op::Load { .. } if self.ahead.tiles.contains_key(&v) => {}
            Op::Load { .. } => self.load(v),
            Op::Dot { .. } => self.dot(v),
            Op::Atomic { .. } => self.atomic(v),
            Op::Reduce { .. } | Op::ArgReduce { .. } => self.reduce(v),
            _ if f.ty(v).is_scalar() => {
                let e = self.scalar_op(v);
                self.line(format!("let {}: {} = {e};", scalar(v), f.ty(v).dtype.rust()));
            }
            Op::ReadVar(var) => {
                if self.is_fresh(*var) {
                    self.read_fresh(v, *var);
                }
                self.line(format!("let {} = {};", scalar(v), self.var(*var)));
                let (home, t) = (self.layouts.of(v).clone(), f.ty(v).dtype);
                let regs = if paired(t, &home) {
                    format!("d::of_pair::<{}>({}[(#) / 2], #)", t.rust(), scalar(v))
                } else {
                    format!("{}[#]", scalar(v))
                };
                self.at_hand(v, home, Regs(regs));
            }
            op if op.is_elementwise() && !self.layouts.is_cheap(v) => {
                let home = self.layouts.of(v).clone();
                self.demand(v, &home);
            }
            // Shape operations and index arithmetic: when somebody asks.
            _ => {}
        }
    }

    fn assert(&mut self, cond: Value, message: &str, span: proc_macro2::Span) {
        let (text, site) = (cstr(message), self.site(span));
        if self.f.ty(cond).is_scalar() {
            self.line(format!("d::assert({}, {text}, {site});", scalar(cond)));
            return;
        }
        let layout = self.any_layout(cond);
        let regs = self.demand(cond, &layout);
        let ok = match self.valid(&layout, self.f.shape(cond)) {
            Some(valid) => format!("!{} || {}", valid.at("r"), regs.at("r")),
            None => regs.at("r"),
        };
        self.line(format!("d::each::<(), {}>(|r| d::assert({ok}, {text}, {site}));", layout.regs()));
    }

    fn print(&mut self, message: &str, value: Value, span: proc_macro2::Span) {
        let (text, site) = (cstr(message), self.site(span));
        if self.f.ty(value).is_scalar() {
            self.line(format!("if tid == 0 {{ d::print({text}, {}, {site}); }}", scalar(value)));
            return;
        }
        let layout = self.any_layout(value);
        let regs = self.demand(value, &layout);
        let once = self.once(&layout, self.f.shape(value)).unwrap_or_else(|| Regs("true".into()));
        self.line(format!(
            "d::each::<(), {}>(|r| if {} {{ d::print({text}, {}, {site}) }});",
            layout.regs(),
            once.at("r"),
            regs.at("r")
        ));
    }
}
