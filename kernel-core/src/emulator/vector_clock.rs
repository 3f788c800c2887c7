//! Vector clocks: which steps of other threads happened before a thread's next step, beyond the barriers of its
//! cluster, CTA and warp.
//!
//! Barriers among some threads and mbarriers order threads pairwise, and asynchronous copies and products end at times
//! of their own. A thread keeps one time for each thread and for each asynchronous agent: every access of the other
//! before that time comes before the thread's next access.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::cluster::SharedAddress;
use super::epoch::{ACTORS, ASYNC, Epoch};
use super::order::Order;
use super::unordered::Programs;

/// A time for each thread and each agent; zero beyond the end.
#[derive(Clone, Default)]
pub struct VectorClock {
    threads: Vec<u64>,
    agents: Vec<u64>,
    /// For each thread: only its loads are known to have come before.
    loads: Vec<u64>,
}

/// The other thread or agent, `ASYNC` and above.
pub type Actor = u32;

fn raise(times: &mut Vec<u64>, at: usize, time: u64) {
    if at >= times.len() {
        times.resize(at + 1, 0);
    }
    times[at] = times[at].max(time);
}

fn join(into: &mut Vec<u64>, from: &[u64]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (a, &b) in into.iter_mut().zip(from) {
        *a = (*a).max(b);
    }
}

impl VectorClock {
    #[inline]
    pub fn has(&self, who: Actor, time: u64) -> bool {
        let (times, at) = if who < ASYNC { (&self.threads, who) } else { (&self.agents, who - ASYNC) };
        times.get(at as usize).is_some_and(|&known| time < known)
    }

    /// As [`has`](Self::has), of a load.
    pub fn has_load(&self, who: Actor, time: u64) -> bool {
        self.has(who, time) || self.loads.get(who as usize).is_some_and(|&known| time < known)
    }

    pub fn raise(&mut self, who: Actor, time: u64) {
        if who < ASYNC {
            raise(&mut self.threads, who as usize, time);
        } else {
            raise(&mut self.agents, (who - ASYNC) as usize, time);
        }
    }

    pub fn join(&mut self, other: &VectorClock) {
        join(&mut self.threads, &other.threads);
        join(&mut self.agents, &other.agents);
        join(&mut self.loads, &other.loads);
    }

    /// As [`join`](Self::join), but of threads only their loads.
    fn join_loads(&mut self, other: &VectorClock) {
        join(&mut self.loads, &other.threads);
        join(&mut self.agents, &other.agents);
        join(&mut self.loads, &other.loads);
    }
}

/// The agents beside the threads. Each completes its work in the order in which it began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Agent {
    /// Tensor loads that an mbarrier counts, whichever CTA issues them.
    Load { bar: SharedAddress },
    /// A thread's tensor stores: their reads of shared memory.
    StoreRead { thread: u32 },
    /// Their writes, which nothing here waits for.
    StoreWrite { thread: u32 },
    /// The products of a warpgroup, by its first thread.
    Wgmma { first: u32 },
    /// A thread's asynchronous copies.
    Copy { thread: u32 },
}

/// The agents of the whole launch, and the clocks of agents and threads.
#[derive(Default)]
pub struct Clocks {
    agents: Vec<Agent>,
    numbers: HashMap<Agent, Actor>,
    known: Vec<Option<Rc<VectorClock>>>,
    used: bool,
    /// By thread: its proxy fences.
    proxy_fences: Vec<Vec<u64>>,
    /// By agent: work that began before the first time is complete for its thread at the second.
    completions: Vec<Vec<(u64, u64)>>,
}

impl Clocks {
    pub fn new(threads: u32) -> Self {
        let n = threads as usize;
        Clocks { known: vec![None; n], proxy_fences: vec![Vec::new(); n], ..Self::default() }
    }

    pub fn begin_program(&mut self) {
        self.known.fill(None);
        self.used = false;
        self.proxy_fences.iter_mut().for_each(Vec::clear);
        self.completions.iter_mut().for_each(Vec::clear);
    }

    #[inline]
    pub fn of(&self, thread: u32) -> Option<&Rc<VectorClock>> {
        self.known[thread as usize].as_ref()
    }

    #[inline]
    pub fn has(&self, thread: u32, who: Actor, time: u64) -> bool {
        self.of(thread).is_some_and(|k| k.has(who, time))
    }

