//! Mbarriers: phases that threads arrive at, that bytes of tensor loads complete, and that threads wait for.

use std::rc::Rc;

use super::access_kind::AccessKind;
use super::cluster::SharedAddress;
use super::epoch::Epoch;
use super::machine::{Machine, State};
use super::report::Kind;
use super::vector_clock::{Agent, VectorClock};

/// The most that hardware counts, of arrivals and of bytes.
const MAX_COUNT: u32 = (1 << 20) - 1;

pub struct Mbarrier {
    arrivals: u32,
    /// The missing arrivals and bytes of the current phase, and its parity.
    pending: u32,
    bytes: i64,
    parity: u32,
    /// The joined clocks of the threads that arrived, and the part that complete phases publish.
    gathering: VectorClock,
    published: Rc<VectorClock>,
    initialized: Epoch,
    /// When its thread showed it to the asynchronous proxy.
    ready: Option<Epoch>,
    waiting: Vec<u32>,
    /// Lines of loads, in the current phase and in a complete one that nobody has waited for; of the last expectation.
    loading: Option<u32>,
    loaded: Option<u32>,
    expected: u32,
}

impl Mbarrier {
    /// The arrivals and bytes that the phase still needs.
    fn missing(&self) -> String {
        format!("{} of {} arrivals and {} bytes are missing", self.pending, self.arrivals, self.bytes)
    }

    /// At the end of a program: the phase that is not complete or not waited for, and the line where it began.
    pub fn unwaited(&self) -> Option<(u32, String)> {
        if let Some(site) = self.loading.or(self.loaded) {
            return Some((site, "nobody has waited for this load by".into()));
        }
        (self.bytes != 0).then(|| (self.expected, format!("{} bytes have not come to", self.bytes)))
    }
}

impl Machine {
    /// The current thread makes one in its CTA; whether it may go on.
    pub fn mbarrier_init(&mut self, off: u32, arrivals: u32, site: u32) -> bool {
        let at = self.here(off);
        if arrivals == 0 || arrivals > MAX_COUNT {
            self.fail(Kind::Mbarrier, site, format!("{arrivals} arrivals; from 1 to {MAX_COUNT}"));
            return false;
        }
        if let Some(bar) = self.tensor.mbarriers.get(&at)
            && (!bar.waiting.is_empty() || bar.bytes != 0)
        {
            self.fail(Kind::Mbarrier, site, format!("the mbarrier at {} is in use", self.cluster.address(at)));
            return false;
        }
        if self.shared(AccessKind::Write, off, 8, 0, site).is_none() {
            return false;
        }
        let bar = Mbarrier {
            arrivals,
            pending: arrivals,
            bytes: 0,
            parity: 0,
            gathering: VectorClock::default(),
            published: Rc::default(),
            initialized: self.order.epoch(false, self.current, site),
            ready: None,
            waiting: Vec::new(),
            loading: None,
            loaded: None,
            expected: 0,
        };
        self.tensor.mbarriers.insert(at, bar);
        true
    }

    /// The asynchronous proxy sees the mbarriers that the current thread initialized, and nothing else: it is no proxy
    /// fence.
    pub fn mbarriers_ready(&mut self) {
        self.order.tick();
        let ready = self.order.epoch(false, self.current, 0);
        let own = self.tensor.mbarriers.values_mut().filter(|b| b.initialized.thread() == self.current);
        own.for_each(|b| _ = b.ready.get_or_insert(ready));
        self.order.tick();
    }

    /// Whether the current thread may use an mbarrier.
    fn mbarrier_known(&mut self, at: SharedAddress, site: u32) -> bool {
        let why = match self.tensor.mbarriers.get(&at) {
            None => "is not initialized".to_string(),
            Some(bar) if !self.order.before(bar.initialized, self.current) => {
                format!("was initialized on line {}, which is not ordered before this", bar.initialized.site())
            }
            Some(bar) => match self.overwritten(at, 8, bar.initialized) {
                Some(line) => format!("was overwritten on line {line}"),
                None => return true,
            },
        };
        self.fail(
            Kind::Mbarrier,
            site,
            format!("thread {}: the mbarrier at {} {why}", self.name(self.current), self.cluster.address(at)),
        );
        false
    }

