//! A program partitioned over the thread blocks (CTAs) of a cluster. Each CTA computes a part of the rows of every
//! product, and the elementwise work, loads and stores that are joined to them. The result is the function of one CTA,
//! on smaller tiles: [`Op::ClusterCtaRank`] selects its rows. Values that do not depend on the rank, such as the right
//! operands of products, are the same in all CTAs.

use crate::dtype::DType;
use crate::ir::walk::{dots, walk, written};
use crate::ir::{Binary, Func, Op, Stmt, StmtKind, Type, Value, ValueInfo};
use crate::missed::{Changed, Missed};
use proc_macro2::Span;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Why a program cannot be partitioned, and the place that keeps it from that; none if the program lacks something.
type Refused = (&'static str, Option<Span>);

/// Makes the function of one block of `f.ctas`. It is an error if the CTAs would have to exchange more than operands.
pub fn run(f: &mut Func) -> Result<Changed, Missed> {
    if f.ctas == 1 {
        return Ok(Changed::No);
    }
    let missed = |(why, span)| Missed { what: "partitioned over a cluster", why: Cow::Borrowed(why), span };
    *f = partition(f).map_err(missed)?;
    Ok(Changed::Yes)
}

fn partition(f: &Func) -> Result<Func, Refused> {
    let dims = Dims::of(f)?;
    let parted: HashSet<usize> = dots(f, &f.body).map(|d| dims.class(d, 0)).collect();
    if parted.is_empty() {
        return Err(("there is no `dot` whose rows could be shared out", None));
    }
    if let Some((_, by)) = dims.whole.iter().find(|(d, _)| parted.contains(&dims.find(*d))) {
        return Err((
            "here the rows of a product are reduced, reshaped, multiplied over or used as columns",
            Some(f.values[by.0 as usize].span),
        ));
    }
    check(f, &dims, &parted)?;
    let mut out = CtaPartition { f: f.clone(), dims, parted, ranks: HashMap::new(), first: vec![] };
    let body = out.block(&f.body);
    out.shrink();
    out.f.body = out.first.into_iter().chain(body).collect();
    Ok(out.f)
}

/// Whether a scalar is not the same in all blocks.
pub fn depends_on_rank(f: &Func, v: Value) -> bool {
    let (mut todo, mut seen) = (vec![v], HashSet::new());
    while let Some(v) = todo.pop() {
        if matches!(f.op(v), Op::ClusterCtaRank) && !planted!("cluster-multicast-of-different-tiles") {
            return true;
        }
        todo.extend(f.op(v).operands().into_iter().filter(|&o| seen.insert(o)));
    }
    false
}

/// The dimensions of tiles, those that are the same rows or columns in one class.
struct Dims {
    /// First dimension of each value, then of each variable.
    first: Vec<usize>,
    vars: usize,
    parent: Vec<usize>,
    /// Dimensions that every block needs as a whole, and for what.
    whole: Vec<(usize, Value)>,
}

impl Dims {
    fn of(f: &Func) -> Result<Dims, Refused> {
        let mut first = vec![];
        let mut n = 0;
        for rank in f.values.iter().map(|v| v.ty.shape.len()).chain(f.vars.iter().map(|v| v.ty.shape.len())) {
            first.push(n);
            n += rank;
        }
        let mut dims = Dims { first, vars: f.values.len(), parent: (0..n).collect(), whole: vec![] };
        for s in walk(&f.body) {
            match &s.kind {
                StmtKind::Let(v) => dims.op(f, *v)?,
                StmtKind::Assign(var, v) => (0..f.shape(*v).len()).for_each(|d| {
                    let to = dims.first[dims.vars + var.0 as usize] + d;
                    dims.join(to, dims.first[v.0 as usize] + d);
                }),
                StmtKind::Store { place, value, mask, .. } => {
                    place.operands().chain(mask).for_each(|&x| dims.same(f, x, *value));
                }
                _ => {}
            }
        }
        Ok(dims)
    }

    fn dim(&self, v: Value, d: usize) -> usize {
        self.first[v.0 as usize] + d
    }

    fn find(&self, mut d: usize) -> usize {
        while self.parent[d] != d {
            d = self.parent[d];
        }
        d
    }

    fn class(&self, v: Value, d: usize) -> usize {
        self.find(self.dim(v, d))
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a] = b;
    }

    /// Tiles of one shape, element by element.
    fn same(&mut self, f: &Func, a: Value, b: Value) {
        (0..f.shape(a).len().min(f.shape(b).len())).for_each(|d| self.join(self.dim(a, d), self.dim(b, d)));
    }

    fn keep_whole(&mut self, f: &Func, v: Value, by: Value) {
        (0..f.shape(v).len()).for_each(|d| self.whole.push((self.dim(v, d), by)));
    }

    fn op(&mut self, f: &Func, v: Value) -> Result<(), Refused> {
        let here = Some(f.values[v.0 as usize].span);
        match f.op(v) {
            Op::Expand(x, axis) => (0..f.shape(*x).len())
                .for_each(|d| self.join(self.dim(*x, d), self.dim(v, d + usize::from(d >= *axis)))),
            Op::Broadcast(x) => (0..f.shape(v).len())
                .filter(|&d| f.shape(*x)[d] == f.shape(v)[d])
                .for_each(|d| self.join(self.dim(*x, d), self.dim(v, d))),
            Op::Permute(x, perm) => {
                perm.iter().enumerate().for_each(|(d, &from)| self.join(self.dim(*x, from), self.dim(v, d)))
            }
            Op::Reshape(x) => {
                let wide = |v: Value| (0..f.shape(v).len()).filter(|&d| f.shape(v)[d] != 1).collect::<Vec<_>>();
                let (from, to) = (wide(*x), wide(v));
                if from.iter().map(|&d| f.shape(*x)[d]).eq(to.iter().map(|&d| f.shape(v)[d])) {
                    from.into_iter().zip(to).for_each(|(a, b)| self.join(self.dim(*x, a), self.dim(v, b)));
                } else {
                    self.keep_whole(f, *x, v);
                    self.keep_whole(f, v, v);
                }
            }
            Op::Scan { values, axis, .. } | Op::Sort { values, axis, .. } => {
                values.iter().for_each(|&x| self.same(f, x, v));
                self.whole.push((self.dim(v, *axis), v));
            }
            Op::Load { place, mask, other, .. } => {
                place.operands().chain(mask).chain(other).for_each(|&x| self.same(f, x, v))
            }
            Op::Dot { a, b, acc, .. } => {
                if f.shape(v).len() != 2 {
                    return Err(("products of batches are not shared out", here));
                }
                self.same(f, *acc, v);
                self.join(self.dim(*a, 0), self.dim(v, 0));
                self.join(self.dim(*b, 1), self.dim(v, 1));
                let across = [self.dim(*a, 1), self.dim(*b, 0), self.dim(v, 1)];
                self.whole.extend(across.map(|d| (d, v)));
            }
            Op::Histogram { value, .. } => {
                f.op(v).operands().into_iter().for_each(|x| self.same(f, x, *value));
                self.whole.extend([(self.dim(*value, 0), v), (self.dim(v, 0), v)]);
            }
            Op::Atomic { .. } => return Err(("an atomic would be made by every thread block", here)),
            Op::ReadVar(var) => (0..f.shape(v).len())
                .for_each(|d| self.join(self.first[self.vars + var.0 as usize] + d, self.dim(v, d))),
            Op::Splat(_) | Op::Arange { .. } => {}
            Op::Join(a, b) => {
                for &x in [a, b] {
                    (0..f.shape(x).len()).for_each(|d| self.join(self.dim(x, d), self.dim(v, d)));
                }
                self.whole.push((self.dim(v, f.shape(*a).len()), v));
            }
            Op::Slice { value, axis, .. } | Op::Gather { value, axis, .. } => {
                for d in 0..f.shape(v).len() {
                    if d == *axis {
                        self.whole.extend([(self.dim(*value, d), v), (self.dim(v, d), v)]);
                    } else {
                        self.join(self.dim(*value, d), self.dim(v, d));
                    }
                }
                if let Op::Gather { index, .. } = f.op(v) {
                    self.same(f, *index, v);
                }
            }
            op if let Some((values, axis)) = op.reduced() => {
                for &x in values {
                    self.whole.push((self.dim(x, axis), v));
                    (0..f.shape(v).len())
                        .for_each(|d| self.join(self.dim(x, d + usize::from(d >= axis)), self.dim(v, d)));
                }
            }
            op => op.operands().into_iter().for_each(|x| self.same(f, x, v)),
        }
        Ok(())
    }
}

