//! Which scratch memory of a context is leased, and by which stream.
//!
//! `tests/protocols` compiles this file with loom's primitives in the place of those of `std`, and runs every
//! interleaving.

use crate::sync::{AtomicBool, AtomicUsize, RwLock, RwLockWriteGuard};
use std::any::Any;
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{PoisonError, Weak};

/// The stream that leases memory, as this file sees it.
pub(crate) type Owner = Weak<dyn Any + Send + Sync>;

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
    used: Used,
}

/// How the memory of a lease was used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Used {
    /// The owner waits for all launches on other streams.
    InOrder,
    /// It does not wait for a launch.
    InNoOrder,
    /// A launch is in a graph, which may be replayed at any time.
    ByGraph,
}

impl Leases {
    pub(crate) fn new() -> Leases {
        Leases { lenders: AtomicUsize::new(0), all: RwLock::new(vec![]) }
    }

    /// `leased` says whether the owner has leased before.
    pub(crate) fn begin(&self, addresses: Range<u64>, owner: Owner, leased: &AtomicBool, capture: Option<u64>) {
        let mut all = self.write();
        // Under the lock: a stream counts once.
        let is_first = capture.is_none() && !leased.load(Acquire);
        if is_first || capture.is_some() {
            self.lenders.fetch_add(1, AcqRel);
        }
        if is_first {
            // After it counts: who reads this reads its count, too.
            leased.store(true, Release);
        }
        all.push(Lease { addresses, owner, capture, used: Used::InOrder });
    }

    pub(crate) fn end(&self, start: u64) -> Used {
        let mut all = self.write();
        let Some(i) = all.iter().position(|l| l.addresses.start == start) else { return Used::InOrder };
        let lease = all.swap_remove(i);
        if lease.capture.is_some() {
            self.lenders.fetch_sub(1, AcqRel);
        }
        lease.used
    }

    /// A stream is dropped. `leased` says whether it has leased.
    pub(crate) fn leave(&self, leased: &AtomicBool) {
        if leased.load(Acquire) {
            self.lenders.fetch_sub(1, AcqRel);
        }
    }

    /// Whether memory is leased by no other stream than this one, and by no capture. `leased` says whether this one has
    /// leased.
    #[inline]
    pub(crate) fn are_of_one(&self, leased: &AtomicBool) -> bool {
        // The memory was leased before, and stays leased: its stream counts in the second number, and in the first only
        // if it is this one.
        let own = usize::from(leased.load(Acquire));
        self.lenders.load(Acquire) == own
    }

    /// Whether any stream leases, or has leased.
    #[inline]
    pub(crate) fn have_lenders(&self) -> bool {
        self.lenders.load(Acquire) > 0
    }

    pub(crate) fn any(&self, is_it: impl Fn(&Lease) -> bool) -> bool {
        self.all.read().unwrap_or_else(PoisonError::into_inner).iter().any(is_it)
    }

    /// The results of `wanted` for each lease.
    pub(crate) fn find<T>(&self, wanted: impl FnMut(&Lease) -> Option<T>) -> Vec<T> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).iter().filter_map(wanted).collect()
    }

    /// The owner of the lease that begins here does not wait for a launch that uses it.
    pub(crate) fn lose_order(&self, start: u64) {
        let lost = |l: &mut Lease| l.used = l.used.max(Used::InNoOrder);
        self.write().iter_mut().filter(|l| l.addresses.start == start).for_each(lost);
    }

    /// A graph uses the memory at these addresses.
    #[cold]
    pub(crate) fn captured(&self, addresses: impl Iterator<Item = u64> + Clone) {
        let is_used = |l: &&mut Lease| l.capture.is_none() && addresses.clone().any(|a| l.addresses.contains(&a));
        self.write().iter_mut().filter(is_used).for_each(|l| l.used = Used::ByGraph);
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Lease>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }
}
