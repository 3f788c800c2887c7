//! Makes the plan of a [warp-specialized](super::warp_specialized) program: a producer warp copies block pointers that
//! feed products by TMA.
//!
//! The plan does not depend on the kernel's algorithm. The producer is ahead of the consumers by up to all stages of a
//! circular buffer, also across the ends of loops.

use crate::ir::walk::{uses, values, walk, written};
use crate::ir::{Array, BlockPointer, Func, LoopOptions, Op, Stmt, StmtId, StmtKind, Value, Var};
use crate::layout::is_padded;
use crate::layout::swizzled_smem::SwizzledSmemTile;
use crate::missed::{Missed, Why};
use crate::passes::cluster::depends_on_rank;
use crate::plan::operands::{MAX_BOX, Source, Sources, TMA, TileUses};
use crate::plan::product::{Operand, Product};
use crate::plan::warp_specialized::{
    Buffer, CircularBuffer, FusedStore, Lifetime, MAX_THREADS, Multicast, OperandGroup, PRODUCERS, Pipeline, Registers,
    TensorMap, leaves, of_batch,
};
use crate::plan::{copy_order, deferred_wait, operands, wgmma_waits, written_operand};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The alignment of a swizzled tile: swizzles repeat after eight rows of 128 bytes.
pub const ALIGN: usize = 1024;

/// The plan for a function. At least one of its products takes a block pointer, or an operand that is computed from
/// one.
///
/// One tile that a `fused` store loads may be copied to the store's staging buffer. The consumers load such tiles, and
/// tiles of computed operands, themselves where the producer cannot compute their addresses.
pub fn plan(f: &Func, fused: &[FusedStore]) -> Result<Pipeline, Missed> {
    if !f.shared.is_empty() {
        let why = why!(
            "all warps reach the shared arrays of the kernel, so that none copies alone: leave `shared_array` out"
        );
        return Err(operands::missed_by_all(f, TMA, why));
    }
    let sources = operands::sources(f)?;
    let ways = [(fused, true), (&[], true), (fused, false), (&[], false)];
    let mut first = None;
    for (fused, all) in ways {
        match planned(f, fused, &sources, operands::loads(f, &sources, all)) {
            Ok(p) => return Ok(p),
            Err(missed) => drop(first.get_or_insert(missed)),
        }
    }
    Err(first.expect("there are several ways"))
}

fn planned(
    f: &Func,
    fused: &[FusedStore],
    sources: &HashMap<Value, Sources>,
    loads: HashSet<Value>,
) -> Result<Pipeline, Missed> {
    if loads.is_empty() {
        let why = why!(
            "no product has an operand that is a tile of a view, or that is computed from one: take tiles of views"
        );
        return Err(operands::missed_by_all(f, TMA, why));
    }
    if f.warps * 32 + PRODUCERS > MAX_THREADS {
        let most = (MAX_THREADS - PRODUCERS) / 32;
        let why = why!(
            "the warps that multiply leave no room for those that copy, in a program of at most {MAX_THREADS} threads: \
             take {most} warps or fewer"
        );
        return Err(operands::missed_by_all(f, TMA, why));
    }
    let mut b = Builder { p: Pipeline::default(), around: vec![], blocks: 0 };
    let tile_uses = TileUses::new(f, &loads);
    b.block(f, &f.body, &loads, &tile_uses, None)?;
    let by_threads = tile_uses.by_threads(f, sources);
    if let Some(&load) = by_threads.iter().filter(|l| !is_padded(f.shape(**l))).min() {
        // They would use the padding of the tile.
        let why = why!(
            "threads take elements of an operand's tile whose extents are no powers of two: load the tile once more \
             for them"
        );
        return Err(Missed::new(TMA, why).at(f.span(load)));
    }
    b.p.operand_groups.iter_mut().for_each(|c| {
        c.by_threads =
            !planted!("tma-release-while-threads-read") && c.buffers.iter().any(|b| by_threads.contains(&b.load))
    });
    for s in walk(&f.body) {
        if let StmtKind::Let(d) = &s.kind
            && let Some(s) = sources.get(d)
        {
            b.product(f, *d, s);
        }
    }
    for (d, product) in &b.p.dots {
        // `wgmma` cannot read it from shared memory.
        if let (&Op::Dot { a, .. }, &Operand::Buffer { operand_group, .. }) = (f.op(*d), &product.a)
            && product.a.through_registers(f.ty(a).dtype)
        {
            b.p.operand_groups[operand_group].fetched.push(*d);
        }
    }
    b.chains(f, &f.body);
    written_operand::plan(f, &mut b.p);
    fused.iter().for_each(|x| b.epilogue(f, x));
    b.slice(f)?;
    let mut p = b.p;
    copy_order::plan(&mut p);
    p.fresh = fresh(f, &p.dots);
    p.unset = unset(f, &p.fresh);
    p.zeroed = zeroed(f, &p);
    p.deferred_waits = deferred_wait::find(f, &p);
    p.wgmma_waits = wgmma_waits::plan(f, &p, &p.release);
    p.registers = Registers::new(f.warps * 32, f.blocks_per_sm.max(1), p.circular_buffers.len());
    Ok(p)
}

