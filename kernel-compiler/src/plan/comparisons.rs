//! Masks: comparisons of index tiles. A scalar, computed once, is the number of indices below the limit, counted from
//! the first index. Each register then compares its constant with that scalar in 32 bits.

use crate::analysis::no_wrap::counts_up;
use crate::dtype::DType;
use crate::ir::{Binary, Op, Value};
use crate::layout::table::{InLayout, LayoutId};
use crate::plan::index_sums::{IndexSum, IndexSums, ShapeSource};
use crate::plan::memo::Memo;

/// A comparison of an index tile in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `index < limit`: the base of the index is subtracted from the limit, and what is left is compared with the
    /// constant of each register.
    Less { index: Value, consts: Vec<u32>, limit: Limit },
    /// A comparison, or a scalar that makes it true for all elements.
    Or { all: Value, comparison: Value },
}

/// The bound that indices are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The base of another index tile, and a number.
    Index { end: Value, more: i64 },
    /// A value that differs between few registers, for example from row to row.
    Few { end: ShapeSource, or_equal: bool },
}

/// A mask that consists of comparisons, in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mask {
    Comparison,
    /// A scalar in all elements.
    Scalar(Value),
    /// The operand of a shape operation.
    OfSource(ShapeSource),
    And(Value, Value),
}

/// The comparisons of a function, as far as they are asked for.
pub struct Comparisons<'a> {
    pub sums: IndexSums<'a>,
    /// `None` if the tile is no such comparison.
    pub comparisons: Memo<Option<Comparison>>,
    /// `None` if the mask does not consist of comparisons alone.
    pub masks: Memo<Option<Mask>>,
}

impl<'a> Comparisons<'a> {
    pub fn new(sums: IndexSums<'a>) -> Comparisons<'a> {
        Comparisons { sums, comparisons: Memo::default(), masks: Memo::default() }
    }

    /// A comparison of an index with a scalar, with another index, or with a value that differs between few registers.
    /// A scalar may make it true for all elements. The index does not wrap around.
    pub fn of(&mut self, v: Value, l: LayoutId) -> Option<&Comparison> {
        Memo::entry(self, |cx| &mut cx.comparisons, (v, l), Self::make).as_ref()
    }

    fn make(&mut self, v: Value, l: LayoutId) -> Option<Comparison> {
        let f = self.sums.f;
        let (index, end, or_equal) = match *f.op(v) {
            Op::Binary(Binary::Lt, a, b) => (a, b, false),
            Op::Binary(Binary::Gt, a, b) => (b, a, false),
            Op::Binary(Binary::Le, a, b) => (a, b, true),
            Op::Binary(Binary::Ge, a, b) => (b, a, true),
            Op::Binary(Binary::Or, a, b) => return self.or(a, b, l).or_else(|| self.or(b, a, l)),
            _ => return None,
        };
        let or_equal = or_equal && !planted!("mask-less-or-equal-is-less");
        if f.ty(index).dtype != DType::U64 || !counts_up(f, index) {
            return None;
        }
        let a = self.sums.of(index, l).filter(|a| a.is_near())?.consts.clone();
        let is_limit = |b: &IndexSum| {
            b.is_near() && (b.is_uniform() || counts_up(f, end) || planted!("mask-by-limits-below-zero"))
        };
        if let Some(b) = self.sums.of(end, l).filter(|b| is_limit(b)) {
            // The constants of both sides are combined on one side, where they do not become negative.
            let more = b.consts.iter().zip(&a).map(|(b, a)| b - a).max().expect("a register").max(0);
            let consts = a.iter().zip(&b.consts).map(|(a, b)| (a - b + more) as u32).collect();
            let limit = Limit::Index { end, more: more + i64::from(or_equal) };
            return Some(Comparison::Less { index, consts, limit });
        }
        let end = self.few(end, l)?;
        let consts = a.iter().map(|&c| c as u32).collect();
        Some(Comparison::Less { index, consts, limit: Limit::Few { end, or_equal } })
    }

    /// A tile that shape operations make of one with at most half the registers.
    fn few(&mut self, v: Value, l: LayoutId) -> Option<ShapeSource> {
        let mut found = self.sums.shape_source(v, l)?;
        while let Some(next) = self.sums.shape_source(found.of.0, found.of.1) {
            found.regs.iter_mut().for_each(|r| *r = next.regs[*r]);
            found.of = next.of;
        }
        let regs = |l: LayoutId| self.sums.layouts[l].regs();
        (2 * regs(found.of.1) <= regs(l)).then_some(found)
    }

    fn or(&mut self, all: Value, comparison: Value, l: LayoutId) -> Option<Comparison> {
        let Op::Splat(all) = *self.sums.f.op(all) else { return None };
        self.of(comparison, l)?;
        Some(Comparison::Or { all, comparison })
    }

    /// A mask, if it consists of comparisons.
    pub fn mask(&mut self, v: Value, l: LayoutId) -> Option<&Mask> {
        Memo::entry(self, |cx| &mut cx.masks, (v, l), Self::make_mask).as_ref()
    }

    fn make_mask(&mut self, v: Value, l: LayoutId) -> Option<Mask> {
        if let Some(source) = self.sums.shape_source(v, l) {
            self.mask(source.of.0, source.of.1)?;
            return Some(Mask::OfSource(source));
        }
        match *self.sums.f.op(v) {
            Op::Binary(Binary::And, a, b) => {
                self.mask(a, l)?;
                self.mask(b, l)?;
                Some(Mask::And(a, b))
            }
            Op::Splat(s) => Some(Mask::Scalar(s)),
            _ => self.of(v, l).map(|_| Mask::Comparison),
        }
    }

    /// The tiles whose registers a comparison takes.
    pub fn inputs(&self, v: Value, l: LayoutId) -> Vec<InLayout> {
        match &self.comparisons[&(v, l)] {
            Some(Comparison::Less { limit: Limit::Few { end, .. }, .. }) => vec![end.of],
            Some(Comparison::Or { comparison, .. }) => self.inputs(*comparison, l),
            _ => vec![],
        }
    }

    /// The tiles whose registers a mask takes.
    pub fn mask_inputs(&self, v: Value, l: LayoutId) -> Vec<InLayout> {
        match &self.masks[&(v, l)] {
            Some(Mask::Comparison) => self.inputs(v, l),
            Some(Mask::OfSource(ShapeSource { of, .. })) => self.mask_inputs(of.0, of.1),
            Some(Mask::And(a, b)) => [a, b].into_iter().flat_map(|&v| self.mask_inputs(v, l)).collect(),
            Some(Mask::Scalar(_)) | None => vec![],
        }
    }

    /// The constants of a mask that is one comparison with one limit, by register.
    pub fn single_limit(&self, v: Value, l: LayoutId) -> Option<&[u32]> {
        match self.masks[&(v, l)].as_ref()? {
            Mask::Comparison => self.single(v, l),
            Mask::OfSource(ShapeSource { of, regs }) => {
                let consts = self.single_limit(of.0, of.1)?;
                let same = regs.iter().enumerate().all(|(r, of)| r == *of) || consts.iter().all(|&c| c == 0);
                same.then_some(consts)
            }
            Mask::Scalar(_) | Mask::And(..) => None,
        }
    }

    fn single(&self, v: Value, l: LayoutId) -> Option<&[u32]> {
        match self.comparisons[&(v, l)].as_ref()? {
            Comparison::Less { consts, limit: Limit::Index { .. }, .. } => Some(consts),
            Comparison::Less { limit: Limit::Few { .. }, .. } => None,
            Comparison::Or { comparison, .. } => self.single(*comparison, l),
        }
    }
}
