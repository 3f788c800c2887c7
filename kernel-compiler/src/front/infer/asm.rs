//! Inline assembly, with a meaning for the backends that run no PTX.

use crate::diag::{Code, Result, Span};
use crate::dtype::{in_message, register};
use crate::front::ast::{Expr, ExprKind};
use crate::front::infer::builtins::{Call, usage};
use crate::front::infer::reduce::results;
use crate::front::infer::{Closure, Infer, Val};
use crate::ir::{Meaning, Op, Type, Value};

/// Operands, and results.
const MAX_OPERANDS: usize = 8;

impl Infer<'_> {
    /// `asm("add.f32 {0}, {1}, {2};", (a, b), |(a, b)| a + b)`.
    pub(super) fn asm(&mut self, c: &Call) -> Result<Val> {
        let [text, given, closure] = c.args else {
            return self.error(Code::ArgumentCount, c.span, format!("expected {}", usage("asm")));
        };
        if !self.kernel.is_unsafe {
            return self.error(
                Code::NeedsUnsafe,
                c.name.span(),
                "nobody checks what `asm` does: make the kernel an `unsafe fn`",
            );
        }
        let Val::Str(template) = self.expr(text)? else {
            return self.error(Code::Asm, text.span, "the text of `asm` is a string literal");
        };
        let operands = self.asm_operands(given)?;
        let Val::Closure(f) = self.expr(closure)? else {
            return self.error(
                Code::OperationClosure,
                closure.span,
                "a closure says what the text computes: `|(a, b)| a + b`",
            );
        };
        if f.written.params.len() != 1 {
            return self.error(
                Code::OperationClosure,
                closure.span,
                "the closure of `asm` takes one argument, several operands as a tuple: `|(a, b)| ..`",
            );
        }
        // Each result is computed by a copy of the closure: of an operation that is used, the others are left out.
        let (params, body, found) = self.meaning(&f, &operands, c.span)?;
        let dtypes: Vec<_> = found.iter().map(|&v| self.ty(v).dtype).collect();
        if let Err(message) = check_text(&template, found.len(), operands.len()) {
            return self.error(Code::Asm, text.span, message);
        }
        let mut meanings = vec![Meaning { params, body, result: found[0] }];
        for i in 1..found.len() {
            let (params, body, found) = self.meaning(&f, &operands, c.span)?;
            meanings.push(Meaning { params, body, result: found[i] });
        }
        let shape = self.ty(operands[0]).shape.clone();
        let one = |(index, meaning)| {
            let (text, results, operands) = (template.clone(), dtypes.clone(), operands.clone());
            let ty = Type { dtype: dtypes[index], shape: shape.clone() };
            self.push(Op::Asm { text, results, index, operands, meaning }, ty, c.span)
        };
        Ok(results(meanings.into_iter().enumerate().map(one).collect()))
    }

    /// Values of one shape.
    fn asm_operands(&mut self, given: &Expr) -> Result<Vec<Value>> {
        let list: Vec<(Val, Span)> = match &given.kind {
            ExprKind::Tuple(parts) => parts.iter().map(|e| Ok((self.expr(e)?, e.span))).collect::<Result<_>>()?,
            _ => match self.expr(given)? {
                Val::Tuple(list) => list.into_iter().map(|v| (v, given.span)).collect(),
                v => vec![(v, given.span)],
            },
        };
        if !(1..=MAX_OPERANDS).contains(&list.len()) {
            let message = format!("`asm` takes 1 to {MAX_OPERANDS} operands, found {}", list.len());
            return self.error(Code::Asm, given.span, message);
        }
        let (mut operands, mut shape) = (vec![], vec![]);
        for (v, at) in list {
            let v = self.run(v, at)?;
            let ty = self.ty(v).clone();
            if register(ty.dtype).is_none() {
                return self.error(
                    Code::ElementType,
                    at,
                    format!("`asm` takes numbers of 16, 32 or 64 bits, found {ty}: convert with `.to::<i32>()`"),
                );
            }
            shape = self.common_shape(&shape, &ty.shape, at)?;
            operands.push(v);
        }
        self.check_size(&shape, given.span)?;
        Ok(operands.into_iter().map(|v| self.broadcast(v, &shape, given.span)).collect())
    }

    /// The parameters of the closure, the values that it defines, and its results.
    fn meaning(&mut self, f: &Closure, operands: &[Value], span: Span) -> Result<(Vec<Value>, Vec<Value>, Vec<Value>)> {
        let argument = |&v: &Value| self.define(Op::LoopVar, Type::scalar(self.ty(v).dtype), span);
        let params: Vec<Value> = operands.iter().map(argument).collect();
        let at = f.written.body.span;
        let (body, found) = self.scalar_code(f, "asm", vec![results(params.clone())], span, |cx, found| {
            let list = match found {
                Val::Tuple(list) if (1..=MAX_OPERANDS).contains(&list.len()) => list,
                v => vec![v],
            };
            list.into_iter().map(|v| cx.run(v, at)).collect()
        })?;
        if let Some(&v) = found.iter().find(|&&v| register(self.ty(v).dtype).is_none()) {
            let found = in_message(self.ty(v).dtype);
            return self.error(
                Code::ElementType,
                at,
                format!("`asm` gives numbers of 16, 32 or 64 bits, found {found}"),
            );
        }
        Ok((params, body, found))
    }
}

/// Each operand is named, `{0}` and so on: first the results, then the given operands. Braces of PTX are written twice.
fn check_text(text: &str, results: usize, given: usize) -> std::result::Result<(), String> {
    let all = results + given;
    let called = |first: usize, count: usize, what: &str| match count {
        1 => format!("`{{{first}}}` is the {what}"),
        _ => format!("`{{{first}}}` to `{{{}}}` are the {what}s", first + count - 1),
    };
    let operands = format!("{}, {}", called(0, results, "result"), called(results, given, "operand"));
    let mut named = vec![false; all];
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            rest = behind;
            continue;
        }
        let name = if brace == "{" { rest.split_once('}') } else { None };
        let Some((name, behind)) = name else {
            return Err(format!("`{brace}` stands alone: a brace of PTX is written twice, `{brace}{brace}`"));
        };
        match name.parse::<usize>().ok().and_then(|i| named.get_mut(i)) {
            Some(named) => *named = true,
            None => {
                return Err(format!("`{{{name}}}` is no operand: {operands}; a brace of PTX is written twice, `{{{{`"));
            }
        }
        rest = behind;
    }
    if let Some(i) = named.iter().position(|named| !named) {
        return Err(format!("the text does not name `{{{i}}}`: {operands}"));
    }
    match text.replace("::", "").contains(':') {
        true => Err("the text has a label, of which PTX takes one: the text stands once for each element".into()),
        false => Ok(()),
    }
}
