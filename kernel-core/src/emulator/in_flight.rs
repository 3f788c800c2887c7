//! Accumulators between a warpgroup's product and the wait that covers it: nobody but further products of the same
//! shape may touch these registers then.
//!
//! Registers are variables of lowered code, which nothing can watch, and which are copied from one place to another. So
//! the machine keeps the sums aside and leaves a *mark* in each register, a pattern that tells which one it is wherever
//! it was brought. A wait puts the sums in the place of the marks, and finds those that are missing: somebody wrote
//! there. What was computed from a mark is no number, or far from any sum.
//!
//! Any word may be an integer of the kernel, too. So marks are drawn at random, from NaNs that no arithmetic gives and
//! from integers that no counter reaches: a word that is no mark looks like one of a warpgroup's accumulators in one of
//! 2^14 cases at most, if it is of that range at all.

use std::ops::Range;

use super::machine::Machine;
use super::product::{Operand, d_place};
use super::random::Random;
use super::report::Kind;
use super::tensor::{Operands, WARPGROUP};
use super::wgmma::{Product, ROWS};

/// The accumulators of one product, or of several that follow each other on them.
pub struct Flight {
    /// The first thread of the warpgroup.
    group: u32,
    kind: Operand,
    /// Columns, of which a thread has one register for each two.
    n: usize,
    /// The mark of the first register; the others follow.
    first: u32,
    /// The last product: its line and its time.
    site: u32,
    time: u64,
    pub sums: Vec<u32>,
    /// A bit for each thread of the warpgroup that has waited.
    waited: u128,
}

impl Flight {
    /// The number of a thread in the warpgroup.
    fn number(&self, thread: u32) -> u32 {
        thread.wrapping_sub(self.group)
    }

    fn concerns(&self, thread: u32) -> bool {
        self.number(thread) < WARPGROUP && self.waited >> self.number(thread) & 1 == 0
    }

    /// The register whose mark it is.
    fn register(&self, word: u32) -> Option<usize> {
        Some(word.wrapping_sub(self.first) as usize).filter(|&i| i < self.n / 2)
    }

    fn place(&self, thread: u32, register: usize) -> usize {
        let t = self.number(thread) as usize;
        let (row, column) = d_place(t % 32, register);
        (t / 32 * 16 + row) * self.n + column
    }
}

/// Those of all warpgroups.
pub struct Flights {
    list: Vec<Flight>,
    random: Random,
}

/// Marks of f32 are NaNs that arithmetic passes on: neither those that it makes nor small integers. Those of i32 are
/// beyond all sums of less than 2^16 products, and are no sums of i32::MIN and small integers.
fn marks(kind: Operand) -> Range<u32> {
    if kind == Operand::I8 { 0x8100_0000..0xbf00_0000 } else { 0x7fc1_0000..0x7fff_0000 }
}

