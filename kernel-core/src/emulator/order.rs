//! The happens-before order of the accesses of a launch, for every schedule.
//!
//! Programs run one after another, so a single clock that ticks at every synchronization numbers all of them. That
//! order means nothing by itself: accesses are ordered within a thread, by a barrier of their cluster, CTA or warp, by
//! release and acquire through an atomic, or by another wait of the thread ([`vector_clock`]).
//!
//! [`vector_clock`]: super::vector_clock

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use super::access_kind::AccessKind;
use super::cluster::Cluster;
use super::epoch::{ASYNC, Epoch};
use super::unordered::Programs;
use super::vector_clock::{Clocks, VectorClock};

/// A point in a thread, and the events that happened before it.
#[derive(Clone)]
struct Point {
    thread: u32,
    time: u64,
    /// The last barriers of its cluster, its CTA and its warp.
    barrier: u64,
    cta: (Range<u32>, u64),
    warp: u64,
    known: Option<Rc<VectorClock>>,
}

impl Point {
    /// Whether something of the same program, by `thread` at `time`, came before.
    fn after(&self, thread: u32, time: u64) -> bool {
        (thread == self.thread && time <= self.time)
            || (thread < ASYNC
                && (time < self.barrier
                    || (thread / 32 == self.thread / 32 && time < self.warp)
                    || (time < self.cta.1 && self.cta.0.contains(&thread))))
            || self.known.as_ref().is_some_and(|k| k.has(thread, time))
    }
}

/// An atomic at `time` publishes the accesses before `point`: the atomic itself, or its thread's last fence.
#[derive(Clone)]
struct Release {
    time: u64,
    point: Point,
}

/// A thread saw everything that the first `len` releases at a location published.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Acquire {
    location: u32,
    len: u32,
    thread: u32,
    time: u64,
}

/// The locations at which a program has released something.
#[derive(Clone, Copy)]
enum Released {
    Nowhere,
    At(u32),
    AtSeveral,
}

pub struct Order {
    pub(super) cluster: Cluster,
    pub(super) now: u64,
    /// The current program: its start, its last barrier, the last barrier of each CTA and of each warp.
    start: u64,
    pub(super) barrier: u64,
    pub(super) ctas: Vec<u64>,
    pub(super) warps: Vec<u64>,
    pub(super) clocks: Clocks,
    /// Of every program so far: its start, its acquires and where it has released. The current one is last.
    starts: Vec<u64>,
    acquired: Vec<Vec<Acquire>>,
    released: Vec<Released>,
    /// For each thread: its last fence, and the releases that it has read by relaxed atomics since.
    fences: Vec<Option<Point>>,
    relaxed: Vec<Acquire>,
    locations: HashMap<u64, u32>,
    /// The releases at each location, in order of time.
    releases: Vec<Vec<Release>>,
    /// The location of the last atomic, if it released.
    last_release: Option<u32>,
}

impl Order {
    pub fn new(cluster: Cluster) -> Self {
        let threads = cluster.size();
        Order {
            cluster,
            now: 0,
            start: 0,
            barrier: 0,
            ctas: vec![0; cluster.ctas as usize],
            warps: vec![0; threads.div_ceil(32) as usize],
            clocks: Clocks::new(threads),
            starts: Vec::new(),
            acquired: Vec::new(),
            released: Vec::new(),
            fences: vec![None; threads as usize],
            relaxed: Vec::new(),
            locations: HashMap::new(),
            releases: Vec::new(),
            last_release: None,
        }
    }

    pub fn begin_program(&mut self) {
        self.now += 1;
        self.start = self.now;
        self.barrier = self.now;
        self.ctas.fill(self.now);
        self.warps.fill(self.now);
        self.starts.push(self.now);
        self.acquired.push(Vec::new());
        self.released.push(Released::Nowhere);
        self.fences.fill(None);
        self.relaxed.clear();
        self.clocks.begin_program();
    }

    /// All threads of a CTA meet.
    pub fn pass_barrier(&mut self, cta: u32) {
        self.now += 1;
        self.ctas[cta as usize] = self.now;
        if self.cluster.ctas == 1 {
            self.barrier = self.now;
        }
        self.clocks.pass_barrier(self.cluster.threads_of(cta));
    }

