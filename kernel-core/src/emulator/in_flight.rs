//! Accumulators between a warpgroup's product and the wait that covers it: nobody but further products of the same
//! shape may touch these registers then.
//!
//! Registers are variables of lowered code, which nothing can watch, and which are copied from one place to another. So
//! the machine keeps the sums aside and leaves a *mark* in each register, a pattern that identifies the register after
//! any number of copies. A wait replaces the marks by the sums, and reports missing marks: some code wrote there. A
//! mark that comes by after the wait was copied before it. [`marks`](super::marks) draws marks, and tells them from
//! integers of the kernel.

use std::collections::BTreeMap;
use std::ops::Range;

use super::machine::Machine;
use super::marks::{Inquiry, Marks, Suspicion, Touched};
use super::product::{Operand, d_place};
use super::report::Kind;
use super::tensor::{Operands, WARPGROUP};
use super::wgmma::{Product, ROWS};

/// The accumulators of one product, or of several that follow each other on them.
pub struct Flight {
    /// Counts the flights of a launch.
    number: u32,
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
    /// None after all threads have waited.
    pub sums: Vec<u32>,
    /// A bit for each thread of the warpgroup that has waited.
    waited: u128,
}

impl Flight {
    /// The number of a thread in the warpgroup.
    fn lane(&self, thread: u32) -> u32 {
        thread.wrapping_sub(self.group)
    }

    /// Whether it is in flight for a thread.
    fn concerns(&self, thread: u32) -> bool {
        self.lane(thread) < WARPGROUP && self.waited >> self.lane(thread) & 1 == 0
    }

    fn count(&self) -> u32 {
        self.n as u32 / 2
    }

    /// The register whose mark it is.
    fn register(&self, word: u32) -> Option<usize> {
        Some(word.wrapping_sub(self.first)).filter(|&i| i < self.count()).map(|i| i as usize)
    }

    fn place(&self, thread: u32, register: usize) -> usize {
        let t = self.lane(thread) as usize;
        let (row, column) = d_place(t % 32, register);
        (t / 32 * 16 + row) * self.n + column
    }
}

/// The products in flight of all warpgroups in the current program, also those that were waited for.
pub struct Flights {
    /// By first mark.
    all: BTreeMap<u32, Flight>,
    /// The first marks of the products that some thread has not waited for.
    open: Vec<u32>,
    started: u32,
    marks: Marks,
    inquiry: Inquiry,
}

/// A register that a word is the mark of.
struct Found<'a> {
    flight: &'a Flight,
    register: usize,
}

impl Found<'_> {
    fn touched(&self, thread: u32, places: Vec<usize>) -> Touched {
        Touched { flight: self.flight.number, register: self.register, thread, places }
    }
}

/// Accumulators of a product that are those of an earlier one: the first thread that has some, the line of that
/// product, whether the thread has waited for it, and the registers.
struct Mismatch {
    thread: u32,
    site: u32,
    waited: bool,
    touched: Vec<Touched>,
}

impl Flights {
    /// Of a run that is to find something out, or of the first one.
    pub fn new(seed: u64, suspicion: Option<Suspicion>) -> Self {
        let runs = suspicion.as_ref().map_or(0, |s| s.runs);
        let (marks, inquiry) = (Marks::new(seed, runs), Inquiry::new(suspicion));
        Flights { all: BTreeMap::new(), open: Vec::new(), started: 0, marks, inquiry }
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.open.clear();
        self.marks.begin_program();
    }

    /// The suspicion that the next run of the launch tests.
    pub fn suspicion(&mut self) -> Option<Suspicion> {
        self.inquiry.next()
    }

    /// Whether a thread's register is an accumulator in flight.
    pub fn holds(&self, thread: u32, word: u32) -> bool {
        self.find(thread, word).is_some_and(|found| found.flight.concerns(thread))
    }

