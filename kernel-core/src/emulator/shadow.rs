//! The last accesses to each piece of memory. They reveal unordered accesses, and reads of unwritten memory.

use super::atomics::{Atomics, noted};
use super::epoch::Epoch;
use super::order::Order;
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

/// The last write of a thread or an agent that is no atomic, and such reads since: of those not ordered before one
/// another two are kept, of different programs if possible, else of different warps, so that whoever writes next
/// differs from one of them.
///
/// Atomics take the place of neither. An atomic may follow a store of its own thread while an atomic of another thread
/// races with that store.
#[derive(Clone, Copy, Default)]
struct Cell {
    write: Epoch,
    reads: [Epoch; 2],
    /// The atomics since the write, as a number of [`Logs`]; 0 if there are none.
    atomics: u32,
}

/// The atomics at the words that have any.
struct Logs {
    /// The first one is nobody's, and stays empty.
    logs: Vec<Atomics>,
    free: Vec<u32>,
}

impl Logs {
    /// Those of a cell, which gets some if it has none.
    fn of(&mut self, number: &mut u32) -> &mut Atomics {
        if *number == 0 {
            *number = self.add(Atomics::default());
        }
        &mut self.logs[*number as usize]
    }

    fn add(&mut self, atomics: Atomics) -> u32 {
        if let Some(number) = self.free.pop() {
            self.logs[number as usize] = atomics;
            return number;
        }
        self.logs.push(atomics);
        self.logs.len() as u32 - 1
    }

    fn copy(&mut self, number: u32) -> u32 {
        if number == 0 { 0 } else { self.add(self.logs[number as usize].clone()) }
    }

    fn remove(&mut self, number: u32) {
        if number != 0 {
            self.logs[number as usize] = Atomics::default();
            self.free.push(number);
        }
    }
}

/// Cells for a stretch of memory, one for each word of 4 bytes, and four for words that smaller accesses have touched.
pub struct Shadow {
    words: Vec<Cell>,
    bytes: Vec<Cell>,
    split: Vec<u64>,
    logs: Logs,
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
    /// An atomic that acquires, which has acquired already.
    pub acquires: bool,
    /// Forgets all accesses: another program used the shared memory before.
    pub since: u64,
    /// Oldest time at which a write makes memory initialized; `None` if it always is.
    pub written_since: Option<u64>,
}

impl Shadow {
    pub fn new(bytes: usize, races: bool) -> Self {
        let words = bytes.div_ceil(4);
        Shadow {
            words: vec![Cell::default(); words],
            bytes: Vec::new(),
            split: vec![0; words.div_ceil(64)],
            logs: Logs { logs: vec![Atomics::default()], free: Vec::new() },
            races,
        }
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
                self.words[word].access(check, self.races, &mut self.logs, &mut tolerate)?;
            } else {
                for byte in (word * 4).max(at)..(word * 4 + 4).min(at + bytes) {
                    self.bytes[byte].access(check, self.races, &mut self.logs, &mut tolerate)?;
                }
            }
        }
        Ok(())
    }

    /// The last write of a byte.
    pub fn written(&self, at: usize) -> Epoch {
        let split = self.split[at / 4 / 64] >> (at / 4 % 64) & 1 == 1;
        let cell = if split { &self.bytes[at] } else { &self.words[at / 4] };
        cell.written(&self.logs)
    }

    fn split_word(&mut self, word: usize) {
        if self.split[word / 64] >> (word % 64) & 1 == 0 {
            if self.bytes.is_empty() {
                self.bytes = vec![Cell::default(); self.words.len() * 4];
            }
            let whole = std::mem::take(&mut self.words[word]);
            for cell in &mut self.bytes[word * 4..word * 4 + 4] {
                *cell = Cell { atomics: self.logs.copy(whole.atomics), ..whole };
            }
            self.logs.remove(whole.atomics);
            self.split[word / 64] |= 1 << (word % 64);
        }
    }
}

