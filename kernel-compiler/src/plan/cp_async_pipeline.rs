//! Software pipelining with `cp.async`. Loads of a loop that only feed products are copied to a circular buffer in
//! shared memory, some iterations before their products take them.
//!
//! All warps copy and multiply. A slice of the loop's body computes the addresses and masks of the copies in advance.
//! It works on copies of the variables that the body changes. The rest of the body does not matter.

use crate::analysis::axis_info::{AxisAnalysis, VECTOR_BYTES};
use crate::ir::walk::{dots, values, walk, written};
use crate::ir::{Array, Func, LoopOptions, Op, SharedArray, Stmt, StmtId, StmtKind, Value, Var};
use crate::layout::assign::LayoutAssignment;
use crate::layout::is_padded;
use crate::layout::linear::placed::{Use, place};
use crate::layout::swizzled_smem::SwizzledSmemTile;
use crate::missed::{Missed, Why};
use crate::mma::fragments::Side;
use crate::plan::operands::WGMMA;
use crate::plan::product::{InFlight, Operand, Product};
use crate::plan::smem_operand::{fast, fetch, flat, source, squeezed};
use crate::plan::warp_specialized::sorted;
use crate::plan::wgmma_cp_async;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use tilewright_types::limits::MAX_SHARED_BYTES_SM90;

/// The shared memory that a program can have on every device since sm_80.
const MIN_SHARED_BYTES: usize = 99 << 10;
/// The shared memory of a program on sm_80. Kernels that set `stages` may use it.
const SM80_SHARED_BYTES: usize = 163 << 10;
/// The number of stages where the kernel sets none.
const DEFAULT_STAGES: usize = 3;
/// The default for `wgmma`: one more stage, since a stage is read while the next one is waited for.
const DEFAULT_WGMMA_STAGES: usize = 4;
/// The alignment of stages for `wgmma`: the swizzle repeats after so many bytes.
const WGMMA_ALIGN: usize = 1024;
/// The alignment of other stages and of their tiles: the width of the banks.
const ALIGN: usize = 128;

/// The work that a load is kept from.
const CP_ASYNC: &str = "copied ahead by cp.async";

#[derive(Default)]
pub struct CpAsyncPipeline {
    /// By loop.
    pub buffers: HashMap<StmtId, CpAsyncBuffer>,
    pub tiles: HashMap<Value, CopiedTile>,
    /// The products by `wgmma` that take such tiles: all products of the function, or none.
    pub products: HashMap<Value, Product>,
}

/// The stages of a loop.
pub struct CpAsyncBuffer {
    /// The number in the names of its constants.
    pub index: usize,
    /// The bytes of a stage.
    pub bytes: usize,
    /// The number of stages that is wanted, and whether the kernel sets it.
    stages: (usize, bool),
    /// Any of the copies is asynchronous.
    pub asynchronous: bool,
    /// The product that is waited for in the next iteration: its stage is read until then.
    pub deferred_wait: Option<InFlight>,
    /// The values of the body that the copies need.
    needed: HashSet<Value>,
    /// The variables that the body changes and the copies need.
    pub vars: BTreeSet<Var>,
    /// How copies beyond the last iteration are left out, before the loop and in it.
    pub beyond: (Beyond, Beyond),
}

/// How the copies beyond the last iteration of a loop are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// A jump passes by them: where they have many instructions, and asynchronous ones before the loop.
    Skipped,
    /// They are masked, so that the copies of other iterations stand among the products.
    Masked,
}

impl CpAsyncBuffer {
    /// Whether the copies need a statement of the body.
    pub fn keeps(&self, s: &Stmt) -> bool {
        match &s.kind {
            StmtKind::Let(v) => self.needed.contains(v),
            StmtKind::Assign(var, _) => self.vars.contains(var),
            _ => false,
        }
    }

    /// The waits of the loop. `by_wgmma`: `wgmma` reads its stages.
    fn waits(&self, by_wgmma: bool) -> StageWaits {
        let read = self.read() - usize::from(planted!("cp-async-wait-for-one-too-few"));
        StageWaits {
            copies: self.asynchronous.then_some(1 + read),
            proxy_fence: by_wgmma,
            product: self.deferred_wait.is_some(),
        }
    }

    /// The number of stages that are being read or are read next.
    pub fn read(&self) -> usize {
        1 + usize::from(self.deferred_wait.is_some() && !planted!("cp-async-deferred-stage-overwritten"))
    }

