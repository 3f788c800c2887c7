//! The CPU function of an instance: the operations of one program on whole tiles, as loops that LLVM vectorizes.
//!
//! [`CpuPlan`] says which tiles are made and how memory is accessed. Elementwise work without a tile is written into
//! the loop of its user, so that a chain of operations is one pass.

mod access;

use crate::codegen::pieces::{atomic, elementwise, float_literal, meaning};
use crate::dtype::DType;
use crate::ir::{self, Atomic, Binary, Combine, Func, Op, StmtKind, Value, Var};
use crate::plan::cpu::{Access, CpuPlan, Form, of_all_elements};
use crate::thread_ir::{
    Body, Call, Cpu, Expr, Function, Generic, Literal, Local, Method, Name, Stmt, ThreadIr, Ty, call, closure,
    next_number,
};
use crate::thread_ir::{print, verify::verify_cpu};
use std::collections::HashMap;

/// The body of `unsafe fn(p: &cpu::Program, a: &[u64])`. Numbers that another configuration may have other values of
/// are [configured](Literal::Configured).
pub(crate) fn body(f: &Func, plan: &CpuPlan) -> Vec<ThreadIr> {
    let mut cx = Writer { f, plan, blocks: vec![vec![]], available: HashMap::new() };
    for (i, v) in f.vars.iter().enumerate() {
        let ty = if v.ty.is_scalar() { v.ty.dtype.into() } else { Ty::Tile(v.ty.dtype) };
        cx.line(Stmt::variable(Name::Var(Var(i as u32)), Some(ty), None));
    }
    cx.block(&f.body);
    let body = cx.blocks.pop().expect("the body");
    if crate::planted::is_verified()
        && let Err(e) = verify_cpu(&body)
    {
        panic!("the CPU function is wrong: {e}\n{}", print::body(&body));
    }
    body
}

struct Writer<'a> {
    f: &'a Func,
    plan: &'a CpuPlan,
    /// Code under construction, innermost block last.
    blocks: Vec<Vec<ThreadIr>>,
    /// Any element of a tile, by [`Expr::Register`].
    available: HashMap<Value, Expr>,
}

/// A number that may be another one in another configuration.
fn number(value: impl TryInto<i128>, dtype: Option<DType>) -> Expr {
    let value = value.try_into().unwrap_or_else(|_| unreachable!("a number of a configuration has room"));
    Expr::Literal(Literal::Configured { value, dtype })
}

/// A value for element `i`.
fn of_i(value: impl Into<Expr>) -> Expr {
    closure([Local::I], value)
}

