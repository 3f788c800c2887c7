//! Products in 3xTF32 as three products in TF32, of high and low parts of their operands: `low·high + high·low +
//! high·high`, the small ones first, in one chain on the same accumulators.
//!
//! The pass is for `wgmma` alone: code for `mma.sync` splits operands in registers, where they are in any case. Here
//! the high and the low part are computed operands. An operand is split once for all of its products, in the block that
//! defines it, before the first of them.

use crate::dtype::DType;
use crate::ir::walk::dots;
use crate::ir::{Binary, Func, Op, Precision, Stmt, StmtKind, Type, Value};
use crate::missed::Changed;
use std::collections::{HashMap, HashSet};

/// Decomposes the products of a function.
pub fn run(f: &mut Func) -> Changed {
    if !dots(f, &f.body).any(|d| is_tf32x3(f, d)) {
        return Changed::No;
    }
    let body = std::mem::take(&mut f.body);
    let mut cx = Decompose { f, parts: HashMap::new() };
    let body = cx.block(body);
    f.body = body;
    Changed::Yes
}

fn is_tf32x3(f: &Func, dot: Value) -> bool {
    matches!(f.op(dot), Op::Dot { precision: Precision::Tf32x3, .. })
}

/// Two tiles of tf32 whose sum is an operand to 21 bits.
#[derive(Clone, Copy)]
struct HighLow {
    high: Value,
    low: Value,
}

struct Decompose<'a> {
    f: &'a mut Func,
    /// The parts of operands that were already split.
    parts: HashMap<Value, HighLow>,
}

impl Decompose<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let (mut out, mut defined) = (vec![], HashSet::new());
        let operands: Vec<Vec<Value>> = stmts.iter().map(|s| self.operands(s)).collect();
        for (i, mut s) in stmts.into_iter().enumerate() {
            // The operands of later products are also split here, so that nothing is between consecutive products.
            let later = if operands[i].is_empty() { &[] } else { &operands[i..] };
            for &operand in later.iter().flatten() {
                if defined.contains(&operand) && !self.parts.contains_key(&operand) {
                    let parts = self.split(operand, &mut out);
                    self.parts.insert(operand, parts);
                }
            }
            for block in s.blocks_mut() {
                *block = self.block(std::mem::take(block));
            }
            if let StmtKind::Let(v) = s.kind {
                defined.insert(v);
                if is_tf32x3(self.f, v) {
                    self.product(v, &mut out);
                }
            }
            out.push(s);
        }
        out
    }

    /// The operands of products in 3xTF32 in a statement.
    fn operands(&self, s: &Stmt) -> Vec<Value> {
        let of = |d: Value| match *self.f.op(d) {
            Op::Dot { a, b, precision: Precision::Tf32x3, .. } => vec![a, b],
            _ => vec![],
        };
        dots(self.f, std::slice::from_ref(s)).flat_map(of).collect()
    }

    /// The two products before the original one.
    fn product(&mut self, dot: Value, out: &mut Vec<Stmt>) {
        let Op::Dot { a, b, acc, .. } = *self.f.op(dot) else { unreachable!("a dot") };
        let (a, b) = (self.parts[&a], self.parts[&b]);
        let (ty, span) = (self.f.ty(dot).clone(), self.f.span(dot));
        let of = |a: Value, b: Value, acc: Value| Op::Dot { a, b, acc, precision: Precision::Tf32 };
        let left = self.f.push(of(a.low, b.high, acc), ty.clone(), span, out);
        let small = self.f.push(of(a.high, b.low, left), ty, span, out);
        let small = if planted!("tf32x3-drops-a-small-product") { left } else { small };
        let small = if planted!("tf32x3-without-low-parts") { acc } else { small };
        self.f.values[dot.0 as usize].op = of(a.high, b.high, small);
    }

    /// The nearest tf32 of each element, of the largest numbers the one below, which is finite; and the nearest tf32 of
    /// the rest. The low part of an infinity or a NaN is 0.
    fn split(&mut self, x: Value, out: &mut Vec<Stmt>) -> HighLow {
        const EXPONENT: u32 = 0x7F80_0000;
        let (span, shape) = (self.f.span(x), self.f.shape(x).to_vec());
        let float = Type::tile(DType::F32, shape.clone());
        let exponent = self.words(EXPONENT, x, out);
        let bits = self.f.push(Op::Bitcast(x), Type::tile(DType::U32, shape.clone()), span, out);
        let masked =
            self.f.push(Op::Binary(Binary::And, bits, exponent), Type::tile(DType::U32, shape.clone()), span, out);
        let is_special = Op::Binary(Binary::Eq, masked, exponent);
        let special = self.f.push(is_special, Type::tile(DType::Bool, shape), span, out);
        let bounded = self.bounded(x, out);
        let nearest = self.nearest(bounded, out);
        let high = self.f.push(Op::Select(special, x, nearest), float.clone(), span, out);
        let rest = self.f.push(Op::Binary(Binary::Sub, x, high), float.clone(), span, out);
        let nearest = self.nearest(if planted!("tf32x3-low-part-of-the-whole") { x } else { rest }, out);
        let zero = self.f.push(Op::Float(0.0), Type::scalar(DType::F32), span, out);
        let zeros = self.f.push(Op::Splat(zero), float.clone(), span, out);
        let low = self.f.push(Op::Select(special, zeros, nearest), float, span, out);
        HighLow { high, low }
    }

    /// Numbers between the largest ones whose nearest tf32 is finite.
    fn bounded(&mut self, x: Value, out: &mut Vec<Stmt>) -> Value {
        const MOST: f32 = f32::from_bits(0x7F7F_EFFF);
        let (span, float) = (self.f.span(x), Type::tile(DType::F32, self.f.shape(x).to_vec()));
        let mut bound = |of: f32, op: Binary, x: Value| {
            let bound = self.f.push(Op::Float(of.into()), Type::scalar(DType::F32), span, out);
            let bound = self.f.push(Op::Splat(bound), float.clone(), span, out);
            self.f.push(Op::Binary(op, x, bound), float.clone(), span, out)
        };
        let below = bound(MOST, Binary::Min, x);
        bound(-MOST, Binary::Max, below)
    }

    /// The nearest tf32 of finite numbers; ties are rounded away from zero.
    fn nearest(&mut self, x: Value, out: &mut Vec<Stmt>) -> Value {
        const UNUSED: u32 = (1 << 13) - 1;
        let (span, shape) = (self.f.span(x), self.f.shape(x).to_vec());
        let word = Type::tile(DType::U32, shape.clone());
        let (half, kept) = (self.words((UNUSED >> 1) + 1, x, out), self.words(!UNUSED, x, out));
        let bits = self.f.push(Op::Bitcast(x), word.clone(), span, out);
        let up = self.f.push(Op::Binary(Binary::Add, bits, half), word.clone(), span, out);
        let cut = self.f.push(Op::Binary(Binary::And, up, kept), word, span, out);
        self.f.push(Op::Bitcast(cut), Type::tile(DType::F32, shape), span, out)
    }

    /// A tile of the shape of `like` whose elements are all `word`.
    fn words(&mut self, word: u32, like: Value, out: &mut Vec<Stmt>) -> Value {
        let (span, shape) = (self.f.span(like), self.f.shape(like).to_vec());
        let scalar = self.f.push(Op::Int(word.into()), Type::scalar(DType::U32), span, out);
        self.f.push(Op::Splat(scalar), Type::tile(DType::U32, shape), span, out)
    }
}