fn fresh(f: &Func, dots: &HashMap<Value, Product>) -> HashSet<Var> {
    let accumulators = dots.keys().filter_map(|&d| match f.op(d) {
        Op::Dot { acc, .. } => {
            if let Op::ReadVar(var) = f.op(*acc) {
                Some(*var)
            } else {
                None
            }
        }
        _ => None,
    });
    let starts =
        |var: Var| walk(&f.body).any(|s| matches!(&s.kind, StmtKind::Assign(to, v) if *to == var && f.is_zeros(*v)));
    accumulators.filter(|&var| starts(var)).collect()
}

/// The assignments of zeros to such accumulators.
fn unset(f: &Func, fresh: &HashSet<Var>) -> BTreeSet<StmtId> {
    let is_unset = |s: &&Stmt| matches!(&s.kind, StmtKind::Assign(to, v) if fresh.contains(to) && f.is_zeros(*v));
    walk(&f.body).filter(is_unset).map(|s| s.id).collect()
}

/// The reads of such accumulators that anything but products takes.
fn zeroed(f: &Func, p: &Pipeline) -> BTreeSet<Value> {
    let uses = uses(f);
    let takes = |d: Value, v: Value| matches!(f.op(d), Op::Dot { acc, .. } if *acc == v);
    let is_zeroed = |&v: &Value| match f.op(v) {
        Op::ReadVar(var) if p.fresh.contains(var) => {
            uses[v.0 as usize] as usize != p.dots.keys().filter(|&&d| takes(d, v)).count()
        }
        _ => false,
    };
    values(&f.body).filter(is_zeroed).collect()
}

/// How the CTAs of a cluster partition the copy of a tile, if the tile is the same for all of them.
fn multicast(f: &Func, load: Value, tile: &SwizzledSmemTile) -> Option<Multicast> {
    let (ctas, Op::Load { block_pointer: Some(block_pointer), .. }) = (f.ctas as usize, f.op(load)) else {
        return None;
    };
    if ctas == 1 || block_pointer.at.iter().any(|&o| depends_on_rank(f, o)) {
        return None;
    }
    if tile.count.is_multiple_of(ctas) {
        return Some(Multicast::Boxes);
    }
    tile.box_bytes().is_multiple_of(ctas * ALIGN).then_some(Multicast::Rows)
}

/// A plan under construction.
struct Builder {
    p: Pipeline,
    /// The statements around the current block.
    around: Lifetime,
    /// The number of blocks so far.
    blocks: usize,
}

