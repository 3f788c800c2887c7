//! The atomics at one word of memory, which later loads and stores must be ordered after.
//!
//! Relaxed atomics order nothing, so that the last atomic stands for no other one. An atomic leaves the log where a
//! later one is ordered after it: a load that comes after the later one comes after both.

use super::epoch::Epoch;
use super::unordered::Unordered;

#[derive(Clone, Default)]
pub struct Atomics {
    pub writes: Unordered,
    /// The atomics that only read.
    pub loads: Unordered,
    /// The last atomic that was found to be ordered after the word's last write that is no atomic.
    pub after_write: Epoch,
    /// The last load, since the last atomic that writes, that was found to be ordered after all that write.
    pub after_writes: Epoch,
    /// Bytes of the last one; 0 if there is none.
    pub bytes: u8,
}

impl Atomics {
    /// Of the atomics that write, one that an access `now`, which is no atomic, is not ordered after.
    pub fn unordered_write(
        &mut self,
        now: Epoch,
        ordered: impl Fn(Epoch) -> bool,
        by_barriers: impl Fn(Epoch) -> bool,
    ) -> Option<Epoch> {
        if !by_barriers(self.after_writes) {
            let unordered = self.writes.iter().find(|&s| !ordered(s));
            if unordered.is_some() {
                return unordered;
            }
        }
        self.after_writes = now;
        None
    }

    /// Earlier programs used this memory for something else.
    pub fn forget_before(&mut self, since: u64) {
        if self.writes.forget_before(since) | self.loads.forget_before(since) {
            self.bytes = 0;
        }
    }

    pub fn clear(&mut self) {
        self.writes.clear();
        self.loads.clear();
        (self.after_write, self.after_writes, self.bytes) = (Epoch::NEVER, Epoch::NEVER, 0);
    }
}
