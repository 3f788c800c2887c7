//! The elements that each thread reaches by its accesses: what the order of accesses to one memory depends on. Barriers
//! ([`barriers`](super::barriers)) stand where the same thread may not reach the same element.

use crate::analysis::distinct::is_distinct;
use crate::ir::walk::walk;
use crate::ir::{Address, Array, AtomicEffect, Func, Op, Stmt, StmtKind, Value};
use crate::layout::linear::Layout;
use crate::plan::access_order::{AccessKind, Elements};
use crate::plan::accesses::{AccessId, TileAccesses};
use crate::plan::staged_store::{StagedStores, StoredBy};
use crate::plan::warp_specialized::FusedStore;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// The elements of the accesses to memories that a program accesses in several ways. An access without an entry may
/// reach any element by any thread.
#[derive(Debug, Default)]
pub struct AccessElements(BTreeMap<AccessId, Elements>);

impl AccessElements {
    pub fn of(&self, id: AccessId) -> Option<Elements> {
        self.0.get(&id).copied()
    }
}

impl fmt::Display for AccessElements {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|(id, Elements { index, threads, mask })| {
            write!(f, "{id}: reaches the elements of v{index}, by threads of assignment {threads}")?;
            mask.iter().try_for_each(|mask| write!(f, ", where v{mask} is true"))?;
            writeln!(f)
        })
    }
}

/// The threads that reach the elements of an index: its layout, none for a scalar, and whether one of several threads
/// with copies of an element accesses it. Elements of another size or behind another address lie elsewhere.
type Threads<'a> = (Option<&'a Layout>, Option<Value>, usize, bool);

/// The elements of all accesses by threads, apart from tiles of atomics: several of their elements may be one.
pub fn plan(f: &Func, fused: &[FusedStore], staged: &StagedStores, accesses: &TileAccesses) -> AccessElements {
    let positions = stored_positions(f, fused);
    let mixed = mixed(f);
    let mut known: Vec<Threads> = vec![];
    let mut out = BTreeMap::new();
    for s in walk(&f.body) {
        let Some((id, ptr, mask, once)) = access(f, staged, s) else { continue };
        if !mixed.contains(&f.memory(ptr.array())) {
            continue;
        }
        let layout = accesses.get(id).map(|a| &a.layout);
        let once = once && !planted!("access-key-ignores-copies");
        let copies = layout.is_none_or(|l| l.free_mask().threads != 0);
        let index = *positions.get(&ptr.index).unwrap_or(&ptr.index);
        let layout = layout.filter(|_| !planted!("access-key-ignores-the-layout"));
        let base = ptr.base.address();
        let threads = (layout, base, f.dtype_at(ptr).size(), once && copies);
        let number = known.iter().position(|t| *t == threads).unwrap_or_else(|| {
            known.push(threads);
            known.len() - 1
        });
        // Of distinct indices no load reaches what another thread stores, whichever of them a mask excludes. Elements
        // of several bases may be one.
        let are_distinct = base.is_none_or(|a| f.ty(a).is_scalar()) && is_distinct(f, ptr.index);
        let mask = mask.filter(|_| !are_distinct).map(|m| m.0);
        // From 1 on: copies of an unrolled iteration multiply the number to be told apart.
        out.insert(id, Elements { index: index.0, threads: number as u64 + 1, mask });
    }
    AccessElements(out)
}

/// An access by threads with its mask, and whether one of several threads with copies of an element makes it.
fn access<'f>(f: &'f Func, staged: &StagedStores, s: &'f Stmt) -> Option<(AccessId, &'f Address, Option<Value>, bool)> {
    match &s.kind {
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { ptr, mask, .. } => Some((AccessId::Value(*v), ptr, *mask, false)),
            Op::Atomic { ptr, mask, .. }
                if f.ty(*v).is_scalar() || planted!("atomics-of-one-element-without-barrier") =>
            {
                Some((AccessId::Value(*v), ptr, *mask, true))
            }
            _ => None,
        },
        StmtKind::Store { ptr, mask, .. } => match staged.0.get(&s.id).map(|staged| staged.by) {
            Some(StoredBy::Tma { .. }) => None,
            Some(StoredBy::Threads { .. }) => Some((AccessId::Store(s.id), ptr, None, true)),
            None => Some((AccessId::Store(s.id), ptr, *mask, true)),
        },
        _ => None,
    }
}

/// The memories that a program accesses in several ways.
fn mixed(f: &Func) -> BTreeSet<Array> {
    let mut kinds = BTreeMap::<Array, BTreeSet<AccessKind>>::new();
    for s in walk(&f.body) {
        let (array, kind) = match &s.kind {
            StmtKind::Let(v) => match f.op(*v) {
                Op::Load { ptr, .. } => (ptr.array(), AccessKind::Read),
                Op::Atomic { op, ptr, .. } => {
                    let kind = match op.effect() {
                        AtomicEffect::Load => AccessKind::Read,
                        AtomicEffect::Store => AccessKind::Write,
                        AtomicEffect::Update => AccessKind::Update,
                    };
                    (ptr.array(), kind)
                }
                _ => continue,
            },
            StmtKind::Store { ptr, .. } => (ptr.array(), AccessKind::Write),
            &StmtKind::Clear { array, .. } => (Array::Shared(array), AccessKind::Clear),
            _ => continue,
        };
        kinds.entry(f.memory(array)).or_default().insert(kind);
    }
    kinds.into_iter().filter(|(_, kinds)| kinds.len() > 1).map(|(memory, _)| memory).collect()
}

/// For the index of each fused tile in the memory that its store writes: the index of the store, which is at the same
/// position.
fn stored_positions(f: &Func, fused: &[FusedStore]) -> HashMap<Value, Value> {
    let mut out = HashMap::new();
    for s in walk(&f.body) {
        let StmtKind::Store { ptr: stored, .. } = &s.kind else { continue };
        for &load in fused.iter().filter(|x| x.store == s.id).flat_map(|x| &x.loads) {
            if let Op::Load { ptr, .. } = f.op(load)
                && f.memory(ptr.array()) == f.memory(stored.array())
            {
                out.insert(ptr.index, stored.index);
            }
        }
    }
    out
}
