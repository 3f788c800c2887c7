//! The atomics at one word of memory, which later loads and stores must be ordered after.
//!
//! Relaxed atomics order nothing, so that the last atomic stands for no other one. The log keeps atomics of each
//! program. An atomic leaves the log where a later one is ordered after it: a load that comes after the later one comes
//! after both.

use smallvec::SmallVec;

use super::epoch::Epoch;

/// The most atomics of one kind that a log keeps. Beyond it those of the oldest programs are forgotten: a load that is
/// ordered with none of the others still finds a race.
const MAX_KEPT: usize = 128;

/// In the order of programs. Of each program there are two at most, of different warps if possible.
type List = SmallVec<[Epoch; 2]>;

#[derive(Clone, Default)]
pub struct Atomics {
    writes: List,
    loads: List,
    /// The last atomic that was found to be ordered after the word's last write that is no atomic.
    pub after_write: Epoch,
    /// The last load, since the last atomic that writes, that was found to be ordered after all that write.
    after_writes: Epoch,
}

impl Atomics {
    /// An atomic that writes, the last one that is kept.
    pub fn written(&self) -> Option<Epoch> {
        self.writes.last().copied()
    }

    pub fn writes(&self) -> impl Iterator<Item = Epoch> {
        self.writes.iter().copied()
    }

    /// Those that only read.
    pub fn loads(&self) -> impl Iterator<Item = Epoch> {
        self.loads.iter().copied()
    }

    /// Of the atomics that write, one that an access `now`, which is no atomic, is not ordered after.
    pub fn unordered_write(
        &mut self,
        now: Epoch,
        ordered: impl Fn(Epoch) -> bool,
        by_barriers: impl Fn(Epoch) -> bool,
    ) -> Option<Epoch> {
        if !by_barriers(self.after_writes) {
            let unordered = self.writes().find(|&s| !ordered(s));
            if unordered.is_some() {
                return unordered;
            }
        }
        self.after_writes = now;
        None
    }

    /// Earlier programs used this memory for something else.
    pub fn forget_before(&mut self, since: u64) {
        for list in [&mut self.writes, &mut self.loads] {
            if list.last().is_some_and(|s| s.time() < since) {
                list.clear();
            }
        }
    }

    /// Adds an atomic of the current program by `noted`, which takes two accesses and gives the two that stay.
    pub fn add(&mut self, writes: bool, current: impl Fn(Epoch) -> bool, noted: impl Fn([Epoch; 2]) -> [Epoch; 2]) {
        let list = if writes { &mut self.writes } else { &mut self.loads };
        let mut pair = [Epoch::NEVER; 2];
        for place in pair.iter_mut().rev() {
            if list.last().is_some_and(|&s| current(s)) {
                *place = list.pop().unwrap_or_default();
            }
        }
        list.extend(noted(pair).into_iter().filter(|&s| s != Epoch::NEVER));
        if list.len() > MAX_KEPT {
            list.drain(..MAX_KEPT / 2);
        }
        if writes {
            self.after_writes = Epoch::NEVER;
        }
    }

    /// An atomic that has been added last, and acquires, is ordered after those of some other programs.
    pub fn forget_ordered(&mut self, current: impl Fn(Epoch) -> bool, ordered: impl Fn(Epoch) -> bool) {
        let own = self.writes.iter().rev().take_while(|&&s| current(s)).count();
        let others = self.writes.len() - own;
        let ordered = self.writes[..others].iter().rev().take_while(|&&s| ordered(s)).count();
        self.writes.drain(others - ordered..others);
    }
}

/// Two accesses that are not ordered with each other, and a third one, `now`, of the current program: the two to keep.
/// Those of `older` are ordered before it.
#[inline]
pub fn noted(
    [a, b]: [Epoch; 2],
    now: Epoch,
    older: impl Fn(Epoch) -> bool,
    current: impl Fn(Epoch) -> bool,
) -> [Epoch; 2] {
    match (older(a), older(b)) {
        (true, true) => [now, Epoch::NEVER],
        (true, false) => [now, b],
        (false, true) => [a, now],
        // Keep two programs, else two warps, else two threads.
        (false, false) if current(a) && current(b) && a.warp() == b.warp() => [a, now],
        (false, false) if !current(a) && !current(b) => [b, now],
        (false, false) => [a, b],
    }
}
