//! Reads the text form that [`print`](super::print) writes: the tokens of `lex`, by recursive descent.
//!
//! The numbers of values may have gaps. A number that no statement defines becomes a value that no statement computes.
//! A statement may end with `loc(12)`, which gives its span the line 12.

mod lex;
mod op;

use super::{
    Block, BlockPointer, Func, Guard, Hint, LoopOptions, Number, Op, Param, ParamKind, SharedArray, Stmt, StmtKind,
    Test, Type, Value, ValueInfo, Var, VarInfo, verify,
};
use crate::dtype::DType;
pub use lex::{ParseError, Position};
use lex::{Token, lex};
use proc_macro2::Span;
use std::collections::HashMap;
use std::str::FromStr;

/// The options that follow an access.
#[derive(Default)]
struct AccessOptions {
    pub mask: Option<Value>,
    pub other: Option<Value>,
    pub hint: Hint,
    pub block_pointer: Option<BlockPointer>,
}

/// Values and lines have smaller numbers, and blocks are nested less deep.
const MAX_NUMBER: u32 = 1 << 20;
const MAX_DEPTH: usize = 100;

/// The function that a text is. Its statements are numbered, and it is verified as one that is inferred.
pub fn parse(text: &str) -> Result<Func, ParseError> {
    let mut p = Parser {
        tokens: lex(text)?,
        next: 0,
        params: vec![],
        values: vec![],
        vars: vec![],
        shared: vec![],
        begins: vec![],
        spans: HashMap::new(),
        depth: 0,
    };
    let mut f = p.func()?;
    f.number();
    verify::verify_inferred(&f).map_err(|e| {
        let begin = e.stmt.and_then(|id| p.begins.get(id.0 as usize)).copied();
        ParseError { at: begin.unwrap_or(Position { line: 1, column: 1 }), message: e.why }
    })?;
    Ok(f)
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

struct Parser {
    tokens: Vec<(Token, Position)>,
    next: usize,
    params: Vec<Param>,
    values: Vec<Option<ValueInfo>>,
    vars: Vec<VarInfo>,
    shared: Vec<SharedArray>,
    /// The beginning of each statement, in the order of their ids.
    begins: Vec<Position>,
    /// Spans of lines.
    spans: HashMap<u32, Span>,
    /// Blocks around the statement that is read.
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn at(&self) -> Position {
        self.tokens[self.next].1
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn error<T>(&self, at: Position, message: impl Into<String>) -> Result<T> {
        Err(ParseError { at, message: message.into() })
    }

    fn expected<T>(&self, wanted: &str) -> Result<T> {
        self.error(self.at(), format!("expected {wanted}, found {}", self.peek()))
    }

    /// Whether the next token is this mark, which is then read.
    fn takes(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(m) if *m == mark);
        if found {
            self.advance();
        }
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        if found {
            self.advance();
        }
        found
    }

    fn mark(&mut self, mark: &str) -> Result<()> {
        if self.takes(mark) { Ok(()) } else { self.expected(&format!("`{mark}`")) }
    }

    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.takes_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn line_end(&mut self) -> Result<()> {
        match self.peek() {
            Token::LineEnd => {
                self.advance();
                Ok(())
            }
            Token::End => Ok(()),
            _ => self.expected("the end of the line"),
        }
    }

    fn word(&mut self, wanted: &str) -> Result<String> {
        match self.peek() {
            Token::Word(w) => {
                let w = w.clone();
                self.advance();
                Ok(w)
            }
            _ => self.expected(wanted),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.peek() {
            Token::Text(t) => {
                let t = t.clone();
                self.advance();
                Ok(t)
            }
            _ => self.expected("a string"),
        }
    }

    /// A number of a type, with a sign where the type has one.
    fn number<T: FromStr>(&mut self, wanted: &str) -> Result<T> {
        let at = self.at();
        let sign = if self.takes("-") { "-" } else { "" };
        let Token::Number(digits) = self.peek() else { return self.expected(wanted) };
        let number = format!("{sign}{digits}");
        match number.parse() {
            Ok(n) => {
                self.advance();
                Ok(n)
            }
            Err(_) => self.error(at, format!("expected {wanted}, found `{number}`")),
        }
    }

    /// As in `v12`: a letter and a number.
    fn numbered(&mut self, letter: char, wanted: &str) -> Result<u32> {
        let number = match self.peek() {
            Token::Word(w) => w.strip_prefix(letter).and_then(|n| n.parse().ok()).filter(|&n| n < MAX_NUMBER),
            _ => None,
        };
        let Some(n) = number else { return self.expected(&format!("{wanted}, as in `{letter}0`")) };
        self.advance();
        Ok(n)
    }

    fn value(&mut self) -> Result<Value> {
        self.numbered('v', "a value").map(Value)
    }

    /// Items between brackets.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.mark("[")?;
        let mut out = vec![];
        while !self.takes("]") {
            if !out.is_empty() {
                self.mark(",")?;
            }
            out.push(item(self)?);
        }
        Ok(out)
    }

    fn bool(&mut self) -> Result<bool> {
        if self.takes_word("true") {
            Ok(true)
        } else if self.takes_word("false") {
            Ok(false)
        } else {
            self.expected("`true` or `false`")
        }
    }

    fn dtype(&mut self) -> Result<DType> {
        let Token::Word(w) = self.peek() else { return self.expected("an element type") };
        let Some(dtype) = DType::ALL.into_iter().find(|d| d.name() == w) else {
            return self.expected("an element type, as `f32`");
        };
        self.advance();
        Ok(dtype)
    }

    fn ty(&mut self) -> Result<Type> {
        let dtype = self.dtype()?;
        let shape = match self.peek() {
            Token::Mark("[") => self.list(|p| p.number("an extent"))?,
            _ => vec![],
        };
        Ok(Type { dtype, shape })
    }

    fn func(&mut self) -> Result<Func> {
        self.keyword("func")?;
        let (mut warps, mut blocks_per_sm, mut stages, mut ctas, mut pdl) = (None, 0, 0, 1, None);
        let mut deterministic = false;
        while !self.takes("{") {
            let at = self.at();
            let option = self.word("an option of the function, or `{`")?;
            self.mark("=")?;
            match option.as_str() {
                "warps" => warps = Some(self.number("a number of warps")?),
                "blocks_per_sm" => blocks_per_sm = self.number("a number of thread blocks")?,
                "stages" => stages = self.number("a number of stages")?,
                "ctas" => ctas = self.number("a number of thread blocks")?,
                "deterministic" => {
                    self.keyword("true")?;
                    deterministic = true;
                }
                "pdl" => pdl = Some(self.list(|p| Ok((p.at(), p.word("a parameter")?)))?),
                _ => return self.error(at, format!("no option `{option}` of a function")),
            }
        }
        let Some(warps) = warps else { return self.error(self.at(), "the function does not say its `warps`") };
        self.line_end()?;
        let (mut guards, mut aliases) = (vec![], vec![]);
        loop {
            if self.takes_word("param") {
                self.param()?;
            } else if self.takes_word("alias") {
                aliases.push(self.alias()?);
            } else if self.takes_word("guard") {
                guards.push(self.guard()?);
            } else if self.takes_word("var") {
                self.var_info()?;
            } else if self.takes_word("shared") {
                self.shared_array()?;
            } else {
                break;
            }
            self.line_end()?;
        }
        let pdl = match pdl {
            Some(names) => Some(names.into_iter().map(|(at, name)| self.param_of(at, &name)).collect::<Result<_>>()?),
            None => None,
        };
        let body = self.block()?;
        self.line_end()?;
        if *self.peek() != Token::End {
            return self.expected("the end of the text");
        }
        let unused = || ValueInfo { ty: Type::scalar(DType::Bool), op: Op::Bool(false), span: Span::call_site() };
        let values = std::mem::take(&mut self.values).into_iter().map(|v| v.unwrap_or_else(unused)).collect();
        let (params, vars) = (std::mem::take(&mut self.params), std::mem::take(&mut self.vars));
        let shared = std::mem::take(&mut self.shared);
        Ok(Func {
            params,
            values,
            vars,
            shared,
            body,
            warps,
            blocks_per_sm,
            stages,
            ctas,
            pdl,
            aliases,
            checked_views: vec![],
            deterministic,
            guards,
        })
    }

    fn alias(&mut self) -> Result<[usize; 2]> {
        let (at, x) = (self.at(), self.word("a parameter")?);
        self.mark(",")?;
        let (then, y) = (self.at(), self.word("a parameter")?);
        Ok([self.param_of(at, &x)?, self.param_of(then, &y)?])
    }

    fn param(&mut self) -> Result<()> {
        let at = self.at();
        let name = self.word("the name of a parameter")?;
        if self.params.iter().any(|p| p.name == name) {
            return self.error(at, format!("two parameters are called `{name}`"));
        }
        self.mark(":")?;
        let kinds = "the kind of a parameter: `slice`, `view`, `ptr` or `scalar`";
        let at = self.at();
        let kind = self.word(kinds)?;
        let mutable = self.takes_word("mut");
        let kind = match kind.as_str() {
            "slice" => ParamKind::Slice { mutable },
            "view" => ParamKind::View { rank: self.number("the rank of a view")?, mutable },
            "ptr" => ParamKind::Ptr { mutable },
            "scalar" if !mutable => ParamKind::Scalar,
            _ => return self.error(at, format!("expected {kinds}, found `{kind}`")),
        };
        let dtype = self.dtype()?;
        let first_word = self.params.last().map_or(0, |p| p.first_word + p.kind.words());
        self.params.push(Param { name, kind, dtype, first_word });
        Ok(())
    }

    fn shared_array(&mut self) -> Result<()> {
        let at = self.at();
        let name = self.word("the name of a shared array")?;
        let known = self.params.iter().map(|p| &p.name).chain(self.shared.iter().map(|a| &a.name));
        if known.into_iter().any(|n| *n == name) {
            return self.error(at, format!("two arrays are called `{name}`"));
        }
        self.mark(":")?;
        let (dtype, len) = (self.dtype()?, self.number("a number of elements")?);
        self.shared.push(SharedArray { name, dtype, len });
        Ok(())
    }

    fn shared_of(&mut self) -> Result<usize> {
        let at = self.at();
        let name = self.word("a shared array")?;
        let known = self.shared.iter().position(|a| a.name == name);
        known.map_or_else(|| self.error(at, format!("no shared array `{name}`")), Ok)
    }

    fn param_of(&self, at: Position, name: &str) -> Result<usize> {
        match self.params.iter().position(|p| p.name == name) {
            Some(i) => Ok(i),
            None => self.error(at, format!("no parameter is called `{name}`")),
        }
    }

    fn var_info(&mut self) -> Result<()> {
        let at = self.at();
        let var = self.numbered('m', "a variable")?;
        if var as usize != self.vars.len() {
            return self.error(at, format!("this variable is m{}: they are numbered in order", self.vars.len()));
        }
        self.mark(":")?;
        let ty = self.ty()?;
        let name = match self.peek() {
            Token::Text(_) => self.text()?,
            _ => self.word("the name of a variable")?,
        };
        self.vars.push(VarInfo { name, ty });
        Ok(())
    }

    /// As in `4*w1*w3`.
    fn product(&mut self) -> Result<Number> {
        let mut n = Number::constant(1);
        if matches!(self.peek(), Token::Number(_)) {
            n.times = self.number("a number")?;
            if !self.takes("*") {
                return Ok(n);
            }
        }
        loop {
            n.words.push(self.numbered('w', "an argument word")? as usize);
            if !self.takes("*") {
                return Ok(n);
            }
        }
    }

    fn guard(&mut self) -> Result<Guard> {
        let of = self.product()?;
        let test = if self.takes("%") {
            Test::Multiple(self.number("a divisor")?)
        } else if self.takes("==") {
            Test::Equal(self.number("a number")?)
        } else if self.takes("<=") {
            Test::AtMost(self.numbered('w', "an argument word")? as usize)
        } else if self.takes_word("in") {
            let from = self.number("a number")?;
            self.mark("..=")?;
            Test::Within(from, self.number("a number")?)
        } else {
            return self.expected("`%`, `==`, `<=` or `in`");
        };
        Ok(Guard { of, test })
    }

    /// The statements up to a closing brace, which is read.
    fn block(&mut self) -> Result<Block> {
        if self.depth == MAX_DEPTH {
            return self.error(self.at(), format!("blocks are nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let mut out = vec![];
        while !self.takes("}") {
            self.begins.push(self.at());
            let kind = self.stmt()?;
            out.push(Stmt::from(kind));
            self.line_end()?;
        }
        self.depth -= 1;
        Ok(out)
    }

    fn opened_block(&mut self) -> Result<Block> {
        self.mark("{")?;
        self.line_end()?;
        self.block()
    }

    fn stmt(&mut self) -> Result<StmtKind> {
        let at = self.at();
        let statement = "a statement or `}`";
        let word = match self.peek() {
            Token::Word(w) => w.clone(),
            _ => return self.expected(statement),
        };
        let is_numbered = |letter: char| word.strip_prefix(letter).is_some_and(|n| n.parse::<u32>().is_ok());
        if is_numbered('v') {
            let v = self.let_value()?;
            let span = self.location()?;
            self.values[v.0 as usize].as_mut().expect("just defined").span = span;
            return Ok(StmtKind::Let(v));
        }
        if is_numbered('m') {
            let var = Var(self.numbered('m', "a variable")?);
            self.mark("=")?;
            return Ok(StmtKind::Assign(var, self.value()?));
        }
        self.advance();
        Ok(match word.as_str() {
            "store" => {
                let ptr = self.address()?;
                self.mark(",")?;
                let value = self.value()?;
                let AccessOptions { mask, other: None, hint, block_pointer } = self.access_options()? else {
                    return self.error(at, "a store has no `other`");
                };
                StmtKind::Store { ptr, value, mask, hint, block_pointer, span: self.location()? }
            }
            "if" => {
                let cond = self.value()?;
                let then = self.opened_block()?;
                let other = if self.takes_word("else") { self.opened_block()? } else { vec![] };
                StmtKind::If { cond, then, other }
            }
            "for" => self.for_loop()?,
            "loop" => StmtKind::Loop { body: self.opened_block()? },
            "break" => StmtKind::Break,
            "continue" => StmtKind::Continue,
            "return" => StmtKind::Return,
            "assert" => {
                let (cond, message) = (self.value()?, self.text()?);
                StmtKind::Assert { cond, message, span: self.location()? }
            }
            "clear" => {
                let array = self.shared_of()?;
                StmtKind::Clear { array, span: self.location()? }
            }
            "print" | "watch" => {
                let (watch, value, message) = (word == "watch", self.value()?, self.text()?);
                StmtKind::Print { message, value, watch, span: self.location()? }
            }
            _ => return self.error(at, format!("expected {statement}, found `{word}`")),
        })
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        let iv = self.value()?;
        self.mark(":")?;
        let ty = self.ty()?;
        self.keyword("in")?;
        let lo = self.value()?;
        self.mark("..")?;
        let hi = self.value()?;
        self.keyword("step")?;
        let step = self.value()?;
        let mut options = LoopOptions::default();
        let mut span = Span::call_site();
        while *self.peek() != Token::Mark("{") {
            if *self.peek() == Token::Word("loc".into()) {
                span = self.location()?;
                continue;
            }
            let at = self.at();
            let name = self.word("an option of the loop, or `{`")?;
            if name == "flatten" {
                options.flatten = true;
                continue;
            }
            self.mark("=")?;
            match name.as_str() {
                "stages" => options.stages = self.number("a number of stages")?,
                "unroll" => options.unroll = self.number("a number of iterations")?,
                "warp_specialize" => options.warp_specialize = Some(self.bool()?),
                _ => return self.error(at, format!("no option `{name}` of a loop")),
            }
        }
        self.define(iv, ValueInfo { ty, op: Op::LoopVar, span });
        Ok(StmtKind::For { iv, lo, hi, step, body: self.opened_block()?, options })
    }

    /// The span of the line of a `loc(12)`, or of none.
    fn location(&mut self) -> Result<Span> {
        if !self.takes_word("loc") {
            return Ok(Span::call_site());
        }
        self.mark("(")?;
        let at = self.at();
        let line: u32 = self.number("a line")?;
        if !(1..MAX_NUMBER).contains(&line) {
            return self.error(at, format!("lines are numbered from 1 to {MAX_NUMBER}, found {line}"));
        }
        self.mark(")")?;
        Ok(*self.spans.entry(line).or_insert_with(|| {
            let source = "\n".repeat(line as usize - 1) + "x";
            let tokens: proc_macro2::TokenStream = source.parse().expect("an identifier is Rust");
            tokens.into_iter().next().expect("an identifier").span()
        }))
    }

    /// As in `v3: f32 = add v1, v2`.
    fn let_value(&mut self) -> Result<Value> {
        let v = self.value()?;
        self.mark(":")?;
        let ty = self.ty()?;
        self.mark("=")?;
        let op = self.op()?;
        self.define(v, ValueInfo { ty, op, span: Span::call_site() });
        Ok(v)
    }

    /// Of two definitions the last one counts: the verifier accepts neither.
    fn define(&mut self, v: Value, info: ValueInfo) {
        let i = v.0 as usize;
        if self.values.len() <= i {
            self.values.resize(i + 1, None);
        }
        self.values[i] = Some(info);
    }
}
