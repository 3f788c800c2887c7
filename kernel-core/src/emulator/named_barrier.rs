//! Barriers that some warps of a CTA pass together.

use super::machine::{Machine, State};
use super::report::Kind;

/// One of the sixteen, of which the first is the whole CTA's.
#[derive(Default)]
pub struct Named {
    threads: u32,
    come: Vec<u32>,
}

impl Named {
    pub fn clear(&mut self) {
        self.come.clear();
    }
}

impl Machine {
    /// The current thread comes to a named barrier; whether it must wait.
    pub fn arrive_in_group(&mut self, id: u32, threads: u32, site: u32) -> bool {
        if !(1..16).contains(&id) || threads == 0 || threads % 32 != 0 || threads > self.cluster.threads {
            let message =
                format!("named barrier {id} of {threads} threads; ids are 1 to 15, threads come in whole warps");
            self.fail(Kind::Protocol, site, message);
            return true;
        }
        self.states[self.current as usize] = State::AtGroupBarrier { id, site };
        let barrier = &mut self.tensor.named[self.rank as usize][id as usize];
        if barrier.come.is_empty() {
            barrier.threads = threads;
        }
        let (first, expected) = (barrier.come.first().copied(), barrier.threads);
        barrier.come.push(self.current);
        if expected != threads {
            let first = first.expect("who came first set the number");
            let other = self.states[first as usize].site();
            let message = format!(
                "thread {} expects {threads} threads, thread {} expects {expected}",
                self.name(self.current),
                self.name(first)
            );
            self.fail_at(Kind::Divergence, site, Some(other), vec![self.current, first], message);
            return true;
        }
        if (barrier.come.len() as u32) < threads {
            return true;
        }
        let mut come = std::mem::take(&mut barrier.come);
        come.sort_unstable();
        if let Some(warp) = come.chunks(32).find(|w| w[0] % 32 != 0 || w[31] != w[0] + 31) {
            let message =
                format!("warp {} comes to named barrier {id} only in part", self.cluster.name_of(warp[0], 32));
            self.fail_at(Kind::Divergence, site, None, warp.to_vec(), message);
            return true;
        }
        self.order.pass_group_barrier(&come);
        self.barriers_of(site).barriers += 1;
        come.iter().for_each(|&t| self.states[t as usize] = State::Running);
        let current = self.current;
        self.make_runnable(come.into_iter().filter(|&t| t != current));
        false
    }
}
