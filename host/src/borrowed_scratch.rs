//! Scratch memory of one stream in a launch on another. The launch is ordered with the scratch's own stream: the
//! block's next lease is of that stream alone.

use crate::error::{Error, Result};
use crate::leases::Lease;
use crate::stream::{CudaStream, Stream, StreamInner};
use std::sync::Arc;
use tilewright_core::BufferUse;

fn owner(l: &Lease) -> Option<Stream> {
    l.owner.upgrade()?.downcast::<StreamInner>().ok().map(Stream)
}

/// Scratch of other streams that work on this one uses. The owners wait for that work when this is dropped.
pub(crate) struct Borrowed<'a> {
    stream: &'a Stream,
    /// The owners, and where their scratch starts.
    owners: Vec<(Stream, u64)>,
}

impl Stream {
    /// To be called before work that uses these buffers. Errors: those of [`Stream::wait_for`]; [`Error::Unsupported`]
    /// for the scratch of a capture outside of it.
    #[inline]
    pub(crate) fn borrow_scratch(&self, buffers: &[BufferUse]) -> Result<Option<Borrowed<'_>>> {
        let Some(s) = self.as_cuda() else { return Ok(None) };
        if s.cuda.leases.are_of_one(&s.leased) { Ok(None) } else { self.borrow(s, buffers) }
    }

    #[cold]
    fn borrow(&self, s: &CudaStream, buffers: &[BufferUse]) -> Result<Option<Borrowed<'_>>> {
        let of = |l: &Lease| buffers.iter().any(|b| l.addresses.contains(&b.start));
        let other = |l: &Lease| l.capture.is_some() || !std::ptr::addr_eq(l.owner.as_ptr(), Arc::as_ptr(&self.0));
        // Streams wait without the lock.
        let used = s.cuda.leases.find(|l| {
            let is_used = other(l) && of(l);
            if is_used { Some((owner(l)?, l.addresses.start, l.capture)) } else { None }
        });
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
                s.cuda.leases.lose_order(*start);
            }
        }
    }
}