    fn fitting(&self, bytes: (usize, usize)) -> usize {
        let bytes = if self.stages.1 { bytes.1 } else { bytes.0 };
        self.stages.0.min(bytes / self.bytes)
    }
}

/// The waits of a loop for its copies and products. A barrier of all threads stands before the products of each
/// iteration, behind the wait for its copies, and another one behind the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageWaits {
    /// A wait for copies leaves those to at most `stages - copies` stages in flight. None where copies go through
    /// registers.
    pub copies: Option<usize>,
    /// A proxy fence follows the wait for copies: `wgmma` reads what threads have written.
    pub proxy_fence: bool,
    /// Behind the product of an iteration that of the iteration before is waited for.
    pub product: bool,
}

impl fmt::Display for StageWaits {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "each iteration has ")?;
        self.copies.iter().try_for_each(|n| write!(f, "a wait that leaves copies to stages - {n} in flight, "))?;
        f.write_str(if self.proxy_fence { "a proxy fence, " } else { "" })?;
        f.write_str("a barrier")?;
        f.write_str(if self.product { ", behind its product a wait for the one before" } else { "" })?;
        f.write_str("; behind the loop ")?;
        f.write_str(if self.copies.is_some() { "a wait for all copies, a barrier" } else { "a barrier" })
    }
}

/// A load's tile in a stage.
pub struct CopiedTile {
    pub buffer: usize,
    /// The contiguous dimension.
    pub fast: usize,
    /// The byte offset in the stage.
    pub offset: usize,
    /// Byte offset of an element, as bases over the bits of its flat index.
    pub place: Vec<u32>,
    /// Elements of one asynchronous copy; none where the copy goes through registers.
    pub vec: Option<usize>,
    /// Its tile as `wgmma` takes it.
    pub smem_tile: Option<SwizzledSmemTile>,
}

/// The bytes of shared memory that circular buffers may use beside scratch buffers: by default, and where the kernel
/// sets `stages`.
fn circular_buffer_bytes(f: &Func, scratch_bytes: usize, wgmma: bool) -> (usize, usize) {
    let of = |bytes: usize| {
        (bytes / f.blocks_per_sm.max(1) as usize).saturating_sub(scratch_bytes.next_multiple_of(align(wgmma)))
    };
    if wgmma {
        (of(MAX_SHARED_BYTES_SM90), of(MAX_SHARED_BYTES_SM90))
    } else {
        (of(MIN_SHARED_BYTES), of(SM80_SHARED_BYTES))
    }
}

fn align(wgmma: bool) -> usize {
    if wgmma { WGMMA_ALIGN } else { ALIGN }
}

/// With `products` of warpgroups there is a plan only if all their operands are copied in advance. `missed` gets the
/// loads that feed products in loops and are not copied in advance.
pub fn plan(
    f: &Func,
    a: &AxisAnalysis,
    layouts: &LayoutAssignment,
    products: HashMap<Value, Product>,
    missed: &mut Vec<Missed>,
) -> Result<CpAsyncPipeline, Missed> {
    let mut out = CpAsyncPipeline { products, ..CpAsyncPipeline::default() };
    let written = written(f);
    for s in walk(&f.body) {
        let StmtKind::For { iv, body, options, .. } = &s.kind else { continue };
        let mut left = vec![];
        match buffer_of_loop(f, a, layouts, &written, (*iv, body, *options), &out, &mut left) {
            Ok((buffer, tiles)) => {
                out.buffers.insert(s.id, buffer);
                out.tiles.extend(tiles);
            }
            Err(m) if has_products(f, body) => left.push(m),
            // Copies for products are made in the loop around them.
            Err(_) => {}
        }
        missed.append(&mut left);
    }
    for s in walk(&f.body) {
        if let StmtKind::For { iv, body, options, .. } = &s.kind
            && options.flatten
            && walk(body).any(|s| out.buffers.contains_key(&s.id))
        {
            let why = why!(
                "copies by cp.async begin anew in each inner loop, and a producer of TMA copies goes on: write one \
                 loop, or take operands that TMA copies"
            );
            missed.push(Missed::new("flattened", why).at(f.span(*iv)));
        }
    }
    let loads = out
        .products
        .values()
        .flat_map(|p| [p.a, p.b])
        .filter_map(|o| if let Operand::Copied { load, .. } = o { Some(load) } else { None });
    match loads.into_iter().find(|l| !out.tiles.contains_key(l)) {
        Some(left) => {
            let why = why!(
                "this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its \
                 products"
            );
            Err(Missed::new(WGMMA, why).at(f.span(left)))
        }
        None => Ok(out),
    }
}

