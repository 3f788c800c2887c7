//! Warp specialisation: tiles of views that feed products are copied ahead of them, by warps of their own.
//!
//! The *producer* runs the part of the program that says what is copied: control flow and scalars, and the copies. The
//! *consumers* run the whole program, with each of these loads replaced by a wait. Loads that are used together make a
//! *channel*: a ring of buffers with two barriers each, `full` and `empty`. The producer is as far ahead as there are
//! buffers, over the ends of loops too: nothing here knows what the loops are for.

use crate::analyse::{Require, Test, walk, written};
use crate::dtype::DType;
use crate::ir::*;
use super::epilogue::Fused;
use super::late::Late;
use crate::layout::dot::{Groups, depth};
use crate::spread::depends_on_rank;
use std::collections::{HashMap, HashSet};

/// A tile in shared memory: boxes side by side, each of all rows and of `row_bytes` of the columns, swizzled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub load: Value,
    pub map: usize,
    /// In its stage.
    pub offset: usize,
    pub rows: usize,
    pub boxes: usize,
    pub row_bytes: usize,
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

impl Buffer {
    pub fn box_bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    pub fn bytes(&self) -> usize {
        self.box_bytes() * self.boxes
    }
}

#[derive(Clone, Debug)]
pub struct Channel {
    pub buffers: Vec<Buffer>,
    /// Of one stage.
    pub bytes: usize,
    /// Filled more than once.
    pub repeats: bool,
    /// Buffers that its loop asks for; 0 for as many as the function has, or as fit.
    pub stages: u32,
}

/// As `kernel_core::MapDesc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    pub param: usize,
    pub extents: Vec<usize>,
    pub swizzle: usize,
    /// Boxes are copied to the view.
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

/// An operand of a product in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub channel: usize,
    pub buffer: usize,
    /// The contiguous dimension is the one that is summed over.
    pub along_depth: bool,
}

impl Operand {
    /// Tensor cores take elements that lie across from shared memory only where they have two bytes: others, of A, through
    /// registers.
    pub fn through_registers(&self, dtype: DType) -> bool {
        !self.along_depth && dtype.size() == 4
    }
}

pub struct Pipeline {
    pub channels: Vec<Channel>,
    pub maps: Vec<Map>,
    pub dots: HashMap<Value, Product>,
    /// Channel and buffer of a load.
    pub loads: HashMap<Value, (usize, usize)>,
    /// Channels to release after a statement, by its address.
    pub release: HashMap<*const Stmt, Vec<usize>>,
    /// Products whose accumulators go straight into the next product.
    pub chained: HashSet<Value>,
    /// Accumulators that start as zeros: their first product takes the place of what is in them.
    pub fresh: HashSet<Var>,
    /// Loops whose products are waited for late, by their address.
    pub late: HashMap<*const Stmt, Late>,
    /// What the producer computes.
    pub needed: HashSet<Value>,
    needed_vars: HashSet<Var>,
}

#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub groups: Groups,
    pub a: Operand,
    pub b: Operand,
}

/// Swizzled rows are at most this long.
const ROW_BYTES: usize = 128;
/// Of a box, in each dimension.
const MAX_BOX: usize = 256;
/// Swizzles repeat after eight rows of 128 bytes.
pub const ALIGN: usize = 1024;

/// The plan for a function whose products all take their operands from views; none for any other.
///
/// `fused` stores may have one of the tiles that they are joined with copied to where they are made: none, if the producer
/// cannot say where these lie.
pub fn plan(f: &Func, fused: &[Fused]) -> Option<Pipeline> {
    with_epilogues(f, fused).or_else(|| if fused.is_empty() { None } else { with_epilogues(f, &[]) })
}