    /// A barrier of the threads of a cluster: of all, or of all that have not ended.
    pub fn pass_cluster_barrier(&mut self, threads: &[u32]) {
        if threads.len() as u32 == self.cluster.size() {
            self.now += 1;
            self.barrier = self.now;
            self.clocks.pass_barrier(0..self.cluster.size());
        } else {
            self.meet(threads);
        }
    }

    pub fn pass_warp_barrier(&mut self, warp: u32) {
        self.now += 1;
        self.warps[warp as usize] = self.now;
        self.clocks.pass_warp_barrier(warp);
    }

    /// Whether all threads of the cluster have met in the current program.
    pub fn has_met_cluster(&self) -> bool {
        self.barrier > self.start
    }

    /// When the current program started.
    pub fn program_start(&self) -> u64 {
        self.start
    }

    #[inline]
    pub fn epoch(&self, atomic: bool, thread: u32, site: u32) -> Epoch {
        Epoch::new(self.now, atomic, thread, site)
    }

    fn program_at(&self, time: u64) -> usize {
        self.starts.partition_point(|&start| start <= time) - 1
    }

    fn point(&self, thread: u32) -> Point {
        let known = self.clocks.of(thread).cloned();
        let cta = self.cluster.cta_of(thread);
        let of_cta = (self.cluster.threads_of(cta), self.ctas[cta as usize]);
        Point {
            thread,
            time: self.now,
            barrier: self.barrier,
            cta: of_cta,
            warp: self.warps[thread as usize / 32],
            known,
        }
    }

    /// A thread's fence makes its later relaxed atomics releases of the accesses before it, and earlier ones acquires.
    pub fn fence(&mut self, thread: u32) {
        self.fences[thread as usize] = Some(self.point(thread));
        let current = self.acquired.last_mut().expect("a program runs");
        let now = self.now;
        self.relaxed.retain(|a| {
            if a.thread == thread {
                current.push(Acquire { time: now, ..*a });
            }
            a.thread != thread
        });
        self.now += 1;
    }

    pub fn atomic(&mut self, kind: AccessKind, thread: u32, addr: u64, relaxed: bool) {
        let fresh = self.releases.len() as u32;
        if kind == AccessKind::AtomicStore {
            // A thread that reads it does not acquire the releases of other threads before it.
            self.locations.insert(addr, fresh);
        }
        let location = *self.locations.entry(addr).or_insert(fresh);
        if location == fresh {
            self.releases.push(Vec::new());
        }
        let len = self.releases[location as usize].len() as u32;
        if len > 0 && kind.reads() {
            let acquires = if relaxed { &mut self.relaxed } else { self.acquired.last_mut().expect("a program runs") };
            // A thread that waits acquires the same again and again.
            let again = |a: &Acquire| (a.location, a.len, a.thread) == (location, len, thread);
            if !acquires.last().is_some_and(again) {
                acquires.push(Acquire { location, len, thread, time: self.now });
            }
        }
        let release = if relaxed { self.fences[thread as usize].clone() } else { Some(self.point(thread)) };
        self.last_release = None;
        if let Some(point) = release.filter(|_| kind.writes()) {
            self.releases[location as usize].push(Release { time: self.now, point });
            self.last_release = Some(location);
            let released = self.released.last_mut().expect("a program runs");
            *released = match *released {
                Released::Nowhere => Released::At(location),
                Released::At(one) if one == location => Released::At(location),
                _ => Released::AtSeveral,
            };
        }
        self.now += 1;
    }

    /// The last atomic has not written: an exchange whose comparison failed. It releases nothing.
    pub fn has_not_written(&mut self) {
        if let Some(location) = self.last_release.take() {
            self.releases[location as usize].pop();
        }
    }

    /// Whether an earlier access is ordered before the current step of `thread`.
    #[inline]
    pub fn before(&self, s: Epoch, thread: u32) -> bool {
        self.before_by_barriers(s, thread) || self.before_by_atomics(s, thread)
    }

