//! The state of a launch, and the scheduler of one program's threads.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr;

use super::access::Asked;
use super::access_kind::AccessKind;
use super::banks::Banks;
use super::cluster::{Cluster, Reached};
use super::epoch::Epoch;
use super::fiber::{Fibers, Suspend};
use super::in_flight::Flights;
use super::marks::Suspicion;
use super::memory::{Global, Shared};
use super::order::Order;
use super::random::Random;
use super::registers::Pool;
use super::report::{BarrierSite, Failure, Kind, Options, Region, Report, Side};
use super::sectors::Sectors;
pub use super::state::State;
use super::tensor::{Tensor, WARPGROUP};
use super::unordered::Programs;
use super::watch::Watched;
use super::{Program, Shape};

pub struct Machine {
    code: Program,
    pub cluster: Cluster,
    pub grid: [u64; 3],
    pub program: [u64; 3],
    /// The thread that runs, and its CTA.
    pub current: u32,
    pub rank: u32,
    pub options: Options,
    pub states: Vec<State>,
    suspends: Vec<*const Suspend>,
    /// Threads that can go on; the last is next.
    runnable: Vec<u32>,
    /// By CTA: threads that have ended, and threads at the block-wide barrier.
    pub finished: Vec<u32>,
    at_barrier: Vec<u32>,
    pub at_cluster_barrier: u32,
    pub reached: Reached,
    pub in_warp: Vec<u32>,
    /// Each lane's word of a shuffle and its source lane; then the word that it receives.
    words: Vec<(u32, u32)>,
    results: Vec<u32>,
    pub order: Order,
    pub global: Global,
    /// Of each CTA.
    pub shared: Vec<Shared>,
    pub tensor: Tensor,
    /// Of each CTA.
    pub registers: Vec<Pool>,
    /// By thread: whether it has waited for the launch in front to end, where this one begins early.
    waited_for_launch: Vec<bool>,
    pub banks: Banks,
    pub sectors: Sectors,
    pub barrier_sites: BTreeMap<u32, BarrierSite>,
    /// The values that breakpoints show of the running program.
    pub watched: Watched,
    pub report: Report,
    failure: Option<Failure>,
    pub asked: Asked,
    random: Random,
}

/// Why a run has ended before its end.
#[allow(clippy::large_enum_variant, reason = "a launch fails once")]
pub enum Stopped {
    Failed(Failure),
    /// Global memory is as it was before: another run is to find this out.
    Suspected(Suspicion),
}

thread_local! {
    /// The launch that this host thread runs.
    static CURRENT: Cell<*mut Machine> = const { Cell::new(ptr::null_mut()) };
}

/// Takes the machine out of the thread-local again, also when a panic passes.
struct Installed;

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.set(ptr::null_mut());
    }
}

/// The machine, for a step that does not suspend.
#[inline]
pub fn with<R>(f: impl FnOnce(&mut Machine) -> R) -> R {
    let machine = CURRENT.get();
    assert!(!machine.is_null(), "lowered code runs only inside emulator::launch");
    // SAFETY: set by `run`, which does not touch the machine while a fiber runs; `f` does not suspend, and does not
    // call `with` again, so that this reference is the only one.
    f(unsafe { &mut *machine })
}

/// Gives up the host thread until the scheduler comes back to this fiber.
#[inline]
pub fn suspend() {
    let suspend = with(|m| m.suspends[m.current as usize]);
    // SAFETY: a fiber of the launch has entered its yielder before it ran lowered code. The fiber that runs is this
    // one, and its yielder lives as long as its stack.
    unsafe { (*suspend).suspend(()) };
}

impl Machine {
    /// Of the first run of a launch, or of one that is to find something out.
    pub fn new(
        code: Program,
        shape: Shape,
        regions: &[Region],
        options: &Options,
        suspicion: Option<Suspicion>,
    ) -> Self {
        let Shape { threads, shared_bytes, grid, ctas } = shape;
        let cluster = Cluster { threads, ctas };
        let n = cluster.size() as usize;
        Machine {
            code,
            cluster,
            grid,
            program: [0; 3],
            current: 0,
            rank: 0,
            options: options.clone(),
            states: vec![State::Running; n],
            suspends: vec![ptr::null(); n],
            runnable: Vec::with_capacity(n),
            finished: vec![0; ctas as usize],
            at_barrier: vec![0; ctas as usize],
            at_cluster_barrier: 0,
            reached: Reached::new(ctas),
            in_warp: vec![0; n.div_ceil(32)],
            words: vec![(0, 0); n],
            results: vec![0; n],
            order: Order::new(cluster),
            // Without a warpgroup there is nothing to find out.
            global: Global::new(regions, options, threads >= WARPGROUP),
            shared: (0..ctas).map(|cta| Shared::new(cta, shared_bytes, options)).collect(),
            tensor: Tensor::new(cluster, Flights::new(options.seed, suspicion)),
            registers: (0..ctas).map(|_| Pool::new(threads)).collect(),
            waited_for_launch: vec![false; n],
            banks: Banks::new(cluster.size(), options.banks),
            sectors: Sectors::new(options.sectors),
            barrier_sites: BTreeMap::new(),
            watched: Watched::default(),
            report: Report::default(),
            failure: None,
            asked: Asked::default(),
            random: Random::new(options.seed),
        }
    }

