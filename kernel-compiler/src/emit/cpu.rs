//! The CPU meaning of an instance: what one program does to whole tiles, as loops that LLVM vectorises.
//!
//! Single-use elementwise work is written into the loop of its user, so that a chain of operations is one pass.

use crate::analysis::assume::analyse;
use crate::analysis::axis_info::{Assume, AxisAnalysis};
use crate::codegen::text::{self, op_text};
use crate::dtype::DType;
use crate::emit::numbers::number;
use crate::ir::{Address, Combine, Func, Op, Stmt, StmtKind, Value, Var};
use std::collections::HashMap;

/// The body of `unsafe fn(p: &cpu::Program, a: &[u64])`, with marked [`number`]s.
pub fn body(f: &Func) -> String {
    let a = analyse(f, Assume::Nothing);
    let mut cx =
        Cpu { f, a: &a, out: String::new(), depth: 1, at_hand: HashMap::new(), uses: crate::ir::walk::uses(f) };
    for (i, v) in f.vars.iter().enumerate() {
        let t = v.ty.dtype.rust();
        cx.line(if v.ty.is_scalar() { format!("let mut m{i}: {t};") } else { format!("let mut m{i}: c::Tile<{t}>;") });
    }
    cx.block(&f.body);
    cx.out
}

struct Cpu<'a> {
    f: &'a Func,
    a: &'a AxisAnalysis,
    out: String,
    depth: usize,
    /// Rust for element `#` of a tile.
    at_hand: HashMap<Value, String>,
    uses: Vec<u32>,
}

fn name(v: Value) -> String {
    text::scalar(v)
}

