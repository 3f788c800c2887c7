//! Index tiles in affine form: `base + constant of the register (+ constant × scalar)`. A thread computes the base
//! once. The constants become the offsets of accesses, LLVM merges equal addresses, and comparisons of indices become
//! 32-bit comparisons with constants ([`predicates`](super::predicates)).

use crate::codegen::affine::Affine;
use crate::codegen::context::{Codegen, Regs};
use crate::dtype::DType;
use crate::ir::{Binary, Op, Value};
use crate::layout::linear::{Derived, Layout};
use crate::layout::padded;
use crate::thread_ir::{Expr, Name, Ty, call};

impl Codegen<'_> {
    /// The affine form of a cheap index tile, if it has one.
    pub(super) fn affine(&mut self, v: Value, l: &Layout) -> Option<Affine> {
        if let Some(a) = self.affine_memo.iter().rev().find_map(|m| m.get(&(v, l.clone()))) {
            return a.clone();
        }
        let a = self.make_affine(v, l);
        self.affine_memo.last_mut().expect("a block").insert((v, l.clone()), a.clone());
        a
    }

    fn make_affine(&mut self, v: Value, l: &Layout) -> Option<Affine> {
        let f = self.f;
        if f.ty(v).dtype != DType::U64 || f.ty(v).is_scalar() || !self.plan.layouts.is_cheap(v) {
            return None;
        }
        if let Some((x, source)) = self.operand_of_shape(v, l) {
            return Some(self.affine(x, &source.layout)?.mapped(&source.regs));
        }
        let n = l.regs();
        match f.op(v).clone() {
            Op::Splat(s) => Some(Affine { base: s.into(), consts: vec![0; n], strides: vec![] }),
            Op::Arange { start } => {
                let (threads, regs) =
                    (l.thread_bases().iter().fold(0, |a, b| a | b), l.reg_bases().iter().fold(0, |a, b| a | b));
                if threads & regs != 0 {
                    return None;
                }
                let t = self.thread_var(l);
                let base = self.bind(Ty::U64, Expr::from(t).cast(Ty::U64) + start);
                Some(Affine { base, consts: (0..n).map(|r| i64::from(l.reg_index(r))).collect(), strides: vec![] })
            }
            Op::Binary(Binary::Add, a, b) => {
                let (a, b) = (self.affine(a, l)?, self.affine(b, l)?);
                let base = self.bind(Ty::U64, call!(Binary::Add; a.base, b.base));
                let b = (b.consts, b.strides);
                Some(a.plus(base, b))
            }
            Op::Binary(Binary::Sub, a, b) => {
                let (a, b) = (self.affine(a, l)?, self.affine(b, l)?);
                let base = self.bind(Ty::U64, call!(Binary::Sub; a.base, b.base));
                let b = b.scaled(if planted!("index-sub-adds-constants") { 1 } else { -1 });
                Some(a.plus(base, b))
            }
            Op::Binary(Binary::Mul, a, b) => {
                let (a, b) = match (self.factor(a), self.factor(b)) {
                    (_, Some(s)) => (self.affine(a, l)?, s),
                    (Some(s), None) => (self.affine(b, l)?, s),
                    _ => return None,
                };
                let base = self.bind(Ty::U64, call!(Binary::Mul; a.base, b));
                let base = match planted!("index-product-in-32-bits") {
                    true => self.bind(Ty::U64, Expr::from(base).cast(Ty::U32).group().cast(Ty::U64)),
                    false => base,
                };
                match f.op(b) {
                    Op::Int(k) => {
                        let (consts, strides) = a.scaled(i64::try_from(*k).ok()?);
                        Some(Affine { base, consts, strides })
                    }
                    _ if a.is_uniform() => Some(Affine { base, ..a }),
                    _ if a.strides.is_empty() => {
                        Some(Affine { base, consts: vec![0; n], strides: vec![(b.into(), a.consts)] })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The operand of a shape operation, its layout, and the register of it for each register of the result.
    pub(super) fn operand_of_shape(&self, v: Value, l: &Layout) -> Option<(Value, Derived)> {
        let f = self.f;
        match f.op(v) {
            Op::Expand(x, axis) => Some((*x, l.expand_source(*axis))),
            Op::Broadcast(x) => Some((*x, l.broadcast_source(&padded(f.shape(*x))))),
            Op::Permute(x, perm) => Some((*x, l.permute_source(perm))),
            Op::Reshape(x) => Some((*x, l.reshape_source(&padded(f.shape(*x))))),
            _ => None,
        }
    }

    /// The scalar that all elements of a tile are.
    fn factor(&self, v: Value) -> Option<Value> {
        match self.f.op(v) {
            Op::Splat(s) => Some(*s),
            _ => None,
        }
    }

    /// The value of any register from the affine form, times `scale`.
    pub(super) fn affine_regs(&mut self, base: Name, a: &Affine, scale: usize) -> Regs {
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
