//! The state of a launch, and the scheduler of one program's threads.

use std::any::Any;
use std::cell::Cell;
use std::ptr;

use super::banks::Banks;
use super::fiber::{Fibers, Suspend};
use super::memory::{Global, Shared};
use super::order::{Order, Stamp};
use super::random::Random;
use super::report::{Failure, Kind, Options, Region, Report};
pub use super::state::State;
use super::tensor::Tensor;

pub struct Machine {
    pub threads: u32,
    pub grid: [u64; 3],
    pub program: [u64; 3],
    /// The thread that runs.
    pub current: u32,
    options: Options,
    pub states: Vec<State>,
    suspends: Vec<*const Suspend>,
    /// Threads that can go on; the last is next.
    runnable: Vec<u32>,
    finished: u32,
    at_barrier: u32,
    pub in_warp: Vec<u32>,
    /// Each lane's word of a shuffle and the lane it wants; then what it gets.
    words: Vec<(u32, u32)>,
    results: Vec<u32>,
    pub order: Order,
    pub global: Global,
    pub shared: Shared,
    pub tensor: Tensor,
    pub banks: Banks,
    pub report: Report,
    failure: Option<Failure>,
    random: Random,
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
    // SAFETY: set by `run`, which does not touch the machine while a fiber runs; `f` cannot suspend.
    f(unsafe { &mut *machine })
}

/// Gives up the host thread until the scheduler comes back to this fiber.
#[inline]
pub fn suspend() {
    let suspend = with(|m| m.suspends[m.current as usize]);
    // SAFETY: the fiber that runs is this one, and its yielder lives as long.
    unsafe { (*suspend).suspend(()) };
}

impl Machine {
    pub fn new(threads: u32, shared_bytes: u32, grid: [u64; 3], regions: &[Region], options: &Options) -> Self {
        let n = threads as usize;
        Machine {
            threads,
            grid,
            program: [0; 3],
            current: 0,
            options: options.clone(),
            states: vec![State::Running; n],
            suspends: vec![ptr::null(); n],
            runnable: Vec::with_capacity(n),
            finished: 0,
            at_barrier: 0,
            in_warp: vec![0; n.div_ceil(32)],
            words: vec![(0, 0); n],
            results: vec![0; n],
            order: Order::new(threads),
            global: Global::new(regions, options),
            shared: Shared::new(shared_bytes, options),
            tensor: Tensor::new(threads),
            banks: Banks::new(threads, options.banks),
            report: Report::default(),
            failure: None,
            random: Random::new(options.seed),
        }
    }

    /// Runs every program of the grid.
    pub fn run(mut self, run: unsafe fn(&[u64]), slots: &[u64]) -> Result<Report, Failure> {
        assert!(CURRENT.get().is_null(), "a launch inside a launch");
        let machine = &raw mut self;
        CURRENT.set(machine);
        let _installed = Installed;
        let slots: *const [u64] = slots;
        let body = move |thread: u32, suspend: *const Suspend| {
            with(|m| m.suspends[thread as usize] = suspend);
            // SAFETY: the caller of `launch` vouches for the code; the slots outlive the launch.
            unsafe { run(&*slots) };
            with(|m| {
                m.finish_thread();
                m.states[thread as usize] = State::Finished;
                m.finished += 1;
            });
        };
        // SAFETY: while a fiber runs only the fiber uses the machine, and between that only this function.
        unsafe {
            let mut fibers = match Fibers::new((*machine).threads, (*machine).options.stack_bytes, body) {
                Ok(fibers) => fibers,
                Err(e) => return Err((*machine).refuse(format!("no stacks: {e}"))),
            };
            let programs = (*machine).grid.iter().product::<u64>();
            let order = (*machine).random.order(programs as usize);
            for program in order {
                (*machine).begin_program(program as u64);
                while let Some(thread) = (*machine).next() {
                    (*machine).current = thread;
                    if let Err(panic) = fibers.resume(thread) {
                        (*machine).panicked(panic);
                    }
                }
                (*machine).finish_program();
                if let Some(failure) = (*machine).failure.take() {
                    return Err(failure);
                }
                (*machine).banks.flush();
            }
            fibers.finish();
        }
        self.finish()
    }

