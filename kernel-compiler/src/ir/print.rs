//! The text form of the IR, a statement a line. [`parse`](super::parse) reads it.
//!
//! ```text
//! func warps=4 pdl=[x] {
//!   param x: slice f32  // w0, w1
//!   param y: slice mut f32  // w2, w3
//!   param n: scalar u64  // w4
//!   guard w4 % 4
//!   var m0: f32[64] acc
//!   shared counts: u32 256
//!   v0: u64 = program_id 0
//!   v1: u64 = word 4
//!   v2: f32[64] = load x[v3] mask v4 other v5
//!   for v6: u64 in v0..v1 step v7 stages=3 {
//!     m0 = v2
//!   }
//!   store y[v3], v2
//! }
//! ```
//!
//! The argument words of parameters follow from their kinds; the comment behind a parameter names them, as guards do.
//! `x[v3]` is an element of a slice or of a shared array, and `*x[v3]` one that no bounds are checked for. `pdl` names
//! the parameters that may be read before the launch before has ended. The name of a variable that is no identifier
//! stands in quotes. A line ends with `loc(12)`, its place in the kernel's source, only where [`located`] prints it.

use super::{
    Address, Base, Block, BlockPointer, Combine, Func, Guard, Hint, LoopOptions, Meaning, Number, Op, ParamKind,
    Precision, Stmt, StmtKind, Test, Type, Value,
};
use proc_macro2::Span;
use std::fmt::Write;

/// The words for cache hints.
pub(super) const HINTS: [(&str, Hint); 3] =
    [("evict_first", Hint::EvictFirst), ("evict_last", Hint::EvictLast), ("no_l1", Hint::NoL1)];

/// The function as text.
pub fn print(f: &Func) -> String {
    annotated(f, |_| String::new())
}

/// The same with a comment behind each value of which `note` says something.
pub(crate) fn annotated(f: &Func, note: impl Fn(Value) -> String) -> String {
    let mut p = Printer { f, note: &note, locations: false, out: String::new(), depth: 0 };
    p.func();
    p.out
}

/// The same with the source line of each statement that has one.
pub fn located(f: &Func) -> String {
    let mut p = Printer { f, note: &|_| String::new(), locations: true, out: String::new(), depth: 0 };
    p.func();
    p.out
}

struct Printer<'a> {
    f: &'a Func,
    note: &'a dyn Fn(Value) -> String,
    locations: bool,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(&"  ".repeat(self.depth));
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    fn func(&mut self) {
        let f = self.f;
        let mut head = format!("func warps={}", f.warps);
        for (name, n, usual) in [("blocks_per_sm", f.blocks_per_sm, 0), ("stages", f.stages, 0), ("ctas", f.ctas, 1)] {
            if n != usual {
                write!(head, " {name}={n}").expect("writing to a string");
            }
        }
        if f.deterministic {
            head.push_str(" deterministic=true");
        }
        if let Some(pdl) = &f.pdl {
            let names: Vec<&str> = pdl.iter().map(|&i| f.params[i].name.as_str()).collect();
            write!(head, " pdl=[{}]", names.join(", ")).expect("writing to a string");
        }
        self.line(head + " {");
        self.depth += 1;
        for p in &f.params {
            let mutable = if p.kind.is_mut() { " mut" } else { "" };
            let kind = match p.kind {
                ParamKind::Slice { .. } => format!("slice{mutable}"),
                ParamKind::View { rank, .. } => format!("view{mutable} {rank}"),
                ParamKind::Ptr { .. } => format!("ptr{mutable}"),
                ParamKind::Scalar => "scalar".into(),
            };
            let words: Vec<String> = (p.first_word..p.first_word + p.kind.words()).map(|w| format!("w{w}")).collect();
            self.line(format!("param {}: {kind} {}  // {}", p.name, p.dtype.name(), words.join(", ")));
        }
        for [x, y] in f.aliases.iter().map(|pair| pair.map(|i| &f.params[i].name)) {
            self.line(format!("alias {x}, {y}"));
        }
        for g in &f.guards {
            self.line(format!("guard {}", guard(g)));
        }
        for (i, v) in f.vars.iter().enumerate() {
            let name = if is_word(&v.name) { v.name.clone() } else { format!("{:?}", v.name) };
            self.line(format!("var m{i}: {} {name}", ty(&v.ty)));
        }
        for a in &f.shared {
            self.line(format!("shared {}: {} {}", a.name, a.dtype.name(), a.len));
        }
        self.block(&f.body);
        self.depth -= 1;
        self.line("}");
    }

    fn block(&mut self, stmts: &Block) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn nested(&mut self, head: &str, stmts: &Block) {
        self.line(format!("{head} {{"));
        self.depth += 1;
        self.block(stmts);
        self.depth -= 1;
    }

    fn location(&self, span: Span) -> String {
        if self.locations { format!(" loc({})", span.start().line) } else { String::new() }
    }

    fn stmt(&mut self, s: &Stmt) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) => {
                let note = (self.note)(*v);
                let note = if note.is_empty() { note } else { format!("  // {note}") };
                let location = self.location(f.values[v.0 as usize].span);
                self.line(format!("{v:?}: {} = {}{location}{note}", ty(f.ty(*v)), op(f, f.op(*v))));
            }
            StmtKind::Assign(var, v) => self.line(format!("{var:?} = {v:?}")),
            StmtKind::Store { ptr, value, mask, hint, block_pointer, span } => {
                let options = options(*mask, None, *hint, block_pointer.as_ref()) + &self.location(*span);
                self.line(format!("store {}, {value:?}{options}", address(f, ptr)));
            }
            StmtKind::Clear { array, span } => {
                self.line(format!("clear {}{}", f.shared[*array].name, self.location(*span)))
            }
            StmtKind::If { cond, then, other } => {
                self.nested(&format!("if {cond:?}"), then);
                if !other.is_empty() {
                    self.nested("} else", other);
                }
                self.line("}");
            }
            StmtKind::For { iv, lo, hi, step, body, options } => {
                let head = format!("for {iv:?}: {} in {lo:?}..{hi:?} step {step:?}", ty(f.ty(*iv)));
                let location = self.location(f.values[iv.0 as usize].span);
                self.nested(&(head + &loop_options(options) + &location), body);
                self.line("}");
            }
            StmtKind::Loop { body } => {
                self.nested("loop", body);
                self.line("}");
            }
            StmtKind::Break => self.line("break"),
            StmtKind::Continue => self.line("continue"),
            StmtKind::Return => self.line("return"),
            StmtKind::Assert { cond, message, span } => {
                self.line(format!("assert {cond:?} {message:?}{}", self.location(*span)))
            }
            StmtKind::Print { message, value, watch, span } => {
                let word = if *watch { "watch" } else { "print" };
                self.line(format!("{word} {value:?} {message:?}{}", self.location(*span)))
            }
        }
    }
}

