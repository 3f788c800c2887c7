//! The plan of a warp-specialized program, as data. [`tma_pipeline`](super::tma_pipeline) makes it.
//!
//! The *producer* runs the copies, and the control flow and scalars that they depend on. The *consumers* run the whole
//! program, with each of these loads replaced by a wait. Loads that are used together form an *operand group*. Its
//! *circular buffer* has stages, each with a tile for every load of the group and two barriers, `full` and `empty`. The
//! producer is ahead by up to all stages, also across the ends of loops.

use super::product::{InFlight, Product};
use crate::ir::walk::walk;
use crate::ir::{Dim, Stmt, StmtId, StmtKind, Value, Var};
use crate::layout::swizzled_smem::SwizzledSmemTile;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// A tile of an array in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub load: Value,
    pub map: usize,
    /// The byte offset in its stage.
    pub offset: usize,
    pub tile: SwizzledSmemTile,
    /// The tile is the same for all CTAs of a cluster: each copies a part of it to all of them.
    pub multicast: Option<Multicast>,
}

/// The part of a tile that a CTA copies to all CTAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multicast {
    /// Some boxes of the tile.
    Boxes,
    /// Some rows of each box.
    Rows,
}

/// A computed right operand in shared memory, one matrix for all products that take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenOperand {
    pub operand: Value,
    pub tile: SwizzledSmemTile,
    /// Whether it is K-major.
    pub k_major: bool,
}

/// Tiles that are copied together and used together.
#[derive(Clone, Debug, Default)]
pub struct OperandGroup {
    pub buffers: Vec<Buffer>,
    /// The buffers in the order in which they are copied.
    pub order: Vec<usize>,
    /// Threads load elements from it, other than operands of `wgmma`.
    pub by_threads: bool,
    /// The products for which threads load an operand from it word by word.
    pub fetched: Vec<Value>,
    /// The threads of a warpgroup synchronize between their wait for it and its release: a product that takes it is
    /// executed on every path.
    pub meets: bool,
    pub circular_buffer: usize,
}

/// Stages in shared memory, each for all tiles of an operand group. Groups of consecutive loops share one buffer.
#[derive(Clone, Debug)]
pub struct CircularBuffer {
    /// The bytes of a stage.
    pub bytes: usize,
    /// Whether any of its groups is in a loop.
    pub repeats: bool,
    /// The number of stages that its loop sets; 0 for the number that the function sets, or that fits.
    pub stages: u32,
    /// The number of CTAs that copy into a stage.
    pub copiers: u32,
    /// The ranges of the program in which its groups are in use.
    pub lifetimes: Vec<Lifetime>,
}

/// The range of the program in which a buffer is in use. For each block around it, outermost first: the number of the
/// block, and the first and the last statement. In all blocks but the last the two are the same.
pub type Lifetime = Vec<(usize, usize, usize)>;

/// As `tilewright_core::MapDesc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    pub param: usize,
    pub dims: Vec<Dim>,
    /// The extents of a box.
    pub extents: Vec<usize>,
    pub swizzle: usize,
    /// Whether tiles are stored to the array.
    pub stores: bool,
}

impl TensorMap {
    /// Its position in `maps`. It is added if it is not there.
    pub fn among(self, maps: &mut Vec<TensorMap>) -> usize {
        maps.iter().position(|m| *m == self).unwrap_or_else(|| {
            maps.push(self);
            maps.len() - 1
        })
    }
}

impl fmt::Display for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let stores = if self.stores { ", stored to" } else { "" };
        let TensorMap { param, dims, extents, swizzle, .. } = self;
        write!(f, "parameter {param} {dims:?}, box {extents:?}, swizzle {swizzle}{stores}")
    }
}

/// The extents of a box that is one matrix of an array of `rank` dimensions.
pub fn of_matrix(rank: usize, rows: usize, cols: usize) -> Vec<usize> {
    (2..rank).map(|_| 1).chain([rows, cols]).collect()
}

/// The extents of a box that is several matrices: the third dimension from the end counts them.
pub fn of_batch(rank: usize, batch: usize, rows: usize, cols: usize) -> Vec<usize> {
    let mut extents = of_matrix(rank, rows, cols);
    extents.iter_mut().rev().nth(2).into_iter().for_each(|e| *e = batch);
    extents
}

/// A loop whose products are waited for in the next iteration, and their operand group.
#[derive(Clone, Copy, Debug)]
pub struct DeferredWait {
    pub of: InFlight,
    pub operand_group: usize,
}

