//! Copies ahead: loads of a loop that only feed products go to a *ring* of stages in shared memory, some iterations before
//! their products take them from there.
//!
//! All warps copy and multiply. What the copies of an iteration need, addresses and masks, is computed in advance by a
//! slice of the loop's body, on copies of the variables that the body changes. Which loop it is does not matter, nor what else
//! its body does.

use super::copied;
use super::late::InFlight;
use super::operands::Boxes;
use super::pipeline::{Operand, Product};
use crate::analyse::{Analysis, values, walk, written};
use crate::ir::*;
use crate::layout::dot::{self, Unit};
use crate::layout::fetch::{Fetch, Side};
use crate::layout::{Homes, is_padded};
use crate::linear::placed::{Use, place};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Shared memory that every multiprocessor since sm_80 has for a program, and that of sm_80 for those who ask for more stages.
const ROOM: usize = 99 << 10;
const MOST: usize = 163 << 10;
const STAGES: usize = 3;
/// The same for warpgroups, on sm_90a: a stage more, that is read while the next one is waited for, and as swizzles repeat.
pub const ROOM_OF_GROUPS: usize = 227 << 10;
const STAGES_OF_GROUPS: usize = 4;
const ALIGN_OF_GROUPS: usize = 1024;
/// The banks' width: where stages and their tiles begin.
const ALIGN: usize = 128;

#[derive(Default)]
pub struct Ahead {
    /// By the address of the loop.
    pub rings: HashMap<StmtId, Ring>,
    pub tiles: HashMap<Value, Tile>,
    /// Those that warpgroups make of such tiles: all of the function's or none.
    pub products: HashMap<Value, Product>,
}

/// The stages of a loop.
pub struct Ring {
    /// Names its constants.
    pub index: usize,
    /// Bytes of a stage.
    pub bytes: usize,
    /// As many as are wanted, and whether the kernel says so.
    stages: (usize, bool),
    /// Any of the copies is asynchronous.
    pub asynchronous: bool,
    /// What is waited for one iteration late: its stage is read for so long.
    pub late: Option<InFlight>,
    /// What the body computes that the copies need.
    needed: HashSet<Value>,
    /// The same of variables that the body changes.
    pub vars: BTreeSet<Var>,
}

impl Ring {
    /// Whether a statement of the body is for the copies.
    pub fn keeps(&self, s: &Stmt) -> bool {
        match &s.kind {
            StmtKind::Let(v) => self.needed.contains(v),
            StmtKind::Assign(var, _) => self.vars.contains(var),
            _ => false,
        }
    }

    /// Stages that are being read, or are to be read next.
    pub fn read(&self) -> usize {
        1 + usize::from(self.late.is_some())
    }

    fn fitting(&self, room: (usize, usize)) -> usize {
        let room = if self.stages.1 { room.1 } else { room.0 };
        self.stages.0.min(room / self.bytes)
    }
}

/// A load's tile in a stage.
pub struct Tile {
    pub ring: usize,
    /// The dimension of neighbours.
    pub fast: usize,
    /// In the stage.
    pub offset: usize,
    /// Byte offset of an element, as bases over the bits of its flat index.
    pub place: Vec<u32>,
    /// Elements of one asynchronous copy; none where registers are between.
    pub vec: Option<usize>,
    /// The matrix that warpgroups have it as.
    pub boxes: Option<Boxes>,
}

/// An operand that is a load's tile, read through shape operations; whether its matrices are transposed.
pub fn source(f: &Func, v: Value) -> Option<(Value, bool)> {
    match f.op(v) {
        Op::Load { .. } => Some((v, false)),
        Op::Permute(x, perm) if matches!(perm[..], [1, 0] | [0, 2, 1]) => source(f, *x).map(|(l, t)| (l, !t)),
        // What is transposed in three dimensions is another matrix in two.
        Op::Reshape(x) if f.shape(v).len() == 2 && squeezed(f.shape(*x)) == squeezed(f.shape(v)) => {
            source(f, *x).filter(|&(_, t)| !t || f.shape(*x).len() == 2)
        }
        _ => None,
    }
}