fn loop_options(o: &LoopOptions) -> String {
    let mut out = String::new();
    for (name, n) in [("stages", o.stages), ("unroll", o.unroll)] {
        if n > 0 {
            write!(out, " {name}={n}").expect("writing to a string");
        }
    }
    if o.flatten {
        out.push_str(" flatten");
    }
    if let Some(on) = o.warp_specialize {
        write!(out, " warp_specialize={on}").expect("writing to a string");
    }
    out
}

/// Whether a name can stand without quotes.
fn is_word(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_') && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// As in `w1 % 16`: the launcher's check of a product of argument words.
pub(crate) fn guard(g: &Guard) -> String {
    let of = number(&g.of);
    match g.test {
        Test::Multiple(n) => format!("{of} % {n}"),
        Test::Equal(n) => format!("{of} == {n}"),
        Test::Within(lo, hi) => format!("{of} in {lo}..={hi}"),
        Test::AtMost(word) => format!("{of} <= w{word}"),
    }
}

/// As in `4*w1*w3`.
fn number(n: &Number) -> String {
    let constant = (n.times != 1 || n.words.is_empty()).then(|| n.times.to_string());
    constant.into_iter().chain(n.words.iter().map(|w| format!("w{w}"))).collect::<Vec<_>>().join("*")
}

fn address(f: &Func, ptr: &Address) -> String {
    let (name, index) = (|param: usize| &f.params[param].name, ptr.index);
    match ptr.base {
        Base::Slice(param) => format!("{}[{index:?}]", name(param)),
        Base::Raw(param) => format!("*{}[{index:?}]", name(param)),
        Base::Shared(array) => format!("{}[{index:?}]", f.shared[array].name),
        Base::Pointer { address, dtype, mutable } => {
            let qualifier = if mutable { "mut" } else { "const" };
            format!("({address:?} as {qualifier} {dtype})[{index:?}]")
        }
    }
}

fn options(mask: Option<Value>, other: Option<Value>, hint: Hint, block_pointer: Option<&BlockPointer>) -> String {
    let mut out = String::new();
    for (name, v) in [("mask", mask), ("other", other)] {
        if let Some(v) = v {
            write!(out, " {name} {v:?}").expect("writing to a string");
        }
    }
    if let Some((name, _)) = HINTS.iter().find(|(_, h)| *h == hint) {
        write!(out, " {name}").expect("writing to a string");
    }
    if let Some(w) = block_pointer {
        let dims: Vec<String> = w.dims.iter().map(|d| format!("{}/{}", number(&d.extent), number(&d.stride))).collect();
        write!(out, " block [{}] at {:?}", dims.join(", "), w.at).expect("writing to a string");
    }
    out
}

fn ty(t: &Type) -> String {
    if t.is_scalar() { t.dtype.name().into() } else { format!("{}{:?}", t.dtype.name(), t.shape) }
}

fn list(values: &[Value]) -> String {
    values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(", ")
}

fn op(f: &Func, op: &Op) -> String {
    match op {
        Op::Int(n) => format!("int {n}"),
        Op::Float(x) => format!("float {x:?}"),
        Op::Bool(b) => format!("bool {b}"),
        Op::Word { word } => format!("word {word}"),
        Op::ProgramId(axis) => format!("program_id {axis}"),
        Op::NumPrograms(axis) => format!("num_programs {axis}"),
        Op::ClusterCtaRank => "cluster_cta_rank".into(),
        Op::ClusterGather { value, array, repeats } => {
            let repeats = if *repeats { " repeats" } else { "" };
            format!("cluster_gather {value:?} by {}{repeats}", f.shared[*array].name)
        }
        Op::LoopVar => "loop_var".into(),
        Op::ReadVar(var) => format!("read {var:?}"),
        Op::Arange { start } => format!("arange {start}"),
        Op::Splat(x) => format!("splat {x:?}"),
        Op::Unary(u, x) => format!("{} {x:?}", u.name()),
        Op::Binary(b, x, y) => format!("{} {x:?}, {y:?}", b.name()),
        Op::Fma(a, b, c) => format!("fma {}", list(&[*a, *b, *c])),
        Op::Select(a, b, c) => format!("select {}", list(&[*a, *b, *c])),
        Op::Asm { text, results, index, operands, meaning: Meaning { params, body, result } } => {
            let types: Vec<&str> = results.iter().map(|t| t.name()).collect();
            let meaning = closure(f, params, body, &[*result]);
            format!("asm {text:?} {} gives {} at {index} {meaning}", list(operands), types.join(", "))
        }
        Op::Cast(x) => format!("cast {x:?}"),
        Op::Bitcast(x) => format!("bitcast {x:?}"),
        Op::Expand(x, axis) => format!("expand {x:?} axis {axis}"),
        Op::Broadcast(x) => format!("broadcast {x:?}"),
        Op::Reshape(x) => format!("reshape {x:?}"),
        Op::Join(a, b) => format!("join {a:?}, {b:?}"),
        Op::Slice { value, axis, start } => format!("slice {value:?} axis {axis} at {start}"),
        Op::Sort { values, axis, descending } => {
            format!("sort {} axis {axis}{}", list(values), if *descending { " descending" } else { "" })
        }
        Op::Gather { value, index, axis } => format!("gather {value:?}, {index:?} axis {axis}"),
        Op::Histogram { value, weights, mask } => {
            let word = |name: &str, v: &Option<Value>| v.map_or(String::new(), |v| format!(" {name} {v:?}"));
            format!("histogram {value:?}{}{}", word("weights", weights), word("mask", mask))
        }
        Op::Cumcount { value, bins, mask } => {
            format!("cumcount {value:?} bins {bins}{}", mask.map_or(String::new(), |m| format!(" mask {m:?}")))
        }
        Op::Permute(x, perm) => format!("permute {x:?} {perm:?}"),
        Op::Reduce { values, axis, combine } => {
            format!("reduce {} axis {axis} {}", list(values), self::combine(f, combine))
        }
        Op::Scan { values, axis, combine, reverse, exclusive } => {
            let reverse = if *reverse { " reverse" } else { "" };
            let exclusive =
                if exclusive.is_empty() { String::new() } else { format!(" exclusive {}", list(exclusive)) };
            format!("scan {} axis {axis}{reverse}{exclusive} {}", list(values), self::combine(f, combine))
        }
        Op::Result(of, index) => format!("result {of:?} {index}"),
        Op::ArgReduce { value, axis, largest } => {
            format!("{} {value:?} axis {axis}", if *largest { "argmax" } else { "argmin" })
        }
        Op::Load { ptr, mask, other, hint, block_pointer } => {
            format!("load {}{}", address(f, ptr), options(*mask, *other, *hint, block_pointer.as_ref()))
        }
        Op::Dot { a, b, acc, precision } => {
            let precision = match precision {
                Precision::Ieee => "",
                Precision::Tf32 => " tf32",
                Precision::Tf32x3 => " tf32x3",
            };
            format!("dot {}{precision}", list(&[*a, *b, *acc]))
        }
        Op::Atomic { op, ptr, values, mask, relaxed } => {
            let values = if values.is_empty() { String::new() } else { format!(", {}", list(values)) };
            let relaxed = if *relaxed { " relaxed" } else { "" };
            let options = options(*mask, None, Hint::None, None);
            format!("atomic_{} {}{values}{options}{relaxed}", op.name(), address(f, ptr))
        }
    }
}

/// An operation by name, or a closure: the arguments of the first element come before those of the second.
fn combine(f: &Func, combine: &Combine) -> String {
    match combine {
        Combine::Binary(b) => b.name().into(),
        Combine::Closure { a, b, body, results } => closure(f, &[&a[..], b].concat(), body, results),
    }
}

fn closure(f: &Func, params: &[Value], body: &[Value], results: &[Value]) -> String {
    let params: Vec<String> = params.iter().map(|&v| format!("{v:?}: {}", ty(f.ty(v)))).collect();
    let lets: Vec<String> = body.iter().map(|&v| format!("{v:?}: {} = {}", ty(f.ty(v)), op(f, f.op(v)))).collect();
    format!("|{}| {{ {} }} {}", params.join(", "), lets.join("; "), list(results))
}
