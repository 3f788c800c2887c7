//! Products whose accumulator is f16 are summed in f32. The sum that one product passes to the next is f32, also in a
//! variable, and every other use of a sum sees it rounded. Tensor cores that sum in f16 round after each instruction,
//! and are no faster on data-center devices since sm_80.

use crate::dtype::DType;
use crate::ir::walk::{behind, walk};
use crate::ir::{Func, Op, Stmt, StmtKind, Type, Value, Var};
use proc_macro2::Span;
use std::collections::{HashMap, HashSet};

/// Makes the sums of products f32 that are f16.
pub fn run(f: &mut Func) {
    let variables = carried(f);
    for var in &variables {
        f.vars[var.0 as usize].ty.dtype = DType::F32;
    }
    let mut body = std::mem::take(&mut f.body);
    WideSums { f, variables, wide: HashMap::new() }.block(&mut body);
    f.body = body;
}

/// The variables of f16 that are assigned a sum or another such variable.
fn carried(f: &Func) -> HashSet<Var> {
    let mut variables = HashSet::new();
    loop {
        let is_sum = |v: Value| match f.op(behind(f, v)) {
            Op::Dot { .. } => f.ty(v).dtype == DType::F16,
            Op::ReadVar(var) => variables.contains(var),
            _ => false,
        };
        let found = walk(&f.body).filter_map(|s| match s.kind {
            StmtKind::Assign(var, v) if is_sum(v) => Some(var),
            _ => None,
        });
        let found: HashSet<Var> = found.collect();
        if found.len() == variables.len() {
            return variables;
        }
        variables = found;
    }
}

struct WideSums<'a> {
    f: &'a mut Func,
    /// The variables that hold sums, which are now f32.
    variables: HashSet<Var>,
    /// The value of f32 from which a value of f16 was rounded.
    wide: HashMap<Value, Value>,
}

impl WideSums<'_> {
    fn block(&mut self, stmts: &mut Vec<Stmt>) {
        let mut out = Vec::with_capacity(stmts.len());
        for mut s in std::mem::take(stmts) {
            match &mut s.kind {
                StmtKind::Let(v) => self.rewrite(*v, &mut out),
                StmtKind::Assign(var, v) if self.variables.contains(var) => {
                    let span = self.f.span(*v);
                    *v = self.widened(*v, span, &mut out);
                }
                _ => s.blocks_mut().into_iter().for_each(|b| self.block(b)),
            }
            out.push(s);
        }
        *stmts = out;
    }

    /// The value of f32 from which a value of f16 is rounded, if it is computed from a sum.
    fn rewrite(&mut self, v: Value, out: &mut Vec<Stmt>) {
        let (ty, span) = (self.f.ty(v).clone(), self.f.span(v));
        if ty.dtype != DType::F16 {
            return;
        }
        let op = match *self.f.op(v) {
            Op::ReadVar(var) if self.variables.contains(&var) => Op::ReadVar(var),
            Op::Reshape(x) if let Some(&x) = self.wide.get(&x) => Op::Reshape(x),
            Op::Dot { a, b, acc, precision } => {
                let acc = self.widened(acc, span, out);
                Op::Dot { a, b, acc, precision }
            }
            _ => return,
        };
        let wide = self.f.push(op, Type { dtype: DType::F32, ..ty }, span, out);
        self.f.values[v.0 as usize].op = Op::Cast(wide);
        self.wide.insert(v, wide);
    }

    fn widened(&mut self, v: Value, span: Span, out: &mut Vec<Stmt>) -> Value {
        if let Some(&wide) = self.wide.get(&v)
            && !planted!("f16-sums-rounded-by-each-product")
        {
            return wide;
        }
        let ty = Type { dtype: DType::F32, ..self.f.ty(v).clone() };
        // Later passes find accumulators that start as zeros by this value.
        if let Op::Splat(number) = *self.f.op(v)
            && let Op::Float(x) = *self.f.op(number)
            && x == 0.0
        {
            let zero = self.f.push(Op::Float(x), Type::scalar(DType::F32), span, out);
            return self.f.push(Op::Splat(zero), ty, span, out);
        }
        self.f.push(Op::Cast(v), ty, span, out)
    }
}