    /// The register, in flight or waited for, whose mark a thread has.
    #[inline]
    fn find(&self, thread: u32, word: u32) -> Option<Found<'_>> {
        if self.marks.may_be(word) { self.look_up(thread, word) } else { None }
    }

    fn look_up(&self, thread: u32, word: u32) -> Option<Found<'_>> {
        let (_, flight) = self.all.range(..=word).next_back()?;
        let register = flight.register(word)?;
        (flight.lane(thread) < WARPGROUP).then_some(Found { flight, register })
    }

    fn start(&mut self, group: u32, kind: Operand, n: usize) -> u32 {
        let count = n as u32 / 2;
        let first = 'drawn: loop {
            let first = self.marks.draw(kind, count);
            // Marks that were drawn before are drawn again when there are no others.
            while let Some((&other, f)) = self.all.range(..first + count).next_back()
                && other + f.count() > first
            {
                if !f.sums.is_empty() {
                    continue 'drawn;
                }
                self.all.remove(&other);
            }
            break first;
        };
        let (number, sums) = (self.started, vec![0; ROWS * n]);
        self.started += 1;
        self.open.push(first);
        self.all.insert(first, Flight { number, group, kind, n, first, site: 0, time: 0, sums, waited: 0 });
        first
    }

    /// The first mark of a product's accumulators, or the accumulators that an earlier product has. Copies from before
    /// a wait do no harm after it, unless the product adds to them.
    ///
    /// # Safety
    /// The `n / 2` accumulators of each of these threads' operands can be read and written.
    unsafe fn of(
        &mut self,
        operands: &[Operands],
        threads: Range<u32>,
        Product { kind, n, .. }: Product,
        add: bool,
    ) -> Result<u32, Mismatch> {
        self.inquiry.begin_event();
        let registers = |t: u32| (0..n / 2).map(move |i| operands[t as usize].acc.wrapping_add(i));
        // SAFETY: of the first thread's accumulators the first.
        let leads = unsafe { *operands[threads.start as usize].acc };
        let known = self.all.get(&leads).filter(|f| f.concerns(threads.start) && (f.kind, f.n) == (kind, n));
        let wrong = threads.clone().find_map(|thread| {
            // SAFETY: the thread's `n / 2` accumulators can be read.
            let words = registers(thread).map(|register| unsafe { *register }).enumerate();
            let (site, waited, touched): (_, _, Vec<Touched>) = match known {
                Some(flight) => {
                    let differs = |&(i, word): &(usize, u32)| word != leads + i as u32 || !flight.concerns(thread);
                    let touched = |(register, _)| Found { flight, register }.touched(thread, vec![]);
                    (flight.site, false, words.filter(differs).map(touched).collect())
                }
                None => {
                    let found = words.filter_map(|(i, word)| Some((i, self.find(thread, word)?)));
                    let mut found = found.filter(|(_, f)| add || f.flight.concerns(thread)).peekable();
                    let first = found.peek().map(|(_, f)| (f.flight.site, !f.flight.concerns(thread)));
                    let (site, waited) = first.unwrap_or_default();
                    (site, waited, found.map(|(i, f)| f.touched(thread, vec![i])).collect())
                }
            };
            (!touched.is_empty()).then_some(Mismatch { thread, site, waited, touched })
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if known.is_some() {
            return Ok(leads);
        }
        let first = self.start(threads.start, kind, n);
        let f = self.all.get_mut(&first).expect("it was started");
        for t in threads {
            for (i, register) in registers(t).enumerate() {
                let place = f.place(t, i);
                // SAFETY: the thread's `n / 2` accumulators can be read and written.
                f.sums[place] = unsafe { register.replace(first + i as u32) };
            }
        }
        Ok(first)
    }
}

impl Machine {
    /// The sums that a warpgroup's product adds to. If the previous product on the same accumulators is still in flight
    /// they are its sums, else the registers' values. None if some of the registers are in flight otherwise.
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
        let first = match unsafe { self.tensor.flights.of(&self.tensor.operands, threads, product, add) } {
            Ok(first) => first,
            Err(Mismatch { thread, site: earlier, waited, touched }) => {
                let how = match waited {
                    false => "which has not been waited for, and not all as it left them",
                    true => "copied before the wgmma_wait that covers it",
                };
                let name = self.name(thread);
                let message =
                    format!("thread {name}: some accumulators are those of the wgmma of line {earlier}, {how}");
                self.tensor.flights.inquiry.ends(touched, false);
                self.fail_at(Kind::RegistersInFlight, site, Some(earlier), vec![thread], message);
                return None;
            }
        };
        let flight = self.tensor.flights.all.get_mut(&first).expect("a flight");
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
        let flights = &mut self.tensor.flights;
        flights.inquiry.begin_event();
        let (mut touched, mut wrong) = (Vec::new(), None);
        flights.open.retain(|first| {
            let f = flights.all.get_mut(first).expect("it is open");
            if !f.concerns(thread) || f.time >= before {
                return true;
            }
            let mut times = vec![0; f.count() as usize];
            let mut found = Vec::with_capacity(times.len());
            for (place, word) in acc.iter_mut().enumerate() {
                if let Some(i) = f.register(*word) {
                    times[i] += 1;
                    found.push((i, place));
                    *word = f.sums[f.place(thread, i)];
                }
            }
            f.waited |= 1 << f.lane(thread);
            for register in (0..times.len()).filter(|&i| times[i] != 1) {
                let places: Vec<_> = found.iter().filter(|&&(i, _)| i == register).map(|&(_, place)| place).collect();
                wrong.get_or_insert((register, !places.is_empty(), f.site));
                touched.push(Found { flight: f, register }.touched(thread, places));
            }
            if f.waited == u128::MAX {
                f.sums = Vec::new();
            }
            f.waited != u128::MAX
        });
        let Some((i, copied, product)) = wrong else { return true };
        flights.inquiry.ends(touched, false);
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
        self.tensor.flights.all.is_empty() || self.is_no_mark(value, bytes, site)
    }

    fn is_no_mark(&mut self, value: u128, bytes: usize, site: u32) -> bool {
        let (thread, flights) = (self.current, &mut self.tensor.flights);
        flights.inquiry.begin_event();
        let words = |i: usize| (value >> (32 * i)) as u32;
        if (0..bytes / 4).all(|i| !flights.marks.may_be(words(i))) {
            return true;
        }
        let found = (0..bytes / 4).filter_map(|i| Some((i, flights.find(thread, words(i))?)));
        let touched: Vec<Touched> = found.map(|(i, found)| found.touched(thread, vec![i])).collect();
        let Some(first) = touched.first() else { return true };
        let word = words(first.places[0]);
        if !flights.inquiry.ends(touched, true) {
            return true;
        }
        let Found { flight, register } = self.tensor.flights.find(thread, word).expect("it was found");
        let (earlier, name) = (flight.site, self.name(thread));
        let how = match flight.concerns(thread) {
            true => "was read: no wgmma_wait that covers it comes before",
            false => "was copied before the wgmma_wait that covers it, and the copy is used after it",
        };
        let message = format!("thread {name}: accumulator {register} of the wgmma of line {earlier} {how}");
        self.fail_at(Kind::RegistersInFlight, site, Some(earlier), vec![thread], message);
        false
    }
}
