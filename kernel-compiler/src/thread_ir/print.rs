//! Thread-level code as Rust text: the only place that knows how a node is spelled.

use super::expr::{Asm, BinaryOp, Body, Call, Closure, Expr, Generic, Literal, Method, Scratch, Stmt, Ty};
use super::function::Function;
use super::name::{BufferPart, Local, Name};
use super::node::{Const, ConstValue, Lowered, ThreadIr};
use crate::dtype::{DType, register, rust_type};
use std::fmt::{self, Display, Formatter, Write};

impl Lowered {
    /// The body of the thread function; `tid`, the argument words `a0, a1, ..` and the tensor maps are in scope.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.consts {
            writeln!(out, "    {}", List(line, " ")).expect("a string takes all");
        }
        for stmt in &self.prologue {
            writeln!(out, "    {stmt}").expect("a string takes all");
        }
        nodes(&self.body, &Rust, 1, &mut out).expect("a string takes all");
        out
    }
}

/// Nodes as the body of a function.
pub(crate) fn body(body: &[ThreadIr]) -> String {
    let mut out = String::new();
    nodes(body, &Rust, 1, &mut out).expect("a string takes all");
    out
}

/// How nodes are written. Control flow is the same in every form.
pub(super) trait Form {
    /// Ends a jump.
    const END: &'static str;

    fn stmts(&self, stmts: &[Stmt], depth: usize, out: &mut dyn Write) -> fmt::Result;
    fn barrier(&self, site: u32, depth: usize, out: &mut dyn Write) -> fmt::Result;
}

/// As the code that is compiled: the statements of a node on one line.
struct Rust;

impl Form for Rust {
    const END: &'static str = ";";

    fn stmts(&self, stmts: &[Stmt], depth: usize, out: &mut dyn Write) -> fmt::Result {
        if stmts.is_empty() { Ok(()) } else { writeln!(out, "{}{}", pad(depth), List(stmts, " ")) }
    }

    fn barrier(&self, site: u32, depth: usize, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "{}d::barrier({site});", pad(depth))
    }
}

pub(super) fn pad(depth: usize) -> String {
    "    ".repeat(depth)
}

pub(super) fn nodes<F: Form>(body: &[ThreadIr], form: &F, depth: usize, out: &mut dyn Write) -> fmt::Result {
    body.iter().try_for_each(|n| node(n, form, depth, out))
}

fn node<F: Form>(n: &ThreadIr, form: &F, depth: usize, out: &mut dyn Write) -> fmt::Result {
    let (pad, end) = (pad(depth), F::END);
    match n {
        ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } => form.stmts(stmts, depth, out),
        ThreadIr::Barrier { site } => form.barrier(*site, depth, out),
        // Only in programs whose scratch buffers have no offsets yet, which are never compiled.
        ThreadIr::Scratch { bytes, steps, .. } => {
            writeln!(out, "{pad}scratch of {bytes} bytes")?;
            steps.iter().try_for_each(|step| {
                writeln!(out, "{pad}step")?;
                form.stmts(step, depth + 1, out)
            })
        }
        ThreadIr::If { cond, then, other } => {
            writeln!(out, "{pad}if {cond} {{")?;
            nodes(then, form, depth + 1, out)?;
            if !other.is_empty() {
                writeln!(out, "{pad}}} else {{")?;
                nodes(other, form, depth + 1, out)?;
            }
            writeln!(out, "{pad}}}")
        }
        ThreadIr::Loop { body } | ThreadIr::Block { body } => {
            writeln!(out, "{pad}{}", if matches!(n, ThreadIr::Loop { .. }) { "loop {" } else { "{" })?;
            nodes(body, form, depth + 1, out)?;
            writeln!(out, "{pad}}}")
        }
        ThreadIr::Break => writeln!(out, "{pad}break{end}"),
        ThreadIr::Continue => writeln!(out, "{pad}continue{end}"),
        ThreadIr::Return => writeln!(out, "{pad}return{end}"),
    }
}