/// An action that follows a statement.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A product is waited for, while `later` products that were begun after it go on. Then it is assigned.
    Wait { product: Value, later: usize, to: Option<Var> },
    /// The stage of an operand group is released.
    Release(usize),
}

/// The places where consumers wait for products and release stages.
#[derive(Debug, Default)]
pub struct WgmmaWaits {
    pub after: HashMap<StmtId, Vec<Step>>,
    /// The products that are in flight when the next statement begins.
    pub deferred: HashSet<Value>,
    /// The assignments of such products, which follow their waits.
    pub postponed: HashSet<StmtId>,
}

/// A store, and the values that only it uses.
#[derive(Clone, Debug)]
pub struct FusedStore {
    pub store: StmtId,
    /// The stored matrix.
    pub value: Value,
    pub values: HashSet<Value>,
    /// The loads among these values, in order.
    pub loads: Vec<Value>,
}

/// The threads of a warpgroup.
pub const WARPGROUP: u32 = 128;
/// The threads of the producer. One thread copies, but registers are reassigned by warpgroups.
pub const PRODUCERS: u32 = WARPGROUP;

/// Threads of a thread block, at most.
pub const MAX_THREADS: u32 = 1024;

/// The registers of a thread once they are reassigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    pub producer: u32,
    pub consumer: u32,
}

impl Registers {
    /// The registers for a number of consumer threads. None where all threads have as many as an instruction can
    /// name, or where consumers would gain nothing.
    pub fn new(consumers: u32, blocks: u32, circular_buffers: usize) -> Option<Registers> {
        const REGISTERS: u32 = 65536;
        const MAX_REGISTERS: u32 = 255;
        // With fewer registers the scalars of the producer would spill: the stage and the phase of every circular
        // buffer, and the loops that fill them.
        let producer = if circular_buffers > 2 { 56 } else { 40 };
        let threads = consumers + PRODUCERS;
        let at_start = REGISTERS / (threads * blocks) / 8 * 8;
        if at_start >= MAX_REGISTERS - 7 {
            return None;
        }
        let consumer = ((at_start * threads).checked_sub(producer * PRODUCERS)? / consumers / 8 * 8).min(240);
        let producer = if planted!("setmaxnreg-without-room") { at_start } else { producer };
        (consumer > at_start).then_some(Registers { producer, consumer })
    }
}

/// The plan of the producer and the consumers of a function.
#[derive(Debug, Default)]
pub struct Pipeline {
    pub operand_groups: Vec<OperandGroup>,
    pub circular_buffers: Vec<CircularBuffer>,
    pub maps: Vec<TensorMap>,
    pub dots: HashMap<Value, Product>,
    /// The operand group and the buffer of each load.
    pub loads: HashMap<Value, (usize, usize)>,
    /// For each load, the buffers that the producer copies at its place.
    pub copies: HashMap<Value, Vec<usize>>,
    /// The computed right operands.
    pub written: Vec<WrittenOperand>,
    /// For a statement, the computed right operands that are written to shared memory before it.
    pub writes: HashMap<StmtId, Vec<usize>>,
    /// For a statement, the operand groups whose last use it is.
    pub release: HashMap<StmtId, Vec<usize>>,
    pub wgmma_waits: WgmmaWaits,
    /// The products whose accumulators are those of the next product.
    pub chained: HashSet<Value>,
    /// Accumulators that start as zeros: their first product overwrites them.
    pub fresh: HashSet<Var>,
    /// The assignments of these zeros, which are not written to registers.
    pub unset: BTreeSet<StmtId>,
    /// Reads of these accumulators for more than products: the zeros are written to registers before them.
    pub zeroed: BTreeSet<Value>,
    /// The loops whose products are waited for in the next iteration.
    pub deferred_waits: HashMap<StmtId, DeferredWait>,
    /// The values that the producer computes.
    pub needed: HashSet<Value>,
    pub needed_vars: HashSet<Var>,
    /// The registers that are reassigned between the roles.
    pub registers: Option<Registers>,
}

impl Pipeline {
    /// The circular buffer of an operand group.
    pub fn circular_buffer_of(&self, operand_group: usize) -> &CircularBuffer {
        &self.circular_buffers[self.operand_groups[operand_group].circular_buffer]
    }

