//! The state of a thread.

use super::cluster::{Cluster, SharedAddress};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Running,
    AtBarrier {
        site: u32,
    },
    AtClusterBarrier {
        site: u32,
    },
    AtWarpBarrier {
        site: u32,
    },
    AtShuffle {
        site: u32,
    },
    AtGroupBarrier {
        id: u32,
        site: u32,
    },
    AtMbarrier {
        bar: SharedAddress,
        parity: u32,
        site: u32,
    },
    /// At a tensor-core step, which a warp or a warpgroup takes together.
    AtMatrix {
        name: &'static str,
        site: u32,
    },
    /// At a change of a warpgroup's registers, or waiting for those it takes.
    AtRegisters {
        increase: bool,
        n: u32,
        site: u32,
    },
    Finished,
}

impl State {
    pub fn site(self) -> u32 {
        match self {
            State::Running | State::Finished => 0,
            State::AtBarrier { site }
            | State::AtClusterBarrier { site }
            | State::AtWarpBarrier { site }
            | State::AtShuffle { site }
            | State::AtGroupBarrier { site, .. }
            | State::AtMbarrier { site, .. }
            | State::AtMatrix { site, .. }
            | State::AtRegisters { site, .. } => site,
        }
    }

    pub fn describe(self, cluster: Cluster) -> String {
        match self {
            State::Running => "runs".into(),
            State::AtBarrier { site } => format!("waits at the barrier of line {site}"),
            State::AtClusterBarrier { site } => format!("waits at the barrier of the cluster of line {site}"),
            State::AtWarpBarrier { site } => format!("waits at the warp barrier of line {site}"),
            State::AtShuffle { site } => format!("waits at the shuffle of line {site}"),
            State::AtGroupBarrier { id, site } => format!("waits at named barrier {id} of line {site}"),
            State::AtMbarrier { bar, parity, site } => {
                format!("waits on line {site} for parity {parity} of the mbarrier at {}", cluster.address(bar))
            }
            State::AtMatrix { name, site } => format!("waits at the {name} of line {site}"),
            State::AtRegisters { increase, n, site } => {
                format!("waits to {} its registers to {n} on line {site}", if increase { "raise" } else { "lower" })
            }
            State::Finished => "has finished".into(),
        }
    }
}
