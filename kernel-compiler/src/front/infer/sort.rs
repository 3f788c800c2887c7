//! Sorting along an axis, and the greatest elements.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::infer::builtins::{Call, usage};
use crate::front::infer::reduce::results;
use crate::front::infer::{Infer, Val};
use crate::ir::{Binary, Op, Type, Value};

impl Infer<'_> {
    /// `sort(t, axis)`, or `topk(t, k, axis)`: the first of a descending order.
    pub(super) fn sort(&mut self, name: &str, c: &Call) -> Result<Val> {
        let (first, k, axis) = match (name, c.args) {
            ("sort", [first, axis]) => (first, None, axis),
            ("topk", [first, k, axis]) => (first, Some(k), axis),
            _ => return self.error(Code::ArgumentCount, c.span, format!("expected {}", usage(name))),
        };
        let mut tiles = self.tiles(name, first, true)?;
        let ty = self.ty(tiles[0]).clone();
        let at = self.expr(axis)?;
        let axis = self.axis(&at, ty.shape.len(), axis.span)?;
        if !ty.shape[axis].is_power_of_two() {
            let extent = ty.shape[axis];
            return self.error(
                Code::PowerOfTwo,
                c.span,
                format!(
                    "`{name}` needs an extent that is a power of two, found {extent}: take a larger tile, filled with the \
                     last or the least element"
                ),
            );
        }
        if ty.dtype == DType::Bool {
            return self.error(Code::ElementType, first.span, format!("`{name}` of bool: convert with `.to::<i32>()`"));
        }
        for &t in &tiles {
            self.fits_shared(name, t, first.span)?;
        }
        let mut shape = ty.shape.clone();
        if let Some(k) = k {
            let v = self.expr(k)?;
            let (n, extent) = (self.const_int(&v, k.span, "the number of elements")?, ty.shape[axis]);
            let fits = (1..=extent as i128).contains(&n) && (n as usize).is_power_of_two();
            if !fits {
                let message = format!("`topk` gives a power of two of elements, of {extent} at most, found {n}");
                return self.error(Code::PowerOfTwo, k.span, message);
            }
            shape[axis] = n as usize;
        }
        let keys = ty.dtype;
        tiles[0] = self.key(tiles[0], keys, c.span)?;
        let descending = name == "topk" || c.options.descending;
        let op = Op::Sort { values: tiles.clone(), axis, descending };
        let mut sorted = self.results(op, &tiles, &shape, c.span);
        sorted[0] = self.of_key(sorted[0], keys, c.span)?;
        Ok(results(sorted))
    }

    /// An integer for each float, in the same order: NaN comes last, and -0 before 0.
    fn key(&mut self, v: Value, dtype: DType, span: Span) -> Result<Value> {
        let Some(bits) = integer(dtype) else { return Ok(v) };
        let shape = self.ty(v).shape.clone();
        let (float, int) = (Type { dtype, shape: shape.clone() }, Type { dtype: bits, shape });
        // One NaN for all, which is the greatest of numbers as bits, too.
        let nan = self.push(Op::Float(f64::NAN), Type::scalar(dtype), span);
        let nan = self.broadcast(nan, &float.shape, span);
        let is_number = self.binary(Binary::Eq, v, v, span)?;
        let v = self.push(Op::Select(is_number, v, nan), float, span);
        let v = self.push(Op::Bitcast(v), int, span);
        self.inverted(v, bits, span)
    }

    fn of_key(&mut self, v: Value, dtype: DType, span: Span) -> Result<Value> {
        let Some(bits) = integer(dtype) else { return Ok(v) };
        let v = self.inverted(v, bits, span)?;
        let shape = self.ty(v).shape.clone();
        Ok(self.push(Op::Bitcast(v), Type { dtype, shape }, span))
    }

    /// Of negative numbers all bits but the sign are inverted: the order of floats is that of integers then, and back.
    fn inverted(&mut self, v: Value, bits: DType, span: Span) -> Result<Value> {
        let width = 8 * bits.size() as i128;
        let last = self.number(width - 1, bits, span)?;
        let but_sign = self.number((1 << (width - 1)) - 1, bits, span)?;
        let sign = self.binary(Binary::Shr, v, last, span)?;
        let mask = self.binary(Binary::And, sign, but_sign, span)?;
        self.binary(Binary::Xor, v, mask, span)
    }
}

/// The integers of as many bits as a float has.
fn integer(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F32 => Some(DType::I32),
        DType::F64 => Some(DType::I64),
        DType::F16 | DType::BF16 => Some(DType::I16),
        _ => None,
    }
}
