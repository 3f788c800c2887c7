//! Warp specialisation: windows of arrays that feed products are copied ahead of them, by warps of their own.
//!
//! The *producer* runs the part of the program that says what is copied: control flow and scalars, and the copies. The
//! *consumers* run the whole program, with each of these loads replaced by a wait. Loads that are used together make a
//! *channel*. Its *ring* has stages with a buffer for each of them and two barriers, `full` and `empty`. The producer is as far ahead
//! as there are stages, over the ends of loops too: nothing here knows what the loops are for.

use super::epilogue::Fused;
use super::late::Late;
use super::operands::{self, Boxes, MAX_BOX, Source, Sources, Taken};
use super::waits::Waits;
use crate::analyse::walk;
use crate::dtype::DType;
use crate::ir::*;
use crate::layout::dot::Groups;
use crate::layout::is_padded;
use crate::spread::depends_on_rank;
use std::collections::{HashMap, HashSet};

/// A window of an array in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub load: Value,
    pub map: usize,
    /// In its stage.
    pub offset: usize,
    pub boxes: Boxes,
    /// The same for all thread blocks of a cluster: each copies a part of it, to all of them.
    pub share: Option<Share>,
}

/// What a thread block copies of a tile for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Some of its boxes.
    Boxes,
    /// Some rows of each.
    Rows,
}

/// Tiles that are copied and used together.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    pub buffers: Vec<Buffer>,
    /// Threads take elements from it, beside the products.
    pub by_threads: bool,
    /// The products for which threads fetch it word by word.
    pub fetched: Vec<Value>,
    /// A warpgroup's threads meet between their wait for it and its end, in a product of it: not in one that a branch or a loop may leave out.
    pub meets: bool,
    pub ring: usize,
}

/// Stages in shared memory, each for all tiles of a channel; channels of loops that follow each other have one in common.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Of a stage.
    pub bytes: usize,
    /// Any of its channels is in a loop.
    pub repeats: bool,
    /// Stages that its loop asks for; 0 for as many as the function has, or as fit.
    pub stages: u32,
    /// Thread blocks that copy into a stage.
    pub copiers: u32,
    /// When its channels are in use.
    spans: Vec<Span>,
}

/// Where in a program something lasts: in each block around it, outermost first, from which statement to which; in all but the
/// last that is one and the same.
type Span = Vec<(usize, usize, usize)>;

/// As `kernel_core::MapDesc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    pub param: usize,
    pub dims: Vec<Dim>,
    /// Of a box.
    pub extents: Vec<usize>,
    pub swizzle: usize,
    /// Boxes are copied to the array.
    pub stores: bool,
}

impl Map {
    /// Its number among others, which it may be one of already.
    pub fn among(self, maps: &mut Vec<Map>) -> usize {
        maps.iter().position(|m| *m == self).unwrap_or_else(|| {
            maps.push(self);
            maps.len() - 1
        })
    }
}

/// Where an operand of a product is.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// Copied; `along_depth`, if the contiguous dimension is the one that is summed over.
    Buffer { channel: usize, buffer: usize, along_depth: bool },
    /// A load's tile that all threads have copied ahead.
    Copied { load: Value, along_depth: bool },
    /// Computed, in the registers of the instructions: A alone.
    Registers,
    /// Computed, and written to a matrix in shared memory.
    Written { matrix: usize, along_depth: bool },
}

impl Operand {
    /// Tensor cores take elements that lie across from shared memory only where they have two bytes: others, of A, through
    /// registers.
    pub fn through_registers(&self, dtype: DType) -> bool {
        matches!(self, Operand::Registers) || self.lies_across() && dtype.size() == 4
    }

    /// Whether it is in shared memory, and its contiguous dimension is not the depth.
    pub fn lies_across(&self) -> bool {
        match self {
            Operand::Registers => false,
            Operand::Buffer { along_depth, .. }
            | Operand::Copied { along_depth, .. }
            | Operand::Written { along_depth, .. } => !along_depth,
        }
    }

    fn is_computed(&self) -> bool {
        matches!(self, Operand::Registers | Operand::Written { .. })
    }
}

