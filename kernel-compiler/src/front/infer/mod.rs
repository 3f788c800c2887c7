//! Phase 2, infer: the syntax tree with its type parameters and constants chosen → typed [`ir`](crate::ir).
//!
//! Compile-time values (literals, const generics, shapes) are folded here; helpers and closures are inlined; every
//! rule about dtypes, shapes and uniformity is checked here, and nowhere later.

mod aggregate;
mod asm;
mod builtins;
mod call;
mod closure;
mod constants;
mod control;
mod cumcount;
mod dot;
mod expr;
mod extremum;
mod fold;
mod histogram;
mod jumps;
mod loops;
mod memory;
mod operands;
mod ops;
mod options;
mod parts;
mod pointer;
mod programs;
mod range;
mod reduce;
mod scaled;
mod scan;
mod shared;
mod sort;
mod val;
mod view;
mod watch;

pub use builtins::BUILTINS;
pub use options::OPTIONS;

use crate::diag::{Code, Diagnostics, Reported, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast;
use crate::front::ast::{Choice, Config, Const, Kernel, ParamKind};
use crate::front::infer::jumps::{Exit, Frame};
use crate::front::infer::val::{Binding, Closure, Handed, Pointer, Range, Val, Whole};
use crate::ir::{
    Base, Func, MAX_REGISTERS, Op, Param, Shape, SharedArray, Stmt, StmtKind, Type, Value, ValueInfo, Var, VarInfo,
    padded_elements,
};
use std::collections::HashMap;
use tilewright_types::limits::MAX_RANK;

/// Element count of the largest tile of a thread block: beyond it registers cannot hold it.
const MAX_TILE: usize = 1 << 17;
/// Helpers may call helpers this deep; recursion cannot end at compile time.
const MAX_DEPTH: usize = 32;
/// Operations of a kernel whose helpers are inlined and whose `static_range`s are laid out: more are a mistake, and
/// would be compiled for minutes.
const MAX_OPERATIONS: usize = 1 << 16;

/// Infers one instance.
pub fn infer(kernel: &Kernel, choice: &Choice, config: &Config, d: &Diagnostics) -> Result<Func> {
    // A `let mut n = 0` takes its type from a later operand: each such use restarts inference once.
    let mut literal_types = HashMap::new();
    let before = d.len();
    loop {
        let mut cx = Infer::new(kernel, choice, config, d, literal_types);
        let done = cx.kernel();
        if cx.restart {
            literal_types = cx.literal_types;
            // Errors under guessed types are no errors of the kernel.
            d.truncate(before);
            continue;
        }
        done?;
        let pdl = kernel
            .pdl
            .as_ref()
            .map(|names| (0..cx.params.len()).filter(|&i| names.iter().any(|n| *n == cx.params[i].name)).collect());
        // An optional array without an argument is no parameter of this instance.
        let param = |name: &proc_macro2::Ident| cx.params.iter().position(|p| *name == p.name);
        let aliases = kernel.aliases.iter().filter_map(|[x, y]| Some([param(x)?, param(y)?])).collect();
        return Ok(Func {
            params: cx.params,
            values: cx.values,
            vars: cx.vars,
            shared: cx.shared,
            body: cx.blocks.pop().expect("the body"),
            warps: config.warps,
            blocks_per_sm: config.blocks_per_sm,
            stages: config.stages,
            ctas: config.ctas,
            pdl,
            aliases,
            checked_views: cx.checked_views,
            deterministic: kernel.deterministic,
            guards: vec![],
        });
    }
}

struct Infer<'a> {
    d: &'a Diagnostics,
    kernel: &'a Kernel,
    choice: &'a Choice,
    consts: &'a [(String, Const)],
    warps: u32,
    ctas: u32,
    /// Type names in reach, innermost last.
    types: Vec<(String, DType)>,
    params: Vec<Param>,
    values: Vec<ValueInfo>,
    vars: Vec<VarInfo>,
    shared: Vec<SharedArray>,
    /// As [`Func::checked_views`].
    checked_views: Vec<proc_macro2::Span>,
    /// The variables that hold the value of an `if`, with the values of its branches.
    choices: HashMap<Var, [Value; 2]>,
    /// Variables that an untyped literal started, by the number of the literal: its dtype is open until it meets
    /// another. (Not by its place: a helper is inlined more than once, and a library's tokens are of another file.)
    open_vars: HashMap<Var, usize>,
    literals: usize,
    literal_types: HashMap<usize, DType>,
    restart: bool,
    /// It has more than [`MAX_OPERATIONS`], which has been reported.
    is_too_long: bool,
    /// Statement lists under construction, innermost last.
    blocks: Vec<Vec<Stmt>>,
    scopes: Vec<HashMap<String, Binding>>,
    loops: Vec<Frame>,
    /// Jumps over inner loops to one that a label names.
    exits: Vec<Exit>,
    /// Constants of the module whose values are being inferred.
    resolving: Vec<String>,
    /// Statements so far that give a variable a new content.
    assignments: usize,
    /// Depth of inlined helpers.
    depth: usize,
    /// In a helper of a library of the language: the user's call, of the outermost one.
    standard_call: Option<Span>,
}

