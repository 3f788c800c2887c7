//! The elementwise operations that gain where elements are not computed one by one, and the variables whose elements
//! are not kept one by one. [`tile_forms`](super::tile_forms) says in which layouts that is so.

use crate::ir::walk::{dots, values};
use crate::ir::{Func, Op, Value, Var};
use crate::layout::assign::LayoutAssignment;
use std::collections::BTreeSet;
use std::fmt;

/// The least registers of a `where_` that has a form without selects.
const MIN_REGISTERS: usize = 16;

/// The operations that gain by a form of their own.
#[derive(Debug, Default)]
pub struct Elementwise {
    /// Casts to floats of 16 or 8 bits, for which two elements are converted at once where a thread has an even number.
    /// A slow unit converts single elements.
    pub paired_casts: BTreeSet<Value>,
    /// Each `where_` on accumulators whose mask compares indices. Most blocks are within all limits: a few comparisons
    /// then replace a comparison and a select for each element.
    pub branches: BTreeSet<Value>,
    /// Variables with two elements in each register of 32 bits: LLVM does not pack values that live across branches.
    pub paired_vars: BTreeSet<Var>,
}

/// The operations of a function that gain by a form of their own.
pub fn plan(f: &Func, layouts: &LayoutAssignment) -> Elementwise {
    let has_dots = dots(f, &f.body).next().is_some();
    let is_paired = |var: &Var| {
        let ty = &f.vars[var.0 as usize].ty;
        !ty.is_scalar() && ty.dtype.size() == 2 && layouts.of_var(f, *var).pairs().is_some()
    };
    let paired_vars = (0..f.vars.len() as u32).map(Var).filter(is_paired).collect();
    let mut out = Elementwise { paired_vars, ..Elementwise::default() };
    for v in values(&f.body).filter(|&v| !f.ty(v).is_scalar()) {
        match *f.op(v) {
            // Beside the accumulators of products, which take most registers, pairs would spill.
            Op::Cast(x) => {
                let (from, to) = (f.ty(x).dtype, f.ty(v).dtype);
                let gains = from.size() == 1 || layouts.is_accumulator(v) || !has_dots;
                if to.is_float() && to.size() <= 2 && gains {
                    out.paired_casts.insert(v);
                }
            }
            Op::Select(mask, ..)
                if layouts.is_accumulator(v)
                    && layouts.of(v).regs() >= MIN_REGISTERS
                    && !matches!(f.op(mask), Op::Splat(_)) =>
            {
                out.branches.insert(v);
            }
            _ => {}
        }
    }
    out
}

impl fmt::Display for Elementwise {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.paired_vars.iter().try_for_each(|v| writeln!(f, "{v:?}: two elements in a register"))
    }
}
