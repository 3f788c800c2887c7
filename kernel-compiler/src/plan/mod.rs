//! Plans: decisions about a function as data, keyed by values and statement ids. [`codegen`](crate::codegen) carries
//! them out.

pub(crate) mod access_elements;
pub mod access_order;
pub(crate) mod accesses;
pub(crate) mod alias;
pub(crate) mod atomic_results;
pub mod barriers;
pub(crate) mod bounds;
pub(crate) mod collectives;
pub(crate) mod comparisons;
pub(crate) mod conversions;
pub(crate) mod copy_order;
pub(crate) mod cp_async_pipeline;
pub mod cpu;
pub(crate) mod deferred_wait;
pub(crate) mod demands;
pub(crate) mod elementwise;
pub(crate) mod epilogue;
pub(crate) mod guards;
pub(crate) mod index_sums;
pub(crate) mod major;
pub(crate) mod memo;
pub(crate) mod mma_sync;
pub(crate) mod one_warp;
pub(crate) mod operands;
pub mod pdl;
pub(crate) mod product;
pub(crate) mod shared_memory;
pub(crate) mod smem_operand;
pub(crate) mod sort_network;
pub(crate) mod staged_store;
pub(crate) mod tile_forms;
pub(crate) mod tiles;
pub(crate) mod tma_pipeline;
pub(crate) mod unroll;
pub(crate) mod vectors;
pub(crate) mod warp_specialized;
pub(crate) mod wgmma_cp_async;
pub(crate) mod wgmma_order;
pub(crate) mod wgmma_waits;
pub(crate) mod written_operand;

use crate::ir::{Guard, StmtId, Value, print};
use crate::layout::assign::LayoutAssignment;
use access_elements::AccessElements;
use accesses::TileAccesses;
use atomic_results::AtomicPlan;
use barriers::Scopes;
use collectives::Collective;
use cp_async_pipeline::CpAsyncPipeline;
use elementwise::Elementwise;
use mma_sync::WarpProduct;
use one_warp::OneWarpLoops;
use staged_store::StagedStores;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use tiles::Tiles;
use unroll::Unroll;
use warp_specialized::{FusedStore, Pipeline, TensorMap, sorted};
use wgmma_order::WgmmaOrder;

/// All decisions about a function that precede code generation.
pub struct Plan {
    /// The argument words that have one value under the guards of the variant.
    pub(crate) known_words: BTreeMap<usize, u64>,
    /// The layout of each tile.
    pub(crate) layouts: LayoutAssignment,
    /// The stores that compute their value piece by piece.
    pub(crate) fused: Vec<FusedStore>,
    /// The plan of a warp-specialized program.
    pub(crate) pipeline: Option<Pipeline>,
    /// The plan of any other program.
    pub(crate) cp_async: CpAsyncPipeline,
    /// The order of products by `wgmma`, and the releases of stages.
    pub(crate) wgmma: WgmmaOrder,
    /// The products that warps compute on their own.
    pub(crate) warp_products: HashMap<Value, WarpProduct>,
    /// The loops that one warp runs.
    pub(crate) one_warp: OneWarpLoops,
    /// The tensor maps, of loads and of stores.
    pub(crate) maps: Vec<TensorMap>,
    /// The stores of accumulators through shared memory, in a warp-specialized program.
    pub(crate) staged_stores: StagedStores,
    /// The other accesses of threads to tiles.
    pub(crate) accesses: TileAccesses,
    /// The elements that each thread reaches by these accesses, and by those to scalars.
    pub(crate) elements: AccessElements,
    /// The order of atomics, and the ways of their results to all threads.
    pub(crate) atomics: BTreeMap<Value, AtomicPlan>,
    /// The forms of elementwise operations.
    pub(crate) elementwise: Elementwise,
    /// The forms of loops over a range.
    pub(crate) loops: HashMap<StmtId, Unroll>,
    /// Reductions, scans, sorts, gathers, joins, histograms and counts of equal elements.
    pub(crate) collectives: HashMap<Value, Collective>,
    /// The threads that barriers count. Their places are planned with the written program ([`barriers::plan`]).
    pub(crate) barriers: Scopes,
    /// The tiles that the code computes, in which layouts.
    pub(crate) tiles: Tiles,
    /// The guards under which the code of the variant is right.
    pub(crate) guards: Vec<Guard>,
    /// The statement of the body before which a program waits for the end of the previous launch.
    pub(crate) pdl_wait: Option<usize>,
}

impl Plan {
    /// The form of a loop, in a producer or in any other role.
    pub(crate) fn form_of_loop(&self, s: StmtId, is_producer: bool) -> Unroll {
        if is_producer { Unroll::OneByOne } else { self.loops[&s] }
    }

    /// Whether the scalars at the beginning of both roles are computed before them, while mbarriers are initialized, so
    /// that they do not delay the first copy. Where threads store their results, the addresses take these registers.
    pub(crate) fn has_common_scalars(&self) -> bool {
        self.pipeline.is_some() && self.staged_stores.by_tma()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for s in &self.fused {
            write!(f, "fused store {:?} of {:?}: loads {:?}", s.store, s.value, s.loads)?;
            let in_pairs =
                s.values.iter().filter(|v| self.elementwise.paired_casts.contains(v)).collect::<BTreeSet<_>>();
            if !in_pairs.is_empty() {
                write!(f, ", computes {in_pairs:?} in pairs")?;
            }
            writeln!(f)?;
        }
        let mut loops: Vec<_> = self.one_warp.results.iter().collect();
        loops.sort();
        for (id, results) in loops {
            writeln!(f, "loop {id:?} is run by one warp: the others learn {results:?}")?;
        }
        for (i, map) in self.maps.iter().enumerate() {
            writeln!(f, "map{i}: {map}")?;
        }
        match &self.pipeline {
            Some(p) if self.has_common_scalars() => writeln!(f, "{p}scalars of both roles come first"),
            Some(p) => write!(f, "{p}"),
            None => write!(f, "{}", self.cp_async),
        }?;
        write!(f, "{}", self.wgmma)?;
        writeln!(f, "{}", self.barriers)?;
        for (d, product) in sorted(&self.warp_products) {
            writeln!(f, "{d:?}: {product}")?;
        }
        for (v, collective) in sorted(&self.collectives) {
            writeln!(f, "{v:?}: {collective}")?;
        }
        write!(f, "{}{}{}", self.staged_stores, self.accesses, self.elements)?;
        self.atomics.iter().try_for_each(|(v, atomic)| writeln!(f, "{v:?}: {atomic}"))?;
        write!(f, "{}", self.elementwise)?;
        for (s, unroll) in sorted(&self.loops).into_iter().filter(|(_, u)| **u != Unroll::OneByOne) {
            writeln!(f, "loop {s:?}: {unroll}")?;
        }
        write!(f, "{}", self.tiles)?;
        self.known_words.iter().try_for_each(|(word, n)| writeln!(f, "w{word} is the constant {n}"))?;
        for guard in &self.guards {
            writeln!(f, "asks for {}", print::guard(guard))?;
        }
        self.pdl_wait.iter().try_for_each(|at| writeln!(f, "waits for the previous launch before statement {at}"))
    }
}