impl<'a> Infer<'a> {
    fn new(
        kernel: &'a Kernel,
        choice: &'a Choice,
        config: &'a Config,
        d: &'a Diagnostics,
        literal_types: HashMap<usize, DType>,
    ) -> Self {
        Infer {
            d,
            kernel,
            choice,
            consts: &config.consts,
            warps: config.warps,
            ctas: config.ctas,
            types: choice.types.clone(),
            params: vec![],
            values: vec![],
            vars: vec![],
            shared: vec![],
            checked_views: vec![],
            choices: HashMap::new(),
            open_vars: HashMap::new(),
            literals: 0,
            literal_types,
            restart: false,
            is_too_long: false,
            blocks: vec![vec![]],
            scopes: vec![HashMap::new()],
            loops: vec![],
            exits: vec![],
            resolving: vec![],
            assignments: 0,
            depth: 0,
            standard_call: None,
        }
    }

    fn kernel(&mut self) -> Result<()> {
        let kernel = self.kernel;
        let mut first_word = 0;
        // Helpers and the constants of a module see neither these nor the types.
        for (name, of) in &kernel.given.types {
            let dtype = self.dtype(of)?;
            self.types.push((name.clone(), dtype));
        }
        for (name, value) in self.consts.iter().chain(&kernel.given.consts) {
            self.bind(name, Binding::Val(value.clone().into()));
        }
        for p in &kernel.params {
            let (dtype, i) = (self.dtype(&p.elem)?, self.params.len());
            let name = p.name.to_string();
            if !self.choice.has(p) {
                self.bind(&name, Binding::Val(Val::Option(None)));
                continue;
            }
            let val = match p.kind {
                ParamKind::Scalar => {
                    Val::Run(self.push(Op::Word { word: first_word }, Type::scalar(dtype), p.name.span().into()))
                }
                ParamKind::Ptr { .. } => Val::Ptr(Pointer { to: Base::Raw(i), offset: None }),
                ParamKind::Slice { .. } | ParamKind::View { .. } => Val::Param(i),
            };
            let val = if p.is_optional { Val::Option(Some(Box::new(val))) } else { val };
            self.bind(&name, Binding::Val(val));
            self.params.push(Param { name, kind: p.kind, dtype, first_word });
            first_word += p.kind.words();
        }
        self.block(&kernel.body)?;
        Ok(())
    }

    // --- names ---

    fn bind(&mut self, name: &str, b: Binding) {
        self.scopes.last_mut().expect("a scope").insert(name.to_string(), b);
    }

