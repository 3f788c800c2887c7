//! Scans: for each element the combination of all elements up to it along an axis.

use crate::diag::{Code, Result};
use crate::front::infer::builtins::{self, Call};
use crate::front::infer::reduce::results;
use crate::front::infer::{Infer, Val};
use crate::ir::{Binary, Combine, Op, Value};

impl Infer<'_> {
    pub(super) fn scan(&mut self, name: &str, c: &Call) -> Result<Val> {
        let custom = name == "scan";
        if c.args.len() != if custom { 3 } else { 2 } {
            let usage = builtins::usage(name);
            return self.error(Code::ArgumentCount, c.span, format!("expected {usage}"));
        }
        let tiles = self.tiles(name, &c.args[0], custom)?;
        let ty = self.ty(tiles[0]).clone();
        let axis = self.expr(&c.args[1])?;
        let axis = self.axis(&axis, ty.shape.len(), c.args[1].span)?;
        let closure = match c.args.get(2) {
            Some(f) => match self.expr(f)? {
                Val::Closure(closure) => Some(closure),
                _ => {
                    return self.error(
                        Code::OperationClosure,
                        f.span,
                        "a closure is expected: `scan(t, axis, |a, b| a + b)`",
                    );
                }
            },
            None => None,
        };
        if !custom && !ty.dtype.is_int() && !ty.dtype.is_float() {
            return self.error(
                Code::ElementType,
                c.args[0].span,
                format!("`{name}` of bool: convert with `.to::<i32>()`"),
            );
        }
        let mut exclusive = self.exclusive(&tiles, c)?;
        // Halves are summed in f32, and each sum is rounded once.
        let halves = custom || planted!("scan-rounds-each-half");
        let wide = if halves { None } else { self.widened(tiles[0], c.span) };
        if wide.is_some() {
            exclusive = exclusive.into_iter().filter_map(|v| self.widened(v, c.span)).collect();
        }
        let values = wide.map_or(tiles, |v| vec![v]);
        let combine = match (&closure, name) {
            (Some(f), _) => self.combine(f, name, &values, c.span)?,
            (None, "cumsum") => Combine::Binary(Binary::Add),
            (None, _) => Combine::Binary(Binary::Mul),
        };
        let op = Op::Scan { values: values.clone(), axis, combine, reverse: c.options.reverse, exclusive };
        let mut scanned = self.results(op, &values, &ty.shape, c.span);
        if wide.is_some() {
            scanned = vec![self.push(Op::Cast(scanned[0]), ty, c.span)];
        }
        Ok(results(scanned))
    }

    /// A scalar for each tile where the scan is exclusive.
    fn exclusive(&mut self, tiles: &[Value], c: &Call) -> Result<Vec<Value>> {
        let Some((first, at)) = &c.options.exclusive else { return Ok(vec![]) };
        let list = match first {
            Val::Tuple(list) => list.clone(),
            v => vec![v.clone()],
        };
        if list.len() != tiles.len() {
            let (n, found) = (tiles.len(), list.len());
            return self.error(
                Code::Exclusive,
                *at,
                format!("`.exclusive` takes a scalar for each tile, {n} in all, found {found}"),
            );
        }
        let mut scalars = vec![];
        for (v, &t) in list.into_iter().zip(tiles) {
            let scalar = self.run_as(v, self.ty(t).dtype, *at)?;
            if !self.ty(scalar).is_scalar() {
                let found = self.ty(scalar);
                return self.error(Code::Exclusive, *at, format!("`.exclusive` takes a scalar, found {found}"));
            }
            scalars.push(scalar);
        }
        Ok(scalars)
    }
}
