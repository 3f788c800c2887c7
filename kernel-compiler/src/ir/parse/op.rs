//! Reads operations and accesses.

use super::lex::Token;
use super::{AccessOptions, Parser, Result};
use crate::ir::print::HINTS;
use crate::ir::{
    Address, Atomic, Base, Binary, BlockPointer, Combine, Dim, Hint, Meaning, Op, Precision, Unary, Value, ValueInfo,
    Var,
};
use proc_macro2::Span;

impl Parser {
    /// As in `x[v0]`, `*x[v0]` without bounds, or `(v1 as const f32)[v0]` from a computed address.
    pub(super) fn address(&mut self) -> Result<Address> {
        let base = if self.takes("(") {
            let address = self.value()?;
            self.keyword("as")?;
            let mutable = self.takes_word("mut");
            if !mutable {
                self.keyword("const")?;
            }
            let dtype = self.dtype()?;
            self.mark(")")?;
            Base::Pointer { address, dtype, mutable }
        } else {
            let raw = self.takes("*");
            let at = self.at();
            let name = self.word("a parameter")?;
            match self.shared.iter().position(|a| a.name == name) {
                Some(array) if !raw => Base::Shared(array),
                _ if raw => Base::Raw(self.param_of(at, &name)?),
                _ => Base::Slice(self.param_of(at, &name)?),
            }
        };
        self.mark("[")?;
        let index = self.value()?;
        self.mark("]")?;
        Ok(Address { base, index })
    }

    pub(super) fn access_options(&mut self) -> Result<AccessOptions> {
        let mut out = AccessOptions::default();
        loop {
            if self.takes_word("mask") {
                out.mask = Some(self.value()?);
            } else if self.takes_word("other") {
                out.other = Some(self.value()?);
            } else if self.takes_word("block") {
                let dims = self.list(|p| {
                    let extent = p.product()?;
                    p.mark("/")?;
                    Ok(Dim { extent, stride: p.product()? })
                })?;
                self.keyword("at")?;
                out.block_pointer = Some(BlockPointer { dims, at: self.list(Self::value)? });
            } else if let Some((_, hint)) = HINTS.into_iter().find(|(name, _)| self.takes_word(name)) {
                out.hint = hint;
            } else {
                return Ok(out);
            }
        }
    }

    fn axis(&mut self) -> Result<usize> {
        self.keyword("axis")?;
        self.number("an axis")
    }

    fn pair(&mut self) -> Result<(Value, Value)> {
        let a = self.value()?;
        self.mark(",")?;
        Ok((a, self.value()?))
    }

    fn triple(&mut self) -> Result<(Value, Value, Value)> {
        let (a, b) = self.pair()?;
        self.mark(",")?;
        Ok((a, b, self.value()?))
    }

    pub(super) fn op(&mut self) -> Result<Op> {
        let at = self.at();
        let name = self.word("an operation")?;
        if let Some(u) = Unary::ALL.iter().copied().find(|u| u.name() == name) {
            return Ok(Op::Unary(u, self.value()?));
        }
        if let Some(b) = Binary::ALL.iter().copied().find(|b| b.name() == name) {
            let (x, y) = self.pair()?;
            return Ok(Op::Binary(b, x, y));
        }
        if let Some(op) = name.strip_prefix("atomic_").and_then(|n| Atomic::ALL.into_iter().find(|a| a.name() == n)) {
            return self.atomic(op);
        }
        Ok(match name.as_str() {
            "int" => Op::Int(self.number("an integer")?),
            "float" => Op::Float(self.float()?),
            "bool" => Op::Bool(self.bool()?),
            "word" => Op::Word { word: self.number("an argument word")? },
            "program_id" => Op::ProgramId(self.number("an axis")?),
            "num_programs" => Op::NumPrograms(self.number("an axis")?),
            "cluster_cta_rank" => Op::ClusterCtaRank,
            "cluster_gather" => {
                let value = self.value()?;
                self.keyword("by")?;
                let at = self.at();
                let name = self.word("a shared array")?;
                let array = self.shared.iter().position(|a| a.name == name);
                let Some(array) = array else { return self.error(at, format!("there is no shared array `{name}`")) };
                Op::ClusterGather { value, array, repeats: self.takes_word("repeats") }
            }
            "read" => Op::ReadVar(Var(self.numbered('m', "a variable")?)),
            "arange" => Op::Arange { start: self.number("the first number of a range")? },
            "splat" => Op::Splat(self.value()?),
            "fma" => {
                let (a, b, c) = self.triple()?;
                Op::Fma(a, b, c)
            }
            "select" => {
                let (cond, a, b) = self.triple()?;
                Op::Select(cond, a, b)
            }
            "asm" => {
                let (text, operands) = (self.text()?, self.values()?);
                self.keyword("gives")?;
                let mut results = vec![self.ty()?.dtype];
                while self.takes(",") {
                    results.push(self.ty()?.dtype);
                }
                self.keyword("at")?;
                let index = self.number("the number of a result")?;
                self.mark("|")?;
                let at = self.at();
                let (params, body, given) = self.closure()?;
                let [result] = given[..] else { return self.error(at, "a meaning has one result") };
                Op::Asm { text, results, index, operands, meaning: Meaning { params, body, result } }
            }
            "cast" => Op::Cast(self.value()?),
            "bitcast" => Op::Bitcast(self.value()?),
            "expand" => {
                let x = self.value()?;
                Op::Expand(x, self.axis()?)
            }
            "broadcast" => Op::Broadcast(self.value()?),
            "reshape" => Op::Reshape(self.value()?),
            "join" => {
                let (a, b) = self.pair()?;
                Op::Join(a, b)
            }
            "slice" => {
                let (value, axis) = (self.value()?, self.axis()?);
                self.keyword("at")?;
                Op::Slice { value, axis, start: self.number("the first index")? }
            }
            "sort" => {
                let (values, axis) = (self.values()?, self.axis()?);
                Op::Sort { values, axis, descending: self.takes_word("descending") }
            }
            "gather" => {
                let (value, index) = self.pair()?;
                Op::Gather { value, index, axis: self.axis()? }
            }
            "histogram" => {
                let value = self.value()?;
                let weights = if self.takes_word("weights") { Some(self.value()?) } else { None };
                let mask = if self.takes_word("mask") { Some(self.value()?) } else { None };
                Op::Histogram { value, weights, mask }
            }
            "cumcount" => {
                let value = self.value()?;
                self.keyword("bins")?;
                let bins = self.number("the number of bins")?;
                let mask = if self.takes_word("mask") { Some(self.value()?) } else { None };
                Op::Cumcount { value, bins, mask }
            }
            "permute" => {
                let x = self.value()?;
                Op::Permute(x, self.list(|p| p.number("a dimension"))?)
            }
            "reduce" => {
                let (values, axis) = (self.values()?, self.axis()?);
                Op::Reduce { values, axis, combine: self.combine()? }
            }
            "scan" => {
                let (values, axis) = (self.values()?, self.axis()?);
                let reverse = self.takes_word("reverse");
                let exclusive = if self.takes_word("exclusive") { self.values()? } else { vec![] };
                Op::Scan { values, axis, combine: self.combine()?, reverse, exclusive }
            }
            "result" => {
                let of = self.value()?;
                Op::Result(of, self.number("the number of a result")?)
            }
            "argmax" | "argmin" => {
                let (value, axis) = (self.value()?, self.axis()?);
                Op::ArgReduce { value, axis, largest: name == "argmax" }
            }
            "load" => {
                let ptr = self.address()?;
                let AccessOptions { mask, other, hint, block_pointer } = self.access_options()?;
                Op::Load { ptr, mask, other, hint, block_pointer }
            }
            "dot" => {
                let (a, b, acc) = self.triple()?;
                let precision = match () {
                    () if self.takes_word("tf32") => Precision::Tf32,
                    () if self.takes_word("tf32x3") => Precision::Tf32x3,
                    () => Precision::Ieee,
                };
                Op::Dot { a, b, acc, precision }
            }
            _ => return self.error(at, format!("no operation is called `{name}`")),
        })
    }

