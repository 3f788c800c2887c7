//! Loops, and the jumps that leave them. Trip counts are uniform, so all threads take them together.

use crate::diag::{Code, Reported, Result, Span};
use crate::dtype::{DType, in_message, unsigned};
use crate::front::ast::{Block, Expr, Pattern};
use crate::front::infer::jumps::{Exit, Frame, Jump};
use crate::front::infer::{Infer, MAX_OPERATIONS, Range, Val};
use crate::ir::{Binary, Op, Stmt, StmtKind, Type, Unary, Value};
use proc_macro2::Ident;
use std::collections::HashMap;

/// Operations behind each other that are looked at for a step that is not 0.
const MAX_LOOK: usize = 12;
/// A range that would not move.
const STEP_OF_ZERO: &str = "a step of 0 goes nowhere: a step is 1 or more, or counts down";
/// Iterations that `static_range` may unroll.
pub(super) const MAX_UNROLL: i128 = 1024;

impl Infer<'_> {
    pub(super) fn for_loop(
        &mut self,
        label: Option<&Ident>,
        pattern: &Pattern,
        over: &Expr,
        body: &Block,
    ) -> Result<Val> {
        let r = match self.expr(over) {
            Ok(Val::Range(r)) => r,
            Ok(_) => {
                let why = "a loop runs over `a..b`, `(a..b).step_by(s)`, `range(a, b, s)` or `static_range(a..b)`";
                let _ = self.d.error(Code::Range, self.place(over.span), why);
                return self.body_of_no_range(label, pattern, body);
            }
            Err(_) => return self.body_of_no_range(label, pattern, body),
        };
        if r.unrolled {
            return self.unrolled(label, pattern, &r, over.span, body);
        }
        let span = over.span;
        let dtype = self.range_dtype(&r, span)?;
        let (lo, hi) = (self.bound(&r.lo, dtype, span)?, self.bound(&r.hi, dtype, span)?);
        let counts_up = match r.step {
            Val::Int(0, _) => return self.error(Code::Step, span, STEP_OF_ZERO),
            Val::Int(step, _) => step > 0,
            _ => !dtype.is_signed(),
        };
        // The last step may lead beyond the greatest number of a small type.
        let may_wrap = dtype.size() < 4 && !matches!(r.step, Val::Int(1, _));
        if !counts_up || r.reversed || may_wrap {
            return self.counted(label, pattern, &r, (lo, hi), dtype, span, body);
        }
        let step = self.bound(&r.step, dtype, span)?;
        let iv = self.define(Op::LoopVar, Type::scalar(dtype), span);
        let (stmts, exits) = self.loop_body(label, body, |cx| cx.bind_pattern(pattern, Val::Run(iv), span))?;
        let kind = StmtKind::For { iv, lo, hi, step, body: stmts, options: r.options };
        if self.least(step, MAX_LOOK) > 0 {
            return self.emit_loop(kind, exits, span);
        }
        // A step of 0 that is known when the kernel runs: no iteration.
        let zero = self.number(0, dtype, span)?;
        let runs = self.binary(Binary::Ne, step, zero, span)?;
        let (then, done) = self.nested(|cx| cx.emit_loop(kind, exits, span));
        done?;
        self.emit(StmtKind::If { cond: runs, then, other: vec![] });
        Ok(Val::Unit)
    }

    /// A bound or the step of a loop.
    fn bound(&mut self, v: &Val, dtype: DType, span: Span) -> Result<Value> {
        let v = self.run_as(v.clone(), dtype, span)?;
        match self.ty(v).clone() {
            ty if ty.is_scalar() => Ok(v),
            ty => self.error(Code::Range, span, format!("a range is of scalars, found a tile {ty}")),
        }
    }

    /// A number that an unsigned scalar is never below. `depth` operations are looked at, one behind the other.
    fn least(&self, v: Value, depth: usize) -> i128 {
        let Some(depth) = depth.checked_sub(1) else { return 0 };
        let least = |v: Value| self.least(v, depth);
        let op = |v: Value| &self.values[v.0 as usize].op;
        match *op(v) {
            Op::Int(n) => n,
            Op::NumPrograms(_) => 1,
            // A number that the type does not hold is cut off.
            Op::Cast(x) if self.ty(x).dtype.is_int() && self.ty(x).dtype.size() <= self.ty(v).dtype.size() => {
                match (self.ty(x).dtype.is_signed(), op(x)) {
                    (false, _) => least(x),
                    // A negative number becomes a large one, and -1 + 1 is 0: a constant operand of `max` alone is a
                    // bound.
                    (true, &Op::Int(n)) => n.max(0),
                    (true, &Op::Binary(Binary::Max, a, b)) => [a, b]
                        .into_iter()
                        .filter_map(|v| if let Op::Int(n) = op(v) { Some(*n) } else { None })
                        .fold(0, i128::max),
                    (true, _) => 0,
                }
            }
            Op::Select(_, a, b) => least(a).min(least(b)),
            Op::ReadVar(var) => self.choices.get(&var).map_or(0, |[a, b]| least(*a).min(least(*b))),
            Op::Binary(Binary::Max, a, b) => least(a).max(least(b)),
            Op::Binary(Binary::Min, a, b) if planted!("step-of-zero-by-the-greater") => least(a).max(least(b)),
            Op::Binary(Binary::Min, a, b) => least(a).min(least(b)),
            Op::Binary(Binary::Mul | Binary::Add, ..) if self.may_wrap(v, depth) => 0,
            Op::Binary(Binary::Mul, a, b) => least(a).saturating_mul(least(b)),
            Op::Binary(Binary::Sub, a, b) if matches!(op(b), Op::Int(_)) => (least(a) - least(b)).max(0),
            Op::Binary(Binary::Add, a, b) => match self.of_cdiv(a, b) {
                Some([x, by]) => (least(a) + i128::from(least(x) > 0 && least(by) > 0)).min(1),
                None => least(a).saturating_add(least(b)),
            },
            _ => 0,
        }
    }

    /// The operands of `cdiv`, where the sum of two values is one.
    fn of_cdiv(&self, a: Value, b: Value) -> Option<[Value; 2]> {
        let op = |v: Value| &self.values[v.0 as usize].op;
        match (op(a), op(b)) {
            (&Op::Binary(Binary::Div, x, by), Op::Cast(more)) if self.ty(*more).dtype == DType::Bool => Some([x, by]),
            _ => None,
        }
    }

    /// Whether a sum or a product may be more than its type holds.
    fn may_wrap(&self, v: Value, depth: usize) -> bool {
        let number = self.without_end(v, depth);
        number.is_some_and(|n| !self.ty(v).dtype.holds(n)) && !planted!("step-that-wraps-to-zero")
    }

    /// The most that a sum or a product of unsigned scalars would be in a type without an end.
    fn without_end(&self, v: Value, depth: usize) -> Option<i128> {
        let most = |v: Value| self.most(v, depth);
        match self.values[v.0 as usize].op {
            Op::Binary(Binary::Mul, a, b) => Some(most(a).saturating_mul(most(b))),
            // A quotient that is rounded up is no more than its dividend.
            Op::Binary(Binary::Add, a, b) => {
                Some(self.of_cdiv(a, b).map_or_else(|| most(a).saturating_add(most(b)), |[x, _]| most(x)))
            }
            _ => None,
        }
    }

    /// A number that an unsigned scalar is never above.
    fn most(&self, v: Value, depth: usize) -> i128 {
        let dtype = self.ty(v).dtype;
        let greatest = (1 << (8 * dtype.size() - usize::from(dtype.is_signed()))) - 1;
        let Some(depth) = depth.checked_sub(1) else { return greatest };
        let most = |v: Value| self.most(v, depth);
        match self.values[v.0 as usize].op {
            Op::Int(n) => n,
            Op::NumPrograms(_) => i128::from(i32::MAX),
            Op::Cast(x) if self.ty(x).dtype.is_int() && !self.ty(x).dtype.is_signed() => most(x).min(greatest),
            Op::Select(_, a, b) | Op::Binary(Binary::Max, a, b) => most(a).max(most(b)),
            Op::Binary(Binary::Min, a, b) => most(a).min(most(b)),
            Op::Binary(Binary::Div | Binary::Shr, a, _) => most(a),
            _ => self.without_end(v, depth).filter(|n| dtype.holds(*n)).unwrap_or(greatest),
        }
    }

    /// The type of a range's numbers. Literals are `usize`, and `i32` where one is negative.
    fn range_dtype(&self, r: &Range, span: Span) -> Result<DType> {
        let all = [&r.lo, &r.hi, &r.step];
        let stated = all.into_iter().find_map(|v| match v {
            Val::Run(v) => Some(self.ty(*v).dtype),
            Val::Int(_, t) => *t,
            _ => None,
        });
        let is_negative = |v: &Val| matches!(v, Val::Int(n, _) if *n < 0);
        let goes_below = is_negative(&r.lo) || is_negative(&r.hi);
        let dtype = stated.unwrap_or(if goes_below { DType::I32 } else { DType::U64 });
        if !dtype.is_int() {
            return self.error(Code::Range, span, format!("a range is of integers, found {}", in_message(dtype)));
        }
        if goes_below && !dtype.is_signed() {
            return self.error(
                Code::Range,
                span,
                format!("a range of {} has no numbers below 0: count down to 0 with `(0..n).rev()`", in_message(dtype)),
            );
        }
        Ok(dtype)
    }

    /// A loop that may count down: over the number of its iteration, of which its variable is made.
    fn counted(
        &mut self,
        label: Option<&Ident>,
        pattern: &Pattern,
        r: &Range,
        (lo, hi): (Value, Value),
        dtype: DType,
        span: Span,
        body: &Block,
    ) -> Result<Val> {
        let counter = unsigned(dtype);
        let (zero, one) = (self.number(0, counter, span)?, self.number(1, counter, span)?);
        // Which way it goes, where that is known, and else the condition that it goes up.
        let (is_up, rises) = match &r.step {
            Val::Int(step, _) => (Some(*step > 0), None),
            _ if !dtype.is_signed() => (Some(true), None),
            step => {
                let (step, none) = (self.bound(step, dtype, span)?, self.number(0, dtype, span)?);
                (None, Some(self.binary(Binary::Gt, step, none, span)?))
            }
        };
        let either = |cx: &mut Self, up: Value, down: Value| match (is_up, rises) {
            (Some(true), _) => up,
            (None, Some(rises)) => {
                let ty = cx.ty(up).clone();
                cx.push(Op::Select(rises, up, down), ty, span)
            }
            _ => down,
        };
        let distance = match &r.step {
            Val::Int(step, _) => self.number(step.abs(), counter, span)?,
            step => {
                let step = self.bound(step, dtype, span)?;
                let distance = match is_up {
                    Some(_) => step,
                    None => {
                        let back = self.push(Op::Unary(Unary::Neg, step), Type::scalar(dtype), span);
                        either(self, step, back)
                    }
                };
                self.converted(distance, counter, span)
            }
        };
        // Iterations, and the number of the last one.
        let (count, last) = match (&r.lo, &r.hi, &r.step) {
            (Val::Int(lo, _), Val::Int(hi, _), Val::Int(step, _)) => {
                let count = iterations(*lo, *hi, *step);
                (self.number(count, counter, span)?, self.number((count - 1).max(0), counter, span)?)
            }
            _ => {
                // The difference of two signed numbers fits the unsigned type.
                let (up, down) = (self.binary(Binary::Sub, hi, lo, span)?, self.binary(Binary::Sub, lo, hi, span)?);
                let length = either(self, up, down);
                let length = self.converted(length, counter, span);
                let (up, down) = (self.binary(Binary::Lt, lo, hi, span)?, self.binary(Binary::Lt, hi, lo, span)?);
                let mut runs = either(self, up, down);
                if !matches!(r.step, Val::Int(..)) {
                    let moves = self.binary(Binary::Ne, distance, zero, span)?;
                    runs = self.binary(Binary::And, runs, moves, span)?;
                }
                let before_last = self.binary(Binary::Sub, length, one, span)?;
                let last = self.binary(Binary::Div, before_last, distance, span)?;
                let count = self.binary(Binary::Add, last, one, span)?;
                (self.push(Op::Select(runs, count, zero), Type::scalar(counter), span), last)
            }
        };
        let iv = self.define(Op::LoopVar, Type::scalar(counter), span);
        let bind = |cx: &mut Self| {
            let at = if r.reversed { cx.binary(Binary::Sub, last, iv, span)? } else { iv };
            let offset = cx.binary(Binary::Mul, at, distance, span)?;
            let offset = cx.converted(offset, dtype, span);
            let i = match is_up {
                Some(true) => cx.binary(Binary::Add, lo, offset, span)?,
                Some(false) => cx.binary(Binary::Sub, lo, offset, span)?,
                None => {
                    let up = cx.binary(Binary::Add, lo, offset, span)?;
                    let down = cx.binary(Binary::Sub, lo, offset, span)?;
                    either(cx, up, down)
                }
            };
            cx.bind_pattern(pattern, Val::Run(i), span)
        };
        let (stmts, exits) = self.loop_body(label, body, bind)?;
        let kind = StmtKind::For { iv, lo: zero, hi: count, step: one, body: stmts, options: r.options };
        self.emit_loop(kind, exits, span)
    }

    /// The statements of a loop's body, and its jumps to outer loops.
    fn loop_body(
        &mut self,
        label: Option<&Ident>,
        body: &Block,
        begin: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<(Vec<Stmt>, Vec<Exit>)> {
        let before = std::mem::take(&mut self.exits);
        self.loops.push(Frame { label: label.map(Ident::to_string), is_unrolled: false });
        let (stmts, done) = self.nested(|cx| {
            cx.scopes.push(HashMap::new());
            let r = begin(cx).and_then(|()| cx.block(body));
            cx.scopes.pop();
            r
        });
        self.loops.pop();
        let exits = std::mem::replace(&mut self.exits, before);
        done.map(|_| (stmts, exits))
    }

    /// Emits a loop, and behind it the effect of jumps in it to outer loops.
    fn emit_loop(&mut self, of: StmtKind, exits: Vec<Exit>, span: Span) -> Result<Val> {
        for e in &exits {
            let stays = self.constant(&Val::Bool(false), DType::Bool, span)?;
            self.emit(StmtKind::Assign(e.flag, stays));
        }
        self.emit(of);
        let next = self.loops.iter().rposition(|f| !f.is_unrolled);
        for e in exits {
            let leaves = self.read_var(e.flag, span);
            let is_target = next == Some(e.target);
            let jump = if is_target { e.jump } else { Jump::Break };
            self.emit(StmtKind::If { cond: leaves, then: vec![StmtKind::from(jump).into()], other: vec![] });
            if !is_target {
                self.exits.push(e);
            }
        }
        Ok(Val::Unit)
    }

    /// The body of a loop whose range has a mistake is looked at for its own.
    fn body_of_no_range(&mut self, label: Option<&Ident>, pattern: &Pattern, body: &Block) -> Result<Val> {
        if !self.restart {
            let poisoned = |cx: &mut Self| {
                cx.poison_pattern(pattern);
                Ok(())
            };
            drop(self.loop_body(label, body, poisoned));
        }
        Err(Reported)
    }

    /// The numbers of a range that is known at compile time; at most one more than may be unrolled.
    fn numbers(&self, r: &Range, span: Span) -> Result<Vec<i128>> {
        let lo = self.const_int(&r.lo, span, "a bound of static_range")?;
        let hi = self.const_int(&r.hi, span, "a bound of static_range")?;
        let step = self.const_int(&r.step, span, "the step of static_range")?;
        if step == 0 {
            return self.error(Code::Step, span, STEP_OF_ZERO);
        }
        let count = iterations(lo, hi, step);
        if count > MAX_UNROLL {
            return self.error(
                Code::TooManyOperations,
                span,
                format!("static_range unrolls {count} iterations: at most {MAX_UNROLL}"),
            );
        }
        let mut all: Vec<i128> = (0..count).map(|i| lo + i * step).collect();
        if r.reversed {
            all.reverse();
        }
        Ok(all)
    }

    fn unrolled(
        &mut self,
        label: Option<&Ident>,
        pattern: &Pattern,
        r: &Range,
        span: Span,
        body: &Block,
    ) -> Result<Val> {
        let numbers = self.numbers(r, span)?;
        let dtype = self.range_dtype(r, span)?;
        for (v, is_step) in [(&r.lo, false), (&r.hi, false), (&r.step, true)] {
            match v {
                Val::Int(_, Some(t)) if *t != dtype => {
                    let why = format!("a range from {} to {}: convert with `as`", in_message(dtype), in_message(*t));
                    return self.error(Code::MixedTypes, span, why);
                }
                // A step may go down from a number without a sign.
                Val::Int(n, _) if !is_step && !dtype.holds(*n) => {
                    return self.error(Code::Range, span, format!("{n} does not fit in {}", in_message(dtype)));
                }
                _ => {}
            }
        }
        let before = self.values.len();
        self.loops.push(Frame { label: label.map(Ident::to_string), is_unrolled: true });
        let mut result = Ok(Val::Unit);
        for (i, &n) in numbers.iter().enumerate() {
            self.scopes.push(HashMap::new());
            result = self.bind_pattern(pattern, Val::Int(n, Some(dtype)), span).and_then(|_| self.block(body));
            self.scopes.pop();
            let each = self.values.len() - before;
            if i == 0 && each.saturating_mul(numbers.len()) > MAX_OPERATIONS {
                result = self.error(
                    Code::TooManyOperations,
                    span,
                    format!(
                        "static_range lays out {} operations, {} times {each}: at most {MAX_OPERATIONS}; `range` makes a \
                         loop of it",
                        each * numbers.len(),
                        numbers.len()
                    ),
                );
            }
            if result.is_err() || self.has_left() {
                break;
            }
        }
        self.loops.pop();
        result.map(|_| Val::Unit)
    }

    pub(super) fn while_loop(&mut self, label: Option<&Ident>, cond: Option<&Expr>, body: &Block) -> Result<Val> {
        let checked = |cx: &mut Self| {
            let Some(cond) = cond else { return Ok(()) };
            match cx.expr(cond)? {
                Val::Bool(true) => {}
                c => {
                    let c = cx.condition(c, cond.span)?;
                    cx.emit(StmtKind::If { cond: c, then: vec![], other: vec![StmtKind::Break.into()] });
                }
            }
            Ok(())
        };
        let (body_stmts, exits) = self.loop_body(label, body, checked)?;
        self.emit_loop(StmtKind::Loop { body: body_stmts }, exits, body.span)
    }

    /// Whether the statements so far end with a jump, behind which nothing is reached.
    pub(super) fn has_left(&self) -> bool {
        let last = self.blocks.last().and_then(|b| b.last());
        last.is_some_and(|s| matches!(s.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return))
    }

    /// `break` or `continue`, of the innermost loop or of one with a label.
    pub(super) fn jump(&mut self, jump: Jump, label: Option<&Ident>, span: Span) -> Result<Val> {
        let target = match label {
            None => self.loops.len().checked_sub(1),
            Some(label) => {
                let found = self.loops.iter().rposition(|f| f.label.as_ref().is_some_and(|l| label == l));
                if found.is_none() {
                    return self.error(
                        Code::OutsideLoop,
                        label.span(),
                        format!("no loop around has the label `'{label}`"),
                    );
                }
                found
            }
        };
        let Some(target) = target.filter(|&t| !self.loops[t].is_unrolled) else {
            return self.error(
                Code::OutsideLoop,
                span,
                "`break` and `continue` stand inside a loop; a `static_range` is unrolled and cannot be left",
            );
        };
        if self.loops[target + 1..].iter().all(|f| f.is_unrolled) {
            self.emit(jump.into());
            return Ok(Val::Unit);
        }
        let known = self.exits.iter().find(|e| e.target == target && e.jump == jump).map(|e| e.flag);
        let flag = known.unwrap_or_else(|| {
            let flag = self.new_var("leaves", Type::scalar(DType::Bool));
            self.exits.push(Exit { target, jump, flag });
            flag
        });
        let leaves = self.constant(&Val::Bool(true), DType::Bool, span)?;
        self.emit(StmtKind::Assign(flag, leaves));
        self.emit(StmtKind::Break);
        Ok(Val::Unit)
    }
}

/// How many numbers a range has, whose step is not 0.
fn iterations(lo: i128, hi: i128, step: i128) -> i128 {
    let length = if step > 0 { hi - lo } else { lo - hi };
    if length > 0 { (length - 1) / step.abs() + 1 } else { 0 }
}
