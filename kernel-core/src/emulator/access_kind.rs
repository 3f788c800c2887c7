//! Kinds of accesses to memory.

/// The kind of an access. Atomics do not race with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    Read,
    Write,
    /// Reads and writes in one.
    Atomic,
    AtomicLoad,
    AtomicStore,
}

impl AccessKind {
    pub fn reads(self) -> bool {
        !matches!(self, AccessKind::Write | AccessKind::AtomicStore)
    }

    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::AtomicLoad)
    }

    pub fn is_atomic(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::Write)
    }
}
