//! Index tiles as the plan has them, as sums ([`index_sums`](crate::plan::index_sums)). A thread computes the base
//! once, and LLVM merges equal addresses.

use crate::codegen::context::{Codegen, Regs};
use crate::ir::{Binary, Value};
use crate::layout::table::LayoutId;
use crate::plan::index_sums::{Base, IndexSum};
use crate::thread_ir::{Expr, Name, Ty, call};

impl Codegen<'_> {
    /// The base of an index sum.
    pub(super) fn base(&mut self, v: Value, l: LayoutId) -> Name {
        if let Some(&base) = self.bases.iter().rev().find_map(|m| m.get(&(v, l))) {
            return base;
        }
        let plan = self.plan;
        let base = match plan.tiles.sum(v, l).expect("an index sum").base {
            Base::Scalar(s) => s.into(),
            Base::Thread { start } => {
                let t = self.thread_var(&plan.tiles.layouts[l]);
                self.bind(Ty::U64, Expr::from(t).cast(Ty::U64) + start)
            }
            Base::Of((x, of)) => self.base(x, of),
            Base::Add(a, b) => {
                let (a, b) = (self.base(a, l), self.base(b, l));
                self.bind(Ty::U64, call!(Binary::Add; a, b))
            }
            Base::Sub(a, b) => {
                let (a, b) = (self.base(a, l), self.base(b, l));
                self.bind(Ty::U64, call!(Binary::Sub; a, b))
            }
            Base::Mul(a, s) => {
                let a = self.base(a, l);
                let base = self.bind(Ty::U64, call!(Binary::Mul; a, s));
                match planted!("index-product-in-32-bits") {
                    true => self.bind(Ty::U64, Expr::from(base).cast(Ty::U32).group().cast(Ty::U64)),
                    false => base,
                }
            }
        };
        self.bases.last_mut().expect("a block").insert((v, l), base);
        base
    }

    /// The value of any register of an index sum, times `scale`.
    pub(super) fn sum_regs(&mut self, base: Name, a: &IndexSum, scale: usize) -> Regs {
        let scale = scale as i64;
        let table = |cx: &mut Self, v: &[i64]| {
            let t = cx.const_table(Ty::U64, v.iter().map(|c| c.wrapping_mul(scale) as u64).collect());
            Expr::from(t).element(Expr::Register)
        };
        let mut sum = Expr::from(base);
        for (s, v) in &a.strides {
            let t = table(self, v);
            sum = sum.wrapping_add(Expr::from(*s).wrapping_mul(t));
        }
        if a.consts.iter().any(|&c| c != 0) {
            let t = table(self, &a.consts);
            sum = sum.wrapping_add(t);
        }
        Regs(sum)
    }
}
