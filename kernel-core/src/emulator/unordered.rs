//! Accesses to one word that nothing orders with each other, each of which may come last.

use smallvec::SmallVec;

use super::epoch::Epoch;

/// Queries about the programs that made accesses.
pub trait Programs {
    fn in_current_program(&self, s: Epoch) -> bool;
    /// The run number of the program that made an access.
    fn program_of(&self, s: Epoch) -> usize;
    /// Accesses of one program, which has ended: leaves a few that represent all. An access ordered after them is
    /// ordered after the others.
    fn reduce(&self, accesses: &mut Vec<Epoch>);
}

/// In order of time. An access leaves the list if it comes before a later one of the list in every schedule: an access
/// ordered after the later one is ordered after both.
#[derive(Clone, Default)]
pub struct Unordered {
    list: SmallVec<[Epoch; 2]>,
    /// How many of the first ones stand for all accesses of their programs, which have ended.
    reduced: u32,
    /// The length at which the list is looked through.
    limit: u32,
}

/// The least limit.
const MIN_LIMIT: u32 = 8;

impl Unordered {
    pub fn iter(&self) -> impl Iterator<Item = Epoch> {
        self.list.iter().copied()
    }

    pub fn last(&self) -> Option<Epoch> {
        self.list.last().copied()
    }

    pub fn clear(&mut self) {
        self.list.clear();
        (self.reduced, self.limit) = (0, 0);
    }

    /// Earlier programs used this memory for something else; whether there were any.
    #[inline]
    pub fn forget_before(&mut self, since: u64) -> bool {
        let any = self.last().is_some_and(|s| s.time() < since);
        if any {
            self.clear();
        }
        any
    }

    /// Adds an access of the current program. Those of `older` are ordered before it.
    #[inline]
    pub fn add(&mut self, now: Epoch, programs: &impl Programs, older: impl Fn(Epoch) -> bool) {
        match self.list.last_mut() {
            // A thread makes its accesses in order, and an agent ends them in order.
            Some(last) if last.thread() == now.thread() && programs.in_current_program(*last) => *last = now,
            _ => self.list.push(now),
        }
        if self.list.len() as u32 > self.limit.max(MIN_LIMIT) {
            self.look_through(now, programs, older);
        }
    }

    #[cold]
    fn look_through(&mut self, now: Epoch, programs: &impl Programs, older: impl Fn(Epoch) -> bool) {
        let new = self.list.drain(self.reduced as usize..).collect::<Vec<_>>();
        for of_program in new.chunk_by(|&a, &b| programs.program_of(a) == programs.program_of(b)) {
            let mut kept = last_of_each_thread(of_program);
            if programs.in_current_program(of_program[0]) {
                kept.retain(|&s| s == now || !older(s));
                self.list.extend(kept);
            } else {
                programs.reduce(&mut kept);
                self.list.extend(kept);
                self.reduced = self.list.len() as u32;
            }
        }
        self.limit = 2 * self.list.len() as u32;
    }

    /// The access that has been added last is ordered after those of some other programs.
    pub fn forget_ordered(&mut self, programs: &impl Programs, ordered: impl Fn(Epoch) -> bool) {
        let own = self.list.iter().rev().take_while(|&&s| programs.in_current_program(s)).count();
        let others = self.list.len() - own;
        let forgotten = self.list[..others].iter().rev().take_while(|&&s| ordered(s)).count();
        self.list.drain(others - forgotten..others);
        self.reduced = self.reduced.min((others - forgotten) as u32);
    }
}

/// The accesses of one program that no thread followed by another one.
fn last_of_each_thread(accesses: &[Epoch]) -> Vec<Epoch> {
    let mut last = accesses.to_vec();
    last.sort_by_key(|s| (s.thread(), s.time()));
    last.dedup_by(|later, earlier| {
        let same = later.thread() == earlier.thread();
        if same {
            *earlier = *later;
        }
        same
    });
    last.sort_by_key(|s| s.time());
    last
}