    fn begin_program(&mut self, number: u64) {
        let [x, y, _] = self.grid;
        self.program = [number % x, number / x % y, number / x / y];
        self.order.begin_program();
        self.banks.begin_program();
        self.states.fill(State::Running);
        self.finished = 0;
        self.at_barrier = 0;
        self.in_warp.fill(0);
        self.tensor.begin_program();
        self.make_runnable(0..self.threads);
        self.report.programs += 1;
    }

    pub fn make_runnable(&mut self, threads: impl DoubleEndedIterator<Item = u32>) {
        let from = self.runnable.len();
        self.runnable.extend(threads.rev());
        self.random.shuffle(&mut self.runnable[from..]);
    }

    /// The thread to run; none when the program is over or has failed.
    fn next(&mut self) -> Option<u32> {
        if self.failure.is_some() {
            return None;
        }
        let next = self.runnable.pop();
        if next.is_none() && self.finished < self.threads {
            self.stuck();
        }
        next
    }

    /// Nobody can go on: the threads wait for others that will not come.
    fn stuck(&mut self) {
        if self.stuck_at_mbarrier() {
            return;
        }
        let waits = |s: &State| *s != State::Finished;
        let first = self.states.iter().position(waits).expect("somebody waits");
        // Among those that wait, the step that most others do not share tells most.
        let here = self.states[first];
        let there = self.states.iter().position(|s| *s != here).unwrap_or(first);
        let threads: Vec<u32> = (0..self.threads).filter(|&t| self.states[t as usize] == here).collect();
        let message = format!(
            "thread {first} {} (with {} others), but thread {there} {}",
            here.describe(),
            threads.len() - 1,
            self.states[there].describe()
        );
        self.fail_at(Kind::Divergence, here.site(), Some(self.states[there].site()).filter(|&s| s != 0), threads, message);
    }

    /// The current thread comes to a block-wide barrier; whether it must wait.
    pub fn arrive(&mut self, site: u32) -> bool {
        self.at_barrier += 1;
        if self.at_barrier < self.threads {
            self.states[self.current as usize] = State::AtBarrier { site };
            return true;
        }
        self.states[self.current as usize] = State::AtBarrier { site };
        if let Some(other) = self.states.iter().position(|s| s.site() != site) {
            let message = format!(
                "threads of one program meet at different barriers: thread {} on line {site}, thread {other} on line {}",
                self.current,
                self.states[other].site()
            );
            let threads = vec![self.current, other as u32];
            self.fail_at(Kind::Divergence, site, Some(self.states[other].site()), threads, message);
            return true;
        }
        self.at_barrier = 0;
        self.states.fill(State::Running);
        self.order.pass_barrier();
        self.banks.flush();
        self.report.barriers += 1;
        let current = self.current;
        let others = (0..self.threads).filter(|&t| t != current);
        self.make_runnable(others);
        false
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

    /// Programs are numbered in the order in which they ran: the same permutation again tells which one it was.
    pub fn name_of_program(&self, s: Stamp) -> String {
        let run = self.order.program_of(s);
        let programs = self.grid.iter().product::<u64>() as usize;
        let number = Random::new(self.options.seed).order(programs)[run] as u64;
        let [x, y, _] = self.grid;
        format!("program ({}, {}, {})", number % x, number / x % y, number / x / y)
    }

    /// Records what went wrong in the current thread. The first failure stays.
    #[cold]
    pub fn fail(&mut self, kind: Kind, site: u32, message: String) {
        self.fail_at(kind, site, None, vec![self.current], message);
    }

    pub fn fail_at(&mut self, kind: Kind, site: u32, other_site: Option<u32>, threads: Vec<u32>, message: String) {
        let (program, seed) = (self.program, self.options.seed);
        self.failure.get_or_insert(Failure { kind, site, other_site, program, threads, message, seed });
    }

    fn panicked(&mut self, panic: Box<dyn Any + Send>) {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        self.fail(Kind::Panic, 0, format!("thread {}: {}", self.current, text.unwrap_or("a panic without a message")));
    }

    pub fn refuse(&mut self, message: String) -> Failure {
        let seed = self.options.seed;
        Failure { kind: Kind::Launch, site: 0, other_site: None, program: [0; 3], threads: vec![], message, seed }
    }

    fn finish(mut self) -> Result<Report, Failure> {
        self.report.same_value_stores = self.global.same_value_stores + self.shared.same_value_stores;
        self.report.shared_sites = self.banks.into_sites();
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
            }),
            _ => Ok(self.report),
        }
    }
}