pub struct Pipeline {
    pub channels: Vec<Channel>,
    pub rings: Vec<Ring>,
    pub maps: Vec<Map>,
    pub dots: HashMap<Value, Product>,
    /// Channel and buffer of a load.
    pub loads: HashMap<Value, (usize, usize)>,
    /// Right operands that are computed.
    pub written: Vec<Boxes>,
    /// Channels that are not used any more after a statement, by its address.
    pub release: HashMap<StmtId, Vec<usize>>,
    /// When they are given back, and products waited for.
    pub waits: Waits,
    /// Products whose accumulators go straight into the next product.
    pub chained: HashSet<Value>,
    /// Accumulators that start as zeros: their first product takes the place of what is in them.
    pub fresh: HashSet<Var>,
    /// Loops whose products are waited for late, by their address.
    pub late: HashMap<StmtId, Late>,
    /// What the producer computes.
    pub needed: HashSet<Value>,
    needed_vars: HashSet<Var>,
    /// The statements around the block that is being looked at, and how many blocks there were.
    around: Span,
    blocks: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub groups: Groups,
    pub a: Operand,
    pub b: Operand,
}

impl Product {
    /// Whether any operand is its warpgroup's own work, so that it must be done before the next one is.
    pub fn is_computed(&self) -> bool {
        self.a.is_computed() || self.b.is_computed()
    }
}

/// As many as the launcher has room for.
pub const MAX_MAPS: usize = 8;

/// Swizzles repeat after eight rows of 128 bytes.
pub const ALIGN: usize = 1024;

/// The plan for a function of which every product takes at least one operand from a window; none for any other.
///
/// `fused` stores may have one of the tiles that they are joined with copied to where they are made. Such tiles, and those that operands
/// are computed of, are left to the consumers where the producer cannot say where they lie.
pub fn plan(f: &Func, fused: &[Fused]) -> Option<Pipeline> {
    let sources = operands::sources(f)?;
    let ways = [(fused, true), (&[], true), (fused, false), (&[], false)];
    ways.into_iter().find_map(|(fused, all)| planned(f, fused, &sources, operands::loads(f, &sources, all)))
}

fn planned(f: &Func, fused: &[Fused], sources: &HashMap<Value, Sources>, loads: HashSet<Value>) -> Option<Pipeline> {
    let mut p = Pipeline {
        channels: vec![],
        rings: vec![],
        maps: vec![],
        dots: HashMap::new(),
        loads: HashMap::new(),
        written: vec![],
        release: HashMap::new(),
        waits: Waits::default(),
        chained: HashSet::new(),
        fresh: HashSet::new(),
        late: HashMap::new(),
        needed: HashSet::new(),
        needed_vars: HashSet::new(),
        around: vec![],
        blocks: 0,
    };
    let taken = Taken::new(f, &loads);
    p.block(f, &f.body, &loads, &taken, None)?;
    let by_threads = taken.by_threads(f, sources);
    if by_threads.iter().any(|&l| !is_padded(f.shape(l))) {
        // They would take what only the padded tile has.
        return None;
    }
    p.channels.iter_mut().for_each(|c| c.by_threads = c.buffers.iter().any(|b| by_threads.contains(&b.load)));
    for s in walk(&f.body) {
        if let StmtKind::Let(d) = &s.kind
            && let Some(s) = sources.get(d)
        {
            p.product(f, *d, s);
        }
    }
    for (d, product) in &p.dots {
        // What tensor cores cannot take as it lies.
        if let (&Op::Dot { a, .. }, &Operand::Buffer { channel, .. }) = (f.op(*d), &product.a)
            && product.a.through_registers(f.ty(a).dtype)
        {
            p.channels[channel].fetched.push(*d);
        }
    }
    p.chains(f, &f.body);
    fused.iter().for_each(|x| p.epilogue(f, x));
    p.slice(f)?;
    p.fresh = fresh(f, &p.dots);
    p.late = super::late::find(f, &p);
    p.waits = super::waits::plan(f, &p, &p.release);
    Some(p)
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
    let starts = |var: Var| walk(&f.body).any(|s| matches!(&s.kind, StmtKind::Assign(to, v) if *to == var && f.is_zeros(*v)));
    accumulators.filter(|&var| starts(var)).collect()
}

/// Extents of a box that is a matrix of an array of `rank` dimensions.
pub fn of_matrix(rank: usize, rows: usize, cols: usize) -> Vec<usize> {
    (2..rank).map(|_| 1).chain([rows, cols]).collect()
}