/// Whether statements have a product that is in no inner loop.
fn has_products(f: &Func, body: &[Stmt]) -> bool {
    body.iter().any(|s| match &s.kind {
        StmtKind::Let(v) => matches!(f.op(*v), Op::Dot { .. }),
        StmtKind::If { then, other, .. } => has_products(f, then) || has_products(f, other),
        _ => false,
    })
}

fn buffer_of_loop(
    f: &Func,
    a: &AxisAnalysis,
    layouts: &LayoutAssignment,
    written: &HashSet<Array>,
    (iv, body, options): (Value, &[Stmt], LoopOptions),
    all: &CpAsyncPipeline,
    missed: &mut Vec<Missed>,
) -> Result<(CpAsyncBuffer, HashMap<Value, CopiedTile>), Missed> {
    let plain = |s: &Stmt| match &s.kind {
        StmtKind::For { .. } | StmtKind::Loop { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Return => false,
        StmtKind::Let(v) => !f.op(*v).has_effect(),
        _ => true,
    };
    let asked = [options.stages, f.stages].into_iter().find(|&n| n > 0);
    let at = dots(f, body).next().map_or(f.span(iv), |d| f.span(d));
    if !walk(body).all(plain) {
        let why = why!("the loop around the product has an inner loop, a jump or an atomic: move that out of it");
        return Err(Missed::new(CP_ASYNC, why).at(at));
    }
    let slice = Slice::new(f, iv, body);
    let (index, wgmma) = (all.buffers.len(), all.by_wgmma());
    let deferred_wait =
        wgmma_cp_async::deferred_wait(f, &all.products, body, options).filter(|_| asked.is_none_or(|n| n > 2));
    let usual = if wgmma { DEFAULT_WGMMA_STAGES } else { DEFAULT_STAGES };
    let mut buffer = CpAsyncBuffer {
        index,
        bytes: 0,
        stages: (asked.map_or(usual, |n| n as usize), asked.is_some()),
        asynchronous: false,
        deferred_wait,
        needed: HashSet::new(),
        vars: BTreeSet::new(),
        beyond: (Beyond::Masked, Beyond::Masked),
    };
    let mut tiles = HashMap::new();
    for v in body.iter().filter_map(|s| if let StmtKind::Let(v) = &s.kind { Some(*v) } else { None }) {
        if !matches!(f.op(v), Op::Load { .. }) {
            continue;
        }
        let Some(dots) = products(f, v) else {
            if is_operand(f, body, v) {
                let why = why!("threads take elements of its tile too: load the tile once more for them");
                missed.push(Missed::new(CP_ASYNC, why).at(f.span(v)));
            }
            continue;
        };
        if let Err(why) = copyable(f, a, v, written) {
            missed.push(Missed::new(CP_ASYNC, why).at(f.span(v)));
            continue;
        }
        let Some((needed, vars)) = slice.of(v) else {
            let why = why!(
                "its address depends on data of the same iteration, or on a variable that some iterations leave \
                 alone: compute it from the number of the iteration"
            );
            missed.push(Missed::new(CP_ASYNC, why).at(f.span(v)));
            continue;
        };
        let (size, layout) = (f.ty(v).dtype.size(), layouts.of(v));
        let Op::Load { ptr: at, .. } = f.op(v) else { unreachable!("a load") };
        let fast = fast(f, a, v).expect("a tile that can be copied has several rows and columns");
        // The contiguous elements of a fragment are in one matrix, not in several of a batch.
        if fast == 0 && dots.iter().any(|d| f.shape(d.0).len() == 3) {
            let why = why!("its contiguous elements are in several matrices of the batch: store each matrix by itself");
            missed.push(Missed::new(CP_ASYNC, why).at(f.span(v)));
            continue;
        }
        let (vec, descending) = a.vector_at(f, at, fast);
        let vec = if descending { 1 } else { vec.min(layout.contiguous(fast)).min(layout.regs()) };
        let placed = || wgmma_cp_async::placed(f, a, v).expect("an operand of wgmma");
        let smem_tile = wgmma.then(placed);
        if wgmma && vec * size < 4 {
            let why = why!(
                "its elements are not contiguous and aligned to 4 bytes: load along rows that begin at multiples of 4 \
                 bytes"
            );
            return Err(Missed::new(CP_ASYNC, why).at(f.span(v)));
        }
        let uses = std::iter::once(Use { bytes: vec * size, lanes: *layout.lane_bases() })
            .chain(dots.iter().map(|d| used(f, v, fast, *d)));
        let (smem_tile, place) = match smem_tile {
            Some((smem_tile, place)) => (Some(smem_tile), place),
            None => (None, place(&layout.shape(), fast, size, &uses.collect::<Vec<_>>())),
        };
        let tile = CopiedTile {
            buffer: index,
            fast,
            offset: buffer.bytes,
            place,
            vec: (vec * size >= 4).then_some(vec),
            smem_tile,
        };
        buffer.bytes += (f.shape(v).iter().product::<usize>() * size).next_multiple_of(align(wgmma));
        buffer.asynchronous |= tile.vec.is_some();
        buffer.needed.extend(needed);
        buffer.vars.extend(vars);
        tiles.insert(v, tile);
    }
    if tiles.is_empty() {
        // The reason of an operand says more.
        let why = why!("no operand of the product is a tile that its loop loads: load one there");
        return Err(missed.pop().unwrap_or_else(|| Missed::new(CP_ASYNC, why).at(at)));
    }
    if buffer.fitting(circular_buffer_bytes(f, SharedArray::places(&f.shared).1, wgmma)) <= buffer.read() {
        let (bytes, stages) = (buffer.bytes, 1 + buffer.read());
        let why = why!("{bytes} bytes a stage leave no room for {stages} stages: take smaller tiles");
        return Err(Missed::new(CP_ASYNC, why).at(at));
    }
    let widths: Option<Vec<usize>> = tiles.iter().map(|(v, t)| Some(t.vec? * f.ty(*v).dtype.size())).collect();
    buffer.beyond = match widths.and_then(|bytes| bytes.into_iter().min()) {
        // Before the loop the loads of all stages wait for memory together: a jump would part them.
        None => (Beyond::Masked, Beyond::Skipped),
        // Narrow copies have many instructions.
        Some(narrowest) if narrowest < VECTOR_BYTES => (Beyond::Skipped, Beyond::Skipped),
        Some(_) => (Beyond::Skipped, Beyond::Masked),
    };
    Ok((buffer, tiles))
}

/// Whether `cp.async` can copy the tile of a load: a tile of a matrix or of a batch, which the kernel does not write,
/// with zeros where it is masked.
fn copyable(f: &Func, a: &AxisAnalysis, v: Value, written: &HashSet<Array>) -> Result<(), Why> {
    let Op::Load { ptr, other, .. } = f.op(v) else { unreachable!("a load") };
    let shape = f.shape(v);
    match () {
        () if squeezed(shape).len() < 2 => {
            Err(why!("its tile is a single row or column: take several rows and columns"))
        }
        () if !is_padded(shape) => Err(why!("its extents {shape:?} are no powers of two: take some that are")),
        () if f.ty(v).dtype.size() > 4 => Err(why!("its elements have more than 4 bytes: multiply smaller ones")),
        () if !other.is_none_or(|v| f.is_zeros(v)) && !planted!("cp-async-ignores-other") => {
            Err(why!("its masked elements are no zeros, which cp.async writes for them: leave `.other(..)` out"))
        }
        () if ptr.base.address().is_some_and(|address| a.alignment(f, address).is_none()) => {
            Err(why!("nothing tells that its address is aligned: `address / 16 * 16` does"))
        }
        () if written.contains(&ptr.array()) && !planted!("cp-async-of-written-array") => {
            Err(why!("the kernel writes the array that it loads from: write to another one"))
        }
        () => Ok(()),
    }
}

/// The products that take a load as an operand; none if anything else uses the load.
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
            StmtKind::Assign(_, v) | StmtKind::Assert { cond: v, .. } | StmtKind::Print { value: v, .. } => {
                carriers.contains(v)
            }
            StmtKind::Store { ptr, value, mask, .. } => {
                ptr.operands().chain([value]).chain(mask).any(|v| carriers.contains(v))
            }
            _ => false,
        };
        if bad {
            return None;
        }
    }
    (!dots.is_empty()).then_some(dots)
}

