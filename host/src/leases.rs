//! Which scratch memory of a context is leased. A launch on another stream than the scratch's own is ordered with it: the
//! block's next lease is of that stream alone.

use crate::error::{Error, Result};
use crate::stream::{CudaStream, Stream, StreamInner};
use kernel_core::BufferUse;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

#[derive(Default)]
pub(crate) struct Leases {
    /// How many streams have ever leased, and how many leases are of captures. A launch on the only stream that leases has
    /// nothing to look for.
    lenders: AtomicUsize,
    all: RwLock<Vec<Lease>>,
}

struct Lease {
    addresses: Range<u64>,
    /// Alive as long as the lease.
    owner: Weak<StreamInner>,
    /// Whose graph allocates the memory.
    capture: Option<u64>,
    /// Whether the owner waits for all launches on other streams.
    ordered: bool,
}

impl Leases {
    pub(crate) fn begin(&self, addresses: Range<u64>, owner: &Stream, capture: Option<u64>) {
        let first = owner.as_cuda().is_some_and(|s| !s.leased.load(Acquire));
        let mut all = self.write();
        // Under the lock: a stream counts once.
        if capture.is_some() || first && owner.as_cuda().is_some_and(|s| !s.leased.swap(true, AcqRel)) {
            self.lenders.fetch_add(1, AcqRel);
        }
        all.push(Lease { addresses, owner: Arc::downgrade(&owner.0), capture, ordered: true });
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

    /// The stream is dropped.
    pub(crate) fn leave(&self, stream: &CudaStream) {
        if stream.leased.load(Acquire) {
            self.lenders.fetch_sub(1, AcqRel);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Lease>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Lease>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Scratch of other streams that work on this one uses. The owners wait for that work when this is dropped.
pub(crate) struct Borrowed<'a> {
    stream: &'a Stream,
    /// The owners, and where their scratch starts.
    owners: Vec<(Stream, u64)>,
}

impl Stream {
    /// To be called before work that uses these buffers. Errors: those of [`Stream::wait_for`]; [`Error::Unsupported`] for
    /// the scratch of a capture outside of it.
    #[inline]
    pub(crate) fn borrow_scratch(&self, buffers: &[BufferUse]) -> Result<Option<Borrowed<'_>>> {
        let Some(s) = self.as_cuda() else { return Ok(None) };
        // What is asked for was leased before, and stays leased: its stream counts in the second number, and in the first
        // only if it is this one.
        let own = usize::from(s.leased.load(Acquire));
        if s.cuda.leases.lenders.load(Acquire) == own { Ok(None) } else { self.borrow(s, buffers) }
    }

    #[cold]
    fn borrow(&self, s: &CudaStream, buffers: &[BufferUse]) -> Result<Option<Borrowed<'_>>> {
        let of = |l: &Lease| buffers.iter().any(|b| l.addresses.contains(&b.start));
        let other = |l: &Lease| l.capture.is_some() || !std::ptr::eq(l.owner.as_ptr(), Arc::as_ptr(&self.0));
        let all = s.cuda.leases.read();
        let used = all.iter().filter(|l| other(l) && of(l));
        let used: Vec<_> =
            used.filter_map(|l| Some((Stream(l.owner.upgrade()?), l.addresses.start, l.capture))).collect();
        // Streams wait without the lock.
        drop(all);
        let mut borrowed = Borrowed { stream: self, owners: Vec::new() };
        for (owner, start, capture) in used {
            let now = || owner.as_cuda().map_or(Ok(None), |o| s.cuda.asks_for_capture(o.raw.0));
            if capture.is_some() && now()? != capture {
                return Err(Error::Unsupported {
                    what: "using the scratch memory of a capture outside of it",
                    device: s.cuda.info.name.clone(),
                    instead: "lease scratch where it is used",
                });
            }
            if owner.as_raw() != self.as_raw() {
                self.wait_for(&owner)?;
                borrowed.owners.push((owner, start));
            }
        }
        Ok(Some(borrowed))
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        for (owner, start) in &self.owners {
            if let (Err(e), Some(s)) = (owner.wait_for(self.stream), owner.as_cuda()) {
                tracing::debug!(error = %e, "a block of scratch memory is not used again");
                let mut all = s.cuda.leases.write();
                all.iter_mut().filter(|l| l.addresses.start == *start).for_each(|l| l.ordered = false);
            }
        }
    }
}