/// What tensor maps ask of the arrays, beside what is asked already; what they ask of constants is seen to.
pub fn requires(f: &Func, maps: &[Map], mut known: Vec<Require>) -> Vec<Require> {
    for m in maps {
        let (param, size) = (&f.params[m.param], f.params[m.param].dtype.size() as u64);
        let mut add = |of: &Number, test: Test| {
            let r = Require { of: of.clone(), test };
            if !of.slots.is_empty() && !known.contains(&r) {
                known.push(r);
            }
        };
        add(&Number::slot(param.slot), Test::Multiple(16));
        m.dims.iter().for_each(|d| add(&d.extent, Test::Within(1, i32::MAX as u64)));
        let (last, others) = m.dims.split_last().expect("a dimension");
        others.iter().for_each(|d| {
            add(&d.stride, Test::Multiple(16 / size));
            add(&d.stride, Test::Within(1, (1 << 39) / size));
        });
        add(&last.stride, Test::Equal(1));
        if m.stores {
            // The hardware clips rows to 16 bytes, no finer.
            add(&last.extent, Test::Multiple(16 / size));
        }
    }
    known
}

/// How the thread blocks share the copies of a tile, if it is the same for all of them.
fn share(f: &Func, load: Value, boxes: &Boxes) -> Option<Share> {
    let (ctas, Op::Load { window: Some(window), .. }) = (f.ctas as usize, f.op(load)) else { return None };
    if ctas == 1 || window.at.iter().any(|&o| depends_on_rank(f, o)) {
        return None;
    }
    if boxes.count.is_multiple_of(ctas) {
        return Some(Share::Boxes);
    }
    boxes.box_bytes().is_multiple_of(ctas * ALIGN).then_some(Share::Rows)
}

impl Pipeline {
    /// Channels of a block; none where one could not be released on every way.
    fn block(
        &mut self,
        f: &Func,
        stmts: &[Stmt],
        loads: &HashSet<Value>,
        taken: &Taken,
        around: Option<LoopOptions>,
    ) -> Option<()> {
        self.blocks += 1;
        let block = self.blocks;
        // The channel that loads still join, and where it began: until something is taken from it, or the block branches.
        let mut open: Option<(usize, usize)> = None;
        let mut channels = vec![];
        for (i, s) in stmts.iter().enumerate() {
            match &s.kind {
                StmtKind::Let(v) if loads.contains(v) => {
                    if open.is_some_and(|(channel, _)| self.outlives(f, stmts, taken, channel, *v)) {
                        channels.extend(open.take());
                    }
                    let (channel, _) = *open.get_or_insert_with(|| {
                        self.channels.push(Channel::default());
                        (self.channels.len() - 1, i)
                    });
                    self.add(f, channel, *v);
                }
                StmtKind::If { then, other, .. } => {
                    channels.extend(open.take());
                    self.around.push((block, i, i));
                    self.block(f, then, loads, taken, around)?;
                    self.block(f, other, loads, taken, around)?;
                    self.around.pop();
                }
                StmtKind::For { body, options, .. } => {
                    channels.extend(open.take());
                    let first = self.channels.len();
                    self.around.push((block, i, i));
                    self.block(f, body, loads, taken, Some(*options))?;
                    self.around.pop();
                    if options.warp_specialise == Some(false) && self.channels.len() > first {
                        return None;
                    }
                }
                StmtKind::Loop { body } => {
                    channels.extend(open.take());
                    self.around.push((block, i, i));
                    self.block(f, body, loads, taken, Some(LoopOptions::default()))?;
                    self.around.pop();
                }
                _ => {
                    if open.is_some_and(|(channel, _)| taken.by(f, s).any(|l| self.loads[&l].0 == channel)) {
                        channels.extend(open.take());
                    }
                }
            }
        }
        channels.extend(open);
        for (channel, from) in channels {
            let mine: Vec<Value> = self.channels[channel].buffers.iter().map(|b| b.load).collect();
            let last = (from..stmts.len()).rev().find(|&i| taken.by(f, &stmts[i]).any(|l| mine.contains(&l)))?;
            if stmts[from..=last].iter().any(|s| leaves(s, 0)) {
                return None;
            }
            let product = |s: &Stmt| {
                matches!(&s.kind, StmtKind::Let(d) if matches!(f.op(*d), Op::Dot { .. }))
                    && taken.by(f, s).any(|l| mine.contains(&l))
            };
            self.channels[channel].meets = stmts[from..=last].iter().any(product);
            self.release.entry(stmts[last].id).or_default().push(channel);
            self.around.push((block, from, last));
            self.ring(f, channel, around.is_some(), around.map_or(0, |o| o.stages));
            self.around.pop();
        }
        Some(())
    }