fn with_epilogues(f: &Func, fused: &[Fused]) -> Option<Pipeline> {
    let dots: Vec<Value> = walk(&f.body).filter_map(|s| if let Stmt::Let(v) = s { matches!(f.op(*v), Op::Dot { .. }).then_some(*v) } else { None }).collect();
    if dots.is_empty() {
        return None;
    }
    let mut p = Pipeline { channels: vec![], maps: vec![], dots: HashMap::new(), loads: HashMap::new(), release: HashMap::new(), chained: HashSet::new(), fresh: HashSet::new(), late: HashMap::new(), needed: HashSet::new(), needed_vars: HashSet::new() };
    let mut sources = HashMap::new();
    for &d in &dots {
        sources.insert(d, operands(f, d)?);
    }
    // Each load is for products alone.
    let loads: HashSet<Value> = sources.values().flat_map(|(a, b, _)| [a.0, b.0]).collect();
    if !only_for_products(f, &loads) {
        return None;
    }
    p.block(f, &f.body, &loads, &sources, None)?;
    for (d, (a, b, groups)) in sources {
        let place = |(load, along_depth): (Value, bool)| {
            let (channel, buffer) = p.loads[&load];
            Operand { channel, buffer, along_depth }
        };
        p.dots.insert(d, Product { groups, a: place(a), b: place(b) });
    }
    fused.iter().for_each(|x| p.epilogue(f, x));
    p.slice(f)?;
    p.fresh = fresh(f, &p.dots);
    p.late = super::late::find(f, &p);
    Some(p)
}

fn fresh(f: &Func, dots: &HashMap<Value, Product>) -> HashSet<Var> {
    let accumulators = dots.keys().filter_map(|&d| match f.op(d) {
        Op::Dot { acc, .. } => if let Op::ReadVar(var) = f.op(*acc) { Some(*var) } else { None },
        _ => None,
    });
    let starts = |var: Var| walk(&f.body).any(|s| matches!(s, Stmt::Assign(to, v) if *to == var && f.is_zeros(*v)));
    accumulators.filter(|&var| starts(var)).collect()
}

/// What tensor maps ask of the views, beside what is asked already.
pub fn requires(f: &Func, maps: &[Map], mut known: Vec<Require>) -> Vec<Require> {
    for m in maps {
        let (param, size) = (&f.params[m.param], f.params[m.param].dtype.size() as u64);
        let rank = m.extents.len();
        let (dims, strides) = (param.slot + 1, param.slot + 1 + rank);
        let mut add = |slot: usize, test: Test| {
            let r = Require { slot, test };
            if !known.contains(&r) {
                known.push(r);
            }
        };
        add(param.slot, Test::Multiple(16));
        (0..rank).for_each(|d| add(dims + d, Test::Within(1, i32::MAX as u64)));
        (0..rank - 1).for_each(|d| {
            add(strides + d, Test::Multiple(16 / size));
            add(strides + d, Test::Within(1, (1 << 39) / size));
        });
        add(strides + rank - 1, Test::Equal(1));
        if m.stores {
            // The hardware clips rows to 16 bytes, no finer.
            add(dims + rank - 1, Test::Multiple(16 / size));
        }
    }
    known
}

/// A load, and whether its contiguous dimension is the depth of the product.
type Source = (Value, bool);

fn operands(f: &Func, dot: Value) -> Option<(Source, Source, Groups)> {
    let Op::Dot { a, b, precision, .. } = f.op(dot) else { unreachable!("a dot") };
    let dtype = f.ty(*a).dtype;
    let fits = match dtype {
        DType::F16 | DType::BF16 | DType::I8 | DType::F8E4M3 | DType::F8E5M2 => true,
        DType::F32 => *precision == Precision::Tf32,
        _ => false,
    };
    let groups = Groups::new(f.shape(dot), f.warps as usize)?;
    let (load_a, flipped_a) = source(f, *a)?;
    let (load_b, flipped_b) = source(f, *b)?;
    let (depth_a, depth_b) = (!flipped_a, flipped_b);
    // See `Operand::through_registers`.
    let lies = dtype.size() == 2 || ((depth_a || dtype.size() == 4) && depth_b);
    let deep = f.shape(*a)[1] % depth(dtype) == 0;
    // Across, an instruction's rows or columns are whole boxes.
    let whole = |v: Value, along: bool, part: usize| along || row_bytes(f, v) == ROW_BYTES && part * dtype.size() >= ROW_BYTES;
    let ok = fits && lies && deep && whole(load_a, depth_a, 64) && whole(load_b, depth_b, groups.n);
    ok.then_some(((load_a, depth_a), (load_b, depth_b), groups))
}