    fn of_mut(&mut self, thread: u32) -> &mut VectorClock {
        self.used = true;
        Rc::make_mut(self.known[thread as usize].get_or_insert_default())
    }

    fn gather(&self, threads: impl Iterator<Item = u32>) -> VectorClock {
        let mut all = VectorClock::default();
        let mut last: Option<&Rc<VectorClock>> = None;
        for known in threads.filter_map(|t| self.of(t)) {
            // Threads after a common barrier often share their clocks.
            if last.is_none_or(|last| !Rc::ptr_eq(last, known)) {
                all.join(known);
            }
            last = Some(known);
        }
        all
    }

    fn share(&mut self, threads: impl Iterator<Item = u32>, known: VectorClock) {
        self.used = true;
        let known = Rc::new(known);
        threads.for_each(|t| self.known[t as usize] = Some(known.clone()));
    }

    /// All threads of a CTA or of the cluster meet. The barrier's time covers their own accesses.
    pub fn pass_barrier(&mut self, threads: Range<u32>) {
        if self.used {
            let mut known = self.gather(threads.clone());
            if threads.len() == self.known.len() {
                known.threads.clear();
                known.loads.clear();
            }
            self.share(threads, known);
        }
    }

    pub fn pass_warp_barrier(&mut self, warp: u32) {
        if self.used {
            let lanes = warp * 32..(warp * 32 + 32).min(self.known.len() as u32);
            let known = self.gather(lanes.clone());
            self.share(lanes, known);
        }
    }
}

impl Order {
    /// The number of an agent.
    pub fn agent(&mut self, agent: Agent) -> Actor {
        let Clocks { agents, numbers, completions, .. } = &mut self.clocks;
        *numbers.entry(agent).or_insert_with(|| {
            let number = ASYNC + agents.len() as u32;
            assert!(number < ACTORS, "more asynchronous steps than the emulated SM can tell apart");
            agents.push(agent);
            completions.push(Vec::new());
            number
        })
    }

    pub fn agent_of(&self, s: Epoch) -> Option<Agent> {
        (s.is_async()).then(|| self.clocks.agents[(s.thread() - ASYNC) as usize])
    }

    /// A new moment, between all earlier and all later events.
    pub fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Adds the events of a thread and its clock.
    pub fn publish(&mut self, thread: u32, into: &mut VectorClock) {
        if let Some(known) = self.clocks.of(thread) {
            into.join(known);
        }
        // The learning thread may be of another CTA, or of another warp.
        let cta = self.cluster.cta_of(thread);
        let (of_cta, of_warp) = (self.ctas[cta as usize], self.warps[thread as usize / 32]);
        if of_cta > self.barrier {
            self.cluster.threads_of(cta).for_each(|t| into.raise(t, of_cta));
        }
        if of_warp > self.barrier.max(of_cta) {
            self.cluster.group_of(thread, 32).for_each(|lane| into.raise(lane, of_warp));
        }
        into.raise(thread, self.tick());
    }

    /// As [`publish`](Self::publish), to a CTA that takes no release of this thread: only loads come before.
    pub fn publish_loads(&mut self, thread: u32, into: &mut VectorClock) {
        let mut own = VectorClock::default();
        self.publish(thread, &mut own);
        into.join_loads(&own);
    }

    /// A thread acquires a published clock.
    pub fn learn(&mut self, thread: u32, from: &Rc<VectorClock>) {
        match self.clocks.of(thread) {
            Some(known) if Rc::ptr_eq(known, from) => {}
            Some(_) => self.clocks.of_mut(thread).join(from),
            None => {
                self.clocks.used = true;
                self.clocks.known[thread as usize] = Some(from.clone());
            }
        }
    }

    /// Some threads of a CTA, in whole warps, meet.
    pub fn pass_group_barrier(&mut self, threads: &[u32]) {
        let mut known = self.clocks.gather(threads.iter().copied());
        let now = self.tick();
        threads.iter().for_each(|&t| known.raise(t, now));
        self.clocks.share(threads.iter().copied(), known);
    }

    /// Some threads, of any CTAs, meet.
    pub fn meet(&mut self, threads: &[u32]) {
        let mut known = VectorClock::default();
        threads.iter().for_each(|&t| self.publish(t, &mut known));
        self.clocks.share(threads.iter().copied(), known);
    }