    /// As [`before`](Self::before), of a load.
    pub fn load_before(&self, s: Epoch, thread: u32) -> bool {
        let known = || self.clocks.of(thread).is_some_and(|k| k.has_load(s.thread(), s.time()));
        self.before(s, thread) || self.in_current_program(s) && known()
    }

    #[inline]
    pub fn before_by_barriers(&self, s: Epoch, thread: u32) -> bool {
        let time = s.time();
        let by_barrier = || {
            !s.is_async()
                && (time < self.barrier
                    || (s.warp() == thread / 32 && time < self.warps[thread as usize / 32])
                    || (self.cluster.ctas > 1 && self.before_by_cta(s, thread)))
        };
        time >= self.start && (s.thread() == thread || by_barrier() || self.clocks.has(thread, s.thread(), time))
    }

    fn before_by_cta(&self, s: Epoch, thread: u32) -> bool {
        let cta = self.cluster.cta_of(thread);
        cta == self.cluster.cta_of(s.thread()) && s.time() < self.ctas[cta as usize]
    }

    #[inline(never)]
    fn before_by_atomics(&self, s: Epoch, thread: u32) -> bool {
        let program = self.starts.len() - 1;
        if self.acquired[program].is_empty() {
            return false;
        }
        let here = self.point(thread);
        let known = |a: &&Acquire| here.after(a.thread, a.time);
        self.acquired[program].iter().filter(known).any(|a| self.covered(self.seen(a), s))
            || self.before_by_chain(s, program, here)
    }

    fn seen(&self, a: &Acquire) -> &[Release] {
        &self.releases[a.location as usize][..a.len as usize]
    }

    /// Searches backwards: acquires that a point knows of, then the acquires that their releases knew of, and so on.
    fn before_by_chain(&self, s: Epoch, program: usize, here: Point) -> bool {
        let mut visited = HashSet::new();
        let mut open = vec![(program, here)];
        while let Some((program, point)) = open.pop() {
            for a in &self.acquired[program] {
                if !point.after(a.thread, a.time) || !visited.insert((a.location, a.len)) {
                    continue;
                }
                if self.covered(self.seen(a), s) {
                    return true;
                }
                // A location's log holds all that its own releases acquired there: only others lead further.
                let leads = |of: usize| self.acquired[of].iter().any(|b| b.location != a.location);
                open.extend(
                    self.seen(a).iter().map(|r| (self.program_at(r.time), r.point.clone())).filter(|r| leads(r.0)),
                );
            }
        }
        false
    }

    /// Whether one of these releases, by the program that made the access, came after it.
    fn covered(&self, log: &[Release], s: Epoch) -> bool {
        self.first_release(log, s).is_some()
    }

    /// The time of the first of these releases, by the program that made the access, that came after it.
    fn first_release(&self, log: &[Release], s: Epoch) -> Option<u64> {
        let program = self.program_of(s);
        let end = self.starts.get(program + 1).copied().unwrap_or(u64::MAX);
        let from = log.partition_point(|r| r.time < self.starts[program]);
        let to = log.partition_point(|r| r.time < end);
        log[from..to].iter().find(|r| r.point.after(s.thread(), s.time())).map(|r| r.time)
    }
}

impl Programs for Order {
    #[inline]
    fn in_current_program(&self, s: Epoch) -> bool {
        s.time() >= self.start
    }

    fn program_of(&self, s: Epoch) -> usize {
        self.program_at(s.time())
    }

    fn reduce(&self, accesses: &mut Vec<Epoch>) {
        let Some(&last) = accesses.last() else { return };
        let stands_for_all = match self.released[self.program_of(last)] {
            // Nothing will ever be ordered after any of them.
            Released::Nowhere => last,
            Released::At(location) => {
                let log = &self.releases[location as usize];
                let ordered_last = |s: &Epoch| self.first_release(log, *s).unwrap_or(u64::MAX);
                accesses.iter().copied().max_by_key(ordered_last).unwrap_or(last)
            }
            Released::AtSeveral => return,
        };
        *accesses = vec![stands_for_all];
    }
}