/// The view's tile behind shape operations, and whether it is transposed.
fn source(f: &Func, v: Value) -> Option<(Value, bool)> {
    match f.op(v) {
        Op::Load { tile: Some(_), place, .. } => {
            let matrix: Vec<usize> = f.shape(v).iter().copied().filter(|&e| e != 1).collect();
            let read_only = !written(f).contains(&place.param());
            let fits = f.shape(v).iter().all(|e| e.is_power_of_two()) && row_bytes(f, v) >= 32 && f.shape(v)[f.shape(v).len() - 2] >= 8;
            (matrix.len() == 2 && fits && read_only && matrix[0] <= MAX_BOX).then_some((v, false))
        }
        Op::Permute(x, perm) if perm[..] == [1, 0] => source(f, *x).map(|(l, t)| (l, !t)),
        Op::Reshape(x) => {
            let squeezed = |s: &[usize]| s.iter().copied().filter(|&e| e != 1).collect::<Vec<_>>();
            (squeezed(f.shape(*x)) == squeezed(f.shape(v))).then(|| source(f, *x)).flatten()
        }
        _ => None,
    }
}

/// How the thread blocks share the copies of a tile, if it is the same for all of them.
fn share(f: &Func, load: Value, rows: usize, boxes: usize, row_bytes: usize) -> Option<Share> {
    let (ctas, Op::Load { tile: Some(at), .. }) = (f.ctas as usize, f.op(load)) else { return None };
    if ctas == 1 || at.iter().any(|&o| depends_on_rank(f, o)) {
        return None;
    }
    if boxes % ctas == 0 {
        return Some(Share::Boxes);
    }
    (rows * row_bytes % (ctas * ALIGN) == 0).then_some(Share::Rows)
}

fn row_bytes(f: &Func, load: Value) -> usize {
    (f.shape(load).last().expect("a tile") * f.ty(load).dtype.size()).min(ROW_BYTES)
}

fn only_for_products(f: &Func, loads: &HashSet<Value>) -> bool {
    // Loads and the shape operations on them.
    let mut carriers = loads.clone();
    for s in walk(&f.body) {
        let bad = match s {
            Stmt::Let(v) => {
                let from_one = f.op(*v).operands().iter().any(|o| carriers.contains(o));
                let is_carrier = matches!(f.op(*v), Op::Permute(..) | Op::Reshape(_));
                if from_one && is_carrier {
                    carriers.insert(*v);
                }
                let acc = if let Op::Dot { acc, .. } = f.op(*v) { carriers.contains(acc) } else { false };
                from_one && !is_carrier && (acc || !matches!(f.op(*v), Op::Dot { .. }))
            }
            Stmt::Assign(_, v) | Stmt::Assert { cond: v, .. } | Stmt::Print { value: v, .. } => carriers.contains(v),
            Stmt::Store { value, .. } => carriers.contains(value),
            _ => false,
        };
        if bad {
            return false;
        }
    }
    true
}