impl Writer<'_> {
    fn node(&mut self, n: impl Into<ThreadIr>) {
        self.blocks.last_mut().expect("a block").push(n.into());
    }

    fn line(&mut self, s: impl Into<Stmt>) {
        self.node(s.into());
    }

    fn shape(&self, v: Value) -> Expr {
        Expr::Array(self.f.shape(v).iter().map(|&n| number(n, None)).collect()).by_ref()
    }

    fn at(&self, v: Value, i: impl Into<Expr>) -> Expr {
        if self.f.ty(v).is_scalar() {
            return v.into();
        }
        self.available.get(&v).unwrap_or_else(|| panic!("{v:?} is not at hand")).at(i)
    }

    /// The name of a value's dense tile, which the plan has.
    fn tile(&self, v: Value) -> Name {
        if let Expr::Method(Method::At, of, index) = &self.available[&v]
            && let (Expr::Name(name), [Expr::Register]) = (&**of, &index[..])
        {
            return *name;
        }
        panic!("the plan makes no tile of {v:?}");
    }

    /// A tile of its own, whose element `i` this is.
    fn define_each(&mut self, v: Value, body: Expr) {
        let tile = call!(Cpu::Each; self.shape(v), of_i(body));
        self.line(Stmt::define(v, Ty::Tile(self.f.ty(v).dtype), tile));
        self.keep(v, v);
    }

    /// A value's elements are those of the tile with a name.
    fn keep(&mut self, v: Value, name: impl Into<Name>) {
        self.available.insert(v, Expr::Name(name.into()).at_index(Expr::Register));
    }

    /// A tile's definition.
    fn define_tile(&mut self, v: Value, tile: Expr) {
        self.line(Stmt::bind(v, tile));
        self.keep(v, v);
    }

    /// A value's elements are computed where they are taken.
    fn keep_expression(&mut self, v: Value, e: Expr) {
        if crate::planted::is_compared() {
            let nodes = e.size();
            assert_eq!(self.plan.form(v), Form::InUsers { nodes }, "{v:?} as planned and as written");
        }
        self.available.insert(v, e);
    }

    fn block(&mut self, stmts: &[ir::Stmt]) {
        for s in stmts {
            for &v in self.plan.made_before(s.id) {
                let body = self.at(v, Local::I);
                self.define_each(v, body);
            }
            self.stmt(s);
        }
    }

    fn nested(&mut self, first: Vec<ThreadIr>, stmts: &[ir::Stmt]) -> Vec<ThreadIr> {
        self.blocks.push(first);
        let outer = self.available.clone();
        self.block(stmts);
        self.available = outer;
        self.blocks.pop().expect("pushed")
    }

    fn stmt(&mut self, s: &ir::Stmt) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) if self.plan.form(*v) == Form::LeftOut => {}
            StmtKind::Let(v) => self.define(s, *v),
            StmtKind::Assign(var, v) => {
                let value = match f.ty(*v).is_scalar() || self.plan.moves(s.id) {
                    true => (*v).into(),
                    false => call!(Cpu::Each; self.shape(*v), of_i(self.at(*v, Local::I))),
                };
                self.line(Stmt::assign(Name::Var(*var), value));
            }
            StmtKind::Store { ptr, value, mask, .. } => {
                let (t, val) = (f.ty(*value).dtype, of_i(self.at(*value, Local::I)));
                self.line(match self.plan.access(s.id) {
                    Access::ByAxes(axes) => {
                        let [base, len, axes] = self.by_axes(ptr, *value, axes);
                        call!(Cpu::StoreAxes; [t]; base, len, axes, val)
                    }
                    Access::ByElement { run, clipped } => {
                        let function = if *clipped { Cpu::StoreClipped } else { Cpu::Store };
                        let (addr, ok) = (of_i(self.address(ptr)), of_i(self.ok(ptr, *mask)));
                        call!(function; [t]; self.shape(*value), number(*run, None), addr, ok, val)
                    }
                });
            }
            StmtKind::Clear { array, .. } => {
                // Zeros, in new memory: no program sees the earlier contents of the array.
                let bytes = number(f.shared[*array].bytes(), None);
                self.line(Stmt::bind(Name::SharedArray(*array), call!(Cpu::SharedArray; bytes)));
            }
            StmtKind::If { cond, then, other } => {
                let (then, other) = (self.nested(vec![], then), self.nested(vec![], other));
                self.node(ThreadIr::If { cond: (*cond).into(), then, other });
            }
            StmtKind::For { iv, lo, hi, step, body, .. } => {
                let (i, ty) = (Name::Next(*iv), Ty::from(f.ty(*iv).dtype));
                self.line(Stmt::variable(i, Some(ty.clone()), Some((*lo).into())));
                let next = Stmt::assign(i, next_number(f, i, *hi, *step));
                let head = vec![
                    ThreadIr::break_if(Expr::from(i).not_less(*hi)),
                    ThreadIr::Line(vec![Stmt::define(*iv, ty, i), next]),
                ];
                let body = self.nested(head, body);
                self.node(ThreadIr::Loop { body });
            }
            StmtKind::Loop { body } => {
                let body = self.nested(vec![], body);
                self.node(ThreadIr::Loop { body });
            }
            StmtKind::Break => self.node(ThreadIr::Break),
            StmtKind::Continue => self.node(ThreadIr::Continue),
            StmtKind::Return => self.node(ThreadIr::Return),
            StmtKind::Assert { cond, message, span } => {
                let all = match f.ty(*cond).is_scalar() {
                    true => (*cond).into(),
                    false => Expr::Method(Method::AllTrue, Box::new(self.tile(*cond).into()), vec![]),
                };
                let message = Expr::Literal(Literal::Text(message.clone()));
                self.line(call!(Cpu::Assert; all, message, span.start().line, Name::Program));
            }
            StmtKind::Print { message, value, .. } => {
                let tile = match f.ty(*value).is_scalar() {
                    true => call!(Cpu::ScalarTile; *value),
                    false => self.tile(*value).into(),
                };
                let message = Expr::Literal(Literal::Text(message.clone()));
                self.line(call!(Cpu::Print; message, tile.by_ref(), Name::Program));
            }
        }
    }

    fn define(&mut self, s: &ir::Stmt, v: Value) {
        let f = self.f;
        let t = f.ty(v).dtype;
        match f.op(v).clone() {
            Op::Load { ptr, mask, other, .. } => {
                let loaded = match self.plan.access(s.id) {
                    Access::ByAxes(axes) => {
                        let other = other.map_or(Expr::zero(t), |o| of_all_elements(f, o).into());
                        let [base, len, axes] = self.by_axes(&ptr, v, axes);
                        call!(Cpu::LoadAxes; [t]; base, len, axes, other)
                    }
                    Access::ByElement { run, clipped } => {
                        let function = if *clipped { Cpu::LoadClipped } else { Cpu::Load };
                        let other = other.map_or(Expr::zero(t), |o| self.at(o, Local::I));
                        let (addr, ok) = (of_i(self.address(&ptr)), of_i(self.ok(&ptr, mask)));
                        call!(function; [t]; self.shape(v), number(*run, None), addr, ok, of_i(other))
                    }
                };
                self.memory(v, loaded);
            }
            Op::Atomic { op, ptr, values, mask, .. } => {
                let (addr, ok) = (of_i(self.address(&ptr)), of_i(self.ok(&ptr, mask)));
                let values: Vec<Expr> = values.into_iter().map(|x| self.at(x, Local::I)).collect();
                let function = if op == Atomic::Cas { Cpu::AtomicCas } else { Cpu::Atomic };
                let (code, values) = atomic(op, t, values, Local::I);
                let generics = [Generic::from(t)].into_iter().chain(code).collect();
                let args = [self.shape(v), addr, ok].into_iter().chain(values).collect();
                self.memory(v, Expr::Call(Call { function: function.into(), generics, args }));
            }
            Op::Reduce { values, axis, combine } => {
                let (of, fold) = (self.together(&values, v), self.fold(&combine));
                let reduced = match f.ty(v).is_scalar() {
                    true => call!(Cpu::ReduceAll; of, fold),
                    false => call!(Cpu::Reduce; of, axis, fold),
                };
                self.results(v, values.len(), reduced);
            }
            Op::ArgReduce { value, axis, largest } => {
                let of = self.together(&[value], v);
                let reduced = match f.ty(v).is_scalar() {
                    true => call!(Cpu::ArgReduceAll; of, better(largest)),
                    false => call!(Cpu::ArgReduce; of, axis, better(largest)),
                };
                self.results(v, 1, reduced);
            }
            Op::Scan { values, axis, combine, reverse, exclusive } => {
                let (of, fold) = (self.together(&values, v), self.fold(&combine));
                let scanned = match &exclusive[..] {
                    [] => call!(Cpu::Scan; of, axis, reverse, fold),
                    first => call!(Cpu::ScanExclusive; of, axis, reverse, tuple(first), fold),
                };
                self.results(v, values.len(), scanned);
            }
            Op::Sort { values, axis, descending } => {
                let of = self.together(&values, v);
                let key = |of: Local| match values.len() {
                    1 => of.into(),
                    _ => Expr::from(of).field(0),
                };
                let before = call!(if descending { Binary::Gt } else { Binary::Lt }; key(Local::X), key(Local::Y));
                let kept = number(f.shape(v)[axis], None);
                let sorted = call!(Cpu::Sort; of, axis, kept, closure([Local::X, Local::Y], before));
                self.results(v, values.len(), sorted);
            }
            Op::Histogram { value, weights, mask } => {
                let bin = call!(Function::Cast; [f.ty(value).dtype, DType::U64]; self.at(value, Local::I));
                let counts = mask.map_or(true.into(), |m| self.at(m, Local::I));
                let weight = weights.map_or(Expr::typed(1, t), |w| self.at(w, Local::I));
                let (bins, elements) = (self.shape(v), number(f.shape(value)[0], None));
                self.define_tile(v, call!(Cpu::Histogram; bins, elements, of_i(bin), of_i(counts), of_i(weight)));
            }
            Op::Cumcount { value, bins, mask } => {
                let bin = call!(Function::Cast; [f.ty(value).dtype, DType::U64]; self.at(value, Local::I));
                let counts = mask.map_or(true.into(), |m| self.at(m, Local::I));
                let shape = self.shape(v);
                self.define_tile(v, call!(Cpu::Cumcount; shape, number(bins, None), of_i(bin), of_i(counts)));
            }
            Op::Result(of, index) => self.one_of(v, of, index),
            Op::Dot { a, b, acc, precision } => {
                let [a, b] = [a, b].map(|x| self.dense(x).by_ref());
                let acc = if self.plan.moves(s.id) { self.tile(acc).into() } else { self.copy(acc) };
                self.define_tile(v, call!(Cpu::Dot; a, b, acc, Expr::Literal(Literal::Precision(precision))));
            }
            op if f.ty(v).is_scalar() => {
                let e = self.scalar(v, &op);
                self.line(Stmt::define(v, t.into(), e));
            }
            Op::ReadVar(var) => match self.plan.form(v) {
                Form::Tile => self.define_tile(v, copy_of(Name::Var(var))),
                _ => self.keep(v, Name::Var(var)),
            },
            Op::Splat(s) => self.keep_expression(v, s.into()),
            Op::Arange { start } => {
                let first = number(start, Some(DType::U64));
                self.keep_expression(v, (Expr::Register.cast(DType::U64) + first).group());
            }
            // Dense and row-major: another shape of the same elements.
            Op::Expand(x, _) | Op::Reshape(x) => {
                let t = self.available[&x].clone();
                self.available.insert(v, t);
            }
            Op::Broadcast(x) => self.broadcast(v, x),
            Op::Join(a, b) => {
                let i = || Expr::from(Local::I);
                let (a, b) = (self.at(a, i() / 2), self.at(b, i() / 2));
                self.define_each(v, Expr::when((i() % 2).equals(0), a, b));
            }
            Op::Slice { value, axis, start } => {
                let inner: usize = f.shape(v)[axis + 1..].iter().product();
                let (all, part) = (f.shape(value)[axis] * inner, f.shape(v)[axis] * inner);
                let i = || Expr::from(Local::I);
                let index = i() / number(part, None) * number(all, None) + i() % number(part, None);
                let x = self.at(value, (index + number(start * inner, None)).group());
                self.define_each(v, x);
            }
            Op::Gather { value, index, axis } => {
                let of = self.dense(value).by_ref();
                let at = call!(Function::Cast; [f.ty(index).dtype, DType::U64]; self.at(index, Local::I));
                self.define_tile(v, call!(Cpu::Gather; of, axis, self.shape(v), of_i(at)));
            }
            Op::Permute(x, perm) => {
                let x = self.dense(x).by_ref();
                let perm = Expr::Array(perm.into_iter().map(Expr::from).collect()).by_ref();
                self.define_tile(v, call!(Cpu::Permute; x, perm));
            }
            op => {
                let args = op.operands().into_iter().map(|o| self.at(o, Expr::Register)).collect();
                let e = self.element(&op, t, args);
                match self.plan.form(v) {
                    Form::Tile => self.define_each(v, e.at(Local::I)),
                    _ => self.keep_expression(v, e),
                }
            }
        }
    }

    /// As [`tile`](Self::tile), with the value's own shape also where it shares elements with another.
    fn dense(&self, v: Value) -> Expr {
        let tile = Expr::from(self.tile(v));
        match self.plan.form(v) {
            Form::SameElements => call!(Cpu::Reshape; copy_of(tile), self.shape(v)),
            _ => tile,
        }
    }

    /// A tile of the same elements, of the value's own shape.
    fn copy(&self, v: Value) -> Expr {
        match self.dense(v) {
            Expr::Name(name) => copy_of(name),
            new => new,
        }
    }

    fn memory(&mut self, v: Value, call: Expr) {
        if self.f.ty(v).is_scalar() {
            self.line(Stmt::bind(v, call.at_index(0)));
        } else {
            self.define_tile(v, call);
        }
    }

    /// A tile, or the tile of tuples of the elements of several, for a function that gives `result`. Of all elements
    /// the shape does not matter.
    fn together(&self, values: &[Value], result: Value) -> Expr {
        if let [v] = *values {
            return if self.f.ty(result).is_scalar() { Expr::from(self.tile(v)) } else { self.dense(v) }.by_ref();
        }
        let elements = values.iter().map(|&v| self.at(v, Local::I)).collect();
        call!(Cpu::Each; self.shape(values[0]), of_i(Expr::Tuple(elements))).by_ref()
    }

    /// Defines a value as the result of a function; of an operation on several tiles, as all results together.
    fn results(&mut self, v: Value, count: usize, given: Expr) {
        if count > 1 {
            self.line(Stmt::bind(Name::Results(v), given));
            self.one_of(v, v, 0);
        } else if self.f.ty(v).is_scalar() {
            self.line(Stmt::define(v, self.f.ty(v).dtype.into(), given));
        } else {
            self.define_tile(v, given);
        }
    }

    /// A value that is one of the results of another.
    fn one_of(&mut self, v: Value, of: Value, index: usize) {
        let all = Expr::from(Name::Results(of));
        if self.f.ty(v).is_scalar() {
            self.line(Stmt::define(v, self.f.ty(v).dtype.into(), all.field(index)));
        } else {
            self.define_each(v, all.at_index(Local::I).field(index));
        }
    }

    fn fold(&self, combine: &Combine) -> Expr {
        match combine {
            Combine::Binary(op) => closure([Local::X, Local::Y], call!(*op; Local::X, Local::Y)),
            Combine::Closure { a, b, body, results } => {
                let define = |&v: &Value| Stmt::define(v, self.f.ty(v).dtype.into(), self.scalar(v, self.f.op(v)));
                let body = body.iter().map(define);
                if let ([a], [b]) = (&a[..], &b[..]) {
                    return closure([*a, *b], Body::after(body.collect(), results[0]));
                }
                let bind = |of: Local| move |(i, &v): (usize, &Value)| Stmt::bind(v, Expr::from(of).field(i));
                let operands = a.iter().enumerate().map(bind(Local::X)).chain(b.iter().enumerate().map(bind(Local::Y)));
                closure([Local::X, Local::Y], Body::after(operands.chain(body).collect(), tuple(results)))
            }
        }
    }

    fn broadcast(&mut self, v: Value, x: Value) {
        let (from, to) = (self.f.shape(x).to_vec(), self.f.shape(v).to_vec());
        if self.plan.form(v) == Form::Tile {
            let x = self.dense(x).by_ref();
            self.define_tile(v, call!(Cpu::Broadcast; x, self.shape(v)));
            return;
        }
        // Arithmetic on indices: of the source element's linear index.
        let (mut index, mut inner_to, mut inner_from) = (vec![], 1, 1);
        for d in (0..to.len()).rev() {
            if from[d] != 1 {
                index.push(Expr::Register / number(inner_to, None) % number(to[d], None) * number(inner_from, None));
            }
            inner_to *= to[d];
            inner_from *= from[d];
        }
        let index = index.into_iter().reduce(|a, b| a + b).map_or(0.into(), Expr::group);
        let of_x = self.available[&x].at(index);
        self.keep_expression(v, of_x);
    }

    fn scalar(&self, v: Value, op: &Op) -> Expr {
        let t = self.f.ty(v).dtype;
        let argument = |word: usize| Expr::from(Name::Words).element(word);
        match op {
            Op::Int(n) => number(*n, Some(t)),
            Op::Float(x) => float_literal(*x, t),
            Op::Bool(b) => (*b).into(),
            Op::Word { word } if t == DType::U64 => argument(*word),
            Op::Word { word } => call!(Function::FromBits64(t); argument(*word)),
            Op::ProgramId(axis) => Expr::from(Name::ProgramId).element(*axis),
            Op::NumPrograms(axis) => Expr::from(Name::Grid).element(*axis),
            Op::ReadVar(var) => Name::Var(*var).into(),
            op => {
                let args = op.operands().into_iter().map(Expr::from).collect();
                self.element(op, t, args)
            }
        }
    }

    /// Elementwise work on an element of each operand: of inline assembly its meaning.
    fn element(&self, op: &Op, t: DType, args: Vec<Expr>) -> Expr {
        let dtypes = op.operands().into_iter().map(|o| self.f.ty(o).dtype);
        let Op::Asm { meaning: m, .. } = op else {
            return elementwise(op, t, dtypes.into_iter().next(), args);
        };
        let mut body = meaning(self.f, m, |v| self.scalar(v, self.f.op(v)));
        let bind = |((&p, t), e): ((&Value, DType), Expr)| Stmt::define(p, t.into(), e);
        body.stmts.splice(0..0, m.params.iter().zip(dtypes).zip(args).map(bind));
        body.into()
    }
}

fn copy_of(tile: impl Into<Expr>) -> Expr {
    Expr::Method(Method::Clone, Box::new(tile.into()), vec![])
}

/// One value, or a tuple of several.
fn tuple(values: &[Value]) -> Expr {
    match *values {
        [v] => v.into(),
        _ => Expr::Tuple(values.iter().map(|&v| v.into()).collect()),
    }
}

/// Of a number and NaN that of the number, as `max` and `min` have it; no integer is unequal to itself.
fn better(largest: bool) -> Expr {
    let (x, y) = (Local::X, Local::Y);
    let better = call!(if largest { Binary::Gt } else { Binary::Lt }; x, y);
    let only_other_is_nan = call!(Binary::Ne; y, y) & call!(Binary::Eq; x, x);
    closure([x, y], better | only_other_is_nan.group())
}
