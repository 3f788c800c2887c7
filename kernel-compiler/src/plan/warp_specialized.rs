//! The plan of a warp-specialized program, as data. [`tma_pipeline`](super::tma_pipeline) makes it.
//!
//! The *producer* runs the part of the program that says what is copied: control flow and scalars, and the copies. The *consumers*
//! run the whole program, with each of these loads replaced by a wait. Loads that are used together make an *operand
//! group*. Its *circular buffer* has stages with a tile for each of them and two barriers, `full` and `empty`. The
//! producer is as far ahead as there are stages, over the ends of loops too.

use super::product::{InFlight, Product};
use crate::ir::walk::walk;
use crate::ir::{Dim, Stmt, StmtId, StmtKind, Value, Var};
use crate::layout::swizzled_smem::SwizzledSmemTile;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A tile of an array in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub load: Value,
    pub map: usize,
    /// In its stage.
    pub offset: usize,
    pub tile: SwizzledSmemTile,
    /// The tile is the same for all thread blocks of a cluster: each copies a part of it, to all of them.
    pub multicast: Option<Multicast>,
}

/// The part of a tile that a thread block copies for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multicast {
    /// Some of its boxes.
    Boxes,
    /// Some rows of each.
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

/// Tiles that are copied and used together.
#[derive(Clone, Debug, Default)]
pub struct OperandGroup {
    pub buffers: Vec<Buffer>,
    /// The buffers in the order in which they are copied.
    pub order: Vec<usize>,
    /// Threads take elements from it, beside the products.
    pub by_threads: bool,
    /// The products for which threads fetch it word by word.
    pub fetched: Vec<Value>,
    /// A warpgroup's threads meet between their wait for it and its end, in a product of it that no branch or loop
    /// leaves out.
    pub meets: bool,
    pub circular_buffer: usize,
}

/// Stages in shared memory, each for all tiles of an operand group. Groups of loops that follow each other share one.
#[derive(Clone, Debug)]
pub struct CircularBuffer {
    /// Of a stage.
    pub bytes: usize,
    /// Any of its groups is in a loop.
    pub repeats: bool,
    /// Stages that its loop asks for; 0 for as many as the function has, or as fit.
    pub stages: u32,
    /// Thread blocks that copy into a stage.
    pub copiers: u32,
    /// When its groups are in use.
    pub lifetimes: Vec<Lifetime>,
}

/// When a buffer is in use: in each block around it, outermost first, the number of the block, and from which of its
/// statements to which. In all but the last these two are the same.
pub type Lifetime = Vec<(usize, usize, usize)>;

/// As `tilewright_core::MapDesc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    pub param: usize,
    pub dims: Vec<Dim>,
    /// Of a box.
    pub extents: Vec<usize>,
    pub swizzle: usize,
    /// Tiles are stored to the array.
    pub stores: bool,
}

impl TensorMap {
    /// Its number among others, which it may be one of already.
    pub fn among(self, maps: &mut Vec<TensorMap>) -> usize {
        maps.iter().position(|m| *m == self).unwrap_or_else(|| {
            maps.push(self);
            maps.len() - 1
        })
    }
}

/// Extents of a box that is a matrix of an array of `rank` dimensions.
pub fn of_matrix(rank: usize, rows: usize, cols: usize) -> Vec<usize> {
    (2..rank).map(|_| 1).chain([rows, cols]).collect()
}

/// The same of as many matrices of the third dimension from the end as there are.
pub fn of_batch(rank: usize, batch: usize, rows: usize, cols: usize) -> Vec<usize> {
    let mut extents = of_matrix(rank, rows, cols);
    extents.iter_mut().rev().nth(2).into_iter().for_each(|e| *e = batch);
    extents
}

/// A loop whose products are waited for in the next iteration, and the operand group that they take.
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
    /// The stage of an operand group is given back.
    Release(usize),
}

/// When consumers wait for products and give stages back.
#[derive(Debug, Default)]
pub struct Waits {
    pub after: HashMap<StmtId, Vec<Step>>,
    /// Products that go on when the next statement begins.
    pub deferred: HashSet<Value>,
    /// Assignments of such, which come with the wait.
    pub postponed: HashSet<StmtId>,
}

