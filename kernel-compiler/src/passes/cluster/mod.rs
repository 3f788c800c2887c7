//! A program partitioned over the thread blocks (CTAs) of a cluster. The result is the function of one CTA, on smaller
//! tiles: [`Op::ClusterCtaRank`] selects its part. Values that do not depend on the rank, such as the right operands of
//! products, are the same in all CTAs.
//!
//! In a function with products each CTA computes a part of the rows of every product, with the elementwise work, loads
//! and stores of these rows. In another function it computes a part of the widest dimension. Reductions over that
//! dimension combine the parts of all CTAs ([`exchange`]).

mod check;
mod dims;
mod exchange;

use crate::diag::Code;
use crate::dtype::DType;
use crate::ir::walk::{dots, made_of, values};
use crate::ir::{Binary, Func, Op, Stmt, StmtKind, Type, Value};
use crate::missed::{Changed, Missed};
use dims::{Dims, Refused};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Makes the function of one of `f.ctas` CTAs. It is an error if the CTAs would have to exchange more than operands of
/// products and results of reductions.
pub fn run(f: &mut Func) -> Result<Changed, Missed> {
    checked(f).map_err(|(_, missed)| missed)
}

/// The same, with the rule of the language that is not kept.
pub(crate) fn checked(f: &mut Func) -> Result<Changed, (Code, Missed)> {
    if f.ctas == 1 {
        return Ok(Changed::No);
    }
    let missed = |(code, why, span)| (code, Missed { what: "partitioned over a cluster", why, span });
    *f = partition(f).map_err(missed)?;
    Ok(Changed::Yes)
}

fn partition(f: &Func) -> Result<Func, Refused> {
    let dims = Dims::of(f)?;
    let of_products: HashSet<usize> = dots(f, &f.body).map(|d| dims.class(d, 0)).collect();
    let parted = if of_products.is_empty() {
        let parted = HashSet::from([widest(f, &dims)?]);
        check::without_products(f, &dims, &parted)?;
        parted
    } else {
        check::with_products(f, &dims, &of_products)?;
        of_products
    };
    let mut out =
        CtaPartition { f: f.clone(), dims, parted, ranks: HashMap::new(), is_first: None, prologue: vec![], loops: 0 };
    let body = out.block(&f.body);
    out.shrink();
    out.f.body = out.prologue.into_iter().chain(body).collect();
    check::sizes(&out.f)?;
    Ok(out.f)
}

/// The class of the dimension that is partitioned where there are no products: the one with the most elements, over
/// all values.
fn widest(f: &Func, dims: &Dims) -> Result<usize, Refused> {
    let mut classes = BTreeMap::<usize, (usize, usize)>::new();
    for v in values(&f.body) {
        let shape = f.shape(v);
        for (d, &extent) in shape.iter().enumerate().filter(|(_, e)| **e > 1) {
            let (elements, widest) = classes.entry(dims.class(v, d)).or_default();
            *elements += shape.iter().product::<usize>();
            *widest = extent.max(*widest);
        }
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|&(_, size)| Reverse(size));
    let Some(&(first, _)) = classes.first() else {
        return Err((Code::ClusterSharing, why!("it has no tile that could be partitioned"), None));
    };
    let whole = |class: usize| dims.whole.iter().find(|(d, _)| dims.find(*d) == class);
    let enough = |extent: usize| extent.is_multiple_of(f.ctas as usize);
    let found = classes.iter().find(|&&(class, (_, extent))| whole(class).is_none() && enough(extent));
    let why = why!("here elements are scanned, sorted, gathered, counted or reshaped along the widest dimension");
    found.map(|&(class, _)| class).ok_or_else(|| match whole(first) {
        Some((_, by)) => (Code::ClusterWhole, why, Some(f.span(*by))),
        None => {
            (Code::ClusterSharing, why!("no dimension of its tiles is a multiple of the number of thread blocks"), None)
        }
    })
}

/// Whether a scalar differs between CTAs.
pub(crate) fn depends_on_rank(f: &Func, v: Value) -> bool {
    let is_rank = |v: Value| matches!(f.op(v), Op::ClusterCtaRank);
    made_of(f, v, |_| true).into_iter().any(is_rank) && !planted!("cluster-multicast-of-different-tiles")
}

struct CtaPartition {
    /// The new function. It has the body of the original, and gets further values.
    f: Func,
    dims: Dims,
    parted: HashSet<usize>,
    /// The first row of a CTA, by the number of its rows and the type.
    ranks: HashMap<(usize, DType), Value>,
    /// Whether this is the first CTA, if it was used.
    is_first: Option<Value>,
    /// The statements that define these values.
    prologue: Vec<Stmt>,
    /// The number of loops around the statement.
    loops: usize,
}

impl CtaPartition {
    /// The partitioned dimension of a value of the original.
    fn parted(&self, v: Value) -> Option<usize> {
        (0..self.f.shape(v).len()).find(|&d| self.f.shape(v)[d] > 1 && self.parted.contains(&self.dims.class(v, d)))
    }