impl Pipeline {
    /// Channels of a block; none where one could not be released on every way.
    fn block(&mut self, f: &Func, stmts: &[Stmt], loads: &HashSet<Value>, sources: &HashMap<Value, (Source, Source, Groups)>, around: Option<LoopOptions>) -> Option<()> {
        let (repeats, stages) = (around.is_some(), around.map_or(0, |o| o.stages));
        let uses = |s: &Stmt, load: Value| walk(std::slice::from_ref(s)).any(|s| matches!(s, Stmt::Let(d) if sources.get(d).is_some_and(|(a, b, _)| a.0 == load || b.0 == load)));
        let mut open: Option<(usize, usize)> = None;
        let mut channels = vec![];
        for (i, s) in stmts.iter().enumerate() {
            match s {
                Stmt::Let(v) if loads.contains(v) => {
                    let (channel, _) = *open.get_or_insert_with(|| {
                        self.channels.push(Channel { buffers: vec![], bytes: 0, repeats, stages });
                        (self.channels.len() - 1, i)
                    });
                    self.add(f, channel, *v);
                }
                Stmt::Let(d) => {
                    let Some((a, b, _)) = sources.get(d) else { continue };
                    if let Some((channel, _)) = open
                        && [a.0, b.0].iter().any(|l| self.loads.get(l).is_some_and(|p| p.0 == channel))
                    {
                        channels.extend(open.take());
                    }
                }
                Stmt::If { then, other, .. } => {
                    channels.extend(open.take());
                    self.block(f, then, loads, sources, around)?;
                    self.block(f, other, loads, sources, around)?;
                }
                Stmt::For { body, options, .. } => {
                    channels.extend(open.take());
                    let first = self.channels.len();
                    self.block(f, body, loads, sources, Some(*options))?;
                    if options.warp_specialise == Some(false) && self.channels.len() > first {
                        return None;
                    }
                }
                Stmt::Loop { body } => {
                    channels.extend(open.take());
                    self.block(f, body, loads, sources, Some(LoopOptions::default()))?;
                }
                _ => {}
            }
        }
        channels.extend(open);
        for (channel, from) in channels {
            let mine: Vec<Value> = self.channels[channel].buffers.iter().map(|b| b.load).collect();
            let last = (from..stmts.len()).rev().find(|&i| mine.iter().any(|&l| uses(&stmts[i], l)))?;
            if stmts[from..=last].iter().any(|s| leaves(s, 0)) {
                return None;
            }
            self.release.entry(&raw const stmts[last]).or_default().push(channel);
        }
        self.chain(f, stmts, sources);
        Some(())
    }

    /// How many thread blocks copy into a channel's buffers.
    pub fn copiers(&self, channel: usize, f: &Func) -> u32 {
        if self.channels[channel].buffers.iter().any(|b| b.share.is_some()) { f.ctas } else { 1 }
    }

    /// Finds products that follow each other on the same accumulators, with no buffer given back between them.
    fn chain(&mut self, f: &Func, stmts: &[Stmt], sources: &HashMap<Value, (Source, Source, Groups)>) {
        let uses = super::uses(f);
        let mut open: Option<Value> = None;
        for s in stmts {
            match s {
                Stmt::Let(d) if sources.contains_key(d) => {
                    let Op::Dot { acc, .. } = *f.op(*d) else { unreachable!("a dot") };
                    if open == Some(acc) && uses[acc.0 as usize] == 1 {
                        self.chained.insert(acc);
                    }
                    open = Some(*d);
                }
                // Scalars, and loads that are waited for.
                Stmt::Let(v) if f.ty(*v).is_scalar() || self.loads.contains_key(v) || f.op(*v).is_view() => {}
                _ => open = None,
            }
            if self.release.contains_key(&std::ptr::from_ref(s)) {
                open = None;
            }
        }
    }

    /// The first tile that an epilogue loads is copied where the store's chunks will lie: in one buffer, that is free again once
    /// they have been copied out.
    fn epilogue(&mut self, f: &Func, x: &Fused) {
        let Stmt::Store { value, .. } = x.store else { unreachable!("a store") };
        let (shape, size) = (f.shape(*value), f.ty(*value).dtype.size());
        let same = |&v: &Value| f.shape(v) == shape && f.ty(v).dtype.size() == size;
        let Some(load) = x.loads.iter().copied().find(same).filter(|_| shape[0] <= MAX_BOX && size == 2) else { return };
        self.channels.push(Channel { buffers: vec![], bytes: 0, repeats: true, stages: 1 });
        let channel = self.channels.len() - 1;
        self.add(f, channel, load);
        self.release.entry(std::ptr::from_ref(x.store)).or_default().push(channel);
    }