    fn poison(&mut self, name: &str) {
        // A constant of the module sees no scope.
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string(), Binding::Poisoned);
        }
    }

    fn lookup(&self, name: &str) -> Option<&Binding> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    fn known_type(&self, t: &ast::TypeName) -> Option<DType> {
        let bound: Vec<_> = self.types.iter().rev().cloned().collect();
        self.kernel.scope.dtype(t, &bound)
    }

    fn dtype(&self, t: &ast::TypeName) -> Result<DType> {
        self.known_type(t).ok_or_else(|| crate::front::parse::types::unknown_type(t, self.d))
    }

    // --- making IR ---

    fn emit(&mut self, s: StmtKind) {
        self.assignments += usize::from(matches!(s, StmtKind::Assign(..)));
        self.blocks.last_mut().expect("a block").push(s.into());
    }

    fn push(&mut self, op: Op, ty: Type, span: Span) -> Value {
        let v = self.define(op, ty, span);
        self.emit(StmtKind::Let(v));
        v
    }

    /// A value that some statement defines by itself.
    fn define(&mut self, op: Op, ty: Type, span: Span) -> Value {
        self.values.push(ValueInfo { ty, op, span: self.place(span).first });
        Value(self.values.len() as u32 - 1)
    }

    fn new_var(&mut self, name: &str, ty: Type) -> Var {
        self.vars.push(VarInfo { name: name.to_string(), ty });
        Var(self.vars.len() as u32 - 1)
    }

    fn ty(&self, v: Value) -> &Type {
        &self.values[v.0 as usize].ty
    }

    fn error<T>(&self, code: Code, span: impl Into<Span>, message: impl Into<String>) -> Result<T> {
        Err(self.d.error(code, self.place(span.into()), message))
    }

    /// The place in the user's source. For code of a library of the language it is the place of the call.
    fn place(&self, span: Span) -> Span {
        self.standard_call.unwrap_or(span)
    }

    // --- compile-time values ---

    /// A literal or constant as a value of the given dtype.
    fn constant(&mut self, v: &Val, dtype: DType, span: Span) -> Result<Value> {
        let wanted = in_message(dtype);
        let op = match v {
            Val::Int(n, t) if t.is_none() || *t == Some(dtype) => {
                if dtype.is_float() {
                    return self.error(
                        Code::TypeMismatch,
                        span,
                        format!("expected {wanted}, found the integer {n}: write `{n}.0`"),
                    );
                }
                if !dtype.holds(*n) {
                    return self.error(Code::LiteralRange, span, format!("{n} does not fit in {wanted}"));
                }
                Op::Int(*n)
            }
            Val::Float(x, t) if t.is_none() || *t == Some(dtype) => {
                if !dtype.is_float() {
                    return self.error(
                        Code::TypeMismatch,
                        span,
                        format!(
                            "expected {wanted}, found the float {x}: write an integer, or convert with `as {}`",
                            in_message(dtype)
                        ),
                    );
                }
                if t.is_none() {
                    self.fits(*x, dtype, span)?;
                }
                Op::Float(if dtype.reaches(*x) { *x } else { dtype.overflowed(*x) })
            }
            Val::Bool(b) if dtype == DType::Bool => Op::Bool(*b),
            Val::Option(_) | Val::DType(_) | Val::Struct(..) => {
                let found = self.describe(v);
                return self.error(Code::TypeMismatch, span, format!("expected {wanted}, found {found}"));
            }
            Val::Shared(_) => {
                let found = self.describe(v);
                return self.error(
                    Code::TypeMismatch,
                    span,
                    format!("expected {wanted}, found {found}: write `load(s, i)`"),
                );
            }
            _ => {
                let found = self.describe(v);
                return self.error(
                    Code::TypeMismatch,
                    span,
                    format!("expected {wanted}, found {found}: convert with `.to::<{}>()` or `as`", in_message(dtype)),
                );
            }
        };
        Ok(self.push(op, Type::scalar(dtype), span))
    }

    /// Checks a literal. Computed or converted values overflow as at run time.
    fn fits(&self, x: f64, dtype: DType, span: Span) -> Result<()> {
        if dtype.reaches(x) {
            return Ok(());
        }
        self.error(Code::LiteralRange, span, format!("{x:e} does not fit in {}", in_message(dtype)))
    }

    /// A number known at compile time that has the dtype or takes it, which stays one.
    fn typed(&self, v: &Val, t: DType, span: Span) -> Result<Option<Val>> {
        Ok(match *v {
            Val::Int(n, None) if !t.is_float() && t.holds(n) => Some(Val::Int(n, Some(t))),
            Val::Float(x, None) if t.is_float() => {
                self.fits(x, t, span)?;
                Some(Val::Float(x, Some(t)))
            }
            Val::Int(_, Some(found)) | Val::Float(_, Some(found)) if found == t => Some(v.clone()),
            _ => None,
        })
    }

    /// A constant scalar.
    fn number(&mut self, n: i128, dtype: DType, span: Span) -> Result<Value> {
        self.constant(&Val::Int(n, None), dtype, span)
    }

    /// Any scalar or tile as a run-time value; open literals become `i32` and `f32`.
    fn run(&mut self, v: Val, span: Span) -> Result<Value> {
        match v {
            Val::Run(v) => Ok(v),
            Val::Int(_, t) => self.constant(&v, t.unwrap_or(DType::I32), span),
            Val::Float(_, t) => self.constant(&v, t.unwrap_or(DType::F32), span),
            Val::Bool(_) => self.constant(&v, DType::Bool, span),
            other => {
                let found = self.describe(&other);
                self.error(Code::TypeMismatch, span, format!("expected a scalar or a tile, found {found}"))
            }
        }
    }

    /// As [`run`](Self::run), of this dtype.
    fn run_as(&mut self, v: Val, dtype: DType, span: Span) -> Result<Value> {
        match v {
            Val::Run(x) => {
                let found = self.ty(x).clone();
                if found.dtype != dtype {
                    if self.retype(x, dtype) {
                        return Err(Reported);
                    }
                    let wanted = in_message(dtype);
                    return self.error(
                        Code::TypeMismatch,
                        span,
                        format!(
                            "expected {wanted}, found {found}: convert with `.to::<{}>()` or `as`",
                            in_message(dtype)
                        ),
                    );
                }
                Ok(x)
            }
            other => self.constant(&other, dtype, span),
        }
    }

    /// Whether `v` reads a variable whose literal can still take another dtype; if so, inference starts again.
    fn retype(&mut self, v: Value, dtype: DType) -> bool {
        let Op::ReadVar(var) = self.values[v.0 as usize].op else { return false };
        let Some(&literal) = self.open_vars.get(&var) else { return false };
        if self.ty(v).dtype.is_float() != dtype.is_float()
            || dtype == DType::Bool
            || self.literal_types.contains_key(&literal)
        {
            return false;
        }
        self.restart_with(literal, dtype);
        true
    }

    /// Of several only the first counts: later code may be left out this time, which changes the numbers of literals.
    fn restart_with(&mut self, literal: usize, dtype: DType) {
        if !self.restart {
            self.literal_types.insert(literal, dtype);
            self.restart = true;
        }
    }

    fn const_int(&self, v: &Val, span: Span, what: &str) -> Result<i128> {
        self.known(v, span, what)?;
        match v {
            Val::Int(n, _) => Ok(*n),
            other => {
                self.error(Code::TypeMismatch, span, format!("{what} is an integer, found {}", self.describe(other)))
            }
        }
    }

    fn extent(&self, v: &Val, span: Span) -> Result<usize> {
        let n = self.const_int(v, span, "an extent")?;
        if !(1..=MAX_TILE as i128).contains(&n) {
            let code = if n < 1 { Code::TileShape } else { Code::TileTooLarge };
            return self.error(code, span, format!("an extent of {n}: a tile has 1 to {MAX_TILE} elements"));
        }
        self.check_size(&[n as usize], span)?;
        Ok(n as usize)
    }

    /// The extents in `[M, N]` (or a single integer for rank 1).
    fn shape(&self, v: &Val, span: Span) -> Result<Shape> {
        let list = match v {
            Val::Array(list) | Val::Tuple(list) => list.clone(),
            one => vec![one.clone()],
        };
        if !(1..=MAX_RANK).contains(&list.len()) {
            return self.error(Code::TileShape, span, format!("a tile has rank 1 to {MAX_RANK}, found {}", list.len()));
        }
        let shape = list.iter().map(|v| self.extent(v, span)).collect::<Result<Shape>>()?;
        self.check_size(&shape, span)?;
        Ok(shape)
    }

    fn check_size(&self, shape: &[usize], span: Span) -> Result<()> {
        let n = padded_elements(shape);
        let ctas = self.ctas.max(1) as usize;
        let most = MAX_TILE * ctas;
        if n > most {
            return self.error(
                Code::TileTooLarge,
                span,
                format!("a tile of {shape:?} has {n} elements: at most {most}"),
            );
        }
        let (warps, each) = (self.warps, n / (self.warps as usize * 32 * ctas));
        if each > MAX_REGISTERS {
            let blocks = if ctas > 1 { format!(" of each of {ctas} thread blocks") } else { String::new() };
            return self.error(Code::Registers, span, format!(
                    "a tile of {shape:?} over {warps} warps{blocks} has {each} elements a thread: at most {MAX_REGISTERS}; \
                     use more warps or a smaller tile"
                ));
        }
        Ok(())
    }

    fn describe(&self, v: &Val) -> String {
        match v {
            Val::Run(v) => match self.ty(*v) {
                t if t.is_scalar() => format!("a scalar {t}"),
                t => format!("a tile {t}"),
            },
            Val::Int(n, None) => format!("the integer {n}"),
            Val::Int(n, Some(t)) => format!("the {t} constant {n}"),
            Val::Float(x, _) => format!("the float {x}"),
            Val::Bool(_) => "a bool".into(),
            Val::Variant(of, i) => format!("`{}::{}`", of.name, of.variants[*i]),
            Val::Str(_) => "a string".into(),
            Val::Unit => "nothing".into(),
            Val::Tuple(vs) => format!("a tuple of {}", vs.len()),
            Val::Array(vs) => format!("an array of {}", vs.len()),
            Val::Struct(of, _) => format!("a `{}`", of.name),
            Val::DType(t) => format!("the element type {t}"),
            Val::Option(_) => "an optional value, which `if let Some(v) = v { .. }` takes".into(),
            Val::Param(p) => match self.params[*p].kind {
                ParamKind::View { .. } => format!("the view `{}`", self.params[*p].name),
                _ => format!("the slice `{}`", self.params[*p].name),
            },
            Val::Shared(array) => format!("an array of {} in shared memory", self.shared[*array].dtype),
            Val::Ptr(Pointer { to: Base::Raw(p), .. }) => format!("a pointer into `{}`", self.params[*p].name),
            Val::Ptr(p) => format!("a `{}`", self.pointer_type(p.to)),
            Val::View(view) => format!("a view of {}", self.elem(view.pointer.to)),
            Val::Range(_) => "a range".into(),
            Val::Closure(_) => "a closure".into(),
        }
    }

    // --- shapes ---

    /// The shape that both are broadcast to.
    fn common_shape(&self, a: &[usize], b: &[usize], span: Span) -> Result<Shape> {
        if a.is_empty() {
            return Ok(b.to_vec());
        }
        if b.is_empty() {
            return Ok(a.to_vec());
        }
        if a.len() != b.len() {
            return self.error(
                Code::RankMismatch,
                span,
                format!("shapes {a:?} and {b:?} have different ranks: insert a dimension with `.expand(axis)`"),
            );
        }
        let shape: Option<Shape> = a
            .iter()
            .zip(b)
            .map(|(&x, &y)| {
                if x == y || y == 1 {
                    Some(x)
                } else if x == 1 {
                    Some(y)
                } else {
                    None
                }
            })
            .collect();
        match shape {
            Some(s) => {
                self.check_size(&s, span)?;
                Ok(s)
            }
            None => self.error(
                Code::ShapeMismatch,
                span,
                format!("shapes {a:?} and {b:?} do not match: extents must be equal, or 1 to be broadcast"),
            ),
        }
    }

    /// Spreads a scalar or extents of 1 to `shape`, which it is known to fit.
    fn broadcast(&mut self, v: Value, shape: &[usize], span: Span) -> Value {
        let ty = self.ty(v).clone();
        if ty.shape == shape {
            v
        } else if ty.is_scalar() {
            self.push(Op::Splat(v), Type::tile(ty.dtype, shape), span)
        } else {
            self.push(Op::Broadcast(v), Type::tile(ty.dtype, shape), span)
        }
    }

    /// Spreads `v` to exactly `shape`, or reports that it does not fit.
    fn broadcast_to(&mut self, v: Value, shape: &[usize], span: Span, what: &str) -> Result<Value> {
        let found = self.ty(v).shape.clone();
        let fits = found.is_empty()
            || (found.len() == shape.len() && found.iter().zip(shape).all(|(&a, &b)| a == b || a == 1));
        if !fits {
            // One element, as of `argmax(row, 1)`.
            let cure = if shape.is_empty() && found[..] == [1] {
                "write the index as a tile of one element, `i + arange(1)`".to_string()
            } else if found.len() != shape.len() && same_but_for_ones(&found, shape) {
                format!("write `reshape(t, {shape:?})`")
            } else {
                "extents must be equal, or 1 to be broadcast".to_string()
            };
            let why = format!("{what} of shape {found:?} does not fit {shape:?}: {cure}");
            return self.error(Code::ShapeMismatch, span, why);
        }
        Ok(self.broadcast(v, shape, span))
    }
}

/// The shapes differ in dimensions of 1 alone.
fn same_but_for_ones(a: &[usize], b: &[usize]) -> bool {
    a.iter().filter(|&&e| e != 1).eq(b.iter().filter(|&&e| e != 1))
}