impl Builder {
    /// The operand groups of a block. Each must be released on every path.
    fn block(
        &mut self,
        f: &Func,
        stmts: &[Stmt],
        loads: &HashSet<Value>,
        tile_uses: &TileUses,
        around: Option<LoopOptions>,
    ) -> Result<(), Missed> {
        self.blocks += 1;
        let block = self.blocks;
        // The operand group that further loads join, and the statement where it began. It ends at the first use of one
        // of its tiles, or where the block branches.
        let mut open: Option<(usize, usize)> = None;
        let mut operand_groups = vec![];
        for (i, s) in stmts.iter().enumerate() {
            match &s.kind {
                StmtKind::Let(v) if loads.contains(v) => {
                    if open.is_some_and(|(operand_group, _)| self.outlives(f, stmts, tile_uses, operand_group, *v)) {
                        operand_groups.extend(open.take());
                    }
                    let (operand_group, _) = *open.get_or_insert_with(|| {
                        self.p.operand_groups.push(OperandGroup::default());
                        (self.p.operand_groups.len() - 1, i)
                    });
                    self.add(f, operand_group, *v);
                }
                StmtKind::If { then, other, .. } => {
                    operand_groups.extend(open.take());
                    self.around.push((block, i, i));
                    self.block(f, then, loads, tile_uses, around)?;
                    self.block(f, other, loads, tile_uses, around)?;
                    self.around.pop();
                }
                StmtKind::For { body, options, .. } => {
                    operand_groups.extend(open.take());
                    let first = self.p.operand_groups.len();
                    self.around.push((block, i, i));
                    self.block(f, body, loads, tile_uses, Some(*options))?;
                    self.around.pop();
                    if options.warp_specialize == Some(false) && self.p.operand_groups.len() > first {
                        let load = self.p.operand_groups[first].buffers[0].load;
                        return Err(Missed::new(TMA, why!("its loop says `.warp_specialize(false)`: leave that out"))
                            .at(f.span(load)));
                    }
                }
                StmtKind::Loop { body } => {
                    operand_groups.extend(open.take());
                    self.around.push((block, i, i));
                    self.block(f, body, loads, tile_uses, Some(LoopOptions::default()))?;
                    self.around.pop();
                }
                _ => {
                    if open.is_some_and(|(operand_group, _)| {
                        tile_uses.by(f, s).any(|l| self.p.loads[&l].0 == operand_group)
                    }) {
                        operand_groups.extend(open.take());
                    }
                }
            }
        }
        operand_groups.extend(open);
        for (operand_group, from) in operand_groups {
            let mine: Vec<Value> = self.p.operand_groups[operand_group].buffers.iter().map(|b| b.load).collect();
            let last = (from..stmts.len()).rev().find(|&i| tile_uses.by(f, &stmts[i]).any(|l| mine.contains(&l)));
            let missed = |why: Why| Missed::new(TMA, why).at(f.span(mine[0]));
            let last = last.expect("products take the tiles, in the block of the loads or within it");
            if stmts[from..=last].iter().any(|s| leaves(s, 0)) {
                return Err(missed(why!(
                    "`break`, `continue` or `return` may come between the load and its last use: load behind it"
                )));
            }
            let product = |s: &Stmt| {
                matches!(&s.kind, StmtKind::Let(d) if matches!(f.op(*d), Op::Dot { .. }))
                    && tile_uses.by(f, s).any(|l| mine.contains(&l))
            };
            self.p.operand_groups[operand_group].meets = stmts[from..=last].iter().any(product);
            self.p.release.entry(stmts[last].id).or_default().push(operand_group);
            self.around.push((block, from, last));
            self.circular_buffer(f, operand_group, around.is_some(), around.map_or(0, |o| o.stages));
            self.around.pop();
        }
        Ok(())
    }

    /// Whether a loop stands between the last use of a load's tile and the last use of the other tiles of an operand
    /// group. Then the load gets a group of its own, so that each is released after its own last use.
    fn outlives(&self, f: &Func, stmts: &[Stmt], tile_uses: &TileUses, operand_group: usize, load: Value) -> bool {
        let last = |of: &dyn Fn(Value) -> bool| stmts.iter().rposition(|s| tile_uses.by(f, s).any(of)).unwrap_or(0);
        let (mine, other) =
            (last(&|l| self.p.loads.get(&l).is_some_and(|p| p.0 == operand_group)), last(&|l| l == load));
        stmts[mine.min(other) + 1..=mine.max(other)]
            .iter()
            .any(|s| matches!(&s.kind, StmtKind::For { .. } | StmtKind::Loop { .. }))
    }

