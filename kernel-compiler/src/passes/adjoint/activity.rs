//! The values that depend on an array with a gradient, and the statements that a backward kernel does not support.

use super::refused::Refused;
use crate::dtype::DType;
use crate::ir::walk::{walk, written};
use crate::ir::{Address, Array, Atomic, Base, Func, Op, StmtKind, Value, Var};
use proc_macro2::Span;
use std::collections::HashSet;

/// The values and variables that depend on an array with a gradient. Integers among them have bits of such floats.
pub struct Active {
    values: Vec<bool>,
    vars: Vec<bool>,
}

impl Active {
    /// `has_gradient` says it of each parameter.
    pub fn new(f: &Func, has_gradient: &[bool]) -> Active {
        let mut active = Active { values: vec![false; f.values.len()], vars: vec![false; f.vars.len()] };
        // Loops carry the property from one iteration to the next.
        loop {
            let mut changed = false;
            for s in walk(&f.body) {
                match s.kind {
                    StmtKind::Let(v) if !active.value(v) && active.is_made_of_active(f, v, has_gradient) => {
                        (active.values[v.0 as usize], changed) = (true, true);
                    }
                    StmtKind::Assign(var, v) if active.value(v) && !active.var(var) => {
                        (active.vars[var.0 as usize], changed) = (true, true);
                    }
                    _ => {}
                }
            }
            if !changed {
                return active;
            }
        }
    }

    /// Whether a value depends on an array with a gradient.
    pub fn value(&self, v: Value) -> bool {
        self.values[v.0 as usize]
    }

    /// The same of a variable.
    pub fn var(&self, var: Var) -> bool {
        self.vars[var.0 as usize]
    }

    fn is_made_of_active(&self, f: &Func, v: Value, has_gradient: &[bool]) -> bool {
        let any = |values: &[Value]| values.iter().any(|&v| self.value(v));
        match f.op(v) {
            _ if f.ty(v).dtype == DType::Bool => false,
            // An index, and a number that is rounded to an integer, is constant between its jumps.
            Op::ArgReduce { .. } => false,
            Op::Cast(x) if f.ty(*x).dtype.is_float() && !f.ty(v).dtype.is_float() => false,
            Op::ReadVar(var) => self.var(*var),
            Op::Load { ptr, other, .. } => {
                ptr.param().is_some_and(|p| has_gradient[p]) || other.is_some_and(|o| self.value(o))
            }
            Op::Gather { value, .. } => self.value(*value),
            op => any(&op.operands()),
        }
    }
}

/// Refuses the statements of a function that have no adjoint, wherever they stand.
pub fn check(f: &Func) -> Result<(), Refused> {
    let written = written(f);
    // Jumps and loops without a range have no place of their own.
    let mut last = f.values.first().map_or_else(Span::call_site, |v| v.span);
    for s in walk(&f.body) {
        let within =
            || walk(std::slice::from_ref(s)).find_map(|s| if let StmtKind::Let(v) = s.kind { Some(v) } else { None });
        match &s.kind {
            StmtKind::Let(v) => {
                last = f.span(*v);
                operation(f, *v, &written)?;
            }
            StmtKind::Store { ptr, span, .. } => {
                last = *span;
                stored(f, ptr, *span)?;
            }
            StmtKind::Clear { span, .. } => return Err(Refused::new(*span, SHARED)),
            StmtKind::Loop { .. } => {
                let span = within().map_or(last, |v| f.span(v));
                return Err(Refused::new(span, "a `while` or a `loop` has no adjoint: write a `for` over a range"));
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Return => {
                let why =
                    "a `break`, `continue` or `return` has no adjoint: write an `if` around the statements, or masks";
                return Err(Refused::new(last, why));
            }
            StmtKind::Assign(..)
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Assert { .. }
            | StmtKind::Print { .. } => {}
        }
    }
    Ok(())
}

const SHARED: &str = "a shared array has no adjoint: a backward kernel is derived of tiles, loads and stores";
const POINTER: &str = "an address that the kernel computes has no gradient: take the array as a parameter";

fn operation(f: &Func, v: Value, written: &HashSet<Array>) -> Result<(), Refused> {
    let span = f.span(v);
    match f.op(v) {
        Op::Load { ptr, .. } => match ptr.base {
            Base::Shared(_) => Err(Refused::new(span, SHARED)),
            Base::Pointer { .. } if f.ty(v).dtype.is_float() => Err(Refused::new(span, POINTER)),
            Base::Pointer { .. } => Ok(()),
            Base::Slice(p) | Base::Raw(p) if written.contains(&ptr.array()) => {
                let name = &f.params[p].name;
                let why = format!("`{name}` is written and read: a kernel with an adjoint reads an array or writes it");
                Err(Refused::new(span, why))
            }
            Base::Slice(_) | Base::Raw(_) => Ok(()),
        },
        Op::Atomic { op, ptr, .. } => {
            let is_used = walk(&f.body).any(|s| f.used_by(s).contains(&v));
            if *op != Atomic::Add || !f.ty(v).dtype.is_float() || is_used {
                let why = "an atomic has no adjoint, except an `atomic_add` of floats whose old value is not used";
                return Err(Refused::new(span, why));
            }
            stored(f, ptr, span)
        }
        _ => Ok(()),
    }
}

fn stored(f: &Func, ptr: &Address, span: Span) -> Result<(), Refused> {
    match ptr.base {
        Base::Shared(_) => Err(Refused::new(span, SHARED)),
        Base::Pointer { .. } => Err(Refused::new(span, POINTER)),
        Base::Slice(p) | Base::Raw(p) if f.params[p].dtype.is_float8() => {
            let name = &f.params[p].name;
            Err(Refused::new(
                span,
                format!("`{name}` has floats of 8 bits, which have no gradient: store f16, bf16 or f32"),
            ))
        }
        Base::Slice(_) | Base::Raw(_) => Ok(()),
    }
}