impl Cpu<'_> {
    fn line(&mut self, t: impl AsRef<str>) {
        self.out.push_str(&"    ".repeat(self.depth));
        self.out.push_str(t.as_ref());
        self.out.push('\n');
    }

    fn shape(&self, v: Value) -> String {
        format!("&[{}]", self.f.shape(v).iter().map(number).collect::<Vec<_>>().join(", "))
    }

    fn at(&self, v: Value, i: &str) -> String {
        if self.f.ty(v).is_scalar() {
            return name(v);
        }
        self.at_hand.get(&v).unwrap_or_else(|| panic!("{v:?} is not at hand")).replace('#', i)
    }

    /// A dense tile with a name.
    fn tile(&mut self, v: Value) -> String {
        let at = &self.at_hand[&v];
        if let Some(n) = at.strip_suffix(".at(#)")
            && n.chars().all(|c| c.is_ascii_alphanumeric())
        {
            return n.to_string();
        }
        let body = self.at(v, "i");
        self.line(format!(
            "let {}: c::Tile<{}> = c::each({}, |i| {body});",
            name(v),
            self.f.ty(v).dtype.rust(),
            self.shape(v)
        ));
        self.keep(v);
        name(v)
    }

    fn keep(&mut self, v: Value) {
        self.at_hand.insert(v, format!("{}.at(#)", name(v)));
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for (i, s) in stmts.iter().enumerate() {
            self.stmt(s, &stmts[i + 1..]);
        }
    }

    fn nested(&mut self, head: &str, stmts: &[Stmt], tail: &str) {
        self.line(head);
        self.depth += 1;
        let outer = self.at_hand.clone();
        self.block(stmts);
        self.at_hand = outer;
        self.depth -= 1;
        self.line(tail);
    }

    fn stmt(&mut self, s: &Stmt, rest: &[Stmt]) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) => self.define(*v, rest),
            StmtKind::Assign(var, v) => {
                let i = var.0;
                if f.ty(*v).is_scalar() {
                    self.line(format!("m{i} = {};", name(*v)));
                } else {
                    let body = self.at(*v, "i");
                    self.line(format!("m{i} = c::each({}, |i| {body});", self.shape(*v)));
                }
            }
            StmtKind::Store { place, value, mask, .. } => {
                let (t, run) = (f.ty(*value).dtype.rust(), self.run(place));
                let function = if mask.is_some() || run <= 1 { "store" } else { "store_clipped" };
                let (addr, ok, val) = (self.address(place), self.ok(place, *mask), self.at(*value, "i"));
                self.line(format!(
                    "c::{function}::<{t}>({}, {}, |i| {addr}, |i| {ok}, |i| {val});",
                    self.shape(*value),
                    number(run)
                ));
            }
            StmtKind::If { cond, then, other } => {
                if other.is_empty() {
                    self.nested(&format!("if {} {{", name(*cond)), then, "}");
                } else {
                    self.nested(&format!("if {} {{", name(*cond)), then, "} else {");
                    self.depth += 1;
                    let outer = self.at_hand.clone();
                    self.block(other);
                    self.at_hand = outer;
                    self.depth -= 1;
                    self.line("}");
                }
            }
            StmtKind::For { iv, lo, hi, step, body, .. } => {
                let (i, t) = (format!("i{}", iv.0), f.ty(*iv).dtype.rust());
                self.line(format!("let mut {i}: {t} = {};", name(*lo)));
                let head = format!(
                    "loop {{ if {i} >= {} {{ break; }} let {}: {t} = {i}; {i} = s::add({i}, {});",
                    name(*hi),
                    name(*iv),
                    name(*step)
                );
                self.nested(&head, body, "}");
            }
            StmtKind::Loop { body } => self.nested("loop {", body, "}"),
            StmtKind::Break => self.line("break;"),
            StmtKind::Continue => self.line("continue;"),
            StmtKind::Return => self.line("return;"),
            StmtKind::Assert { cond, message, span } => {
                let line = span.start().line;
                let all = match f.ty(*cond).is_scalar() {
                    true => name(*cond),
                    false => format!("{}.as_slice().iter().all(|&c| c)", self.tile(*cond)),
                };
                self.line(format!("c::assert({all}, {message:?}, {line}, p);"));
            }
            StmtKind::Print { message, value, .. } => {
                let t = match f.ty(*value).is_scalar() {
                    true => format!("c::Tile::scalar({})", name(*value)),
                    false => self.tile(*value),
                };
                self.line(format!("c::print({message:?}, &{t}, p);"));
            }
        }
    }

    /// Whether a value may be written into the loop of its only user instead of one of its own: the user comes in the same
    /// block, and no variable it may read changes before.
    fn fuses(&self, v: Value, rest: &[Stmt]) -> bool {
        if self.uses[v.0 as usize] != 1 {
            return false;
        }
        for s in rest {
            let used = match &s.kind {
                // A shape operation may be used more often than its operand.
                StmtKind::Let(u) if self.f.op(*u).is_view() && self.f.op(*u).operands().contains(&v) => return false,
                StmtKind::Let(u) => self.f.op(*u).operands().contains(&v),
                StmtKind::Assign(_, u) => *u == v,
                StmtKind::Store { place, value, mask, .. } => {
                    [Some(place.index()), Some(*value), *mask].contains(&Some(v))
                }
                StmtKind::Assert { cond: u, .. } | StmtKind::Print { value: u, .. } => *u == v,
                _ => return false,
            };
            if used {
                return true;
            }
            if !matches!(&s.kind, StmtKind::Let(_)) {
                return false;
            }
        }
        false
    }

    fn define(&mut self, v: Value, rest: &[Stmt]) {
        let f = self.f;
        let t = f.ty(v).dtype.rust();
        match f.op(v).clone() {
            Op::Load { place, mask, other, .. } => {
                let run = self.run(&place);
                let function = if mask.is_some() || run <= 1 { "load" } else { "load_clipped" };
                let other = other.map_or(format!("<{t} as s::Scalar>::ZERO"), |o| self.at(o, "i"));
                let (addr, ok, shape) = (self.address(&place), self.ok(&place, mask), self.shape(v));
                self.memory(
                    v,
                    format!("c::{function}::<{t}>({shape}, {}, |i| {addr}, |i| {ok}, |i| {other})", number(run)),
                );
            }
            Op::Atomic { op, place, values, mask, .. } => {
                let (addr, ok, shape) = (self.address(&place), self.ok(&place, mask), self.shape(v));
                let values: Vec<String> = values.into_iter().map(|x| self.at(x, "i")).collect();
                let (function, code, values) = text::atomic(op, t, &values, "i");
                self.memory(v, format!("c::{function}::<{t}{code}>({shape}, |i| {addr}, |i| {ok}, {values})"));
            }
            Op::Reduce { value, axis, combine } => {
                let x = self.tile(value);
                let fold = self.fold(&combine);
                self.reduction(v, format!("reduce_all(&{x}, {fold})"), format!("reduce(&{x}, {axis}, {fold})"));
            }
            Op::ArgReduce { value, axis, largest } => {
                let x = self.tile(value);
                // Of a number and NaN that of the number, as `max` and `min` have it; no integer is unequal to itself.
                let better =
                    format!("|x, y| s::{}(x, y) | (s::ne(y, y) & s::eq(x, x))", if largest { "gt" } else { "lt" });
                self.reduction(
                    v,
                    format!("arg_reduce_all(&{x}, {better})"),
                    format!("arg_reduce(&{x}, {axis}, {better})"),
                );
            }
            Op::Dot { a, b, acc, precision } => {
                let (a, b, acc) = (self.dense(a), self.dense(b), self.dense(acc));
                self.line(format!("let {} = c::dot(&{a}, &{b}, &{acc}, c::Precision::{precision:?});", name(v)));
                self.keep(v);
            }
            op if f.ty(v).is_scalar() => {
                let e = self.scalar(v, &op);
                self.line(format!("let {}: {t} = {e};", name(v)));
            }
            Op::ReadVar(var) => {
                let stays = rest.iter().all(|s| !assigns(s, var));
                if stays || self.fuses(v, rest) {
                    self.at_hand.insert(v, format!("m{}.at(#)", var.0));
                } else {
                    self.line(format!("let {} = m{}.clone();", name(v), var.0));
                    self.keep(v);
                }
            }
            Op::Splat(s) => {
                self.at_hand.insert(v, name(s));
            }
            Op::Arange { start } => {
                self.at_hand.insert(v, format!("(# as u64 + {})", number(format!("{start}u64"))));
            }
            // Dense and row-major: another shape of the same elements.
            Op::Expand(x, _) | Op::Reshape(x) => {
                let t = self.at_hand[&x].clone();
                self.at_hand.insert(v, t);
            }
            Op::Broadcast(x) => self.broadcast(v, x),
            Op::Permute(x, perm) => {
                let x = self.dense(x);
                self.line(format!("let {} = c::permute(&{x}, &{perm:?});", name(v)));
                self.keep(v);
            }
            op => {
                let args: Vec<String> = op.operands().into_iter().map(|o| self.at(o, "#")).collect();
                let e = op_text(&op, f.ty(v).dtype, op.operands().first().map(|&o| f.ty(o).dtype), &args);
                // A chain that grows without end would be compiled without end.
                if self.fuses(v, rest) && e.len() < 2000 {
                    self.at_hand.insert(v, e);
                } else {
                    self.line(format!(
                        "let {}: c::Tile<{t}> = c::each({}, |i| {});",
                        name(v),
                        self.shape(v),
                        e.replace('#', "i")
                    ));
                    self.keep(v);
                }
            }
        }
    }

    /// As [`tile`](Self::tile), with the value's own shape also where it shares elements with another.
    fn dense(&mut self, v: Value) -> String {
        let n = self.tile(v);
        match self.f.op(v) {
            Op::Expand(..) | Op::Reshape(_) => format!("c::reshape({n}.clone(), {})", self.shape(v)),
            _ => n,
        }
    }

    fn memory(&mut self, v: Value, call: String) {
        if self.f.ty(v).is_scalar() {
            self.line(format!("let {} = {call}.at(0);", name(v)));
        } else {
            self.line(format!("let {} = {call};", name(v)));
            self.keep(v);
        }
    }

    fn reduction(&mut self, v: Value, all: String, axis: String) {
        let (Op::Reduce { value, .. } | Op::ArgReduce { value, .. }) = self.f.op(v) else {
            unreachable!("a reduction")
        };
        if self.f.ty(v).is_scalar() {
            self.line(format!("let {}: {} = c::{all};", name(v), self.f.ty(v).dtype.rust()));
        } else {
            // The operand's name may stand for a tile of another shape.
            let dense = self.dense(*value);
            let plain = self.tile(*value);
            let axis = axis.replacen(&format!("&{plain}"), &format!("&{dense}"), 1);
            self.line(format!("let {} = c::{axis};", name(v)));
            self.keep(v);
        }
    }

    fn fold(&self, combine: &Combine) -> String {
        match combine {
            Combine::Binary(op) => format!("|x, y| s::{}(x, y)", op.name()),
            Combine::Closure { a, b, body, result } => {
                let mut t = format!("|{}, {}| {{ ", name(*a), name(*b));
                for v in body {
                    t.push_str(&format!(
                        "let {}: {} = {}; ",
                        name(*v),
                        self.f.ty(*v).dtype.rust(),
                        self.scalar(*v, self.f.op(*v))
                    ));
                }
                format!("{t}{} }}", name(*result))
            }
        }
    }

    fn broadcast(&mut self, v: Value, x: Value) {
        let (from, to) = (self.f.shape(x).to_vec(), self.f.shape(v).to_vec());
        let at = self.at_hand[&x].clone();
        if at.contains(".at(") {
            let x = self.dense(x);
            self.line(format!("let {} = c::broadcast(&{x}, {});", name(v), self.shape(v)));
            self.keep(v);
            return;
        }
        // Arithmetic on indices: of the source element's linear index.
        let (mut index, mut inner_to, mut inner_from) = (vec![], 1, 1);
        for d in (0..to.len()).rev() {
            if from[d] != 1 {
                index.push(format!("#/{inner_to}%{}*{inner_from}", to[d]));
            }
            inner_to *= to[d];
            inner_from *= from[d];
        }
        let index = if index.is_empty() { "0usize".into() } else { format!("({})", index.join("+")) };
        let at = at.replace('#', &index);
        self.at_hand.insert(v, at);
    }

    fn scalar(&self, v: Value, op: &Op) -> String {
        let t = self.f.ty(v).dtype;
        match op {
            Op::Int(n) => number(text::int_literal(*n, t)),
            Op::Float(x) => text::float_literal(*x, t),
            Op::Bool(b) => b.to_string(),
            Op::Slot { slot } if t == DType::U64 => format!("a[{slot}]"),
            Op::Slot { slot } => format!("<{} as s::Scalar>::from_bits64(a[{slot}])", t.rust()),
            Op::ProgramId(axis) => format!("p.id[{axis}]"),
            Op::NumPrograms(axis) => format!("p.grid[{axis}]"),
            Op::ReadVar(var) => format!("m{}", var.0),
            op => {
                let args: Vec<String> = op.operands().into_iter().map(name).collect();
                op_text(op, t, op.operands().first().map(|&o| self.f.ty(o).dtype), &args)
            }
        }
    }

    /// Elements that follow each other in memory.
    fn run(&self, place: &Address) -> usize {
        self.a.run(self.f, place.index())
    }

    fn index(&self, place: &Address) -> String {
        let v = place.index();
        match self.f.ty(v).dtype {
            DType::U64 => self.at(v, "i"),
            d => format!("s::cast::<{}, u64>({})", d.rust(), self.at(v, "i")),
        }
    }

    fn address(&self, place: &Address) -> String {
        let p = &self.f.params[place.param()];
        format!("a[{}].wrapping_add(({}).wrapping_mul({}))", p.slot, self.index(place), p.dtype.size())
    }

    fn ok(&self, place: &Address, mask: Option<Value>) -> String {
        let inside = match place {
            Address::Slice { param, .. } => {
                Some(format!("({} < a[{}])", self.index(place), self.f.params[*param].slot + 1))
            }
            Address::Raw { .. } => None,
        };
        text::all_of(inside.into_iter().chain(mask.map(|m| self.at(m, "i"))), "&")
    }
}

fn assigns(s: &Stmt, var: Var) -> bool {
    crate::ir::walk::walk(std::slice::from_ref(s)).any(|s| matches!(&s.kind, StmtKind::Assign(to, _) if *to == var))
}
