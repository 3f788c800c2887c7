//! The tiles that the code computes: at which statement, in which layout, and how. [`demands`](super::demands) finds
//! them.
//!
//! A value that has a layout is computed in it where the kernel defines the value. Index arithmetic is computed at its
//! uses, in the layout of each use. Any other value is converted where a use takes it in another layout.

use crate::ir::{StmtId, Value};
use crate::layout::linear::Layout;
use crate::layout::table::{InLayout, LayoutId, LayoutTable};
use crate::plan::accesses::AccessId;
use crate::plan::bounds::{Bounds, Tested};
use crate::plan::comparisons::{Comparison, Mask};
use crate::plan::conversions::counted;
use crate::plan::index_sums::IndexSum;
use crate::plan::memo::Memo;
use crate::plan::tile_forms::Form;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How the code gets the registers of a tile in one piece of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceForm {
    /// From the registers of the whole tile.
    Whole,
    /// From the buffer of the store, which holds the tile before it holds the result.
    Buffer,
    /// By loads of the piece.
    Load,
    /// Element by element from its operands' pieces, or `in_pairs`.
    Elementwise { in_pairs: bool },
}

/// A computed right operand on its way to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredOperand {
    /// The layout of the registers.
    pub layout: LayoutId,
    /// The elements that a thread stores at once.
    pub vec: usize,
}

/// The parts of the plan that a role has carried out.
#[derive(Debug, Default)]
pub struct CarriedOut {
    /// The tiles that each statement has computed.
    pub computed: BTreeMap<StmtId, BTreeSet<InLayout>>,
    /// The accesses whose conditions were tested.
    pub bounds: BTreeSet<AccessId>,
    /// The atomics whose old values went through shared memory.
    pub returned: BTreeSet<Value>,
}

/// The tiles that the code computes.
#[derive(Debug, Default)]
pub struct Tiles {
    pub layouts: LayoutTable,
    pub sums: Memo<Option<IndexSum>>,
    pub comparisons: Memo<Option<Comparison>>,
    pub masks: Memo<Option<Mask>>,
    pub forms: Memo<Form>,
    /// The tiles that each statement computes.
    pub computed: BTreeMap<StmtId, BTreeSet<InLayout>>,
    /// The tiles that elementwise operations define.
    pub defined: BTreeSet<InLayout>,
    /// The layouts in which assertions, messages and exchanges of a cluster take their tiles.
    pub use_layouts: BTreeMap<StmtId, LayoutId>,
    /// The computed right operands, by the numbers of their matrices.
    pub written: BTreeMap<usize, StoredOperand>,
    pub bounds: BTreeMap<AccessId, Bounds>,
    /// The tiles that stores through shared memory take piece by piece.
    pub pieces: BTreeMap<(StmtId, Value), PieceForm>,
    /// The atomics whose old values go through shared memory, and the bytes of the scratch buffer: one of several
    /// threads with copies of an element executes the atomic, and gives the old value to the others.
    pub returned: BTreeMap<Value, usize>,
}

impl Tiles {
    /// The number of a layout.
    pub fn id(&self, layout: &Layout) -> LayoutId {
        self.layouts.get(layout).unwrap_or_else(|| panic!("no tile is planned in {layout:?}"))
    }

    /// The form of a tile in a layout.
    pub fn form(&self, v: Value, l: LayoutId) -> &Form {
        self.forms.get((v, l)).unwrap_or_else(|| panic!("{v:?} is not planned in {:?}", self.layouts[l]))
    }

    /// An index tile as a sum, if it is one.
    pub fn sum(&self, v: Value, l: LayoutId) -> Option<&IndexSum> {
        self.sums[&(v, l)].as_ref()
    }

    /// A comparison of indices.
    pub fn comparison(&self, v: Value, l: LayoutId) -> &Comparison {
        self.comparisons[&(v, l)].as_ref().unwrap_or_else(|| panic!("{v:?} is no comparison in {l:?}"))
    }

    /// The conditions of an access.
    pub fn bounds(&self, access: AccessId) -> Bounds {
        let bounds = *self.bounds.get(&access).unwrap_or_else(|| panic!("{access} is not planned"));
        let by_constants = [bounds.end, bounds.mask] == [Some(Tested::Constants); 2];
        Bounds {
            joined: bounds.joined || by_constants && planted!("bounds-joined-whatever-the-mask-compares"),
            ..bounds
        }
    }

    /// Whether a role has computed the tiles of the plan, each at its statement, and no others, and has carried out its
    /// accesses. A producer does nothing of that.
    pub fn verify(&self, done: &CarriedOut, is_producer: bool) -> Result<(), String> {
        let none = Tiles::default();
        let (planned, nothing) = (if is_producer { &none } else { self }, BTreeSet::new());
        for s in planned.computed.keys().chain(done.computed.keys()) {
            let [planned, computed] = [&planned.computed, &done.computed].map(|of| of.get(s).unwrap_or(&nothing));
            if let Some((v, l)) = computed.difference(planned).next() {
                return Err(format!("{s:?} computes {v:?} in {l:?}, which is not planned"));
            }
            if let Some((v, l)) = planned.difference(computed).next() {
                return Err(format!("{s:?} does not compute {v:?} in {l:?}, which is planned"));
            }
        }
        if let Some(access) = planned.bounds.keys().find(|a| !done.bounds.contains(a)) {
            return Err(format!("{access} is planned, and not made"));
        }
        if let Some(v) = planned.returned.keys().find(|v| !done.returned.contains(v)) {
            return Err(format!("the old values of {v:?} do not reach all threads, which is planned"));
        }
        Ok(())
    }