/// Items with something between them.
struct List<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(self.1)?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Const {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match &self.value {
            ConstValue::Word(n) => write!(f, "const {}: u32 = {n};", self.name),
            ConstValue::Table(ty, numbers) => {
                write!(f, "const {}: [{ty}; {}] = [{}];", self.name, numbers.len(), List(numbers, ", "))
            }
        }
    }
}

impl Display for Stmt {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Stmt::Let { name, mutable, ty, value } => {
                f.write_str(if *mutable { "let mut " } else { "let " })?;
                name.fmt(f)?;
                if let Some(ty) = ty {
                    write!(f, ": {ty}")?;
                }
                if let Some(value) = value {
                    write!(f, " = {value}")?;
                }
                f.write_str(";")
            }
            Stmt::LetPair([a, b], values) => write!(f, "let ({a}, {b}) = ({}, {});", values[0], values[1]),
            Stmt::Assign(name, value) => write!(f, "{name} = {value};"),
            Stmt::Update(op, name, value) => write!(f, "{name} {}= {value};", spelling(*op).0),
            Stmt::Expr(e) => write!(f, "{e};"),
            Stmt::If { cond, then } => write!(f, "if {cond} {{ {} }}", List(then, " ")),
            Stmt::While { cond, body } => write!(f, "while {cond} {{ {} }}", List(body, " ")),
        }
    }
}

/// An operator, and how tightly it binds.
fn spelling(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Mul => ("*", 10),
        BinaryOp::Div => ("/", 10),
        BinaryOp::Rem => ("%", 10),
        BinaryOp::Add => ("+", 9),
        BinaryOp::Sub => ("-", 9),
        BinaryOp::Shl => ("<<", 8),
        BinaryOp::Shr => (">>", 8),
        BinaryOp::And => ("&", 7),
        BinaryOp::Xor => ("^", 6),
        BinaryOp::Or => ("|", 5),
        BinaryOp::Eq => ("==", 4),
        BinaryOp::Lt => ("<", 4),
        BinaryOp::Gt => (">", 4),
        BinaryOp::Ge => (">=", 4),
        BinaryOp::AndThen => ("&&", 3),
        BinaryOp::OrElse => ("||", 2),
    }
}

const CAST: u8 = 11;
const PREFIX: u8 = 12;
const POSTFIX: u8 = 13;

/// Whether it does not matter which of three operands come together first.
fn is_associative(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::AndThen | BinaryOp::OrElse)
}

/// How tightly the outermost operator of an expression binds.
fn binding(e: &Expr) -> u8 {
    match e {
        Expr::Binary(op, ..) => spelling(*op).1,
        Expr::Cast(..) => CAST,
        Expr::Not(_) | Expr::Ref(_) => PREFIX,
        Expr::If { .. } | Expr::Closure(_) => 0,
        _ => POSTFIX,
    }
}

/// Whether `<` after it would open a list of types.
fn ends_in_type(e: &Expr) -> bool {
    match e {
        Expr::Cast(..) => true,
        Expr::Binary(_, _, right) => ends_in_type(right),
        Expr::Not(e) => ends_in_type(e),
        _ => false,
    }
}

