//! Masks as the plan has them ([`comparisons`](crate::plan::comparisons)).

use crate::codegen::comparison::{LimitTest, MaskTest};
use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::each;
use crate::ir::{Binary, Value};
use crate::layout::table::{InLayout, LayoutId};
use crate::plan::comparisons::{Comparison, Limit, Mask};
use crate::plan::index_sums::ShapeSource;
use crate::thread_ir::{Device, Expr, Function, Literal, Local, Method, Name, Ty, call, closure};

impl Codegen<'_> {
    /// `index < end` for any register, as a comparison of its constant with what is left from the base on.
    pub(super) fn less(&mut self, base: Name, consts: &[u32], end: Expr) -> MaskTest {
        let limit = self.bind(Ty::U32, call!(Device::Limit; end, base));
        let most = *consts.iter().max().expect("a register");
        let index = match most {
            0 => 0.into(),
            _ => Expr::from(self.word_table(consts.iter().copied())).element(Expr::Register),
        };
        LimitTest { index, most, limit }.mask()
    }

    /// The comparisons with another limit.
    fn with_limit(&mut self, x: LimitTest, limit: Expr) -> MaskTest {
        let limit = self.bind(Ty::U32, limit);
        LimitTest { limit, ..x }.mask()
    }

    /// The conjunction of two comparisons of the same constants: the comparison with the lower limit.
    pub(super) fn both(&mut self, a: LimitTest, b: LimitTest) -> Regs {
        let lower = match planted!("mask-joined-by-larger-limit") {
            true => call!(Binary::Max; a.limit, b.limit),
            false => call!(Binary::Min; a.limit, b.limit),
        };
        self.with_limit(a, lower).each
    }

    /// A mask that consists of comparisons.
    pub(super) fn mask(&mut self, mask: Value, l: LayoutId) -> MaskTest {
        let plan = self.plan;
        match plan.tiles.mask(mask, l) {
            Mask::OfSource(ShapeSource { of, regs }) => {
                let MaskTest { all, each, limit } = self.mask(of.0, of.1);
                let of = self.table(regs);
                MaskTest { all, each: Regs(each.at(of)), limit }
            }
            &Mask::And(a, b) => {
                let (a, b) = (self.mask(a, l), self.mask(b, l));
                MaskTest { all: a.all & b.all, each: Regs((a.each.0 & b.each.0).group()), limit: None }
            }
            &Mask::Scalar(s) => MaskTest { all: s.into(), each: Regs(s.into()), limit: None },
            Mask::Comparison => self.compare(mask, l),
        }
    }

    /// A comparison of indices.
    pub(super) fn compare(&mut self, v: Value, l: LayoutId) -> MaskTest {
        let plan = self.plan;
        match plan.tiles.comparison(v, l) {
            &Comparison::Or { all, comparison } => self.or_all(all, (comparison, l)),
            Comparison::Less { index, consts, limit } => {
                let base = self.base(*index, l);
                match limit {
                    &Limit::Index { end, more } => {
                        let end = self.base(end, l);
                        let end = match more {
                            0 => end,
                            n => {
                                let sum = match planted!("mask-less-or-equal-wraps") {
                                    true => Method::WrappingAdd,
                                    false => Method::SaturatingAdd,
                                };
                                self.bind(Ty::U64, Expr::from(end).method(sum, n))
                            }
                        };
                        self.less(base, consts, end.into())
                    }
                    Limit::Few { end, or_equal } => self.of_few(base, consts, end, *or_equal),
                }
            }
        }
    }

    /// A comparison with a limit that differs between few registers.
    fn of_few(&mut self, base: Name, consts: &[u32], end: &ShapeSource, or_equal: bool) -> MaskTest {
        let ends = self.tile(end.of.0, end.of.1).at(Local::R);
        let ends = if or_equal { ends.group().method(Method::SaturatingAdd, 1) } else { ends };
        let regs = self.plan.tiles.layouts[end.of.1].regs();
        let limit = call!(Device::Limit; ends, base);
        let limits = Expr::from(self.bind(Ty::array(Ty::U32, regs), each(limit)));
        let of = self.table(&end.regs);
        let index = Expr::from(self.word_table(consts.iter().copied()));
        let each = Regs(index.element(Expr::Register).less(limits.clone().element(of)).group());
        // The greatest constant that is compared with each limit.
        let most = (0..regs).map(|i| {
            let those = end.regs.iter().zip(consts).filter(|(of, _)| **of == i);
            those.map(|(_, c)| *c).max().unwrap_or(0)
        });
        let most = Expr::from(self.word_table(most));
        let inside = most.element(Local::R).less(limits.element(Local::R));
        let asked = if planted!("mask-of-rows-by-the-first-limit") { 1 } else { regs };
        let all = call!(Device::All; [asked]; closure([Local::R], inside));
        MaskTest { all, each, limit: None }
    }

    /// A comparison, or a scalar that makes it true for all elements.
    fn or_all(&mut self, all: Value, (comparison, l): InLayout) -> MaskTest {
        let mask = self.compare(comparison, l);
        let Some(x) = mask.limit else {
            return MaskTest {
                all: (Expr::from(all) | mask.all).group(),
                each: Regs((Expr::from(all) | mask.each.0).group()),
                limit: None,
            };
        };
        let limit = call!(Function::Select; all, Expr::Literal(Literal::MaxU32), x.limit);
        self.with_limit(x, limit)
    }
}