    fn add(&mut self, f: &Func, channel: usize, load: Value) {
        let Op::Load { place, .. } = f.op(load) else { unreachable!("a load") };
        let (shape, size) = (f.shape(load), f.ty(load).dtype.size());
        let row_bytes = row_bytes(f, load);
        let cols = shape[shape.len() - 1];
        let mut extents = shape.to_vec();
        *extents.last_mut().expect("a tile") = row_bytes / size;
        let (rows, boxes) = (shape[shape.len() - 2], cols * size / row_bytes);
        let share = share(f, load, rows, boxes, row_bytes);
        if share == Some(Share::Rows) {
            extents[shape.len() - 2] /= f.ctas as usize;
        }
        let map = Map { param: place.param(), extents, swizzle: row_bytes, stores: false };
        let map = map.among(&mut self.maps);
        let c = &mut self.channels[channel];
        let b = Buffer { load, map, offset: c.bytes, rows, boxes, row_bytes, share };
        c.bytes += b.bytes().next_multiple_of(ALIGN);
        self.loads.insert(load, (channel, c.buffers.len()));
        c.buffers.push(b);
    }

    /// What the producer must compute to say what is copied, and when; none where that depends on data.
    fn slice(&mut self, f: &Func) -> Option<()> {
        let mut todo: Vec<Value> = self.loads.keys().flat_map(|l| if let Op::Load { tile: Some(t), .. } = f.op(*l) { t.clone() } else { vec![] }).collect();
        loop {
            while let Some(v) = todo.pop() {
                if !self.needed.insert(v) {
                    continue;
                }
                let op = f.op(v);
                if !f.ty(v).is_scalar() || matches!(op, Op::Load { .. } | Op::Atomic { .. } | Op::AtomicCas { .. } | Op::Reduce { .. } | Op::ArgReduce { .. } | Op::Dot { .. }) {
                    return None;
                }
                if let Op::ReadVar(var) = op
                    && self.needed_vars.insert(*var)
                {
                    todo.extend(walk(&f.body).filter_map(|s| if let Stmt::Assign(to, v) = s { (to == var).then_some(*v) } else { None }));
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
            match s {
                Stmt::If { cond, then, other } => {
                    out.push(*cond);
                    self.conditions(then, out);
                    self.conditions(other, out);
                }
                Stmt::For { lo, hi, step, body, .. } => {
                    out.extend([lo, hi, step]);
                    self.conditions(body, out);
                }
                Stmt::Loop { body } => self.conditions(body, out),
                _ => {}
            }
        }
    }

    /// Whether a statement, in a block that the producer runs, is for the producer too.
    pub fn keeps(&self, s: &Stmt) -> bool {
        match s {
            Stmt::Let(v) => self.needed.contains(v) || self.loads.contains_key(v),
            Stmt::Assign(var, _) => self.needed_vars.contains(var),
            Stmt::Break | Stmt::Continue | Stmt::Return => true,
            Stmt::If { .. } | Stmt::For { .. } | Stmt::Loop { .. } => {
                let works = walk(std::slice::from_ref(s)).any(|s| match s {
                    Stmt::Let(v) => self.loads.contains_key(v),
                    Stmt::Assign(var, _) => self.needed_vars.contains(var),
                    _ => false,
                });
                works || leaves(s, 0)
            }
            _ => false,
        }
    }
}

/// Whether a statement may leave the block that it stands in.
fn leaves(s: &Stmt, loops: usize) -> bool {
    match s {
        Stmt::Break | Stmt::Continue => loops == 0,
        Stmt::Return => true,
        Stmt::If { then, other, .. } => then.iter().chain(other).any(|s| leaves(s, loops)),
        Stmt::For { body, .. } | Stmt::Loop { body } => body.iter().any(|s| leaves(s, loops + 1)),
        _ => false,
    }
}
