//! The reasons why a function cannot be partitioned. An effect of a CTA must belong to its part, or be the same in all
//! CTAs.

use super::dims::{Dims, Refused};
use crate::diag::Code;
use crate::ir::walk::{uses, values, walk, written};
use crate::ir::{Array, Atomic, Func, MAX_REGISTERS, Op, StmtKind, Value, padded_elements};
use std::collections::{BTreeMap, HashSet};

/// The partitioned dimensions of a value.
fn count(f: &Func, dims: &Dims, parted: &HashSet<usize>, v: Value) -> usize {
    (0..f.shape(v).len()).filter(|&d| parted.contains(&dims.class(v, d))).count()
}

/// Checks a function in which the rows of products are partitioned.
pub(super) fn with_products(f: &Func, dims: &Dims, parted: &HashSet<usize>) -> Result<(), Refused> {
    let kept = dims.whole.iter().chain(&dims.reduced).find(|(d, _)| parted.contains(&dims.find(*d)));
    if let Some((_, by)) = kept {
        return Err((
            Code::ClusterWhole,
            why!("here the rows of a product are reduced, reshaped, multiplied over or used as columns"),
            Some(f.span(*by)),
        ));
    }
    let written = written(f);
    let memories: HashSet<Array> = written.iter().map(|&array| f.memory(array)).collect();
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) => {
                let here = Some(f.span(*v));
                if matches!(f.op(*v), Op::Atomic { .. }) {
                    return Err((Code::ClusterAtomic, why!("an atomic would be made by every thread block"), here));
                }
                // Of an array that may be one of those written, a thread block may load its part: it stores that alone.
                let is_part = count(f, dims, parted, *v) == 1;
                let may_race = |array| written.contains(&array) || memories.contains(&f.memory(array)) && !is_part;
                if matches!(f.op(*v), Op::Load { ptr, .. } if may_race(ptr.array())) {
                    return Err((
                        Code::ClusterMemory,
                        why!("a thread block may read elements that another one stores"),
                        here,
                    ));
                }
                if count(f, dims, parted, *v) > 1 {
                    return Err((
                        Code::ClusterSharing,
                        why!("rows and columns of a tile would both be partitioned"),
                        here,
                    ));
                }
                let of = |d: usize| f.shape(*v)[d];
                if (0..f.shape(*v).len())
                    .any(|d| of(d) > 1 && of(d) % f.ctas as usize != 0 && parted.contains(&dims.class(*v, d)))
                {
                    return Err((
                        Code::ClusterProduct,
                        why!("the rows of a product are no multiple of the number of thread blocks"),
                        here,
                    ));
                }
            }
            StmtKind::Store { value, span, .. } if count(f, dims, parted, *value) != 1 => {
                return Err((Code::ClusterMemory, why!("every thread block would store the same"), Some(*span)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the function of one CTA.
pub(super) fn sizes(f: &Func) -> Result<(), Refused> {
    let threads = f.warps as usize * 32;
    match values(&f.body).find(|&v| padded_elements(f.shape(v)) > MAX_REGISTERS * threads) {
        Some(v) => Err((
            Code::ClusterSharing,
            why!("this tile is not partitioned: it takes too many registers of each thread"),
            Some(f.span(v)),
        )),
        None => Ok(()),
    }
}

/// The accesses of a function to an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Update,
}

/// Checks a function in which another dimension is partitioned. The first CTA alone stores tiles that are not.
pub(super) fn without_products(f: &Func, dims: &Dims, parted: &HashSet<usize>) -> Result<(), Refused> {
    let uses = uses(f);
    let mut arrays = BTreeMap::<Array, Vec<(Kind, bool, proc_macro2::Span)>>::new();
    let mut note = |array, kind, v: Value, span| {
        let is_parted = count(f, dims, parted, v) == 1;
        arrays.entry(f.memory(array)).or_default().push((kind, is_parted, span));
        is_parted
    };
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) => {
                let here = f.span(*v);
                if count(f, dims, parted, *v) > 1 {
                    return Err((
                        Code::ClusterSharing,
                        why!("two dimensions of a tile would both be partitioned"),
                        Some(here),
                    ));
                }
                match f.op(*v) {
                    Op::Load { ptr, .. } => _ = note(ptr.array(), Kind::Read, *v, here),
                    Op::Atomic { op, ptr, relaxed, .. } => {
                        let kind = match op {
                            Atomic::Load => Kind::Read,
                            Atomic::Store => Kind::Write,
                            _ => Kind::Update,
                        };
                        if !note(ptr.array(), kind, *v, here) {
                            if uses[v.0 as usize] > 0 {
                                return Err((
                                    Code::ClusterAtomic,
                                    why!("only one thread block would have the result of the atomic"),
                                    Some(here),
                                ));
                            }
                            if !relaxed {
                                let why = why!(
                                    "one thread block executes this atomic, which would have to order the accesses of \
                                     the others: add `.relaxed()` if it need not"
                                );
                                return Err((Code::ClusterAtomic, why, Some(here)));
                            }
                        }
                    }
                    _ => {}
                }
            }
            StmtKind::Store { ptr, value, span, .. } => _ = note(ptr.array(), Kind::Write, *value, *span),
            _ => {}
        }
    }
    for accesses in arrays.values() {
        let mixed = accesses.iter().any(|a| a.0 != accesses[0].0);
        if let Some((.., span)) = accesses.iter().find(|(_, is_parted, _)| mixed && !is_parted) {
            return Err((
                Code::ClusterMemory,
                why!("a thread block may read elements that another one stores"),
                Some(*span),
            ));
        }
    }
    Ok(())
}