    /// Gives an operand group its circular buffer: one that fits and whose groups are never in use at the same time, or
    /// a new one.
    fn circular_buffer(&mut self, f: &Func, operand_group: usize, repeats: bool, stages: u32) {
        let buffers = &self.p.operand_groups[operand_group].buffers;
        let last = buffers.last().expect("an operand group has loads");
        let bytes = last.offset + last.tile.bytes().next_multiple_of(ALIGN);
        let copiers = if buffers.iter().any(|b| b.multicast.is_some()) { f.ctas } else { 1 };
        let fits = |r: &CircularBuffer| {
            (r.bytes, r.copiers) == (bytes, copiers) && (r.stages == stages || !r.repeats || !repeats)
        };
        let circular_buffer = self
            .p
            .circular_buffers
            .iter()
            .position(|r| fits(r) && r.lifetimes.iter().all(|s| apart(s, &self.around)))
            .unwrap_or_else(|| {
                self.p.circular_buffers.push(CircularBuffer { bytes, repeats, stages, copiers, lifetimes: vec![] });
                self.p.circular_buffers.len() - 1
            });
        let r = &mut self.p.circular_buffers[circular_buffer];
        (r.repeats, r.stages) = (r.repeats || repeats, r.stages.max(stages));
        r.lifetimes.push(self.around.clone());
        self.p.operand_groups[operand_group].circular_buffer = circular_buffer;
    }

    /// Assigns the operands of a product to buffers and registers.
    fn product(&mut self, f: &Func, dot: Value, sources: &Sources) {
        let Op::Dot { b, .. } = *f.op(dot) else { unreachable!("a dot") };
        let copied = |load: Value, k_major: bool| {
            let (operand_group, buffer) = self.p.loads[&load];
            Operand::Buffer { operand_group, buffer, k_major }
        };
        let a = match sources.a {
            Source::Copied { load, k_major } => copied(load, k_major),
            Source::Computed => Operand::Registers,
        };
        let b = match sources.b {
            Source::Copied { load, k_major } => copied(load, k_major),
            Source::Computed => {
                let w = operands::written_as(f, b, &sources.tiling);
                let matrix = self.p.written.iter().position(|o| *o == w).unwrap_or_else(|| {
                    self.p.written.push(w);
                    self.p.written.len() - 1
                });
                Operand::Written { matrix, k_major: w.k_major }
            }
        };
        self.p.dots.insert(dot, Product { tiling: sources.tiling, a, b });
    }

    /// Finds consecutive products on the same accumulators, with no release of a buffer between them.
    fn chains(&mut self, f: &Func, stmts: &[Stmt]) {
        let uses = uses(f);
        let mut open: Option<Value> = None;
        for s in stmts {
            match &s.kind {
                StmtKind::Let(d) if self.p.dots.contains_key(d) => {
                    let Op::Dot { acc, .. } = *f.op(*d) else { unreachable!("a dot") };
                    if open == Some(acc) && uses[acc.0 as usize] == 1 {
                        self.p.chained.insert(acc);
                    }
                    open = Some(*d);
                }
                // Scalars, and loads whose copies have arrived.
                StmtKind::Let(v) if self.p.loads.contains_key(v) || f.op(*v).is_view() => {}
                StmtKind::Let(v) if f.op(*v).operands().into_iter().chain([*v]).all(|v| f.ty(v).is_scalar()) => {}
                StmtKind::If { then, other, .. } => {
                    open = None;
                    self.chains(f, then);
                    self.chains(f, other);
                }
                StmtKind::For { body, .. } | StmtKind::Loop { body } => {
                    open = None;
                    self.chains(f, body);
                }
                _ => open = None,
            }
            if self.p.release.contains_key(&s.id) && !planted!("wgmma-chain-over-release") {
                open = None;
            }
        }
    }

    /// The first tile that an epilogue loads is copied to the staging buffer of the store. The buffer is released when
    /// its chunks have been stored.
    fn epilogue(&mut self, f: &Func, x: &FusedStore) {
        let value = x.value;
        let (shape, size) = (f.shape(value), f.ty(value).dtype.size());
        let same = |&v: &Value| f.shape(v) == shape && f.ty(v).dtype.size() == size;
        let Some(load) = x.loads.iter().copied().find(same).filter(|_| shape[0] <= MAX_BOX && size == 2) else {
            return;
        };
        // Barriers between the pieces order them.
        self.p.operand_groups.push(OperandGroup { meets: true, ..OperandGroup::default() });
        let operand_group = self.p.operand_groups.len() - 1;
        self.add(f, operand_group, load);
        self.circular_buffer(f, operand_group, true, 1);
        self.p.release.entry(x.store).or_default().push(operand_group);
    }

