//! The layouts of a program by number.

use super::linear::Layout;
use crate::ir::Value;
use std::collections::HashMap;
use std::fmt;
use std::ops::Index;

/// The number of a layout in a [`LayoutTable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayoutId(u32);

/// A tile in a layout.
pub type InLayout = (Value, LayoutId);

impl fmt::Debug for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

/// Layouts with numbers, in the order in which they were added.
#[derive(Debug, Default)]
pub struct LayoutTable {
    all: Vec<Layout>,
    ids: HashMap<Layout, LayoutId>,
}

impl LayoutTable {
    /// The number of a layout, which is added if it is not there.
    pub fn add(&mut self, layout: &Layout) -> LayoutId {
        if let Some(&id) = self.ids.get(layout) {
            return id;
        }
        let id = LayoutId(self.all.len() as u32);
        self.all.push(layout.clone());
        self.ids.insert(layout.clone(), id);
        id
    }

    /// The number of a layout that was added.
    pub fn get(&self, layout: &Layout) -> Option<LayoutId> {
        self.ids.get(layout).copied()
    }
}

impl Index<LayoutId> for LayoutTable {
    type Output = Layout;

    fn index(&self, id: LayoutId) -> &Layout {
        &self.all[id.0 as usize]
    }
}
