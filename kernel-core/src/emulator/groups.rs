//! Groups of asynchronous operations, and the copies that threads make with them.

use std::collections::VecDeque;

use super::access::Asynchronous;
use super::access_kind::AccessKind;
use super::machine::Machine;
use super::memory::{read, write};
use super::report::Kind;
use super::vector_clock::Agent;

/// The groups of one thread and one kind of operation: the operations since the last commit, and the committed groups.
#[derive(Default)]
pub struct Groups {
    /// The line of an operation that is not committed yet.
    open: Option<u32>,
    /// The time by which each group was committed, and the line of an operation in it.
    committed: VecDeque<(u64, Option<u32>)>,
    /// The time of the last commit.
    last: Option<u64>,
}

impl Groups {
    pub fn add(&mut self, site: u32) {
        self.open = Some(site);
    }

    pub fn commit(&mut self, now: u64) {
        self.committed.push_back((now, self.open.take()));
        self.last = Some(now);
    }

    /// Waits until at most `pending` groups are open: operations that began before the returned time are complete.
    pub fn wait(&mut self, pending: u32) -> Option<u64> {
        let done = self.committed.len().saturating_sub(pending as usize);
        self.committed.drain(..done).next_back().map(|group| group.0)
    }

    /// As [`wait`](Self::wait) for all groups, also for groups that have been waited for in another way.
    pub fn wait_all(&mut self) -> Option<u64> {
        self.committed.clear();
        self.last
    }

    /// The line of an operation that has not been waited for.
    pub fn unwaited(&self) -> Option<u32> {
        self.committed.iter().find_map(|group| group.1).or(self.open)
    }

    pub fn clear(&mut self) {
        *self = Groups::default();
    }
}

impl Machine {
    /// The current thread copies from global to shared memory, or zeros if there is no source; whether it may.
    ///
    /// # Safety
    /// As [`global_load`](super::step::global_load), of a source. `bytes` is 16 at most.
    pub unsafe fn copy_async(&mut self, dst: u32, src: Option<u64>, bytes: usize, site: u32) -> bool {
        let thread = self.current;
        // These copies are no part of the asynchronous proxy.
        let step =
            Asynchronous { proxy: false, ..self.asynchronous("cp_async", Agent::Copy { thread }, (thread, 1), site) };
        if let Some(src) = src {
            self.report.global_loads += 1;
            // Until the copy is waited for the source may be read.
            if !self.global_async(std::slice::from_ref(&step), AccessKind::Read, src, bytes) {
                return false;
            }
        }
        let Some(place) = self.shared_async(&step, AccessKind::Write, self.here(dst), bytes) else { return false };
        // SAFETY: the source was checked above, or can be read by the caller's contract.
        let value = src.map_or(0, |src| unsafe { read(src as *const u8, bytes) });
        // SAFETY: `place` has that many bytes in the CTA's shared memory.
        unsafe { write(place, bytes, value) };
        self.tensor.threads[thread as usize].copies.add(site);
        true
    }

    pub fn commit_copies(&mut self) {
        let now = self.order.tick();
        self.tensor.threads[self.current as usize].copies.commit(now);
    }

    pub fn wait_copies(&mut self, pending: u32) {
        if let Some(before) = self.tensor.threads[self.current as usize].copies.wait(pending) {
            let agent = self.order.agent(Agent::Copy { thread: self.current });
            self.order.complete(self.current, agent, before);
        }
    }

    /// The current thread ends: none of its operations may still run.
    pub fn finish_work(&mut self) {
        let work = &self.tensor.threads[self.current as usize];
        let kinds = [("wgmma", &work.products), ("tma store", &work.stores), ("cp_async", &work.copies)];
        if let Some((name, site)) = kinds.iter().find_map(|(name, groups)| Some((name, groups.unwaited()?))) {
            let message = format!("thread {} ends and has not waited for its {name}", self.name(self.current));
            self.fail(Kind::AsyncPending, site, message);
        }
    }
}