    /// Runs every program of the grid.
    #[allow(clippy::result_large_err, reason = "a launch fails once")]
    pub fn run(mut self, words: &[u64]) -> Result<Report, Stopped> {
        assert!(CURRENT.get().is_null(), "a launch inside a launch");
        let machine = &raw mut self;
        CURRENT.set(machine);
        let _installed = Installed;
        let (words, Program { name, run, .. }): (*const [u64], _) = (words, self.code);
        let body = move |thread: u32, suspend: *const Suspend| {
            with(|m| m.suspends[thread as usize] = suspend);
            // SAFETY: the caller of `launch` vouches for the code with these argument words, which outlive the fibers:
            // `run` drops them before it returns.
            unsafe { run(&*words) };
            with(|m| {
                m.finish_work();
                m.end_thread();
            });
        };
        // SAFETY: while a fiber runs only the fiber uses the machine, and between that only this function.
        unsafe {
            let mut fibers = match Fibers::new(name, (*machine).cluster.size(), (*machine).options.stack_bytes, body) {
                Ok(fibers) => fibers,
                Err(e) => {
                    let failure = Failure::launch(format!("no stacks: {e}"), &(*machine).options);
                    return Err(Stopped::Failed(failure));
                }
            };
            let programs = (*machine).grid.iter().product::<u64>();
            let order = (*machine).random.order(programs as usize);
            for program in order {
                (*machine).begin_program(program as u64);
                while let Some(thread) = (*machine).next() {
                    (*machine).current = thread;
                    (*machine).rank = (*machine).cluster.cta_of(thread);
                    if let Err(panic) = fibers.resume(thread) {
                        (*machine).panicked(panic);
                    }
                }
                (*machine).finish_program();
                (*machine).has_waited_for_launch();
                (*machine).show_watched();
                if let Some(suspicion) = (*machine).tensor.flights.suspicion() {
                    drop(fibers);
                    (*machine).global.undo.undo();
                    return Err(Stopped::Suspected(suspicion));
                }
                if let Some(failure) = (*machine).failure.take() {
                    let printed = std::mem::take(&mut (*machine).report.printed);
                    return Err(Stopped::Failed(Failure { printed, ..failure }));
                }
                (*machine).banks.flush(0..(*machine).cluster.size());
                (*machine).sectors.flush();
            }
            fibers.finish();
        }
        self.finish().map_err(Stopped::Failed)
    }

    fn begin_program(&mut self, number: u64) {
        let [x, y, _] = self.grid;
        self.program = [number % x, number / x % y, number / x / y];
        self.order.begin_program();
        self.banks.begin_program();
        self.states.fill(State::Running);
        self.finished.fill(0);
        self.at_barrier.fill(0);
        self.at_cluster_barrier = 0;
        self.reached.begin_program();
        self.in_warp.fill(0);
        self.tensor.begin_program();
        self.asked.clear();
        self.registers.iter_mut().for_each(|p| p.begin_program(self.code.registers));
        self.waited_for_launch.fill(!self.code.pdl);
        self.make_runnable(0..self.cluster.size());
        self.report.programs += 1;
    }

    /// Ends the program that was watched: its tiles become lines of the report.
    fn show_watched(&mut self) {
        let watched = std::mem::take(&mut self.watched);
        for (line, text) in watched.show(self.program, self.cluster.ctas, self.options.watch.whole) {
            self.report.printed.push(text);
            if !self.report.watched_lines.contains(&line) {
                self.report.watched_lines.push(line);
            }
        }
    }

    pub fn make_runnable(&mut self, threads: impl DoubleEndedIterator<Item = u32>) {
        let from = self.runnable.len();
        self.runnable.extend(threads.rev());
        self.random.shuffle(&mut self.runnable[from..]);
    }