/// Whether a product within statements has a load as an operand.
fn is_operand(f: &Func, body: &[Stmt], load: Value) -> bool {
    let takes = |v: Value| source(f, v).is_some_and(|(l, _)| l == load);
    dots(f, body).any(|d| matches!(*f.op(d), Op::Dot { a, b, .. } if takes(a) || takes(b)))
}

/// How a product's threads take the operand from the load's tile.
fn used(f: &Func, load: Value, fast: usize, (d, side): (Value, Side)) -> Use {
    let (fetch, flipped) = fetch(f, d, side, |l| (l == load).then_some(fast)).expect("an operand of this load");
    let Op::Dot { a, b, .. } = f.op(d) else { unreachable!("a dot") };
    let shape = f.shape(if side == Side::A { *a } else { *b });
    let lanes = std::array::from_fn(|i| flat(fetch.threads[i], shape, flipped));
    Use { bytes: fetch.bytes(f.ty(load).dtype.size()), lanes }
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
        let always = |s: &Stmt| body.iter().any(|t| t.id == s.id) || planted!("cp-async-of-a-place-moved-now-and-then");
        let assigned = walk(body)
            .filter_map(|s| if let StmtKind::Assign(var, v) = &s.kind { Some((*var, *v, always(s))) } else { None })
            .collect();
        Slice { f, inside, assigned }
    }

    /// The values that a load's addresses and mask are computed from; none where they are not known in advance.
    fn of(&self, load: Value) -> Option<(HashSet<Value>, BTreeSet<Var>)> {
        let (f, mut needed, mut vars) = (self.f, HashSet::new(), BTreeSet::new());
        let Op::Load { ptr, mask, .. } = f.op(load) else { unreachable!("a load") };
        let mut todo: Vec<Value> = ptr.operands().chain(mask).copied().collect();
        while let Some(v) = todo.pop() {
            if !self.inside.contains(&v) || !needed.insert(v) {
                continue;
            }
            let op = f.op(v);
            if op.crosses_threads() || matches!(op, Op::Load { .. } | Op::Atomic { .. } | Op::Dot { .. }) {
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

impl CpAsyncPipeline {
    /// The waits of a loop with this buffer.
    pub fn waits(&self, buffer: &CpAsyncBuffer) -> StageWaits {
        buffer.waits(self.by_wgmma())
    }

    /// Whether the copied tiles are operands of `wgmma`.
    pub fn by_wgmma(&self) -> bool {
        !self.products.is_empty()
    }

    /// The first byte of the stages behind scratch buffers.
    pub fn start(&self, scratch_bytes: usize) -> usize {
        scratch_bytes.next_multiple_of(align(self.by_wgmma()))
    }

    /// The stages of a buffer that fit beside scratch buffers: at least as many as its loop needs.
    pub fn stages(&self, f: &Func, buffer: &CpAsyncBuffer, scratch_bytes: usize) -> usize {
        buffer.fitting(circular_buffer_bytes(f, scratch_bytes, self.by_wgmma())).max(1 + buffer.read())
    }
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Beyond::Skipped => "skipped",
            Beyond::Masked => "masked",
        })
    }
}