/// The dimension of a load's tile along which neighbours in memory lie.
pub fn fast(f: &Func, a: &Analysis, load: Value) -> Option<usize> {
    let Op::Load { place, .. } = f.op(load) else { unreachable!("a load") };
    a.order(f, place.index()).into_iter().find(|&d| f.shape(load)[d] > 1)
}

pub(super) fn squeezed(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|&e| e != 1).collect()
}

/// Shared memory for rings beside exchanges: by default, and at most.
fn room(f: &Func, exchanges: usize, groups: bool) -> (usize, usize) {
    let of = |bytes: usize| {
        (bytes / f.blocks_per_sm.max(1) as usize).saturating_sub(exchanges.next_multiple_of(align(groups)))
    };
    if groups { (of(ROOM_OF_GROUPS), of(ROOM_OF_GROUPS)) } else { (of(ROOM), of(MOST)) }
}

fn align(groups: bool) -> usize {
    if groups { ALIGN_OF_GROUPS } else { ALIGN }
}

/// With `products` of warpgroups there is a plan only if all operands of these are copied ahead.
pub fn plan(f: &Func, a: &Analysis, homes: &Homes, products: HashMap<Value, Product>) -> Option<Ahead> {
    let mut out = Ahead { products, ..Ahead::default() };
    let written = written(f);
    for s in walk(&f.body) {
        if let StmtKind::For { iv, body, options, .. } = &s.kind
            && let Some((ring, tiles)) = ring(f, a, homes, &written, (*iv, body, *options), &out)
        {
            out.rings.insert(s.id, ring);
            out.tiles.extend(tiles);
        }
    }
    let loads = out
        .products
        .values()
        .flat_map(|p| [p.a, p.b])
        .filter_map(|o| if let Operand::Copied { load, .. } = o { Some(load) } else { None });
    let all = loads.into_iter().all(|l| out.tiles.contains_key(&l));
    all.then_some(out)
}