    /// The first row of a CTA's part of `rows` rows.
    fn start(&mut self, rows: usize, dtype: DType, like: Value) -> Value {
        let part = rows / self.f.ctas as usize;
        if let Some(&v) = self.ranks.get(&(part, dtype)) {
            return v;
        }
        let span = self.f.span(like);
        let mut first = |op, dtype| self.f.push(op, Type::scalar(dtype), span, &mut self.prologue);
        let rank = first(Op::ClusterCtaRank, DType::U64);
        let n = first(Op::Int(part as i128 - i128::from(planted!("cluster-part-too-short"))), DType::U64);
        let wide = first(Op::Binary(Binary::Mul, rank, n), DType::U64);
        let start = if dtype == DType::U64 { wide } else { first(Op::Cast(wide), dtype) };
        self.ranks.insert((part, dtype), start);
        start
    }

    /// Whether this is the first CTA, which stores the tiles that are not partitioned.
    fn is_first(&mut self, like: Value) -> Value {
        if let Some(v) = self.is_first {
            return v;
        }
        let span = self.f.span(like);
        let mut first = |op, dtype| self.f.push(op, Type::scalar(dtype), span, &mut self.prologue);
        let rank = first(Op::ClusterCtaRank, DType::U64);
        let zero = first(Op::Int(0), DType::U64);
        let is_first = first(Op::Binary(Binary::Eq, rank, zero), DType::Bool);
        *self.is_first.insert(is_first)
    }

    /// The value that a statement stores, adds to memory or prints. Every CTA would repeat that.
    fn once(&self, s: &Stmt) -> Option<Value> {
        let v = match &s.kind {
            StmtKind::Store { value, .. } | StmtKind::Print { value, .. } => *value,
            StmtKind::Let(v) if matches!(self.f.op(*v), Op::Atomic { .. }) => *v,
            _ => return None,
        };
        (self.parted(v).is_none() && !planted!("cluster-every-block-stores")).then_some(v)
    }

    fn block(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = vec![];
        for s in stmts {
            let mut s = s.clone();
            if let Some(v) = self.once(&s) {
                out.push(StmtKind::If { cond: self.is_first(v), then: vec![s], other: vec![] }.into());
                continue;
            }
            match &mut s.kind {
                StmtKind::Let(v) => {
                    let v = *v;
                    match self.f.op(v).clone() {
                        Op::Arange { .. } => self.arange(v, &mut out),
                        Op::Load { block_pointer: Some(mut block_pointer), ptr, mask, other, hint } => {
                            self.offset(v, &mut block_pointer.at, &mut out);
                            self.f.values[v.0 as usize].op =
                                Op::Load { block_pointer: Some(block_pointer), ptr, mask, other, hint };
                        }
                        _ => {
                            if let Some(axis) = self.reduced(v).filter(|_| !planted!("cluster-reduces-alone")) {
                                self.reduce_all(v, axis, &mut out);
                            }
                        }
                    }
                }
                StmtKind::Store { value, block_pointer: Some(block_pointer), .. } => {
                    self.offset(*value, &mut block_pointer.at, &mut out)
                }
                StmtKind::If { then, other, .. } => {
                    *then = self.block(then);
                    *other = self.block(other);
                }
                StmtKind::For { body, .. } | StmtKind::Loop { body } => {
                    self.loops += 1;
                    *body = self.block(body);
                    self.loops -= 1;
                }
                _ => {}
            }
            out.push(s);
        }
        out
    }

    /// The indices of a CTA: those of the first part, plus the first row of its own part.
    fn arange(&mut self, v: Value, out: &mut Vec<Stmt>) {
        let Some(d) = self.parted(v) else { return };
        let (dtype, rows) = (self.f.ty(v).dtype, self.f.shape(v)[d]);
        let start = self.start(rows, dtype, v);
        let part = Type::tile(dtype, vec![rows / self.f.ctas as usize]);
        let op = self.f.op(v).clone();
        let span = self.f.span(v);
        let first = self.f.push(op, part.clone(), span, out);
        let splat = self.f.push(Op::Splat(start), part, span, out);
        self.f.values[v.0 as usize].op = Op::Binary(Binary::Add, first, splat);
    }

    /// The offsets of a tile's block pointer.
    fn offset(&mut self, tile: Value, at: &mut [Value], out: &mut Vec<Stmt>) {
        let Some(d) = self.parted(tile).filter(|_| !planted!("cluster-window-without-rank")) else { return };
        let rank = self.f.shape(tile).len();
        let outer = at.len() - rank;
        let at = &mut at[outer..];
        let dtype = self.f.ty(at[d]).dtype;
        let start = self.start(self.f.shape(tile)[d], dtype, tile);
        let span = self.f.span(tile);
        at[d] = self.f.push(Op::Binary(Binary::Add, at[d], start), Type::scalar(dtype), span, out);
    }

    /// Replaces the tiles of the original by those of one CTA.
    fn shrink(&mut self) {
        let ctas = self.f.ctas as usize;
        let (values, vars) = (self.dims.vars, self.f.vars.len());
        for i in 0..values + vars {
            let first = self.dims.first[i];
            let ty = if i < values { &mut self.f.values[i].ty } else { &mut self.f.vars[i - values].ty };
            let mut shape = ty.shape.to_vec();
            for (d, extent) in shape.iter_mut().enumerate().filter(|(_, e)| **e > 1) {
                if self.parted.contains(&self.dims.find(first + d)) {
                    *extent /= ctas;
                }
            }
            ty.shape = shape;
        }
    }
}
