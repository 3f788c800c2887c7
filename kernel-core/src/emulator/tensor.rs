//! The state of the machine for tensor steps: mbarriers, groups of asynchronous work, operands of collective steps.

use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr;

use super::cluster::{Cluster, SharedAddress};
use super::groups::Groups;
use super::in_flight::Flights;
use super::machine::{Machine, State};
use super::mbarrier::Mbarrier;
use super::named_barrier::Named;
use super::report::Kind;

/// Asynchronous work that one thread has begun.
#[derive(Default)]
pub struct Work {
    pub products: Groups,
    pub fences: Fences,
    pub stores: Groups,
    pub copies: Groups,
}

/// The order of a thread's accesses to registers and of its fences for products (`wgmma.fence`), as numbers of fences
/// so far.
#[derive(Clone, Copy, Default)]
pub struct Fences {
    pub made: u32,
    /// When it last waited for products.
    pub waited: u32,
    /// When it may last have written accumulators.
    pub accessed: u32,
}

/// The operands of a thread in a step of tensor cores, and its results.
#[derive(Clone, Copy)]
pub struct Operands {
    /// Accumulators of a warpgroup's product, on the thread's stack: one for each two of its `n` columns.
    pub acc: *mut u32,
    pub n: usize,
    /// Descriptors of its operands.
    pub descriptors: [u64; 2],
    /// Whether the product is added to the accumulators.
    pub add: bool,
    /// Fragments in registers.
    pub a: [u32; 4],
    /// How many fences the thread had made when it wrote them.
    pub a_written: u32,
    pub b: [u32; 2],
    pub d: [u32; 4],
    /// A matrix row that was read from shared memory.
    pub row: u128,
}

impl Default for Operands {
    fn default() -> Self {
        Operands {
            acc: ptr::null_mut(),
            n: 0,
            descriptors: [0; 2],
            add: true,
            a: [0; 4],
            a_written: 0,
            b: [0; 2],
            d: [0; 4],
            row: 0,
        }
    }
}

pub struct Tensor {
    pub mbarriers: BTreeMap<SharedAddress, Mbarrier>,
    /// Of each CTA.
    pub named: Vec<[Named; 16]>,
    pub threads: Vec<Work>,
    pub operands: Vec<Operands>,
    pub flights: Flights,
    /// By first warp of a warpgroup: threads that have come to its step.
    in_group: Vec<u32>,
}

/// Threads of a warpgroup.
pub const WARPGROUP: u32 = 128;

impl Tensor {
    pub fn new(cluster: Cluster, flights: Flights) -> Self {
        let threads = cluster.size();
        Tensor {
            mbarriers: BTreeMap::new(),
            named: (0..cluster.ctas).map(|_| Default::default()).collect(),
            threads: (0..threads).map(|_| Work::default()).collect(),
            operands: vec![Operands::default(); threads as usize],
            flights,
            in_group: vec![0; threads.div_ceil(32) as usize],
        }
    }

    pub fn begin_program(&mut self) {
        self.mbarriers.clear();
        self.named.iter_mut().flatten().for_each(Named::clear);
        self.in_group.fill(0);
        self.flights.clear();
        for t in &mut self.threads {
            t.fences = Fences::default();
            [&mut t.products, &mut t.stores, &mut t.copies].into_iter().for_each(Groups::clear);
        }
    }
}

impl Machine {
    /// The current thread comes to a step of its warp or warpgroup (`size` threads): these threads if it is the last
    /// of them, else it must wait.
    pub fn meet(&mut self, state: State, size: u32) -> Option<Range<u32>> {
        let lanes = self.cluster.group_of(self.current, size);
        self.states[self.current as usize] = state;
        let counters = if size == WARPGROUP { &mut self.tensor.in_group } else { &mut self.in_warp };
        let come = &mut counters[lanes.start as usize / 32];
        *come += 1;
        if *come < lanes.len() as u32 {
            return None;
        }
        *come = 0;
        if let Some(other) = lanes.clone().find(|&t| self.states[t as usize] != state) {
            let group = if size == WARPGROUP { "threads of one warpgroup" } else { "lanes of one warp" };
            let message = format!(
                "{group} meet at different steps: thread {} {}, thread {} {}",
                self.name(self.current),
                state.describe(self.cluster),
                self.name(other),
                self.states[other as usize].describe(self.cluster)
            );
            let threads = vec![self.current, other];
            self.fail_at(Kind::Divergence, state.site(), Some(self.states[other as usize].site()), threads, message);
            return None;
        }
        if matches!(state, State::AtMatrix { .. }) && lanes.len() as u32 != size {
            let message = format!("it takes {size} threads, but there are {} here", lanes.len());
            self.fail(Kind::Protocol, state.site(), message);
            return None;
        }
        Some(lanes)
    }

    /// The threads of a collective step continue; the current thread does already.
    pub fn leave(&mut self, lanes: Range<u32>) {
        let current = self.current;
        lanes.clone().for_each(|t| self.states[t as usize] = State::Running);
        self.make_runnable(lanes.filter(|&t| t != current));
    }

    /// A program comes to its end: no copy may still run.
    pub fn finish_program(&mut self) {
        let pending = self.tensor.mbarriers.iter().find_map(|(place, bar)| Some((place, bar.unwaited()?)));
        if let Some((&place, (site, what))) = pending {
            let message = format!("the program ends, but {what} the mbarrier at {}", self.cluster.address(place));
            self.fail_at(Kind::AsyncPending, site, None, vec![], message);
        }
    }
}
