//! Clusters: the thread blocks ("CTAs") that run a program together, the numbers of their threads, their barrier, and
//! their accesses to each other's shared memory.

use std::collections::BTreeMap;
use std::ops::Range;

use super::epoch::Epoch;
use super::machine::{Machine, State};
use super::report::Kind;
use super::vector_clock::Actor;

/// Threads go by their number in the cluster: those of CTA 0 come first. Warps never span CTAs.
#[derive(Clone, Copy)]
pub struct Cluster {
    /// The state of one CTA.
    pub threads: u32,
    pub ctas: u32,
}

/// A byte of a CTA's shared memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SharedAddress {
    pub cta: u32,
    pub off: u32,
}

impl Cluster {
    /// Threads of all CTAs.
    pub fn size(self) -> u32 {
        self.threads * self.ctas
    }

    pub fn cta_of(self, thread: u32) -> u32 {
        thread / self.threads
    }

    pub fn threads_of(self, cta: u32) -> Range<u32> {
        cta * self.threads..(cta + 1) * self.threads
    }

    /// The threads of the warp or warpgroup (`size` threads) of a thread, as far as the CTA has them.
    pub fn group_of(self, thread: u32, size: u32) -> Range<u32> {
        let cta = self.threads_of(self.cta_of(thread));
        let first = thread - (thread - cta.start) % size;
        first..(first + size).min(cta.end)
    }

    /// The name in messages of a thread, or of another unit of `size` threads, by one of its threads.
    pub fn name_of(self, thread: u32, size: u32) -> String {
        let number = thread % self.threads / size;
        if self.ctas == 1 { number.to_string() } else { format!("{number} of CTA {}", self.cta_of(thread)) }
    }

    pub fn name(self, thread: u32) -> String {
        self.name_of(thread, 1)
    }

    pub fn address(self, SharedAddress { cta, off }: SharedAddress) -> String {
        if self.ctas == 1 { format!("shared byte {off}") } else { format!("CTA {cta}'s shared byte {off}") }
    }
}

/// A CTA's memory is gone when its last thread ends, so the accesses of other CTAs must come before the end of one of
/// its threads. This holds, for each CTA, the accesses that no ended thread knew of: the last access of each thread or
/// agent, and the thread that made it. Earlier accesses of the same thread or agent come before it.
pub struct Reached(Vec<BTreeMap<Actor, (Epoch, u32)>>);

impl Reached {
    pub fn new(ctas: u32) -> Self {
        Reached(vec![BTreeMap::new(); ctas as usize])
    }

    pub fn begin_program(&mut self) {
        self.0.iter_mut().for_each(BTreeMap::clear);
    }
}

impl Machine {
    /// A byte of the current thread's own CTA.
    pub fn here(&self, off: u32) -> SharedAddress {
        SharedAddress { cta: self.rank, off }
    }

    /// The name of a thread in messages.
    pub fn name(&self, thread: u32) -> String {
        self.cluster.name(thread)
    }

    /// The current thread comes to the barrier of the cluster; whether it must wait.
    pub fn arrive_in_cluster(&mut self, site: u32) -> bool {
        self.states[self.current as usize] = State::AtClusterBarrier { site };
        self.at_cluster_barrier += 1;
        !self.pass_cluster_barrier()
    }

    /// Opens the barrier of the cluster if all threads that have not ended have come; whether it did.
    fn pass_cluster_barrier(&mut self) -> bool {
        let all = self.cluster.size();
        if self.at_cluster_barrier == 0 || self.at_cluster_barrier + self.finished.iter().sum::<u32>() < all {
            return false;
        }
        let come = |s: &State| matches!(s, State::AtClusterBarrier { .. });
        let come: Vec<u32> = (0..all).filter(|&t| come(&self.states[t as usize])).collect();
        if !self.meet_on_one_line(come[0], come.iter().copied()) {
            return false;
        }
        self.at_cluster_barrier = 0;
        self.order.pass_cluster_barrier(&come);
        self.banks.flush(0..all);
        self.report.barriers += 1;
        self.barriers_of(self.states[come[0] as usize].site()).barriers += 1;
        come.iter().for_each(|&t| self.states[t as usize] = State::Running);
        let current = self.current;
        self.make_runnable(come.into_iter().filter(|&t| t != current));
        true
    }

    /// Whether there is such a CTA for the current thread to reach into.
    pub fn is_cta(&mut self, cta: u32, site: u32) -> bool {
        if cta >= self.cluster.ctas {
            let message = format!(
                "thread {} reaches into CTA {cta} of a cluster of {}",
                self.name(self.current),
                self.cluster.ctas
            );
            self.fail(Kind::Protocol, site, message);
        }
        cta < self.cluster.ctas
    }

    /// Whether the current thread may access the shared memory of a CTA in this epoch.
    pub fn reach(&mut self, cta: u32, access: Epoch) -> bool {
        if cta == self.rank {
            return true;
        }
        if self.finished[cta as usize] == self.cluster.threads {
            self.reached_after_end(cta, access, self.current);
            return false;
        }
        self.reached.0[cta as usize].insert(access.thread(), (access, self.current));
        true
    }

    /// The current thread has ended.
    pub fn end_thread(&mut self) {
        let (thread, cta) = (self.current, self.rank as usize);
        self.states[thread as usize] = State::Finished;
        self.finished[cta] += 1;
        self.asked.clear();
        let order = &self.order;
        self.reached.0[cta].retain(|_, (access, _)| !order.load_before(*access, thread));
        if self.finished[cta] == self.cluster.threads
            && let Some(&(access, by)) = self.reached.0[cta].values().next()
        {
            self.reached_after_end(self.rank, access, by);
        }
        self.pass_cluster_barrier();
    }

    fn reached_after_end(&mut self, cta: u32, access: Epoch, by: u32) {
        let message = format!(
            "thread {}: nothing orders this before the end of CTA {cta}, such as a cluster_sync after it",
            self.name(by)
        );
        self.fail_at(Kind::EndedCta, access.site(), None, vec![by], message);
    }
}
