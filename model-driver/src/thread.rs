//! Host threads: their contexts, their capture modes, and the operations that each knows to be done.

use crate::Model;
use crate::clock::Clock;
use crate::state::State;

#[derive(Clone, Default)]
pub(crate) struct Thread {
    pub context: usize,
    /// Global, as every thread begins.
    pub mode: i32,
    /// The operations that the thread has waited for.
    pub clock: Clock,
}

/// The operations that a host thread knows to be done, for a thread that goes on after it.
#[derive(Clone, Default)]
pub struct HandOver(Clock);

impl Model {
    /// The operations that the calling thread has waited for so far. The model does not see how threads wait for each
    /// other: two threads are in no order until one accepts the other's hand-over.
    #[must_use]
    pub fn hand_over(&self) -> HandOver {
        HandOver(self.state().me().clock.clone())
    }

    /// Adds the operations that the calling thread has waited for, as a lock's last owner does for the next one.
    pub fn add_to(&self, to: &mut HandOver) {
        to.0.join(&self.state().me().clock);
    }

    /// The calling thread goes on behind the thread that handed this over.
    pub fn accept(&self, from: &HandOver) {
        self.state().me().clock.join(&from.0);
    }
}

impl State {
    pub fn me(&mut self) -> &mut Thread {
        self.threads.entry(std::thread::current().id()).or_default()
    }

    /// The calling thread has waited for all that this clock knows.
    pub fn has_waited(&mut self, clock: &Clock) {
        self.me().clock.join(clock);
    }
}
