//! The guards of the `aligned`, `aligned_8` and `aligned_4` variants: addresses, sizes, strides, and lengths of slices,
//! are multiples of 16, 8 or 4 bytes, and divisors of indices are not 0. The launcher checks them at every call, so
//! only those are kept without which an access is narrower.

use crate::analysis::axis_info::AxisAnalysis;
use crate::dtype::DType;
use crate::front::ast::ParamKind;
use crate::ir::walk::{assigned, walk};
use crate::ir::{Address, Atomic, Base, Binary, Func, Guard, Op, Stmt, StmtKind, Test, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The guards with which accesses have `bytes` bytes. `learn` gives the facts that follow from guards.
pub fn guards(f: &Func, bytes: usize, learn: impl Fn(Vec<Guard>) -> AxisAnalysis) -> Vec<Guard> {
    let accesses = ptrs(f);
    let (ptrs, masks): (Vec<Address>, Vec<Option<Value>>) = accesses.iter().cloned().unzip();
    let elements = |p: &Address| (bytes / f.dtype_at(p).size()).max(1) as u64;
    let aligned = Test::Multiple(if planted!("launch-guards-any-address") { 1 } else { bytes as u64 });
    // A scalar access is never a vector. The code tests an address that the kernel computes.
    let of_tiles = || ptrs.iter().filter(|p| !f.shape(p.index).is_empty());
    let addresses = of_tiles().filter_map(|p| Some((f.params[p.param()?].first_word, aligned)));
    let (mut sizes, mut divisors) = (BTreeMap::<usize, u64>::new(), BTreeSet::new());
    for p in of_tiles() {
        let walk = Walk::of(f, p, false);
        divisors.extend(walk.divisors);
        for word in walk.words {
            let by = sizes.entry(word).or_insert(1);
            *by = elements(p).max(*by);
        }
    }
    let sizes = sizes.into_iter().filter(|&(_, by)| by > 1);
    let sizes = sizes.map(|(s, by)| (s, if is_last_stride(f, s) { Test::Equal(1) } else { Test::Multiple(by) }));
    // The guards of the function, such as another stride that is 1.
    let fixed =
        f.guards.iter().filter(|r| matches!(r.test, Test::Equal(_))).filter_map(|r| Some((r.of.as_word()?, r.test)));
    let mut all: BTreeMap<usize, Test> = sizes.chain(addresses).chain(fixed).collect();
    let list = |all: &BTreeMap<usize, Test>, divisors: &BTreeSet<usize>| {
        let positive = divisors.iter().map(|&word| Guard::word(word, Test::Within(1, i32::MAX as u64)));
        all.iter().map(|(&word, &test)| Guard::word(word, test)).chain(positive).collect::<Vec<_>>()
    };
    let a = learn(list(&all, &divisors));
    // A matrix that is contiguous in no known dimension has arguments for all its strides: the last of them is 1, if
    // any is.
    let apart = |p: &Address| {
        f.shape(p.index).len() > 1
            && a.info(f, p.index).dims.iter().all(|a| a.contiguity.max(a.reverse_contiguity) == 1)
    };
    let mut scale = BTreeMap::<usize, (bool, u64)>::new();
    for p in &ptrs {
        for (word, alone) in Walk::of(f, p, apart(p)).scale {
            let (all_alone, by) = scale.entry(word).or_insert((true, 1));
            (*all_alone, *by) = (*all_alone && alone, elements(p).max(*by));
        }
    }
    for (word, _) in scale.into_iter().filter(|&(_, (alone, by))| alone && by > 1) {
        all.insert(word, Test::Equal(1));
    }
    for (word, by) in ends(f, ptrs.iter().zip(masks), (&learn(vec![]), &learn(list(&all, &divisors))), elements) {
        all.entry(word).or_insert(Test::Multiple(by));
    }
    // Some of them gain nothing: of the factors of an offset one is enough.
    let widths = |all: &BTreeMap<usize, Test>, divisors: &BTreeSet<usize>| {
        let a = learn(list(all, divisors));
        accesses.iter().map(|(ptr, mask)| width(f, &a, ptr, *mask)).collect::<Vec<_>>()
    };
    let wanted = widths(&all, &divisors);
    let sizes = all.iter().filter(|&(&word, test)| matches!(test, Test::Multiple(_)) && !f.is_address(word));
    for word in sizes.map(|(&word, _)| word).collect::<Vec<_>>() {
        let mut fewer = all.clone();
        fewer.remove(&word);
        if widths(&fewer, &divisors) == wanted {
            all = fewer;
        }
    }
    for word in divisors.clone() {
        let fewer = divisors.iter().copied().filter(|&d| d != word).collect();
        if widths(&all, &fewer) == wanted {
            divisors = fewer;
        }
    }
    list(&all, &divisors)
}

/// The properties that decide the width of an access: the order of its dimensions, and for each of them the elements of
/// the widest access, whether their addresses descend, and whether the mask and the end of the array divide none.
fn width(f: &Func, a: &AxisAnalysis, ptr: &Address, mask: Option<Value>) -> (Vec<usize>, Vec<(usize, bool, bool)>) {
    let of = |dim: usize| {
        let (n, descending) = a.vector_at(f, ptr, dim);
        (n, descending, a.is_whole(f, ptr, mask, dim, n))
    };
    (a.order(f, ptr.index), (0..f.shape(ptr.index).len()).map(of).collect())
}

/// Guards on the lengths of slices, as multiples of a vector: where the guards on sizes keep a mask from dividing a
/// vector, the end of the slice divides none either.
fn ends<'a>(
    f: &Func,
    accesses: impl Iterator<Item = (&'a Address, Option<Value>)>,
    (unguarded, guarded): (&AxisAnalysis, &AxisAnalysis),
    elements: impl Fn(&Address) -> u64,
) -> BTreeMap<usize, u64> {
    let mut ends = BTreeMap::new();
    for (p, mask) in accesses {
        let (Base::Slice(param), Some(mask)) = (p.base, mask) else { continue };
        let n = elements(p);
        let Some(&dim) = guarded.order(f, p.index).first() else { continue };
        let is_undivided = |a: &AxisAnalysis| a.is_undivided(f, mask, dim, n as usize);
        let by_guards = is_undivided(guarded) && !is_undivided(unguarded);
        if n > 1 && by_guards && guarded.vector_at(f, p, dim).0 as u64 == n {
            let by = ends.entry(f.params[param].first_word + 1).or_insert(n);
            *by = n.max(*by);
        }
    }
    ends
}

/// The last stride of a view. It is 1 where the view is an array in memory: then the last dimension is contiguous.
fn is_last_stride(f: &Func, word: usize) -> bool {
    f.params.iter().any(|p| matches!(p.kind, ParamKind::View { rank, .. } if word == p.first_word + 2 * rank))
}

/// The argument words that indices of tiles are computed from.
struct Walk<'a> {
    f: &'a Func,
    seen: BTreeSet<(Value, bool, bool)>,
    words: BTreeSet<usize>,
    /// The divisors of indices.
    divisors: BTreeSet<usize>,
    /// The argument words that index tiles are multiplied by, and whether each of them is the stride of the last
    /// dimension of a matrix that is contiguous in no known dimension.
    scale: BTreeMap<usize, bool>,
}