    /// Whether a loop uses either the tiles of a channel or another one, and not both: then these had better be given back apart.
    fn outlives(&self, f: &Func, stmts: &[Stmt], taken: &Taken, channel: usize, load: Value) -> bool {
        let last = |of: &dyn Fn(Value) -> bool| stmts.iter().rposition(|s| taken.by(f, s).any(of)).unwrap_or(0);
        let (mine, other) = (last(&|l| self.loads.get(&l).is_some_and(|p| p.0 == channel)), last(&|l| l == load));
        stmts[mine.min(other) + 1..=mine.max(other)].iter().any(|s| matches!(&s.kind, StmtKind::For { .. } | StmtKind::Loop { .. }))
    }

    /// Gives a channel its ring: that of another one which is never in use at the same time, if it fits.
    fn ring(&mut self, f: &Func, channel: usize, repeats: bool, stages: u32) {
        let buffers = &self.channels[channel].buffers;
        let last = buffers.last().expect("a channel has loads");
        let bytes = last.offset + last.boxes.bytes().next_multiple_of(ALIGN);
        let copiers = if buffers.iter().any(|b| b.share.is_some()) { f.ctas } else { 1 };
        let fits =
            |r: &Ring| (r.bytes, r.copiers) == (bytes, copiers) && (r.stages == stages || !r.repeats || !repeats);
        let ring =
            self.rings.iter().position(|r| fits(r) && r.spans.iter().all(|s| apart(s, &self.around))).unwrap_or_else(
                || {
                    self.rings.push(Ring { bytes, repeats, stages, copiers, spans: vec![] });
                    self.rings.len() - 1
                },
            );
        let r = &mut self.rings[ring];
        (r.repeats, r.stages) = (r.repeats || repeats, r.stages.max(stages));
        r.spans.push(self.around.clone());
        self.channels[channel].ring = ring;
    }

    /// The ring of a channel.
    pub fn ring_of(&self, channel: usize) -> &Ring {
        &self.rings[self.channels[channel].ring]
    }

    /// Gives the operands of a product their places.
    fn product(&mut self, f: &Func, dot: Value, sources: &Sources) {
        let Op::Dot { b, .. } = *f.op(dot) else { unreachable!("a dot") };
        let copied = |load: Value, along_depth: bool| {
            let (channel, buffer) = self.loads[&load];
            Operand::Buffer { channel, buffer, along_depth }
        };
        let a = match sources.a {
            Source::Copied { load, along_depth } => copied(load, along_depth),
            Source::Computed => Operand::Registers,
        };
        let b = match sources.b {
            Source::Copied { load, along_depth } => copied(load, along_depth),
            Source::Computed => {
                let (boxes, along_depth) = operands::written_as(f, b, &sources.groups);
                self.written.push(boxes);
                Operand::Written { matrix: self.written.len() - 1, along_depth }
            }
        };
        self.dots.insert(dot, Product { groups: sources.groups, a, b });
    }