fn ring(
    f: &Func,
    a: &Analysis,
    homes: &Homes,
    written: &HashSet<usize>,
    (iv, body, options): (Value, &[Stmt], LoopOptions),
    all: &Ahead,
) -> Option<(Ring, HashMap<Value, Tile>)> {
    let plain = |s: &Stmt| match &s.kind {
        StmtKind::For { .. } | StmtKind::Loop { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Return => false,
        StmtKind::Let(v) => !f.op(*v).has_effect(),
        _ => true,
    };
    let asked = [options.stages, f.stages].into_iter().find(|&n| n > 0);
    if !walk(body).all(plain) {
        return None;
    }
    let slice = Slice::new(f, iv, body);
    let (index, groups) = (all.rings.len(), all.by_groups());
    let late = copied::late(f, &all.products, body, options).filter(|_| asked.is_none_or(|n| n > 2));
    let usual = if groups { STAGES_OF_GROUPS } else { STAGES };
    let mut ring = Ring {
        index,
        bytes: 0,
        stages: (asked.map_or(usual, |n| n as usize), asked.is_some()),
        asynchronous: false,
        late,
        needed: HashSet::new(),
        vars: BTreeSet::new(),
    };
    let mut tiles = HashMap::new();
    for v in body.iter().filter_map(|s| if let StmtKind::Let(v) = &s.kind { Some(*v) } else { None }) {
        if !copyable(f, v, written) {
            continue;
        }
        let (Some(dots), Some((needed, vars))) = (products(f, v), slice.of(v)) else { continue };
        let (size, layout) = (f.ty(v).dtype.size(), homes.of(v));
        let Op::Load { place: at, .. } = f.op(v) else { unreachable!("a load") };
        let fast = fast(f, a, v)?;
        // Fragments have their neighbours in a matrix, not across a batch.
        if fast == 0 && dots.iter().any(|d| f.shape(d.0).len() == 3) {
            continue;
        }
        let (vec, descending) = a.vector(f, at.index(), fast, size);
        let vec = if descending { 1 } else { vec.min(layout.contiguous(fast)).min(layout.regs()) };
        let boxes = if groups { Some(copied::placed(f, a, v)?) } else { None };
        if groups && vec * size < 4 {
            return None;
        }
        let uses = std::iter::once(Use { bytes: vec * size, lanes: *layout.lane_bases() })
            .chain(dots.iter().map(|d| used(f, v, fast, *d)));
        let (boxes, place) = match boxes {
            Some((boxes, place)) => (Some(boxes), place),
            None => (None, place(&layout.shape(), fast, size, &uses.collect::<Vec<_>>())),
        };
        let tile = Tile { ring: index, fast, offset: ring.bytes, place, vec: (vec * size >= 4).then_some(vec), boxes };
        ring.bytes += (f.shape(v).iter().product::<usize>() * size).next_multiple_of(align(groups));
        ring.asynchronous |= tile.vec.is_some();
        ring.needed.extend(needed);
        ring.vars.extend(vars);
        tiles.insert(v, tile);
    }
    (!tiles.is_empty() && ring.fitting(room(f, 0, groups)) > ring.read()).then_some((ring, tiles))
}

/// A load of a matrix, or of a batch, that nobody writes, zero where it is not allowed.
fn copyable(f: &Func, v: Value, written: &HashSet<usize>) -> bool {
    let Op::Load { place, other, .. } = f.op(v) else { return false };
    let shape = f.shape(v);
    squeezed(shape).len() >= 2
        && is_padded(shape)
        && f.ty(v).dtype.size() <= 4
        && other.is_none_or(|v| f.is_zeros(v))
        && !written.contains(&place.param())
}

/// The products that a load is an operand of; none if it is used by anything else.
fn products(f: &Func, load: Value) -> Option<Vec<(Value, Side)>> {
    let mut carriers = HashSet::from([load]);
    let mut dots = vec![];
    for s in walk(&f.body) {
        let bad = match &s.kind {
            StmtKind::Let(v) => match f.op(*v) {
                Op::Dot { a, b, acc, .. } => {
                    dots.extend(carriers.contains(a).then_some((*v, Side::A)));
                    dots.extend(carriers.contains(b).then_some((*v, Side::B)));
                    carriers.contains(acc)
                }
                op if op.operands().iter().any(|o| carriers.contains(o)) => {
                    carriers.insert(*v);
                    source(f, *v).is_none()
                }
                _ => false,
            },
            StmtKind::Assign(_, v) | StmtKind::Assert { cond: v, .. } | StmtKind::Print { value: v, .. } => carriers.contains(v),
            StmtKind::Store { place, value, mask, .. } => {
                [Some(place.index()), Some(*value), *mask].iter().flatten().any(|v| carriers.contains(v))
            }
            _ => false,
        };
        if bad {
            return None;
        }
    }
    (!dots.is_empty()).then_some(dots)
}

/// How a product's threads take the operand from the load's tile.
fn used(f: &Func, load: Value, fast: usize, (d, side): (Value, Side)) -> Use {
    let (fetch, flipped) = fetch(f, d, side, |l| (l == load).then_some(fast)).expect("an operand of this load");
    let Op::Dot { a, b, .. } = f.op(d) else { unreachable!("a dot") };
    let shape = f.shape(if side == Side::A { *a } else { *b });
    let lanes = std::array::from_fn(|i| flat(fetch.threads[i], shape, flipped));
    Use { bytes: fetch.bytes(f.ty(load).dtype.size()), lanes }
}

/// How an operand is taken from shared memory, if its load is there with `fast` the dimension of neighbours; whether it is transposed.
pub fn fetch(f: &Func, d: Value, side: Side, fast: impl Fn(Value) -> Option<usize>) -> Option<(Fetch, bool)> {
    let Op::Dot { a, b, .. } = f.op(d) else { unreachable!("a dot") };
    let (load, flipped) = source(f, if side == Side::A { *a } else { *b })?;
    // Of the dimensions of a matrix the last one has the neighbours, or the first.
    let last = f.shape(load)[fast(load)? + 1..].iter().all(|&e| e == 1);
    let along_depth = (side == Side::A) == (last != flipped);
    let (unit, w): (Unit, _) = dot::warps(f, d);
    Some((Fetch::new(unit, &w, side, f.ty(load).dtype.size(), along_depth), flipped))
}

/// The flat index of a load's element from that of the operand, which has this shape.
pub fn flat(operand: u32, shape: &[usize], flipped: bool) -> u32 {
    let [rows, cols] = matrices(shape).1.map(usize::trailing_zeros);
    let matrix = operand & ((1 << (rows + cols)) - 1);
    if flipped { operand ^ matrix | matrix >> cols | (matrix & ((1 << cols) - 1)) << rows } else { operand }
}

/// The part of a loop's body that some of its values need.
struct Slice<'a> {
    f: &'a Func,
    inside: HashSet<Value>,
    /// Assignments in the body, and whether they are made in every iteration.
    assigned: Vec<(Var, Value, bool)>,
}

