//! The state of code generation, and the functions with which all of it writes code.

use crate::codegen::role::Role;
use crate::ir::{Func, StmtId, Value, Var};
use crate::layout::linear::Layout;
use crate::layout::table::{InLayout, LayoutId};
use crate::plan::Plan;
use crate::plan::tiles::CarriedOut;
use crate::plan::warp_specialized::FusedStore;
use crate::thread_ir::{Const, ConstValue, Expr, Name, Stmt, ThreadIr, Ty};
use std::collections::{BTreeMap, HashMap};

/// The registers of a tile: the element in any of them, by [`Expr::Register`].
#[derive(Clone, Debug)]
pub(super) struct Regs(pub(super) Expr);

impl Regs {
    /// The elements of an array of registers.
    pub(super) fn of(array: impl Into<Expr>) -> Regs {
        Regs(array.into().element(Expr::Register))
    }

    pub(super) fn at(&self, r: impl Into<Expr>) -> Expr {
        self.0.at(r)
    }
}

pub(super) struct Codegen<'a> {
    pub(super) f: &'a Func,
    pub(super) plan: &'a Plan,
    pub(super) role: Role<'a>,
    pub(super) sites: bool,
    /// The code under construction, innermost block last.
    pub(super) blocks: Vec<Vec<ThreadIr>>,
    /// The statement under construction.
    pub(super) at: StmtId,
    /// The registers of values in their layouts, by block.
    pub(super) memo: Vec<HashMap<InLayout, Regs>>,
    /// The parts of the plan that the code has carried out.
    pub(super) carried_out: CarriedOut,
    /// The results of operations on several tiles, without the first results.
    pub(super) results: HashMap<(Value, usize), (Layout, Regs)>,
    /// The bases of index sums, by block.
    pub(super) bases: Vec<HashMap<InLayout, Name>>,
    /// The layouts whose thread part is computed at the beginning.
    pub(super) thread_layouts: Vec<Layout>,
    /// The tables of constants.
    pub(super) tables: Vec<(Ty, Vec<u64>)>,
    pub(super) temporaries: usize,
    /// The results of relaxed atomics that one thread has, and the statements before which it gives them to the others.
    pub(super) pending: Vec<(StmtId, ThreadIr)>,
    /// The variables that stand for their copies, which are some iterations ahead, with the number of their circular
    /// buffer.
    pub(super) advanced: BTreeMap<Var, usize>,
}

impl<'a> Codegen<'a> {
    /// The stores whose values are computed by pieces: those of consumers.
    pub(super) fn fused(&self) -> &'a [FusedStore] {
        if matches!(self.role, Role::Consumer(_)) { &self.plan.fused } else { &[] }
    }

    /// Adds a node for the statement under construction.
    pub(super) fn node(&mut self, n: ThreadIr) {
        let n = n.of_statement(self.at);
        self.blocks.last_mut().expect("a block").push(n);
    }

    pub(super) fn line(&mut self, stmt: impl Into<Stmt>) {
        self.node(ThreadIr::Line(vec![stmt.into()]));
    }

    /// Several statements in one line.
    pub(super) fn lines(&mut self, stmts: Vec<Stmt>) {
        self.node(ThreadIr::Line(stmts));
    }

    pub(super) fn fresh(&mut self) -> Name {
        self.temporaries += 1;
        Name::Temporary(self.temporaries)
    }

    /// A temporary with this value.
    pub(super) fn bind(&mut self, ty: Ty, value: impl Into<Expr>) -> Name {
        let name = self.fresh();
        self.line(Stmt::define(name, ty, value));
        name
    }

    pub(super) fn site(&self, span: proc_macro2::Span) -> u32 {
        if self.sites { span.start().line as u32 } else { 0 }
    }

    /// A number for each register; the register's own where these are equal.
    pub(super) fn table(&mut self, values: &[usize]) -> Expr {
        if values.iter().enumerate().all(|(i, &v)| i == v) {
            return Expr::Register;
        }
        if values.iter().all(|&v| v == values[0]) {
            return values[0].into();
        }
        let table = self.const_table(Ty::Usize, values.iter().map(|&v| v as u64).collect());
        Expr::from(table).element(Expr::Register)
    }

    pub(super) fn const_table(&mut self, ty: Ty, values: Vec<u64>) -> Name {
        let table = (ty, values);
        let i = self.tables.iter().position(|t| *t == table).unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        Name::Table(i)
    }

    /// A table of `u32`.
    pub(super) fn word_table(&mut self, values: impl IntoIterator<Item = u32>) -> Name {
        self.const_table(Ty::U32, values.into_iter().map(u64::from).collect())
    }

    /// The tables as items, one on each line.
    pub(super) fn consts(&mut self) -> Vec<Vec<Const>> {
        let item = |(i, (ty, values))| vec![Const { name: Name::Table(i), value: ConstValue::Table(ty, values) }];
        std::mem::take(&mut self.tables).into_iter().enumerate().map(item).collect()
    }

    /// The thread's part of the flat index in a layout.
    pub(super) fn thread_var(&mut self, l: &Layout) -> Name {
        let bases = l.thread_bases();
        let i = self.thread_layouts.iter().position(|m| m.thread_bases() == bases).unwrap_or_else(|| {
            self.thread_layouts.push(l.clone());
            self.thread_layouts.len() - 1
        });
        Name::ThreadPart(i)
    }

    /// The code of a nested block. The registers of values that it computes are not used after it.
    pub(super) fn nested(&mut self, inner: impl FnOnce(&mut Self)) -> Vec<ThreadIr> {
        self.blocks.push(vec![]);
        self.memo.push(HashMap::new());
        self.bases.push(HashMap::new());
        inner(self);
        self.memo.pop();
        self.bases.pop();
        self.blocks.pop().expect("pushed")
    }

    /// Whether a variable has two elements in each register.
    pub(super) fn is_paired(&self, var: Var) -> bool {
        self.plan.elementwise.paired_vars.contains(&var)
    }

    pub(super) fn var(&self, var: Var) -> Name {
        self.advanced.get(&var).map_or(Name::Var(var), |&buffer| Name::Advanced(var, buffer))
    }

    /// A tile is in these registers.
    pub(super) fn make_available(&mut self, v: Value, l: LayoutId, regs: Regs) {
        self.memo.last_mut().expect("a block").insert((v, l), regs);
    }
}
