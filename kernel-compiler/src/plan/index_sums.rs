//! Index tiles as sums: a base that each thread computes once, a constant of each register, and constants times
//! scalars. The constants become the offsets of accesses, and comparisons of indices become 32-bit comparisons with
//! constants ([`comparisons`](super::comparisons)).

use crate::dtype::DType;
use crate::ir::{Binary, Func, Op, Value};
use crate::layout::assign::LayoutAssignment;
use crate::layout::linear::{Derived, Layout};
use crate::layout::padded;
use crate::layout::table::{InLayout, LayoutId, LayoutTable};
use crate::plan::memo::Memo;

/// An index tile in a layout as a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSum {
    pub base: Base,
    /// The constant of each register.
    pub consts: Vec<i64>,
    /// A `u64` scalar, and its factor in each register.
    pub strides: Vec<(Value, Vec<i64>)>,
}

/// The `u64` of a thread that its registers add to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A scalar.
    Scalar(Value),
    /// A number and the thread's part of the flat index.
    Thread { start: i128 },
    /// The base of another tile.
    Of(InLayout),
    /// The sum of the bases of two tiles.
    Add(Value, Value),
    /// Their difference.
    Sub(Value, Value),
    /// The base of a tile times a scalar.
    Mul(Value, Value),
}

/// The operand of a shape operation, in the layout that makes the operation free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeSource {
    pub of: InLayout,
    /// For each register of the result, the operand's.
    pub regs: Vec<usize>,
}

impl IndexSum {
    /// Whether it is the same for all registers.
    pub fn is_uniform(&self) -> bool {
        self.strides.is_empty() && self.consts.iter().all(|&c| c == 0)
    }

    /// Whether it has no scalar, and its constants are below 2^30: differences of two such constants fit in 32 bits.
    pub fn is_near(&self) -> bool {
        self.strides.is_empty() && self.consts.iter().all(|c| (0..1 << 30).contains(c))
    }

    fn scaled(&self, base: Base, k: i64) -> IndexSum {
        let times = |v: &[i64]| v.iter().map(|c| c.wrapping_mul(k)).collect::<Vec<_>>();
        let strides = self.strides.iter().map(|(s, v)| (*s, times(v))).collect();
        IndexSum { base, consts: times(&self.consts), strides }
    }

    fn mapped(&self, base: Base, regs: &[usize]) -> IndexSum {
        let pick = |v: &[i64]| regs.iter().map(|&r| v[r]).collect::<Vec<_>>();
        let strides = self.strides.iter().map(|(s, v)| (*s, pick(v))).collect();
        IndexSum { base, consts: pick(&self.consts), strides }
    }

    fn plus(mut self, base: Base, other: IndexSum) -> IndexSum {
        let sum = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(x, y)| x.wrapping_add(*y)).collect::<Vec<_>>();
        self.consts = sum(&self.consts, &other.consts);
        for (s, v) in other.strides {
            match self.strides.iter_mut().find(|(t, _)| *t == s) {
                Some((_, w)) => *w = sum(w, &v),
                None => self.strides.push((s, v)),
            }
        }
        self.base = base;
        self
    }
}

/// The sums of the index tiles of a function, as far as they are asked for.
pub struct IndexSums<'a> {
    pub f: &'a Func,
    pub assignment: &'a LayoutAssignment,
    pub layouts: LayoutTable,
    /// `None` if the tile is no such sum.
    pub sums: Memo<Option<IndexSum>>,
}

impl<'a> IndexSums<'a> {
    pub fn new(f: &'a Func, assignment: &'a LayoutAssignment) -> IndexSums<'a> {
        IndexSums { f, assignment, layouts: LayoutTable::default(), sums: Memo::default() }
    }

    /// A cheap index tile as a sum, if it is one.
    pub fn of(&mut self, v: Value, l: LayoutId) -> Option<&IndexSum> {
        Memo::entry(self, |cx| &mut cx.sums, (v, l), Self::make).as_ref()
    }

    fn make(&mut self, v: Value, l: LayoutId) -> Option<IndexSum> {
        let f = self.f;
        if f.ty(v).dtype != DType::U64 || f.ty(v).is_scalar() || !self.assignment.is_cheap(v) {
            return None;
        }
        if let Some(ShapeSource { of, regs }) = self.shape_source(v, l) {
            return Some(self.of(of.0, of.1)?.mapped(Base::Of(of), &regs));
        }
        let n = self.layouts[l].regs();
        match *f.op(v) {
            Op::Splat(s) => Some(IndexSum { base: Base::Scalar(s), consts: vec![0; n], strides: vec![] }),
            Op::Arange { start } => {
                let layout = &self.layouts[l];
                let all = |bases: &[u32]| bases.iter().fold(0, |a, b| a | b);
                if all(&layout.thread_bases()) & all(layout.reg_bases()) != 0 {
                    return None;
                }
                let consts = (0..n).map(|r| i64::from(layout.reg_index(r))).collect();
                Some(IndexSum { base: Base::Thread { start }, consts, strides: vec![] })
            }
            Op::Binary(Binary::Add, a, b) => {
                let sum = self.of(a, l)?.clone();
                Some(sum.plus(Base::Add(a, b), self.of(b, l)?.clone()))
            }
            Op::Binary(Binary::Sub, a, b) => {
                let (sum, base) = (self.of(a, l)?.clone(), Base::Sub(a, b));
                let sign = if planted!("index-sub-adds-constants") { 1 } else { -1 };
                Some(sum.plus(base, self.of(b, l)?.scaled(base, sign)))
            }
            Op::Binary(Binary::Mul, a, b) => {
                let (a, s) = match (self.scalar(a), self.scalar(b)) {
                    (_, Some(s)) => (a, s),
                    (Some(s), None) => (b, s),
                    _ => return None,
                };
                let (a, base) = (self.of(a, l)?, Base::Mul(a, s));
                match f.op(s) {
                    Op::Int(k) => Some(a.scaled(base, i64::try_from(*k).ok()?)),
                    _ if a.is_uniform() => Some(IndexSum { base, ..a.clone() }),
                    _ if a.strides.is_empty() => {
                        Some(IndexSum { base, consts: vec![0; n], strides: vec![(s, a.consts.clone())] })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The scalar that all elements of a tile are.
    fn scalar(&self, v: Value) -> Option<Value> {
        if let Op::Splat(s) = self.f.op(v) { Some(*s) } else { None }
    }

    /// The operand of a shape operation for its result in a layout.
    pub fn shape_source(&mut self, v: Value, l: LayoutId) -> Option<ShapeSource> {
        let (x, Derived { layout, regs }) = operand_of_shape(self.f, v, &self.layouts[l])?;
        Some(ShapeSource { of: (x, self.layouts.add(&layout)), regs })
    }
}

fn operand_of_shape(f: &Func, v: Value, l: &Layout) -> Option<(Value, Derived)> {
    match f.op(v) {
        Op::Expand(x, axis) => Some((*x, l.expand_source(*axis))),
        Op::Broadcast(x) => Some((*x, l.broadcast_source(&padded(f.shape(*x))))),
        Op::Permute(x, perm) => Some((*x, l.permute_source(perm))),
        Op::Reshape(x) => Some((*x, l.reshape_source(&padded(f.shape(*x))))),
        _ => None,
    }
}
