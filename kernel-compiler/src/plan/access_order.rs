//! Accesses of threads to arrays, as far as their order matters.

use crate::ir::{Array, StmtId};

/// The kind of an access. Two accesses of one kind need no order: the language gives stores to the same element none,
/// and updates are atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// A load, or an atomic load.
    Read,
    /// A store, or an atomic store.
    Write,
    /// An atomic that reads and writes.
    Update,
    /// A write of all elements, which comes before or after every other one.
    Clear,
}

/// An access of all threads to an array, for the placement of barriers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The array. Accesses to one array are ordered with each other.
    pub array: Array,
    /// The first of the arrays that may be the same memory. A store to one of them comes after earlier loads from the
    /// others; a load comes before every store to its element.
    pub memory: Array,
    /// The kind. Accesses of different kinds need an order.
    pub kind: AccessKind,
    /// The elements that each thread reaches; none where that is not known.
    pub elements: Option<Elements>,
    /// The statement of the kernel that makes it.
    pub at: StmtId,
    /// The line of the kernel that a barrier before it reports; 0 without sites.
    pub site: u32,
}

/// The elements that each thread reaches by an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Elements {
    /// The value that holds the indices of the elements.
    pub index: u32,
    /// The number of an assignment of threads to elements: the layout, which says the indices that each thread has, and
    /// the array's address.
    pub threads: u64,
    /// The value that excludes some of them, where indices may repeat.
    pub mask: Option<u32>,
}

impl Elements {
    /// Whether whichever thread reaches an element by one of two accesses also reaches it by the other one, so that
    /// they are in order by themselves. The accesses are in one iteration of the loops around them.
    ///
    /// Threads have the same indices under both. The language has no order for two stores of a program to one element,
    /// so that the indices that a store does not mask out are distinct. A load of other indices may reach the element
    /// of another thread.
    pub fn are_in_order(a: (AccessKind, Option<Elements>), b: (AccessKind, Option<Elements>)) -> bool {
        let ((of_a, Some(x)), (of_b, Some(y))) = (a, b) else { return false };
        let has_all = |stored: Elements, loaded: Elements| {
            stored.mask.is_none() || stored.mask == loaded.mask || planted!("load-of-other-lanes-without-barrier")
        };
        let masks = match (of_a, of_b) {
            (AccessKind::Read, _) => has_all(y, x),
            (_, AccessKind::Read) => has_all(x, y),
            _ => true,
        };
        (x.index, x.threads) == (y.index, y.threads) && masks
    }
}