    /// A mask that consists of comparisons.
    pub fn mask(&self, v: Value, l: LayoutId) -> &Mask {
        self.masks[&(v, l)].as_ref().unwrap_or_else(|| panic!("{v:?} does not consist of comparisons in {l:?}"))
    }

    /// The index tiles and masks that a statement computes in a layout, by form.
    fn by_form(&self, computed: &BTreeSet<InLayout>) -> BTreeMap<(LayoutId, &'static str), Vec<Value>> {
        let mut out: BTreeMap<_, Vec<Value>> = BTreeMap::new();
        for &(v, l) in computed {
            let form = match self.forms[&(v, l)] {
                // Most operations are computed so where the kernel defines their results.
                Form::Elementwise { in_pairs: false } if self.defined.contains(&(v, l)) => continue,
                Form::IndexSum => "as sums",
                Form::Comparison { .. } => "as comparisons of constants",
                Form::Range { .. } => "as ranges",
                Form::OfSource(_) => "by renaming registers",
                Form::Elementwise { in_pairs: false } => "by elements",
                Form::Elementwise { in_pairs: true } => "in pairs",
                Form::Branch => "by a branch",
                Form::Scalar(_) | Form::Buffer { .. } | Form::Converted { .. } => continue,
            };
            out.entry((l, form)).or_default().push(v);
        }
        out
    }
}

impl fmt::Display for Tiles {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut named = BTreeSet::new();
        let mut lines = vec![];
        for (s, computed) in &self.computed {
            for ((l, form), values) in self.by_form(computed) {
                named.insert(l);
                lines.push(format!("at {s:?} in {l:?} {form}: {values:?}"));
            }
            for &(v, l) in computed {
                match &self.forms[&(v, l)] {
                    Form::Buffer { vec } => {
                        let loads = counted(*vec, "element");
                        lines.push(format!("at {s:?}: {v:?} from its buffer to {l:?}, loads of {loads}"));
                    }
                    Form::Converted { from, by } => {
                        named.insert(*from);
                        lines.push(format!("at {s:?}: {v:?} from {from:?} to {l:?}, {by}"));
                    }
                    _ => continue,
                }
                named.insert(l);
            }
        }
        for (matrix, StoredOperand { layout, vec }) in &self.written {
            named.insert(*layout);
            lines.push(format!("matrix {matrix} is stored from {layout:?}, {} at once", counted(*vec, "element")));
        }
        for (&(s, v), form) in &self.pieces {
            let form = match form {
                PieceForm::Whole => continue,
                PieceForm::Buffer => "from the buffer of the store",
                PieceForm::Load => "loaded",
                PieceForm::Elementwise { in_pairs: false } => "by elements",
                PieceForm::Elementwise { in_pairs: true } => "in pairs",
            };
            lines.push(format!("store {s:?} takes pieces of {v:?} {form}"));
        }
        for (id, bounds) in self.bounds.iter().filter(|(_, b)| b.end.or(b.mask).is_some()) {
            lines.push(format!("{id}: {bounds}"));
        }
        for (v, bytes) in &self.returned {
            lines.push(format!("old values of {v:?} through {bytes} bytes of shared memory"));
        }
        named.iter().try_for_each(|&l| writeln!(f, "{l:?}: {:?}", self.layouts[l]))?;
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tile is computed at the statements of the plan: at no other one, and at all of them.
    #[test]
    fn other_tiles_than_the_plan_has_are_reported() {
        let mut tiles = Tiles::default();
        let l = tiles.layouts.add(&Layout::blocked(&[32], &[0], 1, 1));
        let of = |stmts: &[u32]| -> BTreeMap<StmtId, BTreeSet<InLayout>> {
            stmts.iter().map(|&s| (StmtId(s), BTreeSet::from([(Value(7), l)]))).collect()
        };
        tiles.computed = of(&[1, 2]);
        let done = |stmts: &[u32]| CarriedOut { computed: of(stmts), ..CarriedOut::default() };
        let said = |stmts: &[u32], is_producer: bool| tiles.verify(&done(stmts), is_producer).err();
        assert_eq!(said(&[1, 2], false), None);
        assert_eq!(said(&[1], false).as_deref(), Some("s2 does not compute v7 in L0, which is planned"));
        assert_eq!(said(&[1, 2, 3], false).as_deref(), Some("s3 computes v7 in L0, which is not planned"));
        assert_eq!(said(&[], true), None);
        assert_eq!(said(&[1], true).as_deref(), Some("s1 computes v7 in L0, which is not planned"));
    }

    /// A test of bounds that is left out is an access out of bounds, and an exchange that is left out a wrong value.
    #[test]
    fn accesses_and_exchanges_that_are_left_out_are_reported() {
        let mut tiles = Tiles::default();
        tiles
            .bounds
            .insert(AccessId::Value(Value(3)), Bounds { end: Some(Tested::Elements), mask: None, joined: false });
        tiles.returned.insert(Value(4), 8);
        let mut done = CarriedOut::default();
        assert_eq!(tiles.verify(&done, true), Ok(()));
        assert!(tiles.verify(&done, false).is_err_and(|e| e.ends_with("is planned, and not made")));
        done.bounds.insert(AccessId::Value(Value(3)));
        assert!(tiles.verify(&done, false).is_err_and(|e| e.starts_with("the old values of v4")));
        done.returned.insert(Value(4));
        assert_eq!(tiles.verify(&done, false), Ok(()));
    }
}
