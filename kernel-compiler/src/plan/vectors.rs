//! Accesses of threads that are narrower than 16 bytes, with the reasons.

use crate::analysis::axis_info::{AxisAnalysis, VECTOR_BYTES};
use crate::ir::walk::{made_of, walk};
use crate::ir::{Address, Base, Func, Guard, Op, Param, ParamKind, StmtKind, Test, Value};
use crate::missed::Missed;
use crate::plan::cp_async_pipeline::CopiedTile;
use proc_macro2::Span;
use std::collections::{HashMap, HashSet};

const VECTORIZED: &str = "vectorized to 16 bytes";

/// The tile accesses of threads that are narrower than 16 bytes, though the tile has enough elements for vectors. `tma`
/// are the loads that TMA copies, `tiles` those that all threads copy ahead.
pub fn missed(f: &Func, a: &AxisAnalysis, tma: &HashSet<Value>, tiles: &HashMap<Value, CopiedTile>) -> Vec<Missed> {
    let of = |ptr: &Address, span: Span, verb: &str| {
        let index = ptr.index;
        let size = f.dtype_at(ptr).size();
        let widest = VECTOR_BYTES / size;
        let elements: usize = f.shape(index).iter().product();
        if matches!(ptr.base, Base::Shared(_)) || f.shape(index).is_empty() || elements < f.warps as usize * 32 * widest
        {
            return None;
        }
        let dim = *a.order(f, index).first()?;
        let (vec, _) = a.vector_at(f, ptr, dim);
        if vec == widest {
            return with_other_strides(f, a, index).map(|m| m.at(span));
        }
        let dim_info = a.info(f, index).dims[dim];
        let run = dim_info.contiguity.max(dim_info.reverse_contiguity);
        let why = if run == 1 {
            why!(
                "this {verb} {vec} element of {size} bytes at a time: no dimension of its index is known to count up \
                 by 1, as `start + arange(BLOCK)` does"
            )
        } else {
            why!(
                "this {verb} {} bytes at a time: its index counts up over {run} elements from multiples of {}; \
                 offsets and strides that are multiples of {widest} make it wider",
                vec * size,
                dim_info.divisibility.divisor().min(run)
            )
        };
        Some(Missed::new(VECTORIZED, why).at(span))
    };
    let of_stmt = |s: &StmtKind| match s {
        StmtKind::Store { ptr, span, block_pointer, .. } if block_pointer.is_none() => of(ptr, *span, "store writes"),
        StmtKind::Let(v) if !tma.contains(v) => match f.op(*v) {
            Op::Load { ptr, .. } => {
                let verb = match tiles.get(v).map(|t| t.vec) {
                    None => "load reads",
                    Some(Some(_)) => "copy by cp.async moves",
                    Some(None) => "copy through registers moves",
                };
                of(ptr, f.span(*v), verb)
            }
            _ => None,
        },
        _ => None,
    };
    walk(&f.body).filter_map(|s| of_stmt(&s.kind)).collect()
}

/// Of an access to a matrix whose strides are all arguments: vectors are along the dimension of one of them.
fn with_other_strides(f: &Func, a: &AxisAnalysis, index: Value) -> Option<Missed> {
    if f.shape(index).iter().filter(|n| **n > 1).count() < 2 {
        return None;
    }
    let words: HashSet<usize> = made_of(f, index, |_| true).into_iter().filter_map(|v| word(f, v)).collect();
    let is_stride = |g: &&Guard| g.test == Test::Equal(1) && g.of.as_word().is_some_and(|w| words.contains(&w));
    let word = a.guards.iter().find(is_stride)?.of.as_word()?;
    let is_scalar = |p: &&Param| p.first_word == word && p.kind == ParamKind::Scalar;
    let stride = &f.params.iter().find(is_scalar)?.name;
    let why = why!(
        "its strides are arguments, and vectors are for calls in which `{stride}` is 1: of a transposed matrix \
         elements are moved one by one. Exchange its dimensions in the kernel for that matrix"
    );
    Some(Missed::new("vectorized where another dimension is contiguous", why))
}

fn word(f: &Func, v: Value) -> Option<usize> {
    if let Op::Word { word } = *f.op(v) { Some(word) } else { None }
}