/// An operand that binds at least so tightly, else in parentheses.
fn operand(e: &Expr, at_least: u8, f: &mut Formatter) -> fmt::Result {
    if binding(e) < at_least { write!(f, "({e})") } else { e.fmt(f) }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Expr::Name(n) => n.fmt(f),
            Expr::Literal(l) => l.fmt(f),
            Expr::Register => f.write_str("#"),
            Expr::Scratch(Scratch::Unplaced) => f.write_str("@"),
            Expr::Scratch(Scratch::Placed { offset, .. }) => offset.fmt(f),
            Expr::Not(e) => {
                f.write_str("!")?;
                operand(e, PREFIX, f)
            }
            Expr::Ref(e) => {
                f.write_str("&")?;
                operand(e, PREFIX, f)
            }
            Expr::Binary(op, a, b) => {
                let (sign, binds) = spelling(*op);
                // Comparisons have no neighbors.
                let left = if binds == 4 { binds + 1 } else { binds };
                if matches!(op, BinaryOp::Lt | BinaryOp::Shl) && ends_in_type(a) {
                    write!(f, "({a})")?;
                } else {
                    operand(a, left, f)?;
                }
                write!(f, " {sign} ")?;
                let of_kind = matches!(&**b, Expr::Binary(inner, ..) if inner == op) && is_associative(*op);
                operand(b, if of_kind { binds } else { binds + 1 }, f)
            }
            Expr::Cast(e, ty) => {
                operand(e, CAST, f)?;
                write!(f, " as {ty}")
            }
            Expr::Index(e, i) => {
                operand(e, POSTFIX, f)?;
                write!(f, "[{i}]")
            }
            Expr::Field(e, i) => {
                operand(e, POSTFIX, f)?;
                write!(f, ".{i}")
            }
            Expr::Method(m, e, args) => {
                operand(e, POSTFIX, f)?;
                let name = match m {
                    Method::WrappingAdd => "wrapping_add",
                    Method::WrappingSub => "wrapping_sub",
                    Method::WrappingMul => "wrapping_mul",
                    Method::SaturatingAdd => "saturating_add",
                    Method::SaturatingMul => "saturating_mul",
                    Method::At => "at",
                    Method::Clone => "clone",
                    Method::AllTrue => return f.write_str(".as_slice().iter().all(|&c| c)"),
                };
                write!(f, ".{name}({})", List(args, ", "))
            }
            Expr::Call(c) => c.fmt(f),
            Expr::Closure(c) => c.fmt(f),
            Expr::Apply(c, args) => write!(f, "({c})({})", List(args, ", ")),
            Expr::If { cond, then, other } => {
                write!(f, "if {cond} {then}")?;
                match other {
                    Some(other) => write!(f, " else {other}"),
                    None => Ok(()),
                }
            }
            Expr::Block(body) => body.fmt(f),
            Expr::Asm(a) => a.fmt(f),
            Expr::Group(e) => write!(f, "({e})"),
            Expr::Tuple(items) => write!(f, "({},)", List(items, ", ")),
            Expr::Array(items) => write!(f, "[{}]", List(items, ", ")),
            Expr::Chain { first, last, wait } => {
                write!(f, "d::Chain {{ first: {first}, last: {last}, wait: {wait} }}")
            }
            Expr::Matrix { leading, stride, swizzle } => {
                write!(f, "d::Matrix {{ leading: {leading}, stride: {stride}, swizzle: {swizzle} }}")
            }
        }
    }
}

impl Display for Body {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str("{ ")?;
        for s in &self.stmts {
            write!(f, "{s} ")?;
        }
        write!(f, "{} }}", self.value)
    }
}

impl Display for Closure {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match &self.ty {
            None => write!(f, "|{}| {}", List(&self.params, ", "), self.body),
            Some(ty) => {
                f.write_str("|")?;
                for (i, p) in self.params.iter().enumerate() {
                    write!(f, "{}{p}: {ty}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, "| -> {ty} {{ {} }}", self.body)
            }
        }
    }
}

impl Display for Asm {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let of = |t: DType| {
            let (register, bits) = register(t).expect("it is a number of a register");
            format!("{} as {register} {bits}", rust_type(t))
        };
        let results: Vec<String> = self.results.iter().enumerate().map(|(i, &t)| format!("o{i}: {}", of(t))).collect();
        let operands: Vec<String> =
            self.operands.iter().map(|(name, t, e)| format!("{name}: {} = {e}", of(*t))).collect();
        let (results, operands) = (results.join(", "), operands.join(", "));
        write!(f, "d::asm!({:?}; {results}; o{}; {operands}; {})", self.text, self.index, self.meaning)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.function.fmt(f)?;
        if !self.generics.is_empty() {
            write!(f, "::<{}>", List(&self.generics, ", "))?;
        }
        write!(f, "({})", List(&self.args, ", "))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Function::Device(d) => write!(f, "d::{}", d.name()),
            Function::Cpu(c) => write!(f, "c::{}", c.name()),
            Function::Unary(u) => write!(f, "s::{}", u.name()),
            Function::Binary(b) => write!(f, "s::{}", b.name()),
            Function::Fma => f.write_str("s::fma"),
            Function::Select => f.write_str("s::select"),
            Function::Cast => f.write_str("s::cast"),
            Function::Bitcast => f.write_str("s::bitcast"),
            Function::Lowest => f.write_str("s::lowest"),
            Function::Highest => f.write_str("s::highest"),
            Function::FromBits64(t) => write!(f, "<{} as s::Scalar>::from_bits64", rust_type(*t)),
        }
    }
}

