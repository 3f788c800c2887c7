//! Registers that warpgroups hand to each other (`setmaxnreg`): each CTA has a pool, which is empty as it begins.

use super::machine::{Machine, State};
use super::report::Kind;
use super::tensor::WARPGROUP;

/// The registers of a CTA's warpgroups.
pub struct Pool {
    /// The registers of a thread, by warpgroup.
    held: Vec<u32>,
    /// Given back and not taken yet.
    free: u32,
    /// Warpgroups that wait for registers: the first thread of each, and how many a thread is to have.
    waiting: Vec<(u32, u32)>,
}

impl Pool {
    pub fn new(threads: u32) -> Self {
        Pool { held: vec![0; threads.div_ceil(WARPGROUP) as usize], free: 0, waiting: vec![] }
    }

    pub fn begin_program(&mut self, at_start: u32) {
        self.held.fill(at_start);
        self.free = 0;
        self.waiting.clear();
    }
}

impl Machine {
    /// The current thread sets how many registers it and its warpgroup have; whether it must wait.
    pub fn set_registers(&mut self, increase: bool, n: u32, site: u32) -> bool {
        if !(24..=256).contains(&n) || n % 8 != 0 {
            let message =
                format!("thread {}: {n} registers; multiples of 8 from 24 to 256 are allowed", self.name(self.current));
            self.fail(Kind::Registers, site, message);
            return true;
        }
        let Some(threads) = self.meet(State::AtRegisters { increase, n, site }, WARPGROUP) else { return true };
        if threads.len() as u32 != WARPGROUP {
            let message = format!("it takes {WARPGROUP} threads, but there are {} here", threads.len());
            self.fail(Kind::Registers, site, message);
            return true;
        }
        let group = (threads.start - self.cluster.threads_of(self.rank).start) / WARPGROUP;
        let pool = &mut self.registers[self.rank as usize];
        let held = &mut pool.held[group as usize];
        if (increase && n < *held) || (!increase && n > *held) {
            let (verb, held) = (if increase { "raises" } else { "lowers" }, *held);
            let message = format!("thread {} {verb} its {held} registers to {n}", self.name(self.current));
            self.fail(Kind::Registers, site, message);
            return true;
        }
        if !increase {
            pool.free += (*held - n) * WARPGROUP;
            *held = n;
            self.leave(threads);
            self.hand_out();
            return false;
        }
        pool.waiting.push((threads.start, n));
        self.hand_out();
        // The current thread continues without being woken.
        let goes_on = self.states[self.current as usize] == State::Running;
        if goes_on {
            self.not_runnable(self.current);
        }
        !goes_on
    }

    /// Warpgroups that there are enough registers for go on.
    fn hand_out(&mut self) {
        let first = self.cluster.threads_of(self.rank).start;
        let pool = &mut self.registers[self.rank as usize];
        let (held, free) = (&mut pool.held, &mut pool.free);
        let mut woken = vec![];
        pool.waiting.retain(|&(start, n)| {
            let held = &mut held[((start - first) / WARPGROUP) as usize];
            let wanted = (n - *held) * WARPGROUP;
            if wanted > *free {
                return true;
            }
            *free -= wanted;
            *held = n;
            woken.push(start);
            false
        });
        for start in woken {
            let threads = start..start + WARPGROUP;
            threads.clone().for_each(|t| self.states[t as usize] = State::Running);
            self.make_runnable(threads);
        }
    }

    /// In a deadlock: whether threads wait for registers, which is then reported.
    pub fn stuck_at_registers(&mut self) -> bool {
        let waiting = |p: &Pool| p.waiting.first().map(|&(start, n)| (start, n, p.free));
        let Some((start, n, free)) = self.registers.iter().find_map(waiting) else { return false };
        let site = self.states[start as usize].site();
        let message = format!(
            "threads {} to {} wait for {n} registers each, and {free} are left in the pool of their CTA: others must give back more",
            self.name(start),
            self.name(start + WARPGROUP - 1)
        );
        self.fail_at(Kind::Registers, site, None, vec![start], message);
        true
    }
}