    fn float(&mut self) -> Result<f64> {
        let sign = if self.takes("-") { -1.0 } else { 1.0 };
        Ok(match self.peek() {
            Token::Word(w) if w == "inf" => {
                self.advance();
                sign * f64::INFINITY
            }
            Token::Word(w) if w == "NaN" => {
                self.advance();
                f64::NAN
            }
            Token::Number(_) => sign * self.number::<f64>("a float")?,
            _ => return self.expected("a float"),
        })
    }

    fn atomic(&mut self, op: Atomic) -> Result<Op> {
        let at = self.at();
        let ptr = self.address()?;
        let mut values = vec![];
        while self.takes(",") {
            values.push(self.value()?);
        }
        let AccessOptions { mask, other: None, hint: Hint::None, block_pointer: None } = self.access_options()? else {
            return self.error(at, "an atomic has a `mask` and nothing else that loads and stores have");
        };
        Ok(Op::Atomic { op, ptr, values, mask, relaxed: self.takes_word("relaxed") })
    }

    fn values(&mut self) -> Result<Vec<Value>> {
        let mut values = vec![self.value()?];
        while self.takes(",") {
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// An operation by name, or a closure: `|v1: f32, v2: f32| { v3: f32 = add v1, v2 } v3`. Of several tiles the
    /// arguments of the first element come before those of the second.
    fn combine(&mut self) -> Result<Combine> {
        if !self.takes("|") {
            let name = match self.peek() {
                Token::Word(w) => w.clone(),
                _ => return self.expected("an operation or a closure"),
            };
            let Some(b) = Binary::ALL.iter().find(|b| b.name() == name) else {
                return self.expected("an operation of two operands, or a closure");
            };
            self.advance();
            return Ok(Combine::Binary(*b));
        }
        let at = self.at();
        let (mut a, body, results) = self.closure()?;
        if a.len() % 2 == 1 {
            return self.error(at, "a closure has as many arguments of one element as of the other");
        }
        let b = a.split_off(a.len() / 2);
        Ok(Combine::Closure { a, b, body, results })
    }

    /// The rest of a closure: its parameters, the values that it defines, and its results.
    fn closure(&mut self) -> Result<(Vec<Value>, Vec<Value>, Vec<Value>)> {
        let mut params = vec![self.argument()?];
        while self.takes(",") {
            params.push(self.argument()?);
        }
        self.mark("|")?;
        self.mark("{")?;
        let mut body = vec![];
        while !self.takes("}") {
            if !body.is_empty() {
                self.mark(";")?;
            }
            body.push(self.let_value()?);
        }
        Ok((params, body, self.values()?))
    }

    fn argument(&mut self) -> Result<Value> {
        let v = self.value()?;
        self.mark(":")?;
        let ty = self.ty()?;
        self.define(v, ValueInfo { ty, op: Op::LoopVar, span: Span::call_site() });
        Ok(v)
    }
}