    /// The current thread arrives, at an mbarrier of any CTA, and more bytes are to come; whether it may go on.
    pub fn mbarrier_arrive(&mut self, at: SharedAddress, bytes: Option<u32>, site: u32) -> bool {
        if !self.mbarrier_known(at, site) {
            return false;
        }
        let access = self.order.epoch(false, self.current, site);
        if !self.reach(at.cta, access) {
            return false;
        }
        let bar = self.tensor.mbarriers.get_mut(&at).expect("it is known");
        if let Some(bytes) = bytes {
            bar.bytes += bytes as i64;
            bar.expected = site;
        }
        let why = if bar.pending == 0 {
            format!("more than {} arrivals in a phase of", bar.arrivals)
        } else if bar.bytes > MAX_COUNT as i64 {
            format!("more than {MAX_COUNT} bytes are expected by")
        } else {
            bar.pending -= 1;
            // Its release is for the threads of the arriving thread's CTA.
            if at.cta == self.rank {
                self.order.publish(self.current, &mut bar.gathering);
            } else {
                self.order.publish_loads(self.current, &mut bar.gathering);
            }
            self.complete_phase(at);
            return true;
        };
        self.fail(
            Kind::Mbarrier,
            site,
            format!("thread {}: {why} the mbarrier at {}", self.name(self.current), self.cluster.address(at)),
        );
        false
    }

    /// Ends the phase if nothing is missing: the waiting threads acquire the clocks of the arriving threads, and see
    /// the loaded bytes.
    fn complete_phase(&mut self, at: SharedAddress) {
        let agent = self.order.agent(Agent::Load { bar: at });
        let bar = self.tensor.mbarriers.get_mut(&at).expect("it is known");
        if bar.pending != 0 || bar.bytes != 0 {
            return;
        }
        bar.gathering.raise(agent, self.order.tick());
        bar.published = Rc::new(bar.gathering.clone());
        bar.pending = bar.arrivals;
        bar.parity ^= 1;
        bar.loaded = bar.loading.take();
        let waiting = std::mem::take(&mut bar.waiting);
        if !waiting.is_empty() {
            bar.loaded = None;
        }
        for &t in &waiting {
            self.order.learn(t, &bar.published);
            self.states[t as usize] = State::Running;
        }
        self.make_runnable(waiting.into_iter());
    }

    /// Whether the current thread must wait.
    pub fn mbarrier_wait(&mut self, at: SharedAddress, parity: u32, site: u32) -> bool {
        if !self.mbarrier_known(at, site) {
            return true;
        }
        self.barriers_of(site).mbarrier_waits += 1;
        let bar = self.tensor.mbarriers.get_mut(&at).expect("it is known");
        if bar.parity == parity & 1 {
            bar.waiting.push(self.current);
            self.states[self.current as usize] = State::AtMbarrier { bar: at, parity, site };
            return true;
        }
        bar.loaded = None;
        self.order.learn(self.current, &bar.published);
        false
    }

    /// A load is about to be counted by an mbarrier; whether it may.
    pub fn mbarrier_begin_load(&mut self, at: SharedAddress, site: u32) -> bool {
        if !self.mbarrier_known(at, site) {
            return false;
        }
        let bar = self.tensor.mbarriers.get_mut(&at).expect("it is known");
        bar.loading = Some(site);
        if !bar.ready.is_some_and(|ready| self.order.before(ready, self.current)) {
            let message = format!(
                "no mbarriers_ready after the mbarrier at {} was initialized comes before this",
                self.cluster.address(at)
            );
            self.fail(Kind::Mbarrier, site, message);
            return false;
        }
        true
    }

    /// A load that [`mbarrier_begin_load`](Self::mbarrier_begin_load) admitted has ended.
    pub fn mbarrier_end_load(&mut self, at: SharedAddress, bytes: u32) {
        let bar = self.tensor.mbarriers.get_mut(&at).expect("it is known");
        bar.bytes -= bytes as i64;
        self.complete_phase(at);
    }

    /// In a deadlock: reports a thread that waits at an mbarrier, if there is one.
    pub fn stuck_at_mbarrier(&mut self) -> bool {
        let waiting = |s: &State| matches!(s, State::AtMbarrier { .. });
        let Some(first) = self.states.iter().position(waiting) else { return false };
        let here = self.states[first];
        let State::AtMbarrier { bar, site, .. } = here else { unreachable!() };
        let threads: Vec<u32> = (0..self.cluster.size()).filter(|&t| self.states[t as usize] == here).collect();
        let mut message = format!(
            "thread {} {} (with {} others), but {}",
            self.name(first as u32),
            here.describe(self.cluster),
            threads.len() - 1,
            self.tensor.mbarriers[&bar].missing()
        );
        let there = self.states.iter().position(|s| *s != here && *s != State::Finished);
        if let Some(there) = there {
            message += &format!("; thread {} {}", self.name(there as u32), self.states[there].describe(self.cluster));
        }
        let other_site = there.map(|t| self.states[t].site());
        self.fail_at(Kind::Divergence, site, other_site, threads, message);
        true
    }
}
