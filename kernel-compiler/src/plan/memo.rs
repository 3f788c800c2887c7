//! Facts about tiles in layouts that are found when they are first asked for.

use crate::ir::Value;
use crate::layout::table::{InLayout, LayoutId};
use std::collections::BTreeMap;
use std::ops::Index;

/// The facts about tiles in layouts that are known so far.
#[derive(Clone, Debug)]
pub struct Memo<T>(BTreeMap<InLayout, T>);

impl<T> Memo<T> {
    /// The entry of a tile in the table that `of` finds in `owner`. The first time, `make` makes it, and may ask the
    /// owner for the entries of other tiles.
    pub fn entry<C>(
        owner: &mut C,
        of: fn(&mut C) -> &mut Memo<T>,
        (v, l): InLayout,
        make: fn(&mut C, Value, LayoutId) -> T,
    ) -> &T {
        if !of(owner).0.contains_key(&(v, l)) {
            let made = make(owner, v, l);
            of(owner).0.insert((v, l), made);
        }
        &of(owner).0[&(v, l)]
    }

    /// An entry, unless there is one.
    pub fn or_insert(&mut self, tile: InLayout, entry: T) -> &T {
        self.0.entry(tile).or_insert(entry)
    }

    pub fn get(&self, tile: InLayout) -> Option<&T> {
        self.0.get(&tile)
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo(BTreeMap::new())
    }
}

impl<T> Index<&InLayout> for Memo<T> {
    type Output = T;

    fn index(&self, tile: &InLayout) -> &T {
        &self.0[tile]
    }
}
