//! Loads, stores and atomics.

use crate::diag::{Code, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast::Expr;
use crate::front::infer::builtins::{Call, usage};
use crate::front::infer::options::Options;
use crate::front::infer::{Infer, Val};
use crate::ir::{Address, Atomic, Base, Op, StmtKind, Type, Value};

fn atomic_op(name: &str) -> Option<Atomic> {
    Some(match name {
        "atomic_add" => Atomic::Add,
        "atomic_max" => Atomic::Max,
        "atomic_min" => Atomic::Min,
        "atomic_and" => Atomic::And,
        "atomic_or" => Atomic::Or,
        "atomic_xor" => Atomic::Xor,
        "atomic_xchg" => Atomic::Xchg,
        "atomic_cas" => Atomic::Cas,
        "atomic_load" => Atomic::Load,
        "atomic_store" => Atomic::Store,
        _ => return None,
    })
}

impl Infer<'_> {
    pub(super) fn access(&mut self, name: &str, c: &Call) -> Result<Val> {
        let Some(first) = c.args.first() else {
            return self.error(Code::NotMemory, c.span, format!("`{name}` needs a slice, a pointer or a view"));
        };
        let base = self.expr(first)?;
        if let Some(view) = self.view_of(&base) {
            return self.view_access(name, c, view);
        }
        if name == "tile" {
            let found = self.describe(&base);
            return self.error(
                Code::NotMemory,
                first.span,
                format!("`.tile` is for views, found {found}: use `load(x, i)`"),
            );
        }
        let writes = name != "load";
        let (base, index, rest) = match base {
            Val::Param(_) | Val::Shared(_) => {
                let (kind, called, base) = match base {
                    Val::Param(p) if c.options.unchecked => ("slice", self.params[p].name.as_str(), Base::Raw(p)),
                    Val::Param(p) => ("slice", self.params[p].name.as_str(), Base::Slice(p)),
                    Val::Shared(array) if !c.options.unchecked => ("shared array", "s", Base::Shared(array)),
                    _ => {
                        let why = "the bounds of a shared array are always checked: leave `.unchecked()` out";
                        return self.error(Code::SharedArray, c.span, why);
                    }
                };
                if let ("store", 2) = (name, c.args.len()) {
                    let needs = format!("`store` on a {kind} needs an index and a value: `store({called}, i, v)`");
                    return self.error(Code::AccessArguments, c.span, needs);
                }
                let Some(i) = c.args.get(1) else {
                    let needs = format!("`{name}` on a {kind} needs an index: `{name}({called}, i, ..)`");
                    return self.error(Code::AccessArguments, c.span, needs);
                };
                let v = self.expr(i)?;
                (base, self.index(v, i.span)?, &c.args[2..])
            }
            Val::Ptr(p) => {
                let index = self.offset(&p, first.span)?;
                (p.to, index, &c.args[1..])
            }
            other => {
                let found = self.describe(&other);
                return self.error(
                    Code::NotMemory,
                    first.span,
                    format!("`{name}` needs a slice, a pointer or a view, found {found}"),
                );
            }
        };
        if writes && !self.is_mut(base) {
            let why = match base {
                Base::Slice(param) | Base::Raw(param) => {
                    let p = &self.params[param];
                    format!("`{}` cannot be written: declare it as `{}: &mut [{}]`", p.name, p.name, p.dtype.name())
                }
                Base::Shared(_) => unreachable!("a shared array is written"),
                Base::Pointer { dtype, .. } => {
                    format!("a `*const {dtype}` cannot be written: cast the address with `as *mut {dtype}`")
                }
            };
            return self.error(Code::NotWritable, first.span, why);
        }
        let ptr = Address { base, index };
        let dtype = self.elem(base);
        let shape = self.ty(ptr.index).shape.clone();
        let mask = self.mask(&c.options, &shape)?;
        if let (Some((_, at)), true) = (&c.options.other, writes) {
            return self.error(Code::UnknownOption, *at, "only a load has `.other(v)`");
        }
        if c.options.relaxed && !name.starts_with("atomic_") {
            return self.error(Code::UnknownOption, c.span, "only an atomic has `.relaxed()`");
        }
        let value = |cx: &mut Self, e: &Expr, what: &str| {
            let v = cx.expr(e)?;
            let v = cx.run_as(v, dtype, e.span)?;
            cx.broadcast_to(v, &shape, e.span, what)
        };
        match (name, rest) {
            ("load", []) => {
                let other = match &c.options.other {
                    Some((v, at)) => {
                        let v = self.run_as(v.clone(), dtype, *at)?;
                        Some(self.broadcast_to(v, &shape, *at, "the `other` value")?)
                    }
                    None => None,
                };
                Ok(Val::Run(self.push(
                    Op::Load { ptr, mask, other, hint: c.options.hint, block_pointer: None },
                    Type { dtype, shape },
                    c.span,
                )))
            }
            ("store", [v]) => {
                let value = value(self, v, "a value to store")?;
                self.emit(StmtKind::Store {
                    ptr,
                    value,
                    mask,
                    hint: c.options.hint,
                    block_pointer: None,
                    span: c.span.first,
                });
                Ok(Val::Unit)
            }
            (_, given) if atomic_op(name).is_some_and(|op| op.values().len() == given.len()) => {
                self.atomic_dtype(name, dtype, c.span)?;
                let op = atomic_op(name).expect("checked");
                let values =
                    given.iter().zip(op.values()).map(|(v, what)| value(self, v, what)).collect::<Result<_>>()?;
                let old = self.push(
                    Op::Atomic { op, ptr, values, mask, relaxed: c.options.relaxed },
                    Type { dtype, shape },
                    c.span,
                );
                Ok(if op == Atomic::Store { Val::Unit } else { Val::Run(old) })
            }
            _ => {
                let usage = usage(name);
                let pointer = match ptr.base {
                    Base::Raw(param) if !c.options.unchecked => format!(
                        "`{}` is a pointer, the index is added to it: `{name}({}.add(i), ..)`; ",
                        self.params[param].name, self.params[param].name
                    ),
                    Base::Pointer { .. } => format!("an index is added to a pointer: `{name}(p.add(i), ..)`; "),
                    _ => String::new(),
                };
                self.error(
                    Code::AccessArguments,
                    c.span,
                    format!("wrong number of arguments: {pointer}expected {usage}"),
                )
            }
        }
    }

    fn atomic_dtype(&self, name: &str, dtype: DType, span: Span) -> Result<()> {
        let bits = matches!(name, "atomic_and" | "atomic_or" | "atomic_xor");
        let ok = match dtype {
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
            DType::F32 | DType::F64 | DType::F16 | DType::BF16 => !bits,
            _ => false,
        };
        if ok {
            Ok(())
        } else {
            let allowed = if bits { "i32, u32, i64, u64" } else { "i32, u32, i64, u64, f32, f64, f16, bf16" };
            self.error(Code::ElementType, span, format!("`{name}` works on {allowed}, found {}", in_message(dtype)))
        }
    }

    /// An index: any integer, a literal becomes `usize`.
    pub(super) fn index(&mut self, v: Val, span: Span) -> Result<Value> {
        let v = match v {
            Val::Int(_, None) => self.constant(&v, DType::U64, span)?,
            v => self.run(v, span)?,
        };
        let ty = self.ty(v).clone();
        if !ty.dtype.is_int() {
            return self.error(
                Code::IndexType,
                span,
                format!("an index is an integer, found {ty}: convert with `.to::<usize>()`"),
            );
        }
        Ok(v)
    }

    pub(super) fn mask(&mut self, o: &Options, shape: &[usize]) -> Result<Option<Value>> {
        match &o.mask {
            None | Some((Val::Bool(true), _)) => Ok(None),
            Some((v, at)) => {
                let v = self.run(v.clone(), *at)?;
                let ty = self.ty(v).clone();
                if ty.dtype != DType::Bool {
                    return self.error(
                        Code::MaskType,
                        *at,
                        format!("a mask is a bool, found {ty}: compare, as in `i < n`"),
                    );
                }
                self.broadcast_to(v, shape, *at, "a mask").map(Some)
            }
        }
    }
}
