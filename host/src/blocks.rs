//! Blocks of scratch memory that a stream keeps, leased and free.
//!
//! `tests/protocols` compiles this file with loom's primitives in the place of those of `std`, and runs every
//! interleaving.

use crate::memory::Memory;
use crate::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

pub(crate) struct Blocks(Mutex<Vec<Block>>);

pub(crate) struct Block {
    pub ptr: u64,
    pub bytes: u64,
    pub zeroed: bool,
    pub leased: bool,
    /// Whether its contents mean anything in this lease; the emulated SM reports reads of what does not.
    pub defined: bool,
    /// Host memory is owned here; device memory is freed by the stream.
    pub host: Option<Memory>,
}

/// Free blocks beyond these are given back.
const MAX_FREE_BYTES: u64 = 256 << 20;
const MAX_FREE_BLOCKS: usize = 32;

impl Blocks {
    pub(crate) fn new() -> Blocks {
        Blocks(Mutex::new(vec![]))
    }

    pub(crate) fn add(&self, block: Block) {
        self.lock().push(block);
    }

    /// Leases the smallest free block that is large enough and not wasteful.
    pub(crate) fn reuse(&self, bytes: u64, zeroed: bool) -> Option<u64> {
        let mut all = self.lock();
        let fits =
            |b: &&mut Block| !b.leased && b.zeroed == zeroed && b.bytes >= bytes && b.bytes / 4 <= bytes.max(64 << 10);
        let block = all.iter_mut().filter(fits).min_by_key(|b| b.bytes)?;
        block.leased = true;
        block.defined = zeroed;
        Some(block.ptr)
    }

    /// Makes room for a block of `coming` bytes among those that are kept. Gives `free` the addresses of others.
    pub(crate) fn trim(&self, coming: u64, mut free: impl FnMut(u64)) {
        let mut all = self.lock();
        let mut kept: u64 = all.iter().map(|b| b.bytes).fold(coming, u64::saturating_add);
        while kept > MAX_FREE_BYTES || all.len() >= MAX_FREE_BLOCKS {
            let Some(i) = all.iter().position(|b| !b.leased) else { return };
            let block = all.swap_remove(i);
            kept = kept.saturating_sub(block.bytes);
            free(block.ptr);
        }
    }

    /// A lease ends, and the block is kept. What was to be zero may not be where `failed` says that launches on the
    /// host have failed since.
    pub(crate) fn give_back(&self, ptr: u64, failed: bool) {
        if let Some(b) = self.lock().iter_mut().find(|b| b.ptr == ptr) {
            if failed && b.zeroed && b.host.is_some() {
                // SAFETY: the block is owned here, its lease ends, and launches on the host end before they return.
                unsafe { core::ptr::write_bytes(b.ptr as *mut u8, 0, b.bytes as usize) };
            }
            b.leased = false;
        }
    }

    /// The bytes of a block that is to be zero when its lease ends.
    pub(crate) fn zeros_of(&self, ptr: u64) -> Option<u64> {
        self.lock().iter().find(|b| b.ptr == ptr && b.zeroed).map(|b| b.bytes)
    }

    /// A lease ends, and the caller frees the block.
    pub(crate) fn give_up(&self, ptr: u64) {
        self.lock().retain(|b| b.ptr != ptr);
    }

    /// Whether an address lies in leased scratch.
    pub(crate) fn contains(&self, addr: u64) -> bool {
        self.lock().iter().any(|b| b.leased && b.ptr <= addr && addr < b.ptr + b.bytes)
    }

    /// Whether an address lies in leased scratch that nothing has written.
    #[cfg(feature = "emulator")]
    pub(crate) fn is_undefined(&self, addr: u64) -> bool {
        self.lock().iter().any(|b| b.leased && !b.defined && b.ptr <= addr && addr < b.ptr + b.bytes)
    }

    /// A launch has written to scratch at this address, if it is scratch.
    #[cfg(feature = "emulator")]
    pub(crate) fn define(&self, addr: u64) {
        self.lock().iter_mut().filter(|b| b.ptr <= addr && addr < b.ptr + b.bytes).for_each(|b| b.defined = true);
    }

    /// The addresses of all blocks, which the caller frees.
    pub(crate) fn take(&self) -> Vec<u64> {
        self.lock().drain(..).map(|b| b.ptr).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Block>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