impl<'a> Slice<'a> {
    fn new(f: &'a Func, iv: Value, body: &'a [Stmt]) -> Self {
        let inside = values(body).chain([iv]).collect();
        let always = |s: &Stmt| body.iter().any(|t| std::ptr::eq(s, t));
        let assigned = walk(body)
            .filter_map(|s| if let StmtKind::Assign(var, v) = &s.kind { Some((*var, *v, always(s))) } else { None })
            .collect();
        Slice { f, inside, assigned }
    }

    /// What says where a load reads; none where that is not known in advance.
    fn of(&self, load: Value) -> Option<(HashSet<Value>, BTreeSet<Var>)> {
        let (f, mut needed, mut vars) = (self.f, HashSet::new(), BTreeSet::new());
        let Op::Load { place, mask, .. } = f.op(load) else { unreachable!("a load") };
        let mut todo: Vec<Value> = [Some(place.index()), *mask].into_iter().flatten().collect();
        while let Some(v) = todo.pop() {
            if !self.inside.contains(&v) || !needed.insert(v) {
                continue;
            }
            let op = f.op(v);
            if matches!(
                op,
                Op::Load { .. } | Op::Atomic { .. } | Op::Reduce { .. } | Op::ArgReduce { .. } | Op::Dot { .. }
            ) {
                return None;
            }
            if let Op::ReadVar(var) = op
                && self.assigned.iter().any(|a| a.0 == *var)
                && vars.insert(*var)
            {
                for (_, value, always) in self.assigned.iter().filter(|a| a.0 == *var) {
                    always.then(|| todo.push(*value))?;
                }
            }
            todo.extend(op.operands());
        }
        Some((needed, vars))
    }
}

impl Ahead {
    /// Whether warpgroups multiply what is copied.
    pub fn by_groups(&self) -> bool {
        !self.products.is_empty()
    }

    /// The constants that name the rings, and all bytes of shared memory, those of exchanges first.
    pub fn consts(&self, f: &Func, exchanges: usize) -> (Vec<String>, usize) {
        let groups = self.by_groups();
        let start = exchanges.next_multiple_of(align(groups));
        // One after another, rings have the same bytes.
        let stages = |r: &Ring| r.fitting(room(f, exchanges, groups)).max(1 + r.read());
        let consts = self.rings.values().map(|r| {
            (
                r.index,
                format!(
                    "const RING{i}: u32 = {start}; const BYTES{i}: u32 = {}; const STAGES{i}: u32 = {};",
                    r.bytes,
                    stages(r),
                    i = r.index
                ),
            )
        });
        let mut consts: Vec<(usize, String)> = consts.collect();
        consts.sort();
        let most = self.rings.values().map(|r| r.bytes * stages(r)).max();
        (consts.into_iter().map(|c| c.1).collect(), most.map_or(exchanges, |bytes| start + bytes))
    }
}