impl Cell {
    /// The last write, also by an atomic.
    fn written(&self, logs: &Logs) -> Epoch {
        logs.logs[self.atomics as usize].written().unwrap_or(self.write)
    }

    #[inline]
    fn access(
        &mut self,
        c: &Check<'_>,
        races: bool,
        logs: &mut Logs,
        tolerate: &mut impl FnMut() -> bool,
    ) -> Result<(), RaceKind> {
        if c.kind.reads()
            && let Some(since) = c.written_since
            && self.written(logs).time() < since
        {
            return Err(RaceKind::Uninitialized);
        }
        if !races {
            if c.kind.writes() {
                self.write = c.now;
            }
            return Ok(());
        }
        if c.kind.is_atomic() {
            return self.atomic(c, logs);
        }
        let ordered = |s: Epoch| s.time() < c.since || c.by.after(c.order, s);
        let unfenced = |s: Epoch| c.proxy && s.time() >= c.since && !c.by.after_fence(c.order, s);
        let unordered = match ordered(self.write) {
            true if self.atomics == 0 => None,
            true => logs.of(&mut self.atomics).unordered_write(c.now, ordered, |s| c.by.after_barriers(c.order, s)),
            false => Some(self.write),
        };
        if let Some(earlier) = unordered
            && (c.kind != AccessKind::Write || earlier.is_async() || !tolerate())
        {
            return Err(RaceKind::Unordered { earlier, wrote: true });
        }
        if c.proxy {
            let mut writes = [self.write].into_iter().chain(logs.logs[self.atomics as usize].writes());
            if let Some(earlier) = writes.find(|&s| unfenced(s)) {
                return Err(RaceKind::Unfenced { earlier, wrote: true });
            }
        }
        if !c.kind.writes() {
            self.reads = c.noted(self.reads);
            return Ok(());
        }
        for earlier in self.reads.into_iter().chain(logs.logs[self.atomics as usize].loads()) {
            if !ordered(earlier) {
                return Err(RaceKind::Unordered { earlier, wrote: false });
            }
            if unfenced(earlier) {
                return Err(RaceKind::Unfenced { earlier, wrote: false });
            }
        }
        logs.remove(self.atomics);
        *self = Cell { write: c.now, ..Cell::default() };
        Ok(())
    }

    /// Atomics race with other accesses alone.
    fn atomic(&mut self, c: &Check<'_>, logs: &mut Logs) -> Result<(), RaceKind> {
        let ordered = |s: Epoch| s.time() < c.since || c.by.after(c.order, s);
        let by_barriers = |s: Epoch| c.by.after_barriers(c.order, s);
        let log = logs.of(&mut self.atomics);
        if !by_barriers(log.after_write) && !ordered(self.write) {
            return Err(RaceKind::Unordered { earlier: self.write, wrote: true });
        }
        if c.kind.writes()
            && let Some(&earlier) = self.reads.iter().find(|&&s| !ordered(s))
        {
            return Err(RaceKind::Unordered { earlier, wrote: false });
        }
        log.after_write = c.now;
        log.forget_before(c.since);
        let current = |s: Epoch| c.order.in_current_program(s);
        log.add(c.kind.writes(), current, |pair| c.noted(pair));
        if c.acquires {
            log.forget_ordered(current, ordered);
        }
        Ok(())
    }
}

impl Check<'_> {
    /// Two accesses of one kind that are not ordered with each other, and this one. Ordering through atomics is not
    /// asked for here: at worst an access is kept that need not be.
    #[inline]
    fn noted(&self, pair: [Epoch; 2]) -> [Epoch; 2] {
        let current = |s: Epoch| self.order.in_current_program(s);
        // An agent ends its reads in order.
        let same_agent = |s: Epoch| s.thread() == self.now.thread() && current(s);
        let older = |s: Epoch| s.time() < self.since || same_agent(s) || self.by.after_barriers(self.order, s);
        noted(pair, self.now, older, current)
    }
}
