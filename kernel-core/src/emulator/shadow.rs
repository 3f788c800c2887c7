//! The last accesses to each piece of memory. They reveal unordered accesses, and reads of unwritten memory.

use super::order::{Epoch, Order};
use super::vector_clock::Observer;

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

/// A conflict of an access with earlier ones.
#[derive(Clone, Copy, Debug)]
pub enum RaceKind {
    /// No order with an earlier access.
    Unordered {
        earlier: Epoch,
        wrote: bool,
    },
    /// The asynchronous proxy reads what a thread wrote, or writes where it read, and did not fence.
    Unfenced {
        earlier: Epoch,
        wrote: bool,
    },
    Uninitialized,
}

/// The last write, and reads since: of those not ordered before one another two are kept, of different programs if
/// possible, else of different warps, so that whoever writes next differs from one of them. Likewise of atomic loads.
#[derive(Clone, Copy, Default)]
struct Cell {
    write: Epoch,
    reads: [Epoch; 2],
    atomic_loads: [Epoch; 2],
}

/// Cells for a stretch of memory, one for each word of 4 bytes, and four for words that smaller accesses have touched.
pub struct Shadow {
    words: Vec<Cell>,
    bytes: Vec<Cell>,
    split: Vec<u64>,
    pub races: bool,
}

/// One access and the rules it is checked against.
pub struct Check<'a> {
    pub order: &'a Order,
    pub kind: AccessKind,
    pub now: Epoch,
    /// Who makes it; `now` may be of an agent.
    pub by: &'a Observer,
    /// By the asynchronous proxy: what threads stored and it reads or writes, or loaded and it writes, must be fenced.
    pub proxy: bool,
    /// Forgets all accesses: another program used the shared memory before.
    pub since: u64,
    /// Oldest time at which a write makes memory initialized; `None` if it always is.
    pub written_since: Option<u64>,
}

impl Shadow {
    pub fn new(bytes: usize, races: bool) -> Self {
        let words = bytes.div_ceil(4);
        Shadow { words: vec![Cell::default(); words], bytes: Vec::new(), split: vec![0; words.div_ceil(64)], races }
    }

    /// `at` is aligned to `bytes`. Of several mistakes the first is reported; a race between writes is left to the
    /// caller to judge by `tolerate`, since equal values do no harm.
    #[inline]
    pub fn access(
        &mut self,
        at: usize,
        bytes: usize,
        check: &Check<'_>,
        mut tolerate: impl FnMut() -> bool,
    ) -> Result<(), RaceKind> {
        if bytes < 4 {
            self.split_word(at / 4);
        }
        for word in at / 4..(at + bytes).div_ceil(4) {
            if self.split[word / 64] >> (word % 64) & 1 == 0 {
                self.words[word].access(check, self.races, &mut tolerate)?;
            } else {
                for byte in (word * 4).max(at)..(word * 4 + 4).min(at + bytes) {
                    self.bytes[byte].access(check, self.races, &mut tolerate)?;
                }
            }
        }
        Ok(())
    }

    /// The last write of a byte.
    pub fn written(&self, at: usize) -> Epoch {
        let split = self.split[at / 4 / 64] >> (at / 4 % 64) & 1 == 1;
        if split { self.bytes[at].write } else { self.words[at / 4].write }
    }

    fn split_word(&mut self, word: usize) {
        if self.split[word / 64] >> (word % 64) & 1 == 0 {
            if self.bytes.is_empty() {
                self.bytes = vec![Cell::default(); self.words.len() * 4];
            }
            self.bytes[word * 4..word * 4 + 4].fill(self.words[word]);
            self.split[word / 64] |= 1 << (word % 64);
        }
    }
}

impl Cell {
    #[inline]
    fn access(&mut self, c: &Check<'_>, races: bool, tolerate: &mut impl FnMut() -> bool) -> Result<(), RaceKind> {
        if c.kind.reads()
            && let Some(since) = c.written_since
            && self.write.time() < since
        {
            return Err(RaceKind::Uninitialized);
        }
        if !races {
            if c.kind.writes() {
                self.write = c.now;
            }
            return Ok(());
        }
        let ordered = |s: Epoch| s.time() < c.since || (c.kind.is_atomic() && s.is_atomic()) || c.by.after(c.order, s);
        let unfenced = |s: Epoch| c.proxy && s.time() >= c.since && !c.by.after_fence(c.order, s);
        let harmless = ordered(self.write) || (c.kind == AccessKind::Write && !self.write.is_async() && tolerate());
        if !harmless {
            return Err(RaceKind::Unordered { earlier: self.write, wrote: true });
        }
        if !c.kind.writes() {
            if unfenced(self.write) {
                return Err(RaceKind::Unfenced { earlier: self.write, wrote: true });
            }
            let reads = if c.kind.is_atomic() { &mut self.atomic_loads } else { &mut self.reads };
            *reads = noted(*reads, c);
            return Ok(());
        }
        if unfenced(self.write) {
            return Err(RaceKind::Unfenced { earlier: self.write, wrote: true });
        }
        for earlier in self.reads.into_iter().chain(self.atomic_loads) {
            if !ordered(earlier) {
                return Err(RaceKind::Unordered { earlier, wrote: false });
            }
            if unfenced(earlier) {
                return Err(RaceKind::Unfenced { earlier, wrote: false });
            }
        }
        *self = Cell { write: c.now, ..Cell::default() };
        Ok(())
    }
}

/// Two reads, one of which may give way to another. Ordering through atomics is not asked for here: at worst a read is
/// kept that need not be.
#[inline]
fn noted([a, b]: [Epoch; 2], c: &Check<'_>) -> [Epoch; 2] {
    let now = c.now;
    // An agent ends its reads in order.
    let same_agent = |s: Epoch| s.thread() == now.thread() && c.order.in_current_program(s);
    let older = |s: Epoch| s.time() < c.since || same_agent(s) || c.by.after_barriers(c.order, s);
    match (older(a), older(b)) {
        (true, true) => [now, Epoch::NEVER],
        (true, false) => [now, b],
        (false, true) => [a, now],
        (false, false) => {
            let current = |s: Epoch| c.order.in_current_program(s);
            // `now` is of the current program; keep two programs, else two warps, else two threads.
            if current(a) && current(b) && a.warp() == b.warp() {
                [a, now]
            } else if !current(a) && !current(b) {
                [b, now]
            } else {
                [a, b]
            }
        }
    }
}