    fn add(&mut self, f: &Func, operand_group: usize, load: Value) {
        let Op::Load { ptr, block_pointer: Some(BlockPointer { dims, .. }), .. } = f.op(load) else {
            unreachable!("a block pointer")
        };
        let size = f.ty(load).dtype.size();
        let tile = operands::smem_tile(f, load);
        let multicast = multicast(f, load, &tile);
        let parts = if multicast == Some(Multicast::Rows) { f.ctas as usize } else { 1 };
        let [.., rows, _] = *f.shape(load) else { unreachable!("a matrix") };
        let map = TensorMap {
            param: ptr.param().expect("a block pointer is in a parameter"),
            dims: dims.clone(),
            extents: of_batch(dims.len(), tile.rows / rows, rows / parts, tile.row_bytes / size),
            swizzle: tile.row_bytes,
            stores: false,
        };
        let map = map.among(&mut self.p.maps);
        let c = &mut self.p.operand_groups[operand_group];
        let offset = c.buffers.last().map_or(0, |b| b.offset + b.tile.bytes().next_multiple_of(ALIGN));
        let b = Buffer { load, map, offset, tile, multicast };
        self.p.loads.insert(load, (operand_group, c.buffers.len()));
        c.buffers.push(b);
    }

    /// The values that the producer computes: the coordinates of copies, and the conditions of control flow around
    /// them. They may depend on scalars that it loads from memory that the kernel does not write.
    fn slice(&mut self, f: &Func) -> Result<(), Missed> {
        let written: HashSet<Array> = written(f).into_iter().map(|a| f.memory(a)).collect();
        let mut todo: Vec<Value> = self
            .p
            .loads
            .keys()
            .flat_map(|l| if let Op::Load { block_pointer: Some(w), .. } = f.op(*l) { w.at.clone() } else { vec![] })
            .collect();
        loop {
            while let Some(v) = todo.pop() {
                if !self.p.needed.insert(v) {
                    continue;
                }
                let op = f.op(v);
                let is_known = match op {
                    Op::Load { ptr, .. } => {
                        !written.contains(&f.memory(ptr.array())) || planted!("tma-producer-reads-what-is-written")
                    }
                    Op::Atomic { .. } | Op::Dot { .. } => false,
                    _ => !op.crosses_threads(),
                };
                if !f.ty(v).is_scalar() || !is_known {
                    let why = why!(
                        "where or whether a tile is loaded depends on this value, which the producer cannot compute: \
                         it computes scalars of arguments, and of arrays that the kernel only reads"
                    );
                    return Err(Missed::new(TMA, why).at(f.span(v)));
                }
                if let Op::ReadVar(var) = op
                    && self.p.needed_vars.insert(*var)
                {
                    todo.extend(walk(&f.body).filter_map(|s| {
                        if let StmtKind::Assign(to, v) = &s.kind { (to == var).then_some(*v) } else { None }
                    }));
                }
                todo.extend(op.operands());
            }
            self.conditions(&f.body, &mut todo);
            todo.retain(|v| !self.p.needed.contains(v));
            if todo.is_empty() {
                return Ok(());
            }
        }
    }

    fn conditions(&self, stmts: &[Stmt], out: &mut Vec<Value>) {
        for s in stmts.iter().filter(|s| self.p.keeps(s)) {
            match &s.kind {
                StmtKind::If { cond, then, other } => {
                    out.push(*cond);
                    self.conditions(then, out);
                    self.conditions(other, out);
                }
                StmtKind::For { lo, hi, step, body, .. } => {
                    out.extend([lo, hi, step]);
                    self.conditions(body, out);
                }
                StmtKind::Loop { body } => self.conditions(body, out),
                _ => {}
            }
        }
    }
}

/// Whether two operand groups are never in use at the same time. Groups of one block always are, also one after the
/// other: a stage is released when the next one is being filled.
fn apart(a: &Lifetime, b: &Lifetime) -> bool {
    let parts = a.iter().zip(b).position(|(x, y)| x != y);
    let Some(at) = parts else { return false };
    let ((block, first, last), (other, from, to)) = (a[at], b[at]);
    planted!("tma-buffers-shared-while-in-use")
        || block != other
        || (last < from || to < first) && (at + 1 < a.len() || at + 1 < b.len())
}