impl Display for Generic {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Generic::Type(t) => t.fmt(f),
            Generic::Number(n) => n.fmt(f),
            Generic::Flag(b) => b.fmt(f),
            Generic::Expr(e) => write!(f, "{{ {e} }}"),
            Generic::Inferred => f.write_str("_"),
        }
    }
}

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Ty::Scalar(t) => f.write_str(rust_type(*t)),
            Ty::Usize => f.write_str("usize"),
            Ty::Array(t, n) => write!(f, "[{t}; {n}]"),
            Ty::Tile(t) => write!(f, "c::Tile<{}>", rust_type(*t)),
            Ty::Tuple(items) if items.is_empty() => f.write_str("()"),
            Ty::Tuple(items) => write!(f, "({},)", List(items, ", ")),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Literal::Int { value, dtype } | Literal::Configured { value, dtype } => match dtype {
                None => value.fmt(f),
                Some(t) if *value < 0 => write!(f, "({value}{})", t.name()),
                Some(t) => write!(f, "{value}{}", t.name()),
            },
            Literal::Float { bits, dtype } => float(f64::from_bits(*bits), *dtype, f),
            Literal::Bool(b) => b.fmt(f),
            Literal::Zero(t) => write!(f, "<{} as s::Scalar>::ZERO", rust_type(*t)),
            Literal::MaxU32 => f.write_str("u32::MAX"),
            Literal::CText(t) => write!(f, "c{t:?}"),
            Literal::Text(t) => write!(f, "{t:?}"),
            Literal::Precision(p) => write!(f, "c::Precision::{p:?}"),
        }
    }
}

/// Of `f32` or `f64`.
fn float(v: f64, dtype: DType, f: &mut Formatter) -> fmt::Result {
    let t = rust_type(dtype);
    match dtype {
        _ if v.is_nan() => write!(f, "{t}::NAN"),
        _ if v == f64::INFINITY => write!(f, "{t}::INFINITY"),
        _ if v == f64::NEG_INFINITY => write!(f, "{t}::NEG_INFINITY"),
        DType::F64 => write!(f, "({v:?}f64)"),
        // A double that overflows a float must not become a literal that rustc refuses.
        _ => write!(f, "f32::from_bits({:#x}u32 /* {v:?} */)", (v as f32).to_bits()),
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Name::Tid => f.write_str("tid"),
            Name::Value(v) => write!(f, "v{}", v.0),
            Name::Var(v) => write!(f, "m{}", v.0),
            Name::Advanced(v, 0) => write!(f, "n{}", v.0),
            Name::Advanced(v, buffer) => write!(f, "n{}_{buffer}", v.0),
            Name::FreshVar(v) => write!(f, "fresh_m{}", v.0),
            Name::AddsTo(v) => write!(f, "add_v{}", v.0),
            Name::Old(v) => write!(f, "old_v{}", v.0),
            Name::Results(v) => write!(f, "r{}", v.0),
            Name::SharedArray(i) => write!(f, "shared{i}"),
            Name::Next(v) => write!(f, "i{}", v.0),
            Name::Ahead(v) => write!(f, "j{}", v.0),
            Name::Reach(v) => write!(f, "reach{}", v.0),
            Name::Temporary(i) => write!(f, "x{i}"),
            Name::Part(i, part) => write!(f, "x{i}_{part}"),
            Name::ThreadPart(i) => write!(f, "t{i}"),
            Name::Table(i) => write!(f, "K{i}"),
            Name::Arg(i) => write!(f, "a{i}"),
            Name::Map(i) => write!(f, "map{i}"),
            Name::Buffer { operand_group, buffer } => write!(f, "b{operand_group}_{buffer}"),
            Name::Matrix(i) => write!(f, "MATRIX{i}"),
            Name::Staging => f.write_str("STAGING"),
            Name::CircularBuffer(of, i) => write!(f, "{}{i}", buffer_part(*of)),
            Name::Live => f.write_str("live"),
            Name::Trace => f.write_str("trace"),
            Name::Local(l) => l.fmt(f),
            Name::Program => f.write_str("p"),
            Name::ProgramId => f.write_str("p.id"),
            Name::Grid => f.write_str("p.grid"),
            Name::Words => f.write_str("a"),
            Name::Numbers => f.write_str("p.numbers"),
            Name::Number(i) => write!(f, "n{i}"),
        }
    }
}

