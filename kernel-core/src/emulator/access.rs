//! Accesses to memory, of threads and of asynchronous steps.

use std::collections::HashMap;

use super::access_kind::AccessKind;
use super::cluster::SharedAddress;
use super::epoch::Epoch;
use super::machine::Machine;
use super::memory::{Earlier, Fault, Request};
use super::order::Order;
use super::report::{Kind, Side};
use super::vector_clock::{Agent, Observer};

/// A thread waits in vain when it has made so many atomics at one address while nothing has changed. A loop that ends
/// by itself may make as many. So the steps that its program has made meanwhile are counted, too: atomics and turns of
/// threads. They take about a second.
const MAX_ASKED: u32 = 1 << 20;
const MAX_STEPS: u32 = 1 << 24;
/// After so many of them the other threads of the program run.
const ASKED_IN_TURN: u32 = 1 << 10;

/// The atomics that have changed nothing since the last store to global memory, or since a thread has ended.
#[derive(Default)]
pub struct Asked {
    /// By thread and address.
    times: HashMap<(u32, u64), u32>,
    /// Since the first of them.
    steps: u32,
}

impl Asked {
    /// Something has changed.
    #[inline]
    pub fn clear(&mut self) {
        if self.steps > 0 {
            self.times.clear();
            self.steps = 0;
        }
    }

    /// A thread has got its turn.
    #[inline]
    pub fn turn(&mut self) {
        if self.steps > 0 {
            self.steps = self.steps.saturating_add(1);
        }
    }
}

/// The next action of a thread after an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    Continue,
    /// Lets the other threads run first.
    Yield,
    /// A failure is recorded.
    Stop,
}

/// A step whose accesses an agent makes, ordered after earlier steps of certain threads.
pub struct Asynchronous {
    pub name: &'static str,
    pub now: Epoch,
    pub by: Observer,
    /// Whether it belongs to the asynchronous proxy.
    pub proxy: bool,
}

impl Asynchronous {
    fn request<'a>(&'a self, order: &'a Order, kind: AccessKind, bytes: usize) -> Request<'a> {
        Request {
            order,
            kind,
            now: self.now,
            by: &self.by,
            name: Some(self.name),
            proxy: self.proxy,
            acquires: false,
            bytes,
            value: None,
        }
    }
}

impl Machine {
    /// Checks an access to global memory; `false` if it must not happen.
    #[inline]
    pub fn global(&mut self, kind: AccessKind, addr: u64, bytes: usize, value: u128, site: u32) -> bool {
        self.report.global_bytes += bytes as u64;
        if !self.may_go_ahead(kind, addr, site) {
            return false;
        }
        if kind == AccessKind::Write {
            self.asked.clear();
        }
        let now = self.order.epoch(false, self.current, site);
        self.global_by_thread(kind, (addr, bytes), Some(value), now, false, site)
    }

    /// As [`global`](Self::global), of an atomic, which takes its place in the order of the launch.
    pub fn global_atomic(&mut self, kind: AccessKind, addr: u64, bytes: usize, relaxed: bool, site: u32) -> bool {
        self.report.global_bytes += bytes as u64;
        if !self.may_go_ahead(kind, addr, site) {
            return false;
        }
        let now = self.order.epoch(true, self.current, site);
        // The atomics that this one acquires come before it.
        self.order.atomic(kind, self.current, addr, relaxed);
        let acquires = kind == AccessKind::Atomic && !relaxed;
        self.global_by_thread(kind, (addr, bytes), None, now, acquires, site)
    }

    #[inline]
    fn global_by_thread(
        &mut self,
        kind: AccessKind,
        (addr, bytes): (u64, usize),
        value: Option<u128>,
        now: Epoch,
        acquires: bool,
        site: u32,
    ) -> bool {
        let by = &Observer::new(self.current, 1);
        let request = Request { order: &self.order, kind, now, by, name: None, proxy: false, acquires, bytes, value };
        match self.global.check(addr, &request) {
            Ok(()) => true,
            Err(fault) => {
                self.fault(fault, site);
                false
            }
        }
    }

    /// As [`global`](Self::global), for a part of an asynchronous step, which several agents may take: one access all
    /// the same.
    pub fn global_async(&mut self, steps: &[Asynchronous], kind: AccessKind, addr: u64, bytes: usize) -> bool {
        self.report.global_bytes += bytes as u64;
        if !self.may_go_ahead(kind, addr, steps.first().map_or(0, |s| s.now.site())) {
            return false;
        }
        if kind.writes() {
            self.asked.clear();
        }
        for step in steps {
            if let Err(fault) = self.global.check(addr, &step.request(&self.order, kind, bytes)) {
                self.fault(fault, step.now.site());
                return false;
            }
        }
        true
    }

