//! Adjoints of loads, which add to a gradient, and of stores, which load one.

use super::refused::Refused;
use super::{Adjoint, Scope};
use crate::dtype::DType;
use crate::ir::{Address, Atomic, Base, Binary, BlockPointer, Hint, Op, Type, Value};
use std::collections::HashMap;

impl Adjoint<'_> {
    /// The adjoint of a stored value is the gradient with respect to the output, at the same elements.
    pub(super) fn stored(
        &mut self,
        ptr: &Address,
        value: Value,
        mask: Option<Value>,
        block_pointer: Option<&BlockPointer>,
        scope: &Scope,
    ) -> Result<(), Refused> {
        let is_given = ptr.param().is_some_and(|p| self.places.given[p].is_some());
        if !is_given || !self.active.value(value) {
            return Ok(());
        }
        let mut block_pointer = block_pointer.cloned();
        if let Some(b) = &mut block_pointer {
            b.at.iter_mut().for_each(|v| *v = scope.value(*v));
            self.extents(b);
        }
        let mut at = Address { base: ptr.base, index: scope.value(ptr.index) };
        self.place(&mut at);
        let mask = mask.map(|m| scope.value(m)).filter(|_| !planted!("adjoint-of-a-store-unmasked"));
        let op = Op::Load { ptr: at, mask, other: None, hint: Hint::None, block_pointer };
        let gradient = self.emit(op, self.f.ty(value).clone());
        self.give(value, gradient)
    }

    /// The adjoint of a loaded tile is added to the gradient with respect to the array, at the same elements.
    pub(super) fn loaded(
        &mut self,
        v: Value,
        ptr: &Address,
        mask: Option<Value>,
        other: Option<Value>,
        adjoint: Value,
        scope: &Scope,
    ) -> Result<(), Refused> {
        let f = self.f;
        if let Some(other) = other.filter(|&o| self.active.value(o)) {
            let left = match (self.is_loaded(v, ptr, mask, scope), adjoint) {
                (Some(is), adjoint) => self.unless(is, adjoint),
                (None, adjoint) => self.like(0.0, adjoint),
            };
            self.give(other, left)?;
        }
        let Some(param) = ptr.param() else { return Ok(()) };
        let Some(sum) = self.places.sums[param] else { return Ok(()) };
        // A view's gradient has strides and extents of its own.
        let words = self.places.words_of_sum(f, &self.g, param);
        let mut known = HashMap::new();
        let index = self.with_words(ptr.index, &words, &mut known, scope);
        let mask = mask.map(|m| self.with_words(m, &words, &mut known, scope));
        let base = match ptr.base {
            Base::Slice(_) => Base::Slice(sum),
            _ => Base::Raw(sum),
        };
        let ptr = Address { base, index };
        let op = Op::Atomic { op: Atomic::Add, ptr, values: vec![adjoint], mask, relaxed: true };
        self.emit(op, f.ty(v).clone());
        Ok(())
    }

    /// Whether each element of a load comes from memory; none where all do.
    fn is_loaded(&mut self, v: Value, ptr: &Address, mask: Option<Value>, scope: &Scope) -> Option<Value> {
        let mask = mask.map(|m| scope.value(m));
        let Base::Slice(param) = ptr.base else { return mask };
        let shape = self.f.shape(v).to_vec();
        let word = self.places.words[self.f.params[param].first_word + 1];
        let mut len = self.emit(Op::Word { word }, Type::scalar(DType::U64));
        if !shape.is_empty() {
            len = self.emit(Op::Splat(len), Type::tile(DType::U64, shape));
        }
        // An index below 0 becomes one beyond the end.
        let index = self.cast(scope.value(ptr.index), DType::U64);
        let inside = self.binary(Binary::Lt, index, len);
        Some(mask.map_or(inside, |m| self.binary(Binary::And, m, inside)))
    }

    /// A forward value computed from other argument words.
    fn with_words(
        &mut self,
        v: Value,
        words: &HashMap<usize, usize>,
        known: &mut HashMap<Value, Value>,
        scope: &Scope,
    ) -> Value {
        if words.is_empty() || planted!("adjoint-with-strides-of-the-input") {
            return scope.value(v);
        }
        if let Some(&done) = known.get(&v) {
            return done;
        }
        let f = self.f;
        let done = match f.op(v) {
            Op::Word { word } => match words.get(word) {
                Some(&word) => self.emit(Op::Word { word }, f.ty(v).clone()),
                None => scope.value(v),
            },
            // Values in memory and in variables do not depend on the layout of the gradient.
            Op::Load { .. } | Op::Atomic { .. } | Op::ReadVar(_) => scope.value(v),
            op if op.closure().is_some() => scope.value(v),
            op => {
                let operands: Vec<Value> =
                    op.operands().into_iter().map(|o| self.with_words(o, words, known, scope)).collect();
                if operands.iter().eq(op.operands().iter().map(|o| &scope.values[o])) {
                    scope.value(v)
                } else {
                    let mut op = self.mapped(op, scope);
                    op.operands_mut().into_iter().zip(operands).for_each(|(o, to)| *o = to);
                    self.emit(op, f.ty(v).clone())
                }
            }
        };
        known.insert(v, done);
        done
    }
}
