//! Turns: which of a test's threads goes on at each call of the driver, by a seed.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

thread_local!(static ME: Cell<Option<usize>> = const { Cell::new(None) });

/// A thread that goes on without a call of the driver for so long waits for a lock that another one holds.
const BLOCKED: Duration = Duration::from_millis(8);

pub struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    turn: usize,
    alive: Vec<bool>,
    /// Calls so far.
    calls: u64,
    random: fastrand::Rng,
}

impl State {
    fn give_away(&mut self) {
        let alive: Vec<usize> = (0..self.alive.len()).filter(|&i| self.alive[i]).collect();
        if let Some(next) = self.random.choice(alive) {
            self.turn = next;
        }
    }
}

impl Turns {
    pub fn new(threads: usize, seed: u64) -> Turns {
        let state = State { turn: 0, alive: vec![true; threads], calls: 0, random: fastrand::Rng::with_seed(seed) };
        Turns { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The calling thread is the one of this number until the guard is dropped.
    pub fn take_part(&self, me: usize) -> Part<'_> {
        ME.set(Some(me));
        self.wait(me);
        Part(self, me)
    }

    /// To be called before each call of the driver. Other threads may go on here.
    pub fn call(&self) {
        let Some(me) = ME.get() else { return };
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.calls += 1;
            if state.random.u8(..) < 70 {
                state.give_away();
                self.changed.notify_all();
            }
        }
        self.wait(me);
    }

    fn wait(&self, me: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.turn != me {
            let before = (state.turn, state.calls);
            let (next, timeout) = self.changed.wait_timeout(state, BLOCKED).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && before == (state.turn, state.calls) {
                state.turn = me;
            }
        }
    }
}

pub struct Part<'a>(&'a Turns, usize);

impl Drop for Part<'_> {
    fn drop(&mut self) {
        ME.set(None);
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.alive[self.1] = false;
        state.give_away();
        self.0.changed.notify_all();
    }
}