impl<'a> Walk<'a> {
    /// The words of the index of an access.
    fn of(f: &'a Func, p: &Address, apart: bool) -> Walk<'a> {
        let mut walk = Walk::new(f);
        walk.index(p.index, true, apart);
        walk
    }

    fn new(f: &'a Func) -> Walk<'a> {
        let (words, divisors) = (BTreeSet::new(), BTreeSet::new());
        Walk { f, seen: BTreeSet::new(), words, divisors, scale: BTreeMap::new() }
    }

    /// `last`: the index may change along the last dimension.
    fn index(&mut self, v: Value, last: bool, apart: bool) {
        let f = self.f;
        let last = last && f.shape(v).last() != Some(&1);
        if !self.seen.insert((v, last, apart)) {
            return;
        }
        match f.op(v) {
            Op::Word { word } if f.ty(v).dtype.is_int() => {
                self.words.insert(*word);
            }
            Op::Binary(Binary::Mul, a, b) => {
                let only_last = last && f.shape(v).iter().rev().skip(1).all(|&e| e == 1);
                for (tile, by) in [(*a, *b), (*b, *a)] {
                    if let Some(word) =
                        word_of(f, by).filter(|_| !f.shape(tile).is_empty() && !matches!(f.op(tile), Op::Splat(_)))
                    {
                        *self.scale.entry(word).or_insert(true) &= only_last && apart;
                    }
                }
                [*a, *b].into_iter().for_each(|o| self.index(o, last, apart));
            }
            Op::Binary(Binary::Add | Binary::Sub | Binary::Shl, ..)
            | Op::Cast(_)
            | Op::Splat(_)
            | Op::Expand(..)
            | Op::Broadcast(_)
            | Op::Permute(..)
            | Op::Fma(..) => {
                f.op(v).operands().into_iter().for_each(|o| self.index(o, last, apart));
            }
            // An index that wraps around at a multiple of a vector divides no vector.
            Op::Binary(Binary::Rem, a, b) if last => {
                let mut divisor = Walk::new(f);
                divisor.index(*b, last, apart);
                self.divisors.extend(divisor.words);
                [*a, *b].into_iter().for_each(|o| self.index(o, last, apart));
            }
            Op::LoopVar => loop_bounds(&f.body, v).into_iter().for_each(|o| self.index(o, last, apart)),
            Op::ReadVar(var) => assigned(&f.body, *var).into_iter().for_each(|o| self.index(o, last, apart)),
            _ => {}
        }
    }
}

/// The argument word of a scalar, or of a tile whose elements are all that word.
fn word_of(f: &Func, v: Value) -> Option<usize> {
    match f.op(v) {
        Op::Word { word } if f.ty(v).dtype.is_int() => Some(*word),
        Op::Splat(x) | Op::Cast(x) => word_of(f, *x),
        _ => None,
    }
}

fn loop_bounds(body: &[Stmt], iv: Value) -> Vec<Value> {
    walk(body)
        .filter_map(|s| {
            if let StmtKind::For { iv: i, lo, step, .. } = &s.kind {
                (*i == iv).then(|| vec![*lo, *step])
            } else {
                None
            }
        })
        .flatten()
        .collect()
}

/// Whether an atomic whose old values nobody asks for may add several neighbors in one instruction.
pub(crate) fn may_add_vectors(f: &Func, v: Value) -> bool {
    let Op::Atomic { op: Atomic::Add, ptr, relaxed: true, .. } = f.op(v) else { return false };
    matches!(f.ty(v).dtype, DType::F32 | DType::F16 | DType::BF16) && ptr.param().is_some()
}

/// The accesses to global memory that may be as wide as vectors, and their masks.
fn ptrs(f: &Func) -> Vec<(Address, Option<Value>)> {
    let of = |s: &Stmt| match &s.kind {
        StmtKind::Store { ptr, mask, .. } => Some((ptr.clone(), *mask)),
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { ptr, mask, .. } => Some((ptr.clone(), *mask)),
            Op::Atomic { ptr, mask, .. } if may_add_vectors(f, *v) && !planted!("launch-guards-without-atomics") => {
                Some((ptr.clone(), *mask))
            }
            _ => None,
        },
        _ => None,
    };
    walk(&f.body).filter_map(of).filter(|(p, _)| !matches!(p.base, Base::Shared(_))).collect()
}
