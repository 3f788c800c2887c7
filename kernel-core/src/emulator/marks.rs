//! The words that mark registers in flight, and how a word of the kernel that equals one by chance is told from it.
//!
//! A kernel may have every word of 32 bits as an integer, so a word that equals a mark is only a *suspicion*. The
//! launch is undone and runs again with other marks and no other change. A word that comes from the register is that
//! register's new mark now. Every other word is unchanged, and its place is passed without a report.

use std::ops::Range;

use super::product::Operand;
use super::random::Random;

/// More runs than chance asks for.
const MAX_RUNS: u32 = 32;

/// A register in flight that somebody seems to have touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    pub flight: u32,
    pub register: usize,
    pub thread: u32,
    /// The indices of its mark among the words of that event.
    pub places: Vec<usize>,
}

/// The suspicion that the next run of a launch tests.
#[derive(Clone, Debug)]
pub struct Suspicion {
    /// The number, among the launch's events at which marks are looked for.
    event: u64,
    touched: Vec<Touched>,
    /// Runs before it.
    pub runs: u32,
}

/// The events of one run, and the suspicion that it tests.
pub struct Inquiry {
    events: u64,
    suspicion: Option<Suspicion>,
    next: Option<Suspicion>,
}

impl Inquiry {
    pub fn new(suspicion: Option<Suspicion>) -> Self {
        Inquiry { events: 0, suspicion, next: None }
    }

    pub fn begin_event(&mut self) {
        self.events += 1;
    }

    /// The suspicion that the next run tests, if this run was stopped for one.
    pub fn next(&mut self) -> Option<Suspicion> {
        self.next.take()
    }

    /// Whether the current event is as it seems, or may be so, and the run ends. Else the words are the kernel's own;
    /// `goes_on` says whether the event can be carried out then.
    pub fn ends(&mut self, touched: Vec<Touched>, goes_on: bool) -> bool {
        let runs = self.suspicion.as_ref().map_or(0, |s| s.runs);
        let suspicion = match &self.suspicion {
            Some(s) if runs == MAX_RUNS || s.event == self.events && touched.iter().any(|t| s.touched.contains(t)) => {
                return true;
            }
            // No run but this one has found a mark here.
            Some(s) if self.events <= s.event && goes_on => return false,
            Some(s) if self.events <= s.event => s.clone(),
            _ => Suspicion { event: self.events, touched, runs },
        };
        self.next = Some(Suspicion { runs: runs + 1, ..suspicion });
        true
    }
}

/// The marks of one kind of sums.
struct Supply {
    all: Range<u32>,
    next: u32,
    /// The marks drawn in the current program.
    drawn: Range<u32>,
}

impl Supply {
    fn new(all: Range<u32>, random: &mut Random, runs: u32) -> Self {
        let len = all.end - all.start;
        let apart = (u64::from(runs) * u64::from(len / 3 + 1)) as u32;
        let next = all.start + ((u64::from(random.below(len)) + u64::from(apart)) % u64::from(len)) as u32;
        Supply { all, next, drawn: next..next }
    }

    fn draw(&mut self, count: u32) -> u32 {
        if self.all.end - self.next < count {
            self.next = self.all.start;
            self.drawn = self.all.clone();
        }
        let first = self.next;
        self.next += count;
        self.drawn.end = self.drawn.end.max(self.next);
        first
    }
}

/// Marks follow each other, so that few words are looked up.
pub struct Marks {
    of_floats: Supply,
    of_integers: Supply,
}

impl Marks {
    /// Marks of f32 are NaNs that arithmetic passes on. They differ from the NaNs that arithmetic makes and from small
    /// integers. Marks of i32 are beyond all sums of less than 2^16 products, and are no sums of i32::MIN and small
    /// integers. A value computed from a mark is NaN, or far from any sum.
    pub fn new(seed: u64, runs: u32) -> Self {
        // Marks are drawn with every seed.
        let random = &mut Random::new(seed.wrapping_add(1).max(1));
        Marks {
            of_floats: Supply::new(0x7fc1_0000..0x7fff_0000, random, runs),
            of_integers: Supply::new(0x8100_0000..0xbf00_0000, random, runs),
        }
    }

    pub fn begin_program(&mut self) {
        for supply in [&mut self.of_floats, &mut self.of_integers] {
            supply.drawn = supply.next..supply.next;
        }
    }

    /// Whether a word may have been drawn in the current program.
    #[inline]
    pub fn may_be(&self, word: u32) -> bool {
        self.of_floats.drawn.contains(&word) || self.of_integers.drawn.contains(&word)
    }

    /// The first of so many neighbors.
    pub fn draw(&mut self, kind: Operand, count: u32) -> u32 {
        if kind == Operand::I8 { self.of_integers.draw(count) } else { self.of_floats.draw(count) }
    }
}
