//! Expressions that several modules of codegen use.

use crate::dtype::DType;
use crate::ir::{Atomic, Func, Meaning, Number, Op, Value};
use crate::layout::linear::{Term, terms};
use crate::thread_ir::{BinaryOp, Body, Device, Expr, Function, Generic, Literal, Local, Name, Stmt, call, closure};

/// A number that the launcher knows, as an expression of argument words.
pub fn number(n: &Number) -> Expr {
    let mut words = n.words.iter().map(|w| Expr::from(Name::Arg(*w)));
    let first = match (n.times, words.next()) {
        (1, Some(first)) => first,
        (_, Some(first)) if n.words.len() > 1 && planted!("number-of-words-without-its-factor") => first,
        (times, first) => {
            let times = Expr::typed(times, DType::U64);
            first.into_iter().fold(times, Expr::wrapping_mul)
        }
    };
    words.fold(first, Expr::wrapping_mul)
}

/// `|r| value`: a value for register `r`.
pub fn of_r(value: impl Into<Expr>) -> Expr {
    closure([Local::R], value)
}

/// `|_| value`: the same value for any register.
pub fn any(value: impl Into<Expr>) -> Expr {
    closure([Local::Ignored], value)
}

/// `d::each(|r| body)`: an array by register.
pub fn each(body: impl Into<Expr>) -> Expr {
    call!(Device::Each; of_r(body))
}

/// An offset into shared memory. It is computed in 64 bits, as an address is.
pub fn offset(addr: Expr) -> Expr {
    call!(Function::Cast; [DType::U64, DType::U32]; addr)
}

/// The conjunction of conditions: by `&` if they are cheap, by `&&` if the later ones cost more than a branch.
pub fn all_of(conditions: impl IntoIterator<Item = Expr>, operator: BinaryOp) -> Expr {
    conditions.into_iter().reduce(|all, c| all.binary(operator, c)).unwrap_or(true.into())
}

/// Whether this thread is the first of those that hold the same elements. Their numbers differ in the bits `copies`.
pub fn acts(copies: u32) -> Expr {
    let copies = if planted!("copies-of-other-warps-act") { copies & 31 } else { copies };
    if copies == 0 { true.into() } else { (Name::Tid & copies).equals(0) }
}

/// A linear function of the thread's number.
pub fn thread_part(bases: &[u32]) -> Expr {
    linear(&Name::Tid.into(), bases)
}

/// A linear function of a number.
pub fn linear(x: &Expr, bases: &[u32]) -> Expr {
    let term = |t: &Term| {
        let x = x.clone();
        let shifted = if t.shift == 0 { x } else { (x >> t.shift).group() };
        let masked = (shifted & t.mask).group();
        match t.factor {
            1 => masked,
            f if f.is_power_of_two() => (masked << f.trailing_zeros()).group(),
            f => (masked * f).group(),
        }
    };
    terms(bases).iter().map(term).reduce(|a, b| a ^ b).unwrap_or(0.into())
}

pub fn float_literal(v: f64, dtype: DType) -> Expr {
    match dtype {
        DType::F32 | DType::F64 => Expr::Literal(Literal::Float { bits: v.to_bits(), dtype }),
        _ => call!(Function::Cast; [DType::F64, dtype]; float_literal(v, DType::F64)),
    }
}

/// NaN in a type of floats.
pub fn nan(dtype: DType) -> Expr {
    call!(Function::Cast; [DType::F32, dtype]; float_literal(f64::NAN, DType::F32))
}

/// The number of an atomic operation, if its function takes one, and closures for its values.
pub fn atomic(op: Atomic, dtype: DType, values: Vec<Expr>, i: Local) -> (Option<Generic>, Vec<Expr>) {
    let closures = values.into_iter().map(|v| closure([i], v)).collect();
    match op {
        Atomic::Cas => (None, closures),
        Atomic::Load => (Some((op as u32).into()), vec![closure([Local::Ignored], Expr::zero(dtype))]),
        _ => (Some((op as u32).into()), closures),
    }
}

/// An elementwise operation on its operands: the same for scalars, for tiles, and on the CPU.
pub fn elementwise(op: &Op, to: DType, from: Option<DType>, args: Vec<Expr>) -> Expr {
    let from = || from.expect("an operand");
    let (function, generics): (Function, Vec<Generic>) = match op {
        Op::Unary(u, _) => ((*u).into(), vec![]),
        Op::Binary(b, ..) => ((*b).into(), vec![]),
        Op::Fma(..) => (Function::Fma, vec![]),
        Op::Select(..) => (Function::Select, vec![]),
        Op::Cast(_) => (Function::Cast, vec![from().into(), to.into()]),
        Op::Bitcast(_) => (Function::Bitcast, vec![from().into(), to.into()]),
        op => unreachable!("{op:?} is not elementwise"),
    };
    Expr::Call(crate::thread_ir::Call { function, generics, args })
}

/// The meaning of inline assembly; `inner` is an operation in it.
pub fn meaning(f: &Func, m: &Meaning, inner: impl Fn(Value) -> Expr) -> Body {
    Body::after(m.body.iter().map(|&v| Stmt::define(v, f.ty(v).dtype.into(), inner(v))).collect(), m.result)
}

/// The accumulators in an array, when all products but the `later` last ones are done.
pub fn done(sums: impl Into<Expr>, later: usize, columns: usize, site: u32) -> Expr {
    call!(Device::WgmmaDone; [Generic::Inferred, Generic::Inferred, later, columns]; sums.into(), site)
}

/// A message without zero bytes, which would end it.
pub fn message(text: &str) -> Expr {
    Expr::Literal(Literal::CText(text.replace('\0', "")))
}