    /// Whether there are threads that can continue. They do so before the current one, which suspends.
    pub fn give_turn(&mut self) -> bool {
        let others = !self.runnable.is_empty();
        if others {
            self.runnable.insert(0, self.current);
        }
        others
    }

    /// Removes a thread from the runnable threads.
    pub fn not_runnable(&mut self, thread: u32) {
        self.runnable.retain(|&t| t != thread);
    }

    /// The current thread waits until the launch in front has ended.
    pub fn wait_for_launch(&mut self) {
        self.waited_for_launch[self.current as usize] = true;
    }

    /// Whether the current thread may touch a byte of global memory, as far as the launch in front is concerned.
    #[inline]
    pub fn may_go_ahead(&mut self, kind: AccessKind, addr: u64, site: u32) -> bool {
        self.waited_for_launch[self.current as usize] || self.goes_ahead(kind, addr, site)
    }

    #[cold]
    fn goes_ahead(&mut self, kind: AccessKind, addr: u64, site: u32) -> bool {
        if kind == AccessKind::Read && self.global.is_pdl(addr) {
            return true;
        }
        let message = format!(
            "thread {}: {} {}: no wait for the launch in front comes before",
            self.name(self.current),
            if kind.writes() { "writes" } else { "reads" },
            self.global.describe(addr)
        );
        self.fail(Kind::TooEarly, site, message);
        false
    }

    /// A program ends: some thread of it has waited for the launch in front, or this launch might end before that one.
    fn has_waited_for_launch(&mut self) {
        if !self.waited_for_launch.contains(&true) {
            self.fail(Kind::TooEarly, 0, "the program ends, and no thread has waited for the launch in front".into());
        }
    }

    /// The thread to run; none when the program is over or has failed.
    fn next(&mut self) -> Option<u32> {
        if self.failure.is_some() {
            return None;
        }
        self.asked.turn();
        let next = self.runnable.pop();
        if next.is_none() && self.finished.iter().sum::<u32>() < self.cluster.size() {
            self.stuck();
        }
        next
    }

    /// Reports a deadlock: no thread can continue.
    fn stuck(&mut self) {
        if self.stuck_at_registers() || self.stuck_at_mbarrier() {
            return;
        }
        // A barrier of the cluster waits for a thread that waits for something else.
        let waits = |s: &State| !matches!(s, State::Finished | State::AtClusterBarrier { .. });
        let first = self.states.iter().position(waits).expect("somebody waits") as u32;
        // The most useful step to report is one that few waiting threads have in common, first of the same CTA.
        let here = self.states[first as usize];
        let own = self.cluster.threads_of(self.cluster.cta_of(first));
        let mut all = own.chain(0..self.cluster.size());
        let there = all.find(|&t| self.states[t as usize] != here).unwrap_or(first);
        let state_there = self.states[there as usize];
        let threads: Vec<u32> = (0..self.cluster.size()).filter(|&t| self.states[t as usize] == here).collect();
        let message = format!(
            "thread {} {} (with {} others), but thread {} {}",
            self.name(first),
            here.describe(self.cluster),
            threads.len() - 1,
            self.name(there),
            state_there.describe(self.cluster)
        );
        self.fail_at(Kind::Divergence, here.site(), Some(state_there.site()).filter(|&s| s != 0), threads, message);
    }

    /// Whether all of these threads wait at a barrier on the line where one of them does.
    pub fn meet_on_one_line(&mut self, one: u32, mut all: impl Iterator<Item = u32>) -> bool {
        let site = self.states[one as usize].site();
        let Some(other) = all.find(|&t| self.states[t as usize].site() != site) else { return true };
        let other_site = self.states[other as usize].site();
        let (here, there) = (self.name(one), self.name(other));
        let message = format!(
            "threads meet at different barriers: thread {here} on line {site}, thread {there} on line {other_site}"
        );
        self.fail_at(Kind::Divergence, site, Some(other_site), vec![one, other], message);
        false
    }

    /// The current thread comes to a block-wide barrier; whether it must wait.
    pub fn arrive(&mut self, site: u32) -> bool {
        self.states[self.current as usize] = State::AtBarrier { site };
        let come = &mut self.at_barrier[self.rank as usize];
        *come += 1;
        if *come < self.cluster.threads {
            return true;
        }
        *come = 0;
        let threads = self.cluster.threads_of(self.rank);
        if !self.meet_on_one_line(self.current, threads.clone()) {
            return true;
        }
        self.states[threads.start as usize..threads.end as usize].fill(State::Running);
        self.order.pass_barrier(self.rank);
        self.banks.flush(threads.clone());
        self.report.barriers += 1;
        self.barriers_of(site).barriers += 1;
        let current = self.current;
        self.make_runnable(threads.filter(|&t| t != current));
        false
    }

