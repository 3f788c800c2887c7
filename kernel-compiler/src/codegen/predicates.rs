//! Masks: comparisons of index tiles. A scalar, computed once, is the number of indices below the limit, counted from
//! the first index. Each register then compares its constant with that scalar in 32 bits.

use crate::analysis::no_wrap::counts_up;
use crate::codegen::affine::Affine;
use crate::codegen::comparison::{Comparison, Limit};
use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::each;
use crate::dtype::DType;
use crate::ir::{Binary, Op, Value};
use crate::layout::linear::Layout;
use crate::thread_ir::{Device, Expr, Function, Literal, Local, Method, Ty, call, closure};

/// A mask: the condition that it allows all elements of a thread, one comparison for each in the source, and the
/// condition for each element.
pub struct Mask {
    pub all: Expr,
    pub each: Regs,
}

/// Whether an affine form has no scalar, and its constants fit in 32 bits.
fn is_near(a: &Affine) -> bool {
    a.strides.is_empty() && a.consts.iter().all(|c| (0..1 << 30).contains(c))
}

impl Codegen<'_> {
    /// `index < end` for any register, as a comparison with a constant. The index must not wrap around.
    pub(super) fn below(&mut self, index: Value, a: &Affine, end: Expr) -> Option<Regs> {
        if !is_near(a) || !counts_up(self.f, index) {
            return None;
        }
        Some(self.less(a, end))
    }

    /// `index < end` for an index that is known not to wrap around.
    fn less(&mut self, a: &Affine, end: Expr) -> Regs {
        let limit = self.bind(Ty::U32, call!(Device::Limit; end, a.base));
        let most = *a.consts.iter().max().expect("a register") as u32;
        let index = match most {
            0 => 0.into(),
            _ => Expr::from(self.word_table(a.consts.iter().map(|&c| c as u32))).element(Expr::Register),
        };
        self.limited(Limit { index, most, limit })
    }

    fn limited(&mut self, limit: Limit) -> Regs {
        let regs = Regs(limit.index.clone().less(limit.limit).group());
        self.comparisons.insert(regs.0.clone(), Comparison::One(limit));
        regs
    }

    /// The comparisons with another limit.
    fn with_limit(&mut self, x: Limit, limit: Expr) -> Regs {
        let limit = self.bind(Ty::U32, limit);
        self.limited(Limit { limit, ..x })
    }

    /// The conjunction of two comparisons, if both compare the same constants: the comparison with the lower limit.
    pub(super) fn both(&mut self, a: &Regs, b: &Regs) -> Option<Regs> {
        let (x, y) = (self.comparisons.get(&a.0)?.limit()?.clone(), self.comparisons.get(&b.0)?.limit()?.clone());
        let lower = match planted!("mask-joined-by-larger-limit") {
            true => call!(Binary::Max; x.limit, y.limit),
            false => call!(Binary::Min; x.limit, y.limit),
        };
        (x.index == y.index).then(|| self.with_limit(x, lower))
    }

    /// A mask that is made of comparisons with constants; none where it is not.
    pub(super) fn mask(&mut self, mask: Value, l: &Layout) -> Option<Mask> {
        if let Some((x, source)) = self.operand_of_shape(mask, l) {
            let Mask { all, each } = self.mask(x, &source.layout)?;
            let of = self.table(&source.regs);
            return Some(Mask { all, each: Regs(each.at(of)) });
        }
        match *self.f.op(mask) {
            Op::Binary(Binary::And, a, b) => {
                let (a, b) = (self.mask(a, l)?, self.mask(b, l)?);
                Some(Mask { all: a.all & b.all, each: Regs((a.each.0 & b.each.0).group()) })
            }
            Op::Splat(s) => Some(Mask { all: s.into(), each: Regs(s.into()) }),
            _ => {
                let each = self.compare(mask, l)?;
                Some(Mask { all: self.comparisons[&each.0].whole(), each })
            }
        }
    }

    /// A comparison of an index with a scalar, with another index, or with a value that differs between few registers,
    /// as [`below`](Self::below). A scalar may make it true for all elements.
    pub(super) fn compare(&mut self, v: Value, l: &Layout) -> Option<Regs> {
        let (index, end, or_equal) = match *self.f.op(v) {
            Op::Binary(Binary::Lt, a, b) => (a, b, 0),
            Op::Binary(Binary::Gt, a, b) => (b, a, 0),
            Op::Binary(Binary::Le, a, b) => (a, b, 1),
            Op::Binary(Binary::Ge, a, b) => (b, a, 1),
            Op::Binary(Binary::Or, a, b) => return self.or_all(a, b, l).or_else(|| self.or_all(b, a, l)),
            _ => return None,
        };
        let or_equal = if planted!("mask-less-or-equal-is-less") { 0 } else { or_equal };
        if self.f.ty(index).dtype != DType::U64 || !counts_up(self.f, index) {
            return None;
        }
        let mut a = self.affine(index, l)?;
        if !is_near(&a) {
            return None;
        }
        let f = self.f;
        let is_limit = |b: &Affine| b.is_uniform() || counts_up(f, end) || planted!("mask-by-limits-below-zero");
        let Some(b) = self.affine(end, l).filter(|b| is_near(b) && is_limit(b)) else {
            return self.of_few(&a, end, or_equal, l);
        };
        // The constants of both sides are combined on one side, where they do not become negative.
        let more = b.consts.iter().zip(&a.consts).map(|(b, a)| b - a).max().expect("a register").max(0);
        a.consts = a.consts.iter().zip(&b.consts).map(|(a, b)| a - b + more).collect();
        let end = match more + or_equal {
            0 => b.base,
            n => {
                let sum =
                    if planted!("mask-less-or-equal-wraps") { Method::WrappingAdd } else { Method::SaturatingAdd };
                self.bind(Ty::U64, Expr::from(b.base).method(sum, n))
            }
        };
        Some(self.less(&a, end.into()))
    }

    /// For each register, the first one of the group in which a mask is known to be the same.
    pub(super) fn first_of_groups(&self, mask: Value, l: &Layout) -> Vec<usize> {
        let dims = self.plan.axis_info.info(self.f, mask).dims;
        let within = |basis: u32| {
            let inside = |d: usize| u64::from(l.coord(basis, d)) < dims[d].constancy;
            let moved = (0..dims.len()).filter(|&d| l.coord(basis, d) != 0).collect::<Vec<_>>();
            moved.len() <= 1 && moved.into_iter().all(inside)
        };
        let same = l.reg_bases().iter().enumerate().filter(|(_, b)| within(**b)).fold(0, |mask, (i, _)| mask | 1 << i);
        (0..l.regs()).map(|r| r & !same).collect()
    }

    /// A comparison with a limit that is no index and differs between few registers, for example from row to row.
    fn of_few(&mut self, a: &Affine, end: Value, or_equal: i64, l: &Layout) -> Option<Regs> {
        let (mut end, mut source) = self.operand_of_shape(end, l)?;
        while let Some((x, next)) = self.operand_of_shape(end, &source.layout) {
            source.regs.iter_mut().for_each(|r| *r = next.regs[*r]);
            (end, source.layout) = (x, next.layout);
        }
        if 2 * source.layout.regs() > l.regs() {
            return None;
        }
        let ends = self.demand(end, &source.layout).at(Local::R);
        let ends = if or_equal == 0 { ends } else { ends.group().method(Method::SaturatingAdd, or_equal) };
        let regs = source.layout.regs();
        let limit = call!(Device::Limit; ends, a.base);
        let limits = Expr::from(self.bind(Ty::array(Ty::U32, regs), each(limit)));
        let of = self.table(&source.regs);
        let index = Expr::from(self.word_table(a.consts.iter().map(|&c| c as u32)));
        let each = Regs(index.element(Expr::Register).less(limits.clone().element(of)).group());
        // The greatest constant that is compared with each limit.
        let most = (0..regs).map(|i| {
            let those = source.regs.iter().zip(&a.consts).filter(|(of, _)| **of == i);
            those.map(|(_, c)| *c).max().unwrap_or(0) as u32
        });
        let most = Expr::from(self.word_table(most));
        let inside = most.element(Local::R).less(limits.element(Local::R));
        let asked = if planted!("mask-of-rows-by-the-first-limit") { 1 } else { regs };
        let whole = call!(Device::All; [asked]; closure([Local::R], inside));
        self.comparisons.insert(each.0.clone(), Comparison::Several { whole });
        Some(each)
    }

    /// A comparison, or a scalar that makes it true for all elements.
    fn or_all(&mut self, all: Value, mask: Value, l: &Layout) -> Option<Regs> {
        let Op::Splat(all) = *self.f.op(all) else { return None };
        let each = self.compare(mask, l)?;
        let found = &self.comparisons[&each.0];
        let Some(x) = found.limit().cloned() else {
            let whole = (Expr::from(all) | found.whole()).group();
            let either = Regs((Expr::from(all) | each.0).group());
            self.comparisons.insert(either.0.clone(), Comparison::Several { whole });
            return Some(either);
        };
        let limit = call!(Function::Select; all, Expr::Literal(Literal::MaxU32), x.limit);
        Some(self.with_limit(x, limit))
    }
}