/// What every block does on its own must be its own, or the same as the others' do.
fn check(f: &Func, dims: &Dims, parted: &HashSet<usize>) -> Result<(), Refused> {
    let written = written(f);
    let count = |v: Value| (0..f.shape(v).len()).filter(|&d| parted.contains(&dims.class(v, d))).count();
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) => {
                let here = Some(f.values[v.0 as usize].span);
                if matches!(f.op(*v), Op::Load { place, .. } if written.contains(&place.array())) {
                    return Err(("what one thread block stores another may read", here));
                }
                if count(*v) > 1 {
                    return Err(("rows and columns of a tile would both be shared out", here));
                }
                let of = |d: usize| f.shape(*v)[d];
                if (0..f.shape(*v).len())
                    .any(|d| of(d) > 1 && of(d) % f.ctas as usize != 0 && parted.contains(&dims.class(*v, d)))
                {
                    return Err(("a product has too few rows", here));
                }
            }
            StmtKind::Store { value, span, .. } if count(*value) != 1 => {
                return Err(("every thread block would store the same", Some(*span)));
            }
            _ => {}
        }
    }
    Ok(())
}

struct CtaPartition {
    /// With the original's body, and more and more values.
    f: Func,
    dims: Dims,
    parted: HashSet<usize>,
    /// First of a block's rows, by how many it has and as which type.
    ranks: HashMap<(usize, DType), Value>,
    /// Statements that define these.
    first: Vec<Stmt>,
}

