//! Accesses whose index is a sum over the axes of the tile and whose mask is a conjunction over them, as those to
//! blocks of a view: `row * stride + column`, where `row` and `column` are inside. Offsets and masks are computed for
//! each index of an axis. The tiles of all indices, and the broadcasts before them, are not made.

use crate::dtype::DType;
use crate::ir::walk;
use crate::ir::{Address, Base, Binary, Func, Op, Stmt, StmtKind, Value};
use std::fmt;

/// An axis of an access.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Summands of the index that are constant along all other axes.
    pub offsets: Vec<Value>,
    /// Conditions of the access that are constant along all other axes.
    pub conditions: Vec<Value>,
}

/// `v1 + v2 if v3 & v4`: the offsets and the conditions.
impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let joined = |values: &[Value], by: &str| values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(by);
        match &self.offsets[..] {
            [] => write!(f, "0")?,
            offsets => write!(f, "{}", joined(offsets, " + "))?,
        }
        match &self.conditions[..] {
            [] => Ok(()),
            conditions => write!(f, " if {}", joined(conditions, " & ")),
        }
    }
}

/// The axes of a load or a store, if it is such an access, of a tile with more than one axis.
pub fn of(f: &Func, s: &Stmt) -> Option<Vec<Axis>> {
    match &s.kind {
        StmtKind::Store { ptr, value, mask, .. } => axes(f, ptr, *mask, f.shape(*value)),
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { ptr, mask, other, .. } => {
                let is_uniform = other.is_none_or(|o| f.ty(of_all_elements(f, o)).is_scalar());
                if is_uniform { axes(f, ptr, *mask, f.shape(*v)) } else { None }
            }
            _ => None,
        },
        _ => None,
    }
}

fn axes(f: &Func, ptr: &Address, mask: Option<Value>, shape: &[usize]) -> Option<Vec<Axis>> {
    let has_one_base = match ptr.base {
        Base::Slice(_) | Base::Raw(_) | Base::Shared(_) => true,
        Base::Pointer { address, .. } => f.ty(address).is_scalar(),
    };
    let is_block = shape.iter().filter(|&&n| n != 1).count() > 1;
    if !has_one_base || !is_block || f.ty(ptr.index).dtype != DType::U64 {
        return None;
    }
    let (mut axes, dims) = (vec![Axis::default(); shape.len()], (0..shape.len()).collect::<Vec<_>>());
    terms(f, ptr.index, Binary::Add, &dims, &mut |axis, v| axes[axis].offsets.push(v))?;
    if let Some(mask) = mask {
        terms(f, mask, Binary::And, &dims, &mut |axis, v| axes[axis].conditions.push(v))?;
    }
    Some(axes)
}

/// The scalar that all elements of a splat have. A scalar is its own.
pub fn of_all_elements(f: &Func, v: Value) -> Value {
    if let Op::Splat(scalar) = f.op(v) { *scalar } else { v }
}

/// Takes apart a value that `combine` makes of terms each of which is constant along all axes but one. The dimensions
/// of the value are these axes.
fn terms(f: &Func, v: Value, combine: Binary, dims: &[usize], term: &mut impl FnMut(usize, Value)) -> Option<()> {
    let mut long = f.shape(v).iter().zip(dims).filter(|&(&n, _)| n != 1).map(|(_, &axis)| axis);
    let (first, second) = (long.next(), long.next());
    match f.op(v) {
        Op::Splat(scalar) => term(0, *scalar),
        _ if second.is_none() => term(first.unwrap_or(0), v),
        Op::Binary(op, a, b) if *op == combine => {
            terms(f, *a, combine, dims, term)?;
            terms(f, *b, combine, dims, term)?;
        }
        Op::Broadcast(x) => terms(f, *x, combine, dims, term)?,
        Op::Expand(x, axis) => {
            let dims: Vec<usize> = dims.iter().enumerate().filter(|(d, _)| d != axis).map(|(_, &a)| a).collect();
            terms(f, *x, combine, &dims, term)?;
        }
        _ => return None,
    }
    Some(())
}

/// The values that a statement takes when such accesses take their terms in place of the tiles of all indices.
pub fn used_by(f: &Func, s: &Stmt) -> Vec<Value> {
    let Some(axes) = of(f, s) else { return f.used_by(s) };
    let terms = axes.into_iter().flat_map(|a| a.offsets.into_iter().chain(a.conditions));
    let (ptr, rest) = match &s.kind {
        StmtKind::Store { ptr, value, .. } => (ptr, Some(*value)),
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { ptr, other, .. } => (ptr, other.map(|o| of_all_elements(f, o))),
            op => unreachable!("an access: {op:?}"),
        },
        kind => unreachable!("an access: {kind:?}"),
    };
    let base = match ptr.base {
        Base::Pointer { address, .. } => Some(address),
        _ => None,
    };
    terms.chain(rest).chain(base).collect()
}

/// How often each value is taken. None: only indices and masks take it that are computed by axes, and it is left out.
pub fn uses(f: &Func) -> Vec<Option<u32>> {
    let all = walk::uses(f);
    let mut taken = vec![0; all.len()];
    // A value is taken after its statement: what takes it has been counted before.
    for s in walk::walk(&f.body).collect::<Vec<_>>().into_iter().rev() {
        let is_made = |v: Value| taken[v.0 as usize] > 0 || all[v.0 as usize] == 0;
        if !matches!(s.kind, StmtKind::Let(v) if !is_made(v) && !f.op(v).has_effect()) {
            used_by(f, s).into_iter().for_each(|v| taken[v.0 as usize] += 1);
        }
    }
    all.into_iter().zip(taken).map(|(all, taken)| (all == 0 || taken > 0).then_some(taken)).collect()
}