    /// Finds products that follow each other on the same accumulators, with no buffer given back between them.
    fn chains(&mut self, f: &Func, stmts: &[Stmt]) {
        let uses = super::uses(f);
        let mut open: Option<Value> = None;
        for s in stmts {
            match &s.kind {
                StmtKind::Let(d) if self.dots.contains_key(d) => {
                    let Op::Dot { acc, .. } = *f.op(*d) else { unreachable!("a dot") };
                    if open == Some(acc) && uses[acc.0 as usize] == 1 {
                        self.chained.insert(acc);
                    }
                    open = Some(*d);
                }
                // Scalars, and loads that are waited for.
                StmtKind::Let(v) if self.loads.contains_key(v) || f.op(*v).is_view() => {}
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
            if self.release.contains_key(&s.id) {
                open = None;
            }
        }
    }

    /// The first tile that an epilogue loads is copied where the store's chunks will lie: in one buffer, that is free again once
    /// they have been copied out.
    fn epilogue(&mut self, f: &Func, x: &Fused) {
        let StmtKind::Store { value, .. } = &x.store.kind else { unreachable!("a store") };
        let value = super::box_store::matrix(f, *value);
        let (shape, size) = (f.shape(value), f.ty(value).dtype.size());
        let same = |&v: &Value| f.shape(v) == shape && f.ty(v).dtype.size() == size;
        let Some(load) = x.loads.iter().copied().find(same).filter(|_| shape[0] <= MAX_BOX && size == 2) else {
            return;
        };
        // By barriers between the pieces.
        self.channels.push(Channel { meets: true, ..Channel::default() });
        let channel = self.channels.len() - 1;
        self.add(f, channel, load);
        self.ring(f, channel, true, 1);
        self.release.entry(x.store.id).or_default().push(channel);
    }

    fn add(&mut self, f: &Func, channel: usize, load: Value) {
        let Op::Load { place, window: Some(Window { dims, .. }), .. } = f.op(load) else { unreachable!("a window") };
        let size = f.ty(load).dtype.size();
        let boxes = operands::boxes(f, load);
        let share = share(f, load, &boxes);
        let parts = if share == Some(Share::Rows) { f.ctas as usize } else { 1 };
        let map = Map {
            param: place.param(),
            dims: dims.clone(),
            extents: of_matrix(dims.len(), boxes.rows / parts, boxes.row_bytes / size),
            swizzle: boxes.row_bytes,
            stores: false,
        };
        let map = map.among(&mut self.maps);
        let c = &mut self.channels[channel];
        let offset = c.buffers.last().map_or(0, |b| b.offset + b.boxes.bytes().next_multiple_of(ALIGN));
        let b = Buffer { load, map, offset, boxes, share };
        self.loads.insert(load, (channel, c.buffers.len()));
        c.buffers.push(b);
    }

    /// What the producer must compute to say what is copied, and when; none where that depends on data.
    fn slice(&mut self, f: &Func) -> Option<()> {
        let mut todo: Vec<Value> = self
            .loads
            .keys()
            .flat_map(|l| if let Op::Load { window: Some(w), .. } = f.op(*l) { w.at.clone() } else { vec![] })
            .collect();
        loop {
            while let Some(v) = todo.pop() {
                if !self.needed.insert(v) {
                    continue;
                }
                let op = f.op(v);
                if !f.ty(v).is_scalar()
                    || matches!(
                        op,
                        Op::Load { .. } | Op::Atomic { .. } | Op::Reduce { .. } | Op::ArgReduce { .. } | Op::Dot { .. }
                    )
                {
                    return None;
                }
                if let Op::ReadVar(var) = op
                    && self.needed_vars.insert(*var)
                {
                    todo.extend(
                        walk(&f.body)
                            .filter_map(|s| if let StmtKind::Assign(to, v) = &s.kind { (to == var).then_some(*v) } else { None }),
                    );
                }
                todo.extend(op.operands());
            }
            self.conditions(&f.body, &mut todo);
            todo.retain(|v| !self.needed.contains(v));
            if todo.is_empty() {
                return Some(());
            }
        }
    }

    fn conditions(&self, stmts: &[Stmt], out: &mut Vec<Value>) {
        for s in stmts.iter().filter(|s| self.keeps(s)) {
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

/// Whether two things never last at the same time. In one block they do even if they take turns: a stage is given back when
/// the next one is under way.
fn apart(a: &Span, b: &Span) -> bool {
    let parts = a.iter().zip(b).position(|(x, y)| x != y);
    let Some(at) = parts else { return false };
    let ((block, first, last), (other, from, to)) = (a[at], b[at]);
    block != other || (last < from || to < first) && (at + 1 < a.len() || at + 1 < b.len())
}

/// Whether a statement may leave the block that it stands in.
fn leaves(s: &Stmt, loops: usize) -> bool {
    match &s.kind {
        StmtKind::Break | StmtKind::Continue => loops == 0,
        StmtKind::Return => true,
        StmtKind::If { then, other, .. } => then.iter().chain(other).any(|s| leaves(s, loops)),
        StmtKind::For { body, .. } | StmtKind::Loop { body } => body.iter().any(|s| leaves(s, loops + 1)),
        _ => false,
    }
}