    /// Whether the producer runs a statement of a block that it enters.
    pub fn keeps(&self, s: &Stmt) -> bool {
        match &s.kind {
            StmtKind::Let(v) => self.needed.contains(v) || self.loads.contains_key(v),
            StmtKind::Assign(var, _) => self.needed_vars.contains(var),
            StmtKind::Break | StmtKind::Continue | StmtKind::Return => true,
            StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::Loop { .. } => {
                let works = walk(std::slice::from_ref(s)).any(|s| match &s.kind {
                    StmtKind::Let(v) => self.loads.contains_key(v),
                    StmtKind::Assign(var, _) => self.needed_vars.contains(var),
                    _ => false,
                });
                works || leaves(s, 0)
            }
            _ => false,
        }
    }
}

/// Whether a statement may leave its block. It is inside of `loops` loops of that block.
pub fn leaves(s: &Stmt, loops: usize) -> bool {
    match &s.kind {
        StmtKind::Break | StmtKind::Continue => loops == 0,
        StmtKind::Return => true,
        StmtKind::If { then, other, .. } => then.iter().chain(other).any(|s| leaves(s, loops)),
        StmtKind::For { body, .. } | StmtKind::Loop { body } => body.iter().any(|s| leaves(s, loops + 1)),
        _ => false,
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, r) in self.circular_buffers.iter().enumerate() {
            let stages = if r.repeats { format!("{} stages asked for", r.stages) } else { "one stage".into() };
            writeln!(f, "circular buffer {i}: {} bytes a stage, {stages}, {} copiers", r.bytes, r.copiers)?;
        }
        for (i, g) in self.operand_groups.iter().enumerate() {
            writeln!(f, "operand group {i} in circular buffer {}:", g.circular_buffer)?;
            for b in &g.buffers {
                let multicast = match b.multicast {
                    Some(Multicast::Boxes) => ", multicast of its boxes",
                    Some(Multicast::Rows) => ", multicast of its rows",
                    None => "",
                };
                writeln!(f, "  {:?} by map{} at {}: {}{multicast}", b.load, b.map, b.offset, b.tile)?;
            }
            if !g.order.is_sorted() {
                writeln!(f, "  copied in the order {:?}", g.order)?;
            }
            writeln!(
                f,
                "  read by threads {}, word by word for {:?}, threads meet {}",
                g.by_threads, g.fetched, g.meets
            )?;
        }
        for (d, p) in sorted(&self.dots) {
            writeln!(f, "wgmma {d:?}: A {:?}, B {:?}, {:?}", p.a, p.b, p.tiling)?;
        }
        for (i, w) in self.written.iter().enumerate() {
            let major = if w.k_major { "K" } else { "MN" };
            writeln!(f, "matrix {i}: {:?} as {}, {major}-major", w.operand, w.tile)?;
        }
        for (s, matrices) in sorted(&self.writes) {
            writeln!(f, "before {s:?}: matrices {matrices:?} are written")?;
        }
        for (s, groups) in sorted(&self.release) {
            writeln!(f, "after {s:?}: last use of operand groups {groups:?}")?;
        }
        for (s, steps) in sorted(&self.wgmma_waits.after) {
            writeln!(f, "after {s:?}: {steps:?}")?;
        }
        for (s, wait) in sorted(&self.deferred_waits) {
            writeln!(f, "loop {s:?}: the wait for {:?} is deferred by one iteration", wait.of.product)?;
        }
        let mut fresh: Vec<&Var> = self.fresh.iter().collect();
        fresh.sort();
        if !fresh.is_empty() {
            writeln!(f, "accumulators that start as zeros: {fresh:?}")?;
        }
        if !self.unset.is_empty() {
            writeln!(f, "assignments of zeros that are not written to registers: {:?}", Vec::from_iter(&self.unset))?;
        }
        if !self.zeroed.is_empty() {
            let reads = Vec::from_iter(&self.zeroed);
            writeln!(f, "reads for which the zeros are written to registers: {reads:?}")?;
        }
        if let Some(Registers { producer, consumer }) = self.registers {
            writeln!(f, "registers: {producer} of a producer thread, {consumer} of a consumer thread")?;
        }
        Ok(())
    }
}

/// The entries of a map in the order of its keys.
pub fn sorted<K: Ord, V>(map: &HashMap<K, V>) -> Vec<(&K, &V)> {
    let mut all: Vec<(&K, &V)> = map.iter().collect();
    all.sort_by_key(|e| e.0);
    all
}
