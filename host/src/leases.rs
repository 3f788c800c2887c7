//! Which scratch memory of a context is leased, and by which stream.

use std::any::Any;
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

/// The stream that leases memory, as this file sees it.
pub(crate) type Owner = Weak<dyn Any + Send + Sync>;

#[derive(Default)]
pub(crate) struct Leases {
    /// How many streams have ever leased, and how many leases are of captures. A launch on the only stream that leases
    /// has nothing to look for.
    lenders: AtomicUsize,
    all: RwLock<Vec<Lease>>,
}

pub(crate) struct Lease {
    pub addresses: Range<u64>,
    /// Alive as long as the lease.
    pub owner: Owner,
    /// Whose graph allocates the memory.
    pub capture: Option<u64>,
    /// Whether the owner waits for all launches on other streams.
    pub ordered: bool,
}

impl Leases {
    /// `leased` says whether the owner has leased before.
    pub(crate) fn begin(&self, addresses: Range<u64>, owner: Owner, leased: &AtomicBool, capture: Option<u64>) {
        let mut all = self.write();
        // Under the lock: a stream counts once.
        if capture.is_some() || !leased.load(Acquire) && !leased.swap(true, AcqRel) {
            self.lenders.fetch_add(1, AcqRel);
        }
        all.push(Lease { addresses, owner, capture, ordered: true });
    }

    /// Whether the owner waits for all that used the memory.
    pub(crate) fn end(&self, start: u64) -> bool {
        let mut all = self.write();
        let Some(i) = all.iter().position(|l| l.addresses.start == start) else { return true };
        let lease = all.swap_remove(i);
        if lease.capture.is_some() {
            self.lenders.fetch_sub(1, AcqRel);
        }
        lease.ordered
    }

    /// A stream is dropped. `leased` says whether it has leased.
    pub(crate) fn leave(&self, leased: &AtomicBool) {
        if leased.load(Acquire) {
            self.lenders.fetch_sub(1, AcqRel);
        }
    }

    /// How many streams have ever leased, and how many leases are of captures.
    #[inline]
    pub(crate) fn lenders(&self) -> usize {
        self.lenders.load(Acquire)
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Vec<Lease>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Vec<Lease>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }
}
