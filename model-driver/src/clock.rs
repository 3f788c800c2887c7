//! Vector clocks: which operations are known to be done before another begins.

use std::collections::BTreeMap;

/// A queue's or a graph node's component of the clocks.
pub(crate) type Lane = u64;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub lane: Lane,
    pub index: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(BTreeMap<Lane, u64>);

impl Clock {
    /// Whether the operation is done before any operation with this clock.
    pub fn knows(&self, e: Epoch) -> bool {
        self.0.get(&e.lane).is_some_and(|i| *i >= e.index)
    }

    pub fn join(&mut self, other: &Clock) {
        for (lane, index) in &other.0 {
            let mine = self.0.entry(*lane).or_default();
            *mine = (*mine).max(*index);
        }
    }

    pub fn add(&mut self, e: Epoch) {
        let mine = self.0.entry(e.lane).or_default();
        *mine = (*mine).max(e.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_knows_what_it_has_joined() {
        let (a, b) = (Epoch { lane: 1, index: 3 }, Epoch { lane: 2, index: 1 });
        let (mut x, mut y) = (Clock::default(), Clock::default());
        x.add(a);
        y.add(b);
        assert!(x.knows(a) && x.knows(Epoch { index: 2, ..a }) && !x.knows(Epoch { index: 4, ..a }) && !x.knows(b));
        x.join(&y);
        assert!(x.knows(b) && !y.knows(a));
    }
}