fn buffer_part(of: BufferPart) -> &'static str {
    match of {
        BufferPart::Start => "BUFFER",
        BufferPart::Bytes => "BYTES",
        BufferPart::Stages => "STAGES",
        BufferPart::Full => "FULL",
        BufferPart::Empty => "EMPTY",
        BufferPart::Stage => "s",
        BufferPart::Phase => "p",
        BufferPart::Read => "read",
        BufferPart::Write => "write",
        BufferPart::Filled => "filled",
        BufferPart::Used => "used",
        BufferPart::InFlight => "in_flight",
    }
}

impl Display for Local {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Local::Ignored => "_",
            Local::R => "r",
            Local::G => "g",
            Local::K => "k",
            Local::M => "m",
            Local::I => "i",
            Local::E => "e",
            Local::C => "c",
            Local::P => "p",
            Local::Acc => "acc",
            Local::A => "a",
            Local::B => "b",
            Local::X => "x",
            Local::Y => "y",
            Local::S => "s",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_ir::{Device, call, closure};

    fn tid() -> Expr {
        Name::Tid.into()
    }

    #[test]
    fn operands_that_bind_less_tightly_get_parentheses() {
        for (e, expected) in [
            ((tid() + 1) * 2, "(tid + 1) * 2"),
            (tid() + tid() * 2, "tid + tid * 2"),
            (tid() - (tid() - 1), "tid - (tid - 1)"),
            (tid() - tid() - 1, "tid - tid - 1"),
            (tid() & (tid() & 1), "tid & tid & 1"),
            ((tid() ^ 1) & 3, "(tid ^ 1) & 3"),
            ((tid() >> 2 & 3).equals(1), "tid >> 2 & 3 == 1"),
            (tid().less(1).equals(true), "(tid < 1) == true"),
            (!(tid().less(1) & true), "!((tid < 1) & true)"),
            (tid().less(1).or_else(true).and_then(false), "(tid < 1 || true) && false"),
            ((tid() + 1).wrapping_add(tid() + 1), "(tid + 1).wrapping_add(tid + 1)"),
            ((tid() + 1).cast(Ty::U64), "(tid + 1) as u64"),
            (tid().cast(Ty::U64) + 1, "tid as u64 + 1"),
            ((tid() + 1).element(tid() + 1), "(tid + 1)[tid + 1]"),
        ] {
            assert_eq!(e.to_string(), expected);
        }
    }

    /// `x as u64 < y` would begin a list of types.
    #[test]
    fn a_cast_before_an_opening_angle_is_in_parentheses() {
        let cast = || tid().cast(Ty::U64);
        assert_eq!(cast().less(1).to_string(), "(tid as u64) < 1");
        assert_eq!((cast() << 1).to_string(), "(tid as u64) << 1");
        assert_eq!((tid() + cast()).less(1).to_string(), "(tid + tid as u64) < 1");
        assert_eq!(cast().greater(1).to_string(), "tid as u64 > 1");
    }

    #[test]
    fn a_register_is_put_into_an_expression_as_it_is_needed() {
        let pair = call!(Device::OfPair; [DType::F16]; Expr::from(Name::Temporary(1)).element(Expr::Register / 2));
        assert_eq!(pair.at(Local::R).to_string(), "d::of_pair::<F16>(x1[r / 2])");
        assert_eq!(pair.at(Local::R + 1).to_string(), "d::of_pair::<F16>(x1[(r + 1) / 2])");
        let inner = call!(Device::Each; closure([Local::K], Expr::Register + Local::K));
        assert_eq!(inner.at(3).to_string(), "d::each(|k| 3 + k)");
    }
}