impl fmt::Display for CopiedTile {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "buffer {} at {}: ", self.buffer, self.offset)?;
        match self.vec {
            Some(1) => write!(f, "copies of 1 element")?,
            Some(n) => write!(f, "copies of {n} elements")?,
            None => write!(f, "through registers")?,
        }
        write!(f, ", contiguous along dimension {}", self.fast)?;
        self.smem_tile.iter().try_for_each(|tile| write!(f, ", {tile}"))
    }
}

impl fmt::Display for CpAsyncPipeline {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (s, b) in sorted(&self.buffers) {
            let kind = if b.asynchronous { "cp.async" } else { "registers" };
            let wait =
                if b.deferred_wait.is_some() { ", the wait for its product is deferred by one iteration" } else { "" };
            let (before, later) = b.beyond;
            writeln!(
                f,
                "loop {s:?}: buffer {} of {} bytes a stage, {} stages by {kind}{wait}; copies beyond its end are \
                 {before} before it and {later} in it",
                b.index, b.bytes, b.stages.0
            )?;
            writeln!(f, "  {}", self.waits(b))?;
        }
        for (v, t) in sorted(&self.tiles) {
            writeln!(f, "{v:?} in {t}")?;
        }
        for (d, p) in sorted(&self.products) {
            writeln!(f, "wgmma {d:?}: A {:?}, B {:?}, {:?}", p.a, p.b, p.tiling)?;
        }
        Ok(())
    }
}