    /// The counters of a line with barriers.
    pub fn barriers_of(&mut self, site: u32) -> &mut BarrierSite {
        self.barrier_sites.entry(site).or_insert(BarrierSite { site, ..BarrierSite::default() })
    }

    /// The current thread comes to a step of its warp with a word for others; whether it must wait.
    pub fn arrive_in_warp(&mut self, state: State, word: u32, from: u32) -> bool {
        self.words[self.current as usize] = (word, from);
        let Some(lanes) = self.meet(state, 32) else { return true };
        for t in lanes.clone() {
            let source = (lanes.start + self.words[t as usize].1).min(lanes.end - 1);
            self.results[t as usize] = self.words[source as usize].0;
        }
        if matches!(state, State::AtWarpBarrier { .. }) || self.options.shuffles_order_memory {
            self.order.pass_warp_barrier(lanes.start / 32);
        }
        self.report.warp_steps += 1;
        self.leave(lanes);
        false
    }

    pub fn received(&self) -> u32 {
        self.results[self.current as usize]
    }

    pub fn fence(&mut self) {
        self.order.fence(self.current);
    }

    /// The program of an access. Programs are numbered in the order in which they ran: the same permutation again tells
    /// which one it was.
    pub fn program_of(&self, s: Epoch) -> [u64; 3] {
        if self.order.in_current_program(s) {
            return self.program;
        }
        let run = self.order.program_of(s);
        let programs = self.grid.iter().product::<u64>() as usize;
        let number = Random::new(self.options.seed).order(programs)[run] as u64;
        let [x, y, _] = self.grid;
        [number % x, number / x % y, number / x / y]
    }

    /// Records a failure of the current thread. The first failure stays.
    #[cold]
    pub fn fail(&mut self, kind: Kind, site: u32, message: String) {
        self.fail_at(kind, site, None, vec![self.current], message);
    }

    /// Records a race between two accesses.
    pub fn fail_race(&mut self, kind: Kind, threads: Vec<u32>, message: String, sides: [Side; 2]) {
        if self.failure.is_none() {
            self.fail_at(kind, sides[0].line, Some(sides[1].line), threads, message);
            self.failure.iter_mut().for_each(|f| f.sides = sides.to_vec());
        }
    }

    pub fn fail_at(&mut self, kind: Kind, site: u32, other_site: Option<u32>, threads: Vec<u32>, message: String) {
        let (program, seed) = (self.program, self.options.seed);
        self.failure.get_or_insert(Failure {
            kind,
            site,
            other_site,
            program,
            threads,
            message,
            seed,
            printed: vec![],
            sides: vec![],
        });
    }

    fn panicked(&mut self, panic: Box<dyn Any + Send>) {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        self.fail(
            Kind::Panic,
            0,
            format!("thread {}: {}", self.name(self.current), text.unwrap_or("a panic without a message")),
        );
    }

    #[allow(clippy::result_large_err, reason = "a launch fails once")]
    fn finish(mut self) -> Result<Report, Failure> {
        self.report.same_value_stores =
            self.global.same_value_stores + self.shared.iter().map(|s| s.same_value_stores).sum::<u64>();
        self.report.shared_sites = self.banks.into_sites();
        self.report.global_sites = self.sectors.into_sites();
        self.report.barrier_sites = self.barrier_sites.into_values().collect();
        let conflict = self.report.bank_conflicts().max_by_key(|s| s.wavefronts - s.ideal);
        match conflict {
            Some(s) if self.options.forbid_bank_conflicts => Err(Failure {
                kind: Kind::BankConflict,
                site: s.site,
                other_site: None,
                program: [0; 3],
                threads: vec![],
                message: format!(
                    "{}s take {} wavefronts instead of {}, {} of {} instructions conflict, the worst {}-way",
                    if s.write { "store" } else { "load" },
                    s.wavefronts,
                    s.ideal,
                    s.conflicting,
                    s.instructions,
                    s.worst
                ),
                seed: self.options.seed,
                printed: self.report.printed,
                sides: vec![],
            }),
            _ => Ok(self.report),
        }
    }
}