/// A store, and the values that are computed for it alone.
#[derive(Clone, Debug)]
pub struct FusedStore {
    pub store: StmtId,
    /// The matrix that it stores.
    pub value: Value,
    pub values: HashSet<Value>,
    /// Tiles of arrays among them, in the order of their loads.
    pub loads: Vec<Value>,
}

/// The plan of the producer and the consumers of a function.
#[derive(Debug, Default)]
pub struct Pipeline {
    pub operand_groups: Vec<OperandGroup>,
    pub circular_buffers: Vec<CircularBuffer>,
    pub maps: Vec<TensorMap>,
    pub dots: HashMap<Value, Product>,
    /// Operand group and buffer of a load.
    pub loads: HashMap<Value, (usize, usize)>,
    /// Buffers of its operand group that the producer copies at the place of a load.
    pub copies: HashMap<Value, Vec<usize>>,
    /// Right operands that are computed.
    pub written: Vec<WrittenOperand>,
    /// Those of them that are written to shared memory before a statement.
    pub writes: HashMap<StmtId, Vec<usize>>,
    /// Operand groups that are not used any more after a statement.
    pub release: HashMap<StmtId, Vec<usize>>,
    pub waits: Waits,
    /// Products whose accumulators go straight into the next product.
    pub chained: HashSet<Value>,
    /// Accumulators that start as zeros: their first product takes the place of what is in them.
    pub fresh: HashSet<Var>,
    /// Loops whose products are waited for in the next iteration.
    pub deferred_waits: HashMap<StmtId, DeferredWait>,
    /// Values that the producer computes.
    pub needed: HashSet<Value>,
    pub needed_vars: HashSet<Var>,
}

impl Pipeline {
    /// The circular buffer of an operand group.
    pub fn circular_buffer_of(&self, operand_group: usize) -> &CircularBuffer {
        &self.circular_buffers[self.operand_groups[operand_group].circular_buffer]
    }

    /// Whether a statement, in a block that the producer runs, is for the producer too.
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

/// Whether a statement may leave the block that it stands in; it is inside of `loops` loops of that block.
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
        for (i, m) in self.maps.iter().enumerate() {
            let stores = if m.stores { ", stored to" } else { "" };
            writeln!(
                f,
                "map{i}: parameter {} {:?}, box {:?}, swizzle {}{stores}",
                m.param, m.dims, m.extents, m.swizzle
            )?;
        }
        for (i, r) in self.circular_buffers.iter().enumerate() {
            let stages = if r.repeats { format!("{} stages asked for", r.stages) } else { "one stage".into() };
            writeln!(f, "circular buffer {i}: {} bytes a stage, {stages}, {} copiers", r.bytes, r.copiers)?;
        }
        for (i, g) in self.operand_groups.iter().enumerate() {
            writeln!(f, "operand group {i} in circular buffer {}:", g.circular_buffer)?;
            for b in &g.buffers {
                writeln!(
                    f,
                    "  {:?} by map{} at {}: {:?}, multicast {:?}",
                    b.load, b.map, b.offset, b.tile, b.multicast
                )?;
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
            let chained = if self.chained.contains(d) { ", goes on in the next product" } else { "" };
            writeln!(f, "wgmma {d:?}: A {:?}, B {:?}, {:?}{chained}", p.a, p.b, p.tiling)?;
        }
        for (i, w) in self.written.iter().enumerate() {
            let major = if w.k_major { "K" } else { "MN" };
            writeln!(f, "matrix {i}: {:?} as {:?}, {major}-major", w.operand, w.tile)?;
        }
        for (s, matrices) in sorted(&self.writes) {
            writeln!(f, "before {s:?}: matrices {matrices:?} are written")?;
        }
        for (s, groups) in sorted(&self.release) {
            writeln!(f, "after {s:?}: last use of operand groups {groups:?}")?;
        }
        for (s, steps) in sorted(&self.waits.after) {
            writeln!(f, "after {s:?}: {steps:?}")?;
        }
        for (s, wait) in sorted(&self.deferred_waits) {
            writeln!(f, "loop {s:?}: {:?} is waited for one iteration late", wait.of.product)?;
        }
        let mut fresh: Vec<&Var> = self.fresh.iter().collect();
        fresh.sort();
        if !fresh.is_empty() {
            writeln!(f, "accumulators that start as zeros: {fresh:?}")?;
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