    /// A thread has waited for the work that an agent began before a time.
    pub fn complete(&mut self, thread: u32, agent: Actor, before: u64) {
        self.clocks.of_mut(thread).raise(agent, before);
        let now = self.tick();
        self.clocks.completions[(agent - ASYNC) as usize].push((before, now));
    }

    /// A thread makes its writes to shared memory visible to the asynchronous proxy.
    pub fn proxy_fence(&mut self, thread: u32) {
        let now = self.tick();
        self.clocks.proxy_fences[thread as usize].push(now);
        self.now += 1;
    }

    /// Whether an access of this program to the shared memory of a CTA was made visible to the asynchronous proxy, by a
    /// fence of the accessing thread that comes before the next step of `thread`. A fence is for the memory of the
    /// thread's own CTA. In global memory there are none.
    pub fn fenced(&self, s: Epoch, thread: u32, cta: Option<u32>) -> bool {
        let (writer, time) = match self.agent_of(s) {
            None | Some(Agent::Copy { .. }) if cta.is_none() => return false,
            None => (s.thread(), s.time()),
            Some(Agent::Copy { thread }) => {
                let completions = &self.clocks.completions[(s.thread() - ASYNC) as usize];
                match completions.iter().find(|c| s.time() < c.0) {
                    Some(&(_, done)) => (thread, done),
                    None => return false,
                }
            }
            Some(_) => return true,
        };
        if Some(self.cluster.cta_of(writer)) != cta {
            return false;
        }
        let fences = &self.clocks.proxy_fences[writer as usize];
        let next = fences.partition_point(|&fence| fence <= time);
        fences.get(next).is_some_and(|&fence| self.load_before(Epoch::new(fence, false, writer, 0), thread))
    }
}

/// The threads that make an access. An asynchronous product reads for all threads of its warpgroup, and a write must
/// come before the accesses of each of them.
pub struct Observer {
    first: u32,
    count: u32,
    ordered: KnownWrites,
    fenced: KnownWrites,
}

/// The writes that are known to come before the accesses of all threads of an observer: the last one of each writer.
/// Earlier writes of the same writer come before it.
struct KnownWrites(Box<[Cell<Epoch>]>);

impl KnownWrites {
    /// Writers share an entry by their last bits.
    const ENTRIES: usize = 128;

    /// A lone thread is asked itself.
    fn new(observers: u32) -> Self {
        KnownWrites(vec![Epoch::NEVER.into(); if observers > 1 { Self::ENTRIES } else { 0 }].into())
    }

    /// Whether `s` is one of them, or comes before the accesses of all threads by `before`.
    #[inline]
    fn has(&self, order: &Order, s: Epoch, before: impl FnOnce() -> bool) -> bool {
        if self.0.is_empty() {
            return before();
        }
        let entry = &self.0[s.thread() as usize % Self::ENTRIES];
        let last = entry.get();
        // Steps of a thread of this program follow each other. Those of agents and of other programs do not.
        let earlier = || !s.is_async() && order.in_current_program(s) && s.time() <= last.time();
        if last == s || last.thread() == s.thread() && earlier() {
            return true;
        }
        let all = before();
        if all {
            entry.set(s);
        }
        all
    }
}

impl Observer {
    pub fn new(first: u32, count: u32) -> Self {
        Observer { first, count, ordered: KnownWrites::new(count), fenced: KnownWrites::new(count) }
    }

    #[inline]
    pub fn after(&self, order: &Order, s: Epoch) -> bool {
        if self.count == 1 {
            return order.before(s, self.first);
        }
        self.ordered.has(order, s, || self.all(|t| order.before(s, t)))
    }

    /// As [`after`](Self::after), of a load.
    #[inline]
    pub fn after_load(&self, order: &Order, s: Epoch) -> bool {
        self.after(order, s) || self.all(|t| order.load_before(s, t))
    }

    /// As [`after`](Self::after), without the order by atomics.
    #[inline]
    pub fn after_barriers(&self, order: &Order, s: Epoch) -> bool {
        self.all(|t| order.before_by_barriers(s, t))
    }

    /// Whether an access to the shared memory of a CTA, or to global memory, was fenced; always of the same one.
    pub fn after_fence(&self, order: &Order, s: Epoch, cta: Option<u32>) -> bool {
        self.fenced.has(order, s, || self.all(|t| order.fenced(s, t, cta)))
    }

    #[inline]
    fn all(&self, f: impl FnMut(u32) -> bool) -> bool {
        (self.first..self.first + self.count).all(f)
    }
}