    /// As [`shared`](Self::shared), for a part of an asynchronous step.
    pub fn shared_async(
        &mut self,
        step: &Asynchronous,
        kind: AccessKind,
        at: SharedAddress,
        bytes: usize,
    ) -> Option<*mut u8> {
        match self.shared[at.cta as usize].check(
            at.off,
            &step.request(&self.order, kind, bytes),
            self.order.program_start(),
        ) {
            Ok(place) => Some(place),
            Err(fault) => {
                self.fault(fault, step.now.site());
                None
            }
        }
    }

    /// The line of a write to some bytes of shared memory since the write of `initial`.
    pub fn overwritten(&self, at: SharedAddress, bytes: u32, initial: Epoch) -> Option<u32> {
        self.shared[at.cta as usize].overwritten(at.off, bytes, initial).map(Epoch::site)
    }

    /// An asynchronous step of an agent that `threads` from `first` on take.
    pub fn asynchronous(
        &mut self,
        name: &'static str,
        agent: Agent,
        (first, threads): (u32, u32),
        site: u32,
    ) -> Asynchronous {
        let agent = self.order.agent(agent);
        Asynchronous { name, now: self.order.epoch(false, agent, site), by: Observer::new(first, threads), proxy: true }
    }

    /// The current thread has made an atomic, which may have changed memory. If it has not, the thread may wait for a
    /// change. Threads of its own program can make one, and get a turn. Programs that begin later cannot: no other
    /// program runs meanwhile.
    pub fn asked(&mut self, kind: AccessKind, addr: u64, changes: bool, site: u32) -> Next {
        if changes || !kind.reads() {
            self.asked.clear();
            return Next::Continue;
        }
        self.asked.steps = self.asked.steps.saturating_add(1);
        let times = self.asked.times.entry((self.current, addr)).or_default();
        *times += 1;
        if *times >= MAX_ASKED && self.asked.steps >= MAX_STEPS {
            let times = *times;
            let message = format!(
                "thread {} has loaded {} {times} times and nothing was stored meanwhile: a program may wait for \
                 those alone that began before it",
                self.name(self.current),
                self.global.describe(addr)
            );
            self.fail_at(Kind::EndlessWait, site, None, vec![self.current], message);
            return Next::Stop;
        }
        if times.is_multiple_of(ASKED_IN_TURN) && self.give_turn() { Next::Yield } else { Next::Continue }
    }

    /// Checks an access to the current thread's CTA's shared memory and says where to carry it out; `None` if it must
    /// not happen.
    #[inline]
    pub fn shared(&mut self, kind: AccessKind, off: u32, bytes: usize, value: u128, site: u32) -> Option<*mut u8> {
        self.shared_at(kind, self.here(off), bytes, value, site)
    }

    /// The same in the shared memory of a CTA of the cluster, which has begun and has not ended.
    pub fn shared_of_cta(
        &mut self,
        kind: AccessKind,
        at: SharedAddress,
        bytes: usize,
        value: u128,
        site: u32,
    ) -> Option<*mut u8> {
        if !self.is_cta(at.cta, site) {
            return None;
        }
        if at.cta != self.rank && !self.order.has_met_cluster() {
            let message = format!(
                "thread {}: nothing orders this after the beginning of CTA {}, such as a cluster_sync before it",
                self.name(self.current),
                at.cta
            );
            self.fail(Kind::Protocol, site, message);
            return None;
        }
        let now = self.order.epoch(kind.is_atomic(), self.current, site);
        if !self.reach(at.cta, now) {
            return None;
        }
        self.shared_at(kind, at, bytes, value, site)
    }

    fn shared_at(
        &mut self,
        kind: AccessKind,
        at: SharedAddress,
        bytes: usize,
        value: u128,
        site: u32,
    ) -> Option<*mut u8> {
        let now = self.order.epoch(kind.is_atomic(), self.current, site);
        let by = &Observer::new(self.current, 1);
        let request = Request {
            order: &self.order,
            kind,
            now,
            by,
            name: None,
            proxy: false,
            acquires: false,
            bytes,
            value: Some(value),
        };
        match self.shared[at.cta as usize].check(at.off, &request, self.order.program_start()) {
            Ok(place) => Some(place),
            Err(fault) => {
                self.fault(fault, site);
                None
            }
        }
    }

    #[cold]
    fn fault(&mut self, fault: Fault, site: u32) {
        let mut message = format!("thread {}: {}", self.name(self.current), fault.message);
        let Some(Earlier { at: earlier, access }) = fault.earlier else {
            return self.fail_at(fault.kind, site, None, vec![self.current], message);
        };
        let thread = (!earlier.is_async()).then(|| earlier.thread());
        let program = self.program_of(earlier);
        if program != self.program {
            let [x, y, z] = program;
            message += &format!(" of program ({x}, {y}, {z})");
        }
        let threads = [self.current].into_iter().chain(thread).collect();
        let this = Side { access: fault.access, line: site, thread: Some(self.current), program: self.program };
        let other = Side { access, line: earlier.site(), thread, program };
        self.fail_race(fault.kind, threads, message, [this, other]);
    }
}