impl CtaPartition {
    fn value(&mut self, op: Op, ty: Type, like: Value) -> Value {
        let span = self.f.values[like.0 as usize].span;
        self.f.values.push(ValueInfo { ty, op, span });
        Value(self.f.values.len() as u32 - 1)
    }

    /// The parted dimension of one of the original's values.
    fn parted(&self, v: Value) -> Option<usize> {
        (0..self.f.shape(v).len()).find(|&d| self.f.shape(v)[d] > 1 && self.parted.contains(&self.dims.class(v, d)))
    }

    /// Where a block's part begins of so many rows.
    fn start(&mut self, rows: usize, dtype: DType, like: Value) -> Value {
        let part = rows / self.f.ctas as usize;
        if let Some(&v) = self.ranks.get(&(part, dtype)) {
            return v;
        }
        let rank = self.value(Op::ClusterCtaRank, Type::scalar(DType::U64), like);
        let n = self.value(
            Op::Int(part as i128 - i128::from(planted!("cluster-part-too-short"))),
            Type::scalar(DType::U64),
            like,
        );
        let wide = self.value(Op::Binary(Binary::Mul, rank, n), Type::scalar(DType::U64), like);
        let mut made = vec![rank, n, wide];
        let start = if dtype == DType::U64 { wide } else { self.value(Op::Cast(wide), Type::scalar(dtype), like) };
        if start != wide {
            made.push(start);
        }
        self.first.extend(made.into_iter().map(|v| StmtKind::Let(v).into()));
        self.ranks.insert((part, dtype), start);
        start
    }

    fn block(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = vec![];
        for s in stmts {
            let mut s = s.clone();
            match &mut s.kind {
                StmtKind::Let(v) => {
                    let v = *v;
                    match self.f.op(v).clone() {
                        Op::Arange { .. } => self.arange(v, &mut out),
                        Op::Load { block_pointer: Some(mut block_pointer), place, mask, other, hint } => {
                            self.offset(v, &mut block_pointer.at, &mut out);
                            self.f.values[v.0 as usize].op =
                                Op::Load { block_pointer: Some(block_pointer), place, mask, other, hint };
                        }
                        _ => {}
                    }
                }
                StmtKind::Store { value, block_pointer: Some(block_pointer), .. } => {
                    self.offset(*value, &mut block_pointer.at, &mut out)
                }
                StmtKind::If { then, other, .. } => {
                    *then = self.block(then);
                    *other = self.block(other);
                }
                StmtKind::For { body, .. } | StmtKind::Loop { body } => *body = self.block(body),
                _ => {}
            }
            out.push(s);
        }
        out
    }

    /// Its own numbers: the first ones, plus where the part begins.
    fn arange(&mut self, v: Value, out: &mut Vec<Stmt>) {
        let Some(d) = self.parted(v) else { return };
        let (dtype, rows) = (self.f.ty(v).dtype, self.f.shape(v)[d]);
        let start = self.start(rows, dtype, v);
        let part = Type::tile(dtype, vec![rows / self.f.ctas as usize]);
        let op = self.f.op(v).clone();
        let first = self.value(op, part.clone(), v);
        let splat = self.value(Op::Splat(start), part, v);
        out.extend([StmtKind::Let(first).into(), StmtKind::Let(splat).into()]);
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
        let moved = self.value(Op::Binary(Binary::Add, at[d], start), Type::scalar(dtype), tile);
        out.push(StmtKind::Let(moved).into());
        at[d] = moved;
    }

    /// The original's tiles become one block's.
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
