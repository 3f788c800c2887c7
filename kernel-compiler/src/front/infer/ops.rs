//! The built-in operations: one arm per name. A new operation starts here.

use crate::diag::{Code, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast::{Expr, ExprKind, Generic};
use crate::front::infer::builtins::{self, BUILTINS, Call, usage};
use crate::front::infer::{Infer, Val, options};
use crate::front::suggest;
use crate::ir::{Binary, Op, Shape, StmtKind, Takes, Type, Unary, Value};

impl Infer<'_> {
    pub(super) fn builtin(&mut self, c: &Call) -> Result<Val> {
        let name = c.name.to_string();
        if let Some(op) = Unary::parse(&name) {
            return self.unary(op, c);
        }
        if let Some(op) = Binary::parse(&name) {
            return self.function_of_two(op, c);
        }
        match name.as_str() {
            "program_id" | "num_programs" => self.program(&name, c),
            "swizzle2d" => self.swizzle2d(c),
            "cdiv" => self.cdiv(c),
            "next_power_of_two" => {
                let [n] = self.args(c)?;
                let at = c.args[0].span;
                let known = self.const_int(&n, at, "the argument of `next_power_of_two`")?;
                let Some(power) = u64::try_from(known).ok().and_then(u64::checked_next_power_of_two) else {
                    return self.error(Code::ConstantArithmetic, at, format!("no power of two follows {known}"));
                };
                let dtype = if let Val::Int(_, t) = n { t } else { None };
                self.fold_fits(power.into(), dtype, c.span)
            }
            "arange" => self.arange(c),
            "shared_array" => self.shared_array(c),
            "dtype" => self.dtype_of_value(c),
            "zeros" => {
                let (c, named) = self.dtype_arg(c, 1)?;
                let [shape] = self.args(&c)?;
                let shape = self.shape(&shape, c.args[0].span)?;
                let dtype = named.or(self.type_arg(&c)?).unwrap_or(DType::F32);
                let zero = match dtype {
                    DType::Bool => Val::Bool(false),
                    d if d.is_float() => Val::Float(0.0, None),
                    _ => Val::Int(0, None),
                };
                let zero = self.constant(&zero, dtype, c.span)?;
                Ok(Val::Run(self.broadcast(zero, &shape, c.span)))
            }
            "full" => {
                let [shape, v] = self.args(c)?;
                let shape = self.shape(&shape, c.args[0].span)?;
                let v = match self.type_arg(c)? {
                    Some(t) => self.run_as(v, t, c.args[1].span)?,
                    None => self.run(v, c.args[1].span)?,
                };
                self.broadcast_to(v, &shape, c.args[1].span, "a value").map(Val::Run)
            }
            "where_" => {
                let [cond, a, b] = self.args(c)?;
                let cond = self.run_as(cond, DType::Bool, c.args[0].span)?;
                let (a, b) = self.unify(a, b, (&c.args[1], &c.args[2]), "`where_`")?;
                let shape = self.common_shape(&self.ty(a).shape.clone(), &self.ty(b).shape.clone(), c.span)?;
                let shape = self.common_shape(&shape, &self.ty(cond).shape.clone(), c.span)?;
                let dtype = self.ty(a).dtype;
                let [cond, a, b] = [cond, a, b].map(|v| self.broadcast(v, &shape, c.span));
                Ok(Val::Run(self.push(Op::Select(cond, a, b), Type { dtype, shape }, c.span)))
            }
            "maximum" | "minimum" => {
                let pair = self.args(c)?;
                self.extremum(pair, c)
            }
            "clamp" => {
                let [x, lo, hi] = self.args(c)?;
                let (x, lo) = self.unify(x, lo, (&c.args[0], &c.args[1]), "`clamp`")?;
                let dtype = self.ty(x).dtype;
                self.numeric(x, "clamp", c.args[0].span)?;
                let hi = self.run_as(hi, dtype, c.args[2].span)?;
                let (max, min) = (self.extremum_op(Binary::Max, dtype, c)?, self.extremum_op(Binary::Min, dtype, c)?);
                let x = self.binary(max, x, lo, c.span)?;
                self.binary(min, x, hi, c.span).map(Val::Run)
            }
            "to" => {
                let (c, named) = self.dtype_arg(c, 1)?;
                let [x] = self.args(&c)?;
                match named.or(self.type_arg(&c)?) {
                    Some(t) => self.cast(x, t, c.span),
                    None => self.error(
                        Code::TypeArgument,
                        c.span,
                        format!("a conversion names a type: `x.to::<T>()` with one of {}", DType::NAMES),
                    ),
                }
            }
            "bitcast" => {
                let (c, named) = self.dtype_arg(c, 1)?;
                let [x] = self.args(&c)?;
                let x = self.run(x, c.args[0].span)?;
                let from = self.ty(x).clone();
                let Some(to) = named.or(self.type_arg(&c)?) else {
                    return self.error(Code::TypeArgument, c.span, "`bitcast` names a type: `bitcast::<T>(x)`");
                };
                if to.size() != from.dtype.size() || to == DType::Bool || from.dtype == DType::Bool {
                    return self.error(
                        Code::Bitcast,
                        c.span,
                        format!(
                            "bitcast keeps the size: {} has {} bytes, {to} has {}",
                            from.dtype,
                            from.dtype.size(),
                            to.size()
                        ),
                    );
                }
                Ok(Val::Run(self.push(Op::Bitcast(x), Type { dtype: to, shape: from.shape }, c.span)))
            }
            "fma" => {
                let [a, b, x] = self.args(c)?;
                let (a, b) = self.unify(a, b, (&c.args[0], &c.args[1]), "`fma`")?;
                let dtype = self.ty(a).dtype;
                self.computes(a, "`fma`", c.span)?;
                if !dtype.is_float() {
                    return self.error(
                        Code::ElementType,
                        c.span,
                        format!("`fma` takes floats, found {}", in_message(dtype)),
                    );
                }
                let x = self.run_as(x, dtype, c.args[2].span)?;
                self.fma(a, b, x, c.span).map(Val::Run)
            }
            "expand" | "broadcast" | "reshape" | "trans" | "permute" => self.shape_op(&name, c),
            "max" | "min" => {
                let Some(first) = c.args.first() else { return self.reduction(&name, c, None) };
                let first = self.expr(first)?;
                let second = c.args.get(1).map(|e| self.expr(e)).transpose()?;
                if self.is_reduced(&first, second.as_ref()) {
                    return self.reduction(&name, c, Some(first));
                }
                self.count_args(c, 2)?;
                self.extremum([first, second.expect("counted")], c)
            }
            "sum" | "argmax" | "argmin" | "reduce" => self.reduction(&name, c, None),
            "join" | "split" | "interleave" | "cat" | "slice" | "insert" | "flip" | "gather" => self.parts(&name, c),
            "asm" => self.asm(c),
            "histogram" => self.histogram(c),
            "cumcount" => self.cumcount(c),
            "sort" | "topk" => self.sort(&name, c),
            n if options::is_scan(n) => self.scan(&name, c),
            "dot" => self.dot(c),
            "dot_scaled" | "unpack_e2m1" | "pack_e2m1" | "from_e8m0" | "to_e8m0" => self.scaled(&name, c),
            n if options::is_access(n) => self.access(&name, c),
            "add" => {
                let [p, i] = self.args(c)?;
                let Val::Ptr(p) = p else {
                    let found = self.describe(&p);
                    return self.error(
                        Code::NotMemory,
                        c.span,
                        format!("`.add` moves a raw pointer, found {found}: use `+`"),
                    );
                };
                self.pointer_add(p, i, c.args[1].span)
            }
            "view" => self.view(c),
            "len" | "dim" | "stride" => self.extent_of(&name, c),
            "range" | "static_range" | "step_by" | "rev" => self.range(&name, c),
            "stages" | "unroll" | "flatten" | "warp_specialize" => self.range_option(&name, c),
            "static_assert" | "device_assert" | "device_print" => self.debug(&name, c),
            "num_sms" => {
                self.error(Code::NumSms, c.span, "`num_sms()` belongs in the grid; in a kernel use `num_programs(0)`")
            }
            _ => self.unknown(&name, c),
        }
    }

    fn unknown(&self, name: &str, c: &Call) -> Result<Val> {
        // As many mistakes as a name of that length may have and still be meant.
        let mistakes = |known: &str| strsim::osa_distance(known, name);
        let near = BUILTINS.iter().filter(|(n, _)| 3 * mistakes(n) <= name.len()).min_by_key(|(n, _)| mistakes(n));
        let hint = match (suggest::operation(name), near) {
            (Some(cure), _) => cure.to_string(),
            (None, Some((_, usage))) => format!("did you mean {}?", builtins::quoted(usage)),
            (None, None) => {
                "docs/language.md lists all operations; helpers go into the same #[tile_module]".to_string()
            }
        };
        self.error(Code::UnknownOperation, c.name.span(), format!("unknown operation `{name}`: {hint}"))
    }

    /// Exactly N arguments.
    pub(super) fn args<const N: usize>(&mut self, c: &Call) -> Result<[Val; N]> {
        self.count_args(c, N)?;
        let vals = self.exprs(c.args)?;
        Ok(vals.try_into().expect("N of them"))
    }

    fn count_args(&mut self, c: &Call, n: usize) -> Result<()> {
        if c.args.len() == n {
            return Ok(());
        }
        let usage = usage(&c.name.to_string());
        self.error(
            Code::ArgumentCount,
            c.span,
            format!("{usage} takes {n} argument{}, found {}", if n == 1 { "" } else { "s" }, c.args.len()),
        )
    }

    /// `dtype(x)` of a value, an array or a pointer, and `dtype::<T>()`.
    fn dtype_of_value(&mut self, c: &Call) -> Result<Val> {
        if let (Some(t), []) = (self.type_arg(c)?, c.args) {
            return Ok(Val::DType(t));
        }
        let [x] = self.args(c)?;
        match self.elem_of(&x) {
            Some(t) => Ok(Val::DType(t)),
            None => {
                let found = self.describe(&x);
                self.error(
                    Code::TypeArgument,
                    c.args[0].span,
                    format!("`x.dtype()` is of an array, a tile or a scalar; found {found}"),
                )
            }
        }
    }

    /// The element type that an argument behind the others says, as in `x.to(y.dtype())`, and the call without it.
    fn dtype_arg<'c>(&mut self, c: &Call<'c>, others: usize) -> Result<(Call<'c>, Option<DType>)> {
        let call = |args| Call { name: c.name, generics: c.generics, args, span: c.span, options: Default::default() };
        let [_, ty] = c.args else { return Ok((call(c.args), None)) };
        if c.args.len() != others + 1 {
            return Ok((call(c.args), None));
        }
        // The name of a type is no value.
        let is_type = matches!(&ty.kind, ExprKind::Name(n) if self.lookup(n).is_none() && (DType::parse(n).is_some() || suggest::element(n).is_some()));
        if is_type {
            return self.error(Code::TypeArgument, ty.span, suggest::TYPE_ARGUMENT);
        }
        match self.expr(ty)? {
            Val::DType(t) => Ok((call(&c.args[..others]), Some(t))),
            _ => self.error(Code::TypeArgument, ty.span, suggest::TYPE_ARGUMENT),
        }
    }

    pub(super) fn type_arg(&self, c: &Call) -> Result<Option<DType>> {
        match c.generics {
            [] => Ok(None),
            [Generic::Type(t)] => self.dtype(t).map(Some),
            _ => self.error(Code::TypeArgument, c.span, "one type is expected: `::<T>`"),
        }
    }

    /// A compile-time axis below `rank`.
    pub(super) fn axis(&self, v: &Val, rank: usize, span: Span) -> Result<usize> {
        let n = self.const_int(v, span, "an axis")?;
        if !(0..rank as i128).contains(&n) {
            return self.error(
                Code::Axis,
                span,
                format!(
                    "no axis {n}: {}",
                    if rank == 1 { "the only axis is 0".into() } else { format!("axes are 0 to {}", rank.max(1) - 1) }
                ),
            );
        }
        Ok(n as usize)
    }

    pub(super) fn numeric(&self, v: Value, what: &str, span: Span) -> Result<()> {
        self.computes(v, &format!("`{what}`"), span)?;
        if self.ty(v).dtype == DType::Bool {
            self.error(Code::ElementType, span, format!("`{what}` takes numbers, found {}", self.ty(v)))
        } else {
            Ok(())
        }
    }

    fn unary(&mut self, op: Unary, c: &Call) -> Result<Val> {
        let [x] = self.args(c)?;
        let x = self.run(x, c.args[0].span)?;
        let Type { dtype, shape } = self.ty(x).clone();
        self.function_takes(op.name(), op.takes(), x, c.args[0].span)?;
        Ok(Val::Run(self.push(Op::Unary(op, x), Type { dtype: op.gives(dtype), shape }, c.span)))
    }

    fn function_of_two(&mut self, op: Binary, c: &Call) -> Result<Val> {
        let [a, b] = self.args(c)?;
        let (ea, eb) = (&c.args[0], &c.args[1]);
        let what = format!("`{}`", op.name());
        let (x, y) = if op.second(DType::F32) == DType::F32 {
            self.unify(a, b, (ea, eb), &what)?
        } else {
            (self.run(a, ea.span)?, self.run_as(b, op.second(DType::F32), eb.span)?)
        };
        self.function_takes(op.name(), op.takes(), x, ea.span)?;
        self.same_rank((x, ea), (y, eb), &what)?;
        self.binary(op, x, y, c.span).map(Val::Run)
    }

    /// Whether the first operand of a function has a type that the function takes.
    fn function_takes(&self, name: &str, takes: Takes, x: Value, span: Span) -> Result<()> {
        let ty = self.ty(x);
        self.computes(x, &format!("`{name}`"), span)?;
        if takes.holds(ty.dtype) {
            return Ok(());
        }
        match takes {
            Takes::Integers if ty.dtype.is_float() => {
                let words = [DType::U16, DType::U32, DType::U64];
                let bits = words.into_iter().find(|w| w.size() == ty.dtype.size()).unwrap_or(DType::U32);
                self.error(
                    Code::ElementType,
                    span,
                    format!("`{name}` takes integers, found {ty}: `bitcast::<{bits}>(x)` are the bits of a float"),
                )
            }
            Takes::Integers => self.error(Code::ElementType, span, format!("`{name}` takes integers, found {ty}")),
            _ => self.error(
                Code::ElementType,
                span,
                format!("`{name}` takes floats, found {ty}: convert with `.to::<f32>()`"),
            ),
        }
    }

    fn cdiv(&mut self, c: &Call) -> Result<Val> {
        let [a, b] = self.args(c)?;
        if let (Val::Int(x, tx), Val::Int(y, ty)) = (&a, &b) {
            if *y < 1 {
                return self.error(
                    Code::ConstantArithmetic,
                    c.args[1].span,
                    format!("the divisor of `cdiv` is 1 or more, found {y}"),
                );
            }
            let n = x + y - 1;
            let quotient = if planted!("cdiv-of-a-negative-constant") { n / *y } else { n.div_euclid(*y) };
            return Ok(Val::Int(quotient, tx.or(*ty)));
        }
        let (a, b) = self.unify(a, b, (&c.args[0], &c.args[1]), "`cdiv`")?;
        let dtype = self.ty(a).dtype;
        if !dtype.is_int() {
            return self.error(
                Code::ElementType,
                c.span,
                format!("`cdiv` takes integers, found {}", in_message(dtype)),
            );
        }
        // a / b + (a % b != 0): cannot overflow, unlike (a + b - 1) / b.
        let q = self.binary(Binary::Div, a, b, c.span)?;
        let r = self.binary(Binary::Rem, a, b, c.span)?;
        let zero = self.constant(&Val::Int(0, None), dtype, c.span)?;
        let mut more = self.binary(Binary::Ne, r, zero, c.span)?;
        if dtype.is_signed() {
            // A negative quotient is cut off upwards. A remainder has the sign of `a`.
            let signs = self.binary(Binary::Xor, r, b, c.span)?;
            let positive = self.binary(Binary::Ge, signs, zero, c.span)?;
            more = self.binary(Binary::And, more, positive, c.span)?;
        }
        let ty = Type { dtype, shape: self.ty(more).shape.clone() };
        let more = self.push(Op::Cast(more), ty, c.span);
        self.binary(Binary::Add, q, more, c.span).map(Val::Run)
    }

    /// A computed constant of a dtype, which it has to fit.
    fn fold_fits(&self, n: i128, dtype: Option<DType>, span: Span) -> Result<Val> {
        match dtype {
            Some(t) if !t.holds(n) => self.error(Code::LiteralRange, span, format!("{n} does not fit in {t}")),
            t => Ok(Val::Int(n, t)),
        }
    }

    fn arange(&mut self, c: &Call) -> Result<Val> {
        let (lo, hi) = match &self.exprs(c.args)?[..] {
            [Val::Range(r)] if r.reversed => {
                return self.error(Code::Arange, c.span, "`arange` counts up: subtract it from the last index");
            }
            [Val::Range(r)] if !matches!(r.step, Val::Int(1, _)) => {
                return self.error(Code::Arange, c.span, "`arange` counts in steps of 1: multiply it by the step");
            }
            [Val::Range(r)] => (
                self.const_int(&r.lo, c.span, "a bound of arange")?,
                self.const_int(&r.hi, c.span, "a bound of arange")?,
            ),
            [n] => (0, self.const_int(n, c.args[0].span, "the length of arange")?),
            [lo, hi] => (
                self.const_int(lo, c.args[0].span, "a bound of arange")?,
                self.const_int(hi, c.args[1].span, "a bound of arange")?,
            ),
            _ => return self.error(Code::ArgumentCount, c.span, "expected `arange(N)` or `arange(A..B)`"),
        };
        if lo < 0 {
            return self.error(
                Code::Arange,
                c.span,
                "`arange` begins at 0 or more: its elements are `usize`; subtract afterwards",
            );
        }
        let n = self.extent(&Val::Int(hi - lo, None), c.span)?;
        Ok(Val::Run(self.push(Op::Arange { start: lo }, Type::tile(DType::U64, [n]), c.span)))
    }

    fn shape_op(&mut self, name: &str, c: &Call) -> Result<Val> {
        let Some(first) = c.args.first() else {
            return self.error(Code::NeedsTile, c.span, format!("`{name}` takes a tile"));
        };
        let wanted = if name == "trans" { 1 } else { 2 };
        if c.args.len() != wanted {
            return self.error(
                Code::ArgumentCount,
                c.span,
                format!("`{name}` takes {wanted} arguments, found {}", c.args.len()),
            );
        }
        let t = self.expr(first)?;
        let t = self.run(t, first.span)?;
        let ty = self.ty(t).clone();
        let arg = match c.args.get(1) {
            Some(a) => Some((self.expr(a)?, a.span)),
            None => None,
        };
        let make = |cx: &mut Self, op, shape| Ok(Val::Run(cx.push(op, Type { dtype: ty.dtype, shape }, c.span)));
        match (name, arg) {
            ("trans", _) => {
                let rank = ty.shape.len();
                if rank < 2 {
                    return self.error(
                        Code::NeedsTile,
                        c.span,
                        format!("`trans` takes a tile of rank 2 or more, found {ty}"),
                    );
                }
                let (mut perm, mut shape): (Vec<usize>, Shape) = ((0..rank).collect(), ty.shape.clone());
                perm.swap(rank - 2, rank - 1);
                shape.swap(rank - 2, rank - 1);
                make(self, Op::Permute(t, perm), shape)
            }
            ("expand", Some((a, at))) => {
                self.one_more_dimension(name, &ty, c.span)?;
                let axis = self.axis(&a, ty.shape.len() + 1, at)?;
                if ty.is_scalar() {
                    return self.error(
                        Code::NeedsTile,
                        c.span,
                        "a scalar has no dimensions: it is broadcast to any tile by itself",
                    );
                }
                let mut shape = ty.shape.clone();
                shape.insert(axis, 1);
                make(self, Op::Expand(t, axis), shape)
            }
            ("broadcast", Some((a, at))) => {
                let shape = self.shape(&a, at)?;
                self.broadcast_to(t, &shape, c.span, "a tile").map(Val::Run)
            }
            ("reshape", Some((a, at))) => {
                let shape = self.shape(&a, at)?;
                self.reshape(t, &shape, c.span).map(Val::Run)
            }
            (_, Some((a, at))) => {
                let (Val::Array(list) | Val::Tuple(list)) = &a else {
                    return self.error(Code::Axis, at, "a permutation is an array of axes: `[1, 0, 2]`");
                };
                let perm = list.iter().map(|v| self.axis(v, ty.shape.len(), at)).collect::<Result<Vec<_>>>()?;
                let mut sorted = perm.clone();
                sorted.sort_unstable();
                if sorted != (0..ty.shape.len()).collect::<Vec<_>>() {
                    return self.error(
                        Code::Axis,
                        at,
                        format!("{perm:?} is no permutation of the {} dimensions", ty.shape.len()),
                    );
                }
                let shape = perm.iter().map(|&p| ty.shape[p]).collect();
                make(self, Op::Permute(t, perm), shape)
            }
            _ => unreachable!("counted above"),
        }
    }

    pub(super) fn reshape(&mut self, t: Value, shape: &[usize], span: Span) -> Result<Value> {
        let ty = self.ty(t).clone();
        if ty.shape == shape {
            return Ok(t);
        }
        if ty.shape.iter().product::<usize>() != shape.iter().product::<usize>() || ty.is_scalar() {
            return self.error(
                Code::Reshape,
                span,
                format!(
                    "reshape keeps the number of elements: {:?} has {}, {shape:?} has {}",
                    ty.shape,
                    ty.shape.iter().product::<usize>(),
                    shape.iter().product::<usize>()
                ),
            );
        }
        let squeezed = |s: &[usize]| s.iter().copied().filter(|&e| e != 1).collect::<Vec<_>>();
        let padded = ty.shape.iter().chain(shape).any(|e| !e.is_power_of_two());
        if padded && squeezed(&ty.shape) != squeezed(shape) {
            return self.error(Code::Reshape, span, format!("reshape of {:?} to {shape:?}: extents that are not powers of two can only gain or lose dimensions of 1", ty.shape));
        }
        Ok(self.push(Op::Reshape(t), Type { dtype: ty.dtype, shape: shape.to_vec() }, span))
    }

    fn debug(&mut self, name: &str, c: &Call) -> Result<Val> {
        let message = |cx: &mut Self, e: &Expr| match cx.expr(e)? {
            Val::Str(s) => Ok(s),
            _ => cx.error(Code::Print, e.span, "a string literal is expected"),
        };
        match (name, c.args) {
            ("device_print", [label, v, more @ ..]) => {
                let (span, label) = (label.span, message(self, label)?);
                if label.contains(['{', '}']) {
                    return self.error(
                        Code::Print,
                        span,
                        "a label is printed as it is, without `{}`: the value follows it, as in `device_print!(\"label\", v)`",
                    );
                }
                if let Some(second) = more.first() {
                    return self.error(
                        Code::Print,
                        second.span,
                        "`device_print!` prints one value: write `device_print!(\"label\", v)` for each",
                    );
                }
                let x = self.expr(v)?;
                let x = self.run(x, v.span)?;
                self.emit(StmtKind::Print { message: label, value: x, watch: false, span: c.span.first });
            }
            ("device_assert", [cond, rest @ ..]) if rest.len() <= 1 => {
                let text = match rest.first() {
                    Some(m) => message(self, m)?,
                    None => "device_assert failed".into(),
                };
                let x = self.expr(cond)?;
                let x = self.run_as(x, DType::Bool, cond.span)?;
                self.emit(StmtKind::Assert { cond: x, message: text, span: c.span.first });
            }
            ("static_assert", [cond, rest @ ..]) if rest.len() <= 1 => {
                let text = match rest.first() {
                    Some(m) => message(self, m)?,
                    None => "it does not hold".into(),
                };
                match self.expr(cond)? {
                    Val::Bool(true) => {}
                    Val::Bool(false) => {
                        let config = self.consts.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>();
                        let of =
                            if config.is_empty() { String::new() } else { format!(" (with {})", config.join(", ")) };
                        return self.error(Code::StaticAssert, c.span, format!("static_assert: {text}{of}"));
                    }
                    _ => {
                        return self.error(
                            Code::NotConstant,
                            cond.span,
                            "`static_assert!` checks constants: use `device_assert!` for values of the run time",
                        );
                    }
                }
            }
            _ => {
                let usage = usage(name);
                return self.error(Code::ArgumentCount, c.span, format!("expected {usage}"));
            }
        }
        Ok(Val::Unit)
    }
}