impl Flights {
    pub fn new(seed: u64) -> Self {
        // Marks are drawn with every seed.
        Flights { list: Vec::new(), random: Random::new(seed.wrapping_add(1).max(1)) }
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Whether a thread's register is an accumulator in flight.
    pub fn holds(&self, thread: u32, word: u32) -> bool {
        self.find(thread, word).is_some()
    }

    /// A flight, and which of its registers, that a thread brings elsewhere.
    fn find(&self, thread: u32, word: u32) -> Option<(&Flight, usize)> {
        self.list.iter().filter(|f| f.concerns(thread)).find_map(|f| Some((f, f.register(word)?)))
    }

    fn start(&mut self, group: u32, kind: Operand, n: usize) -> usize {
        let (count, marks) = (n as u32 / 2, marks(kind));
        let first = loop {
            let first = marks.start + self.random.below(marks.end - marks.start - count);
            let apart = |f: &Flight| first.abs_diff(f.first) >= count.max(f.n as u32 / 2);
            if self.list.iter().all(apart) {
                break first;
            }
        };
        self.list.push(Flight { group, kind, n, first, site: 0, time: 0, sums: vec![0; ROWS * n], waited: 0 });
        self.list.len() - 1
    }

    /// The flight of a product's accumulators, or the first thread where some are of an earlier one, and its line.
    ///
    /// # Safety
    /// The `n / 2` accumulators of each of these threads' operands can be read and written.
    unsafe fn of(
        &mut self,
        operands: &[Operands],
        threads: Range<u32>,
        Product { kind, n, .. }: Product,
    ) -> Result<usize, (u32, u32)> {
        let registers = |t: u32| (0..n / 2).map(move |i| operands[t as usize].acc.wrapping_add(i));
        // SAFETY: of the first thread's accumulators the first.
        let leads = unsafe { *operands[threads.start as usize].acc };
        let known =
            self.list.iter().position(|f| f.concerns(threads.start) && (f.kind, f.n, f.first) == (kind, n, leads));
        let wrong = threads.clone().find_map(|t| {
            // SAFETY: the thread's `n / 2` accumulators can be read.
            let mut words = registers(t).map(|register| unsafe { *register }).zip(0..);
            match known.map(|at| &self.list[at]) {
                Some(f) => words.any(|(word, i)| word != f.first + i || !f.concerns(t)).then_some((t, f.site)),
                None if self.list.is_empty() => None,
                None => words.find_map(|(word, _)| Some((t, self.find(t, word)?.0.site))),
            }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        Ok(known.unwrap_or_else(|| {
            let at = self.start(threads.start, kind, n);
            let f = &mut self.list[at];
            for t in threads {
                for (register, i) in registers(t).zip(0..) {
                    let place = f.place(t, i as usize);
                    // SAFETY: the thread's `n / 2` accumulators can be read and written.
                    f.sums[place] = unsafe { register.replace(f.first + i) };
                }
            }
            at
        }))
    }
}

impl Machine {
    /// The sums that a warpgroup's product adds to: those of the product before it on the same accumulators, where it
    /// is still in flight, else what is in them. None if some of the registers are in flight otherwise.
    ///
    /// # Safety
    /// The accumulators of each of these threads' operands, one for each two columns, can be read and written.
    pub unsafe fn take_off(
        &mut self,
        threads: Range<u32>,
        product: Product,
        time: u64,
        site: u32,
    ) -> Option<&mut Vec<u32>> {
        let add = self.tensor.operands[self.current as usize].add;
        // SAFETY: the caller's contract.
        let flight = match unsafe { self.tensor.flights.of(&self.tensor.operands, threads, product) } {
            Ok(at) => &mut self.tensor.flights.list[at],
            Err((t, earlier)) => {
                let message = format!(
                    "thread {}: some accumulators are those of the wgmma of line {earlier}, which has not been waited for, and not all as it left them",
                    self.name(t)
                );
                self.fail_at(Kind::RegistersInFlight, site, Some(earlier), vec![t], message);
                return None;
            }
        };
        (flight.time, flight.site) = (time, site);
        if !add {
            flight.sums.fill(0);
        }
        Some(&mut flight.sums)
    }

    /// The current thread has waited for the products before a time, and gives its accumulators; whether nobody touched
    /// them.
    pub fn land(&mut self, before: u64, acc: &mut [u32], site: u32) -> bool {
        let thread = self.current;
        let mut wrong = None;
        for f in self.tensor.flights.list.iter_mut().filter(|f| f.concerns(thread) && f.time < before) {
            let mut found = vec![0; f.n / 2];
            for word in acc.iter_mut() {
                if let Some(i) = f.register(*word) {
                    found[i] += 1;
                    *word = f.sums[f.place(thread, i)];
                }
            }
            f.waited |= 1 << f.number(thread);
            if let Some(i) = found.iter().position(|&n| n != 1) {
                wrong.get_or_insert((i, found[i] > 1, f.site));
            }
        }
        self.tensor.flights.list.retain(|f| f.waited != u128::MAX);
        let Some((i, copied, product)) = wrong else { return true };
        let how = if copied { "was copied into another of them" } else { "was changed, or is not among those given," };
        let message = format!(
            "thread {}: accumulator {i} of the wgmma of line {product} {how} before this wgmma_wait",
            self.name(thread)
        );
        self.fail_at(Kind::RegistersInFlight, site, Some(product), vec![thread], message);
        false
    }

    /// Whether a value, which the current thread gives away, is none that it has from accumulators in flight.
    #[inline]
    pub fn may_give(&mut self, value: u128, bytes: usize, site: u32) -> bool {
        self.tensor.flights.list.is_empty() || self.is_no_mark(value, bytes, site)
    }

    fn is_no_mark(&mut self, value: u128, bytes: usize, site: u32) -> bool {
        let mut words = (0..bytes / 4).map(|i| (value >> (32 * i)) as u32);
        let Some((f, i)) = words.find_map(|word| self.tensor.flights.find(self.current, word)) else { return true };
        let earlier = f.site;
        let message = format!(
            "thread {}: accumulator {i} of the wgmma of line {earlier} was read: no wgmma_wait that covers it comes before",
            self.name(self.current)
        );
        self.fail_at(Kind::RegistersInFlight, site, Some(earlier), vec![self.current], message);
        false
    }
}
