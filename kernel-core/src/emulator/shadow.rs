//! The last accesses to each piece of memory. They reveal unordered accesses, and reads of unwritten memory.

use super::access_kind::AccessKind;
use super::atomics::Atomics;
use super::epoch::Epoch;
use super::order::Order;
use super::unordered::{Programs, Unordered};
use super::vector_clock::Observer;

/// A conflict of an access with earlier ones.
#[derive(Clone, Copy, Debug)]
pub enum RaceKind {
    /// No order with an earlier access.
    Unordered {
        earlier: Epoch,
        wrote: bool,
    },
    /// The asynchronous proxy reads bytes that a thread wrote, or writes bytes that it read, without a fence.
    Unfenced {
        earlier: Epoch,
        wrote: bool,
    },
    Uninitialized,
}

/// The last write of a thread or an agent that is no atomic, and the reads since then that are not ordered before a
/// later one.
///
/// Atomics take the place of neither. An atomic may follow a store of its own thread while an atomic of another thread
/// races with that store.
#[derive(Clone, Copy, Default)]
struct Cell {
    write: Epoch,
    reads: [Epoch; 2],
    /// More reads, and the atomics since the write, as numbers in [`Logs`]; 0 if there are none.
    more_reads: u32,
    atomics: u32,
}

/// The logs that few words have.
#[derive(Default)]
struct Logs {
    reads: Pool<Unordered>,
    atomics: Pool<Atomics>,
}

/// Items by number. They keep their allocations when they are given back.
struct Pool<T> {
    /// The first one is nobody's, and stays empty.
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Default> Default for Pool<T> {
    fn default() -> Self {
        Pool { items: vec![T::default()], free: Vec::new() }
    }
}

impl<T: Default + Clone> Pool<T> {
    fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    /// The item of a cell, which gets one if it has none.
    fn of(&mut self, number: &mut u32) -> &mut T {
        if *number == 0 {
            *number = self.free.pop().unwrap_or_else(|| {
                self.items.push(T::default());
                self.items.len() as u32 - 1
            });
        }
        &mut self.items[*number as usize]
    }

    fn copy(&mut self, mut number: u32) -> u32 {
        if number != 0 {
            let item = self.get(number).clone();
            number = 0;
            *self.of(&mut number) = item;
        }
        number
    }

    fn give_back(&mut self, number: u32, clear: impl FnOnce(&mut T)) {
        if number != 0 {
            clear(&mut self.items[number as usize]);
            self.free.push(number);
        }
    }
}

impl Logs {
    fn copy(&mut self, cell: Cell) -> Cell {
        Cell { more_reads: self.reads.copy(cell.more_reads), atomics: self.atomics.copy(cell.atomics), ..cell }
    }

    fn give_back(&mut self, cell: Cell) {
        self.reads.give_back(cell.more_reads, Unordered::clear);
        self.atomics.give_back(cell.atomics, Atomics::clear);
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
    /// The threads that make the access; `now` may be the epoch of an agent.
    pub by: &'a Observer,
    /// Whether the asynchronous proxy makes it. Then stores of threads to these bytes must be fenced. In shared memory
    /// loads must be fenced too, before it writes.
    pub proxy: bool,
    /// The CTA of this shared memory. There are no fences of global memory.
    pub cta: Option<u32>,
    /// Bytes of an atomic: those of different sizes race with each other.
    pub bytes: u8,
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
            logs: Logs::default(),
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
                *cell = self.logs.copy(whole);
            }
            self.logs.give_back(whole);
            self.split[word / 64] |= 1 << (word % 64);
        }
    }
}

impl Cell {
    /// The last write, also by an atomic.
    #[inline]
    fn written(&self, logs: &Logs) -> Epoch {
        match self.atomics {
            0 => self.write,
            atomics => logs.atomics.get(atomics).writes.last().unwrap_or(self.write),
        }
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
        let unfenced = |s: Epoch| c.proxy && s.time() >= c.since && !c.by.after_fence(c.order, s, c.cta);
        let unordered = match ordered(self.write) {
            true if self.atomics == 0 => None,
            true => {
                let by_barriers = |s: Epoch| c.by.after_barriers(c.order, s);
                logs.atomics.of(&mut self.atomics).unordered_write(c.now, ordered, by_barriers)
            }
            false => Some(self.write),
        };
        if let Some(earlier) = unordered
            && (c.kind != AccessKind::Write || earlier.is_async() || !tolerate())
        {
            return Err(RaceKind::Unordered { earlier, wrote: true });
        }
        if c.proxy {
            let mut writes = [self.write].into_iter().chain(logs.atomics.get(self.atomics).writes.iter());
            if let Some(earlier) = writes.find(|&s| unfenced(s)) {
                return Err(RaceKind::Unfenced { earlier, wrote: true });
            }
        }
        if !c.kind.writes() {
            self.add_read(c, logs);
            return Ok(());
        }
        let check_load = |earlier: Epoch| {
            if earlier.time() >= c.since && !c.by.after_load(c.order, earlier) {
                return Err(RaceKind::Unordered { earlier, wrote: false });
            }
            // A load of global memory has ended when the barrier that orders it has been passed.
            if c.cta.is_some() && unfenced(earlier) {
                return Err(RaceKind::Unfenced { earlier, wrote: false });
            }
            Ok(())
        };
        self.reads.into_iter().try_for_each(check_load)?;
        if self.has_logs() {
            let (reads, atomics) = (logs.reads.get(self.more_reads), logs.atomics.get(self.atomics));
            reads.iter().chain(atomics.loads.iter()).try_for_each(check_load)?;
            logs.give_back(*self);
        }
        *self = Cell { write: c.now, ..Cell::default() };
        Ok(())
    }

    fn has_logs(&self) -> bool {
        self.more_reads != 0 || self.atomics != 0
    }

    fn reads(&self, logs: &Logs) -> impl Iterator<Item = Epoch> {
        self.reads.into_iter().chain(logs.reads.get(self.more_reads).iter())
    }

    #[inline]
    fn add_read(&mut self, c: &Check<'_>, logs: &mut Logs) {
        let [a, b] = self.reads;
        match (c.is_older(a), c.is_older(b)) {
            (true, true) => self.reads = [c.now, Epoch::NEVER],
            (true, false) => self.reads = [c.now, b],
            (false, true) => self.reads = [a, c.now],
            (false, false) => {
                let reads = logs.reads.of(&mut self.more_reads);
                reads.forget_before(c.since);
                reads.add(c.now, c.order, |s| c.is_older(s));
            }
        }
    }

    /// Atomics race with other accesses alone, and with atomics of other sizes.
    fn atomic(&mut self, c: &Check<'_>, logs: &mut Logs) -> Result<(), RaceKind> {
        let ordered = |s: Epoch| s.time() < c.since || c.by.after(c.order, s);
        if c.kind.writes()
            && let Some(earlier) = self.reads(logs).find(|&s| !ordered(s))
        {
            return Err(RaceKind::Unordered { earlier, wrote: false });
        }
        let log = logs.atomics.of(&mut self.atomics);
        if !c.by.after_barriers(c.order, log.after_write) && !ordered(self.write) {
            return Err(RaceKind::Unordered { earlier: self.write, wrote: true });
        }
        log.after_write = c.now;
        log.forget_before(c.since);
        if log.bytes != c.bytes && log.bytes != 0 {
            if let Some(earlier) = log.writes.iter().find(|&s| !ordered(s)) {
                return Err(RaceKind::Unordered { earlier, wrote: true });
            }
            if c.kind.writes()
                && let Some(earlier) = log.loads.iter().find(|&s| !ordered(s))
            {
                return Err(RaceKind::Unordered { earlier, wrote: false });
            }
        }
        log.bytes = c.bytes;
        if c.kind.writes() {
            log.after_writes = Epoch::NEVER;
            log.writes.add(c.now, c.order, |s| c.is_older(s));
        } else {
            log.loads.add(c.now, c.order, |s| c.is_older(s));
        }
        if c.acquires {
            log.writes.forget_ordered(c.order, ordered);
        }
        Ok(())
    }
}

impl Check<'_> {
    /// Whether an earlier access, of one kind with this one, is ordered before it. Ordering through atomics is not
    /// asked for here: at worst an access is kept that need not be.
    #[inline]
    fn is_older(&self, s: Epoch) -> bool {
        // An agent ends its reads in order.
        let same_agent = || s.thread() == self.now.thread() && self.order.in_current_program(s);
        s.time() < self.since || same_agent() || self.by.after_barriers(self.order, s)
    }
}
