//! The tiles that statements take, and in which layouts: a walk over the program as code generation makes it. A tile
//! that a block has already is not computed again in it.

use crate::analysis::axis_info::VECTOR_BYTES;
use crate::ir::walk::uses;
use crate::ir::{Address, Array, AtomicEffect, Base, Block, Op, Stmt, StmtId, StmtKind, Value, Var};
use crate::layout::linear::{LANE_BITS, Layout};
use crate::layout::table::{InLayout, LayoutId};
use crate::mma::fragments::Side;
use crate::plan::accesses::{AccessId, TileAccess, TileAccesses};
use crate::plan::bounds::{Bounds, Tested};
use crate::plan::collectives::Collective;
use crate::plan::cp_async_pipeline::{CpAsyncBuffer, CpAsyncPipeline};
use crate::plan::mma_sync::{WarpOperand, WarpProduct};
use crate::plan::one_warp::OneWarpLoops;
use crate::plan::product::{Operand, Product};
use crate::plan::staged_store::{StagedStore, StagedStores, matrix};
use crate::plan::tile_forms::{Facts, Form, TileForms};
use crate::plan::tiles::{PieceForm, StoredOperand, Tiles};
use crate::plan::unroll::Unroll;
use crate::plan::warp_specialized::{FusedStore, Pipeline, Step};
use crate::plan::wgmma_order::{Accumulators, ProductWait, WgmmaOrder};
use std::collections::{HashMap, HashSet};

/// The bits of the thread's number that are the lane.
const LANES: u32 = (1 << LANE_BITS) - 1;

/// The decisions that tiles follow from.
pub struct Given<'a> {
    pub facts: Facts<'a>,
    pub fused: &'a [FusedStore],
    pub cp_async: &'a CpAsyncPipeline,
    pub wgmma: &'a WgmmaOrder,
    pub warp_products: &'a HashMap<Value, WarpProduct>,
    pub one_warp: &'a OneWarpLoops,
    pub loops: &'a HashMap<StmtId, Unroll>,
    pub staged_stores: &'a StagedStores,
    pub accesses: &'a TileAccesses,
    pub collectives: &'a HashMap<Value, Collective>,
}

/// The tiles of a program, and the loops that one warp runs. Of the candidates in `given`, all warps run the loops
/// whose tiles are exchanged between threads. One warp runs a whole loop, with the loops inside it.
pub fn plan(given: &Given) -> (Tiles, OneWarpLoops) {
    let f = given.facts.f;
    let mut walk = Walk {
        given,
        uses: uses(f),
        forms: TileForms::new(given.facts),
        out: Tiles::default(),
        at: StmtId(0),
        available: vec![HashSet::new()],
        in_one_warp: None,
        one_warp: HashSet::new(),
    };
    walk.block(&f.body);
    let Walk { forms: TileForms { comparisons, forms, .. }, out, one_warp, .. } = walk;
    let (sums, comparisons, masks) = (comparisons.sums, comparisons.comparisons, comparisons.masks);
    let tiles = Tiles { layouts: sums.layouts, sums: sums.sums, comparisons, masks, forms, ..out };
    (tiles, given.one_warp.only(&one_warp))
}

/// The state of the walk.
struct Walk<'a> {
    given: &'a Given<'a>,
    uses: Vec<u32>,
    forms: TileForms<'a>,
    out: Tiles,
    /// The statement.
    at: StmtId,
    /// The tiles that the blocks around the statement have, innermost last.
    available: Vec<HashSet<InLayout>>,
    in_one_warp: Option<OneWarp>,
    /// The loops that one warp runs.
    one_warp: HashSet<StmtId>,
}

/// A loop that one warp may run.
#[derive(Default)]
struct OneWarp {
    /// Whether its threads exchange data through shared memory, or need a barrier.
    exchanges: bool,
    /// The memories that it accesses, with the effects of its atomics. Accesses with different effects on one memory
    /// need an order.
    accesses: HashMap<Array, HashSet<AtomicEffect>>,
}

impl<'a> Walk<'a> {
    fn block(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    /// A block inside the present one, which keeps none of its tiles.
    fn nested(&mut self, inner: impl FnOnce(&mut Self)) {
        self.available.push(HashSet::new());
        inner(self);
        self.available.pop();
    }

    fn stmt(&mut self, s: &Stmt) {
        let around = std::mem::replace(&mut self.at, s.id);
        match self.given.facts.pipeline {
            None => self.plain(s),
            Some(p) => {
                p.writes.get(&s.id).into_iter().flatten().for_each(|&matrix| self.written(p, matrix));
                match &s.kind {
                    StmtKind::Let(v) if p.loads.contains_key(v) => {}
                    _ if p.wgmma_waits.postponed.contains(&s.id) => {}
                    _ => self.plain(s),
                }
                for step in p.wgmma_waits.after.get(&s.id).into_iter().flatten() {
                    let Step::Wait { product, to, .. } = *step else { continue };
                    let layout = p.dots[&product].tiling.accumulator(self.given.facts.f.shape(product));
                    self.result(product, &layout);
                    to.into_iter().for_each(|var| self.assign(var, product));
                }
            }
        }
        self.at = around;
    }

    fn plain(&mut self, s: &Stmt) {
        let f = self.given.facts.f;
        match &s.kind {
            StmtKind::Let(v) => self.define(*v),
            // Zeros of accumulators are not written to registers.
            StmtKind::Assign(..) if self.given.facts.pipeline.is_some_and(|p| p.unset.contains(&s.id)) => {}
            StmtKind::Assign(var, v) => self.assign(*var, *v),
            StmtKind::Store { ptr, value, mask, .. } => match self.given.staged_stores.0.get(&s.id) {
                Some(staged) => self.staged_store(s.id, *value, staged),
                None if f.ty(*value).is_scalar() => {}
                None => {
                    let access = self.given.accesses.of_store(s.id);
                    self.demand_in(*value, &access.layout);
                    self.access(AccessId::Store(s.id), ptr, *mask, access);
                }
            },
            StmtKind::If { then, other, .. } => {
                self.nested(|walk| walk.block(then));
                self.nested(|walk| walk.block(other));
            }
            StmtKind::For { .. } | StmtKind::Loop { .. } => self.any_loop(s),
            StmtKind::Assert { cond: v, .. } | StmtKind::Print { value: v, .. } => self.take(*v),
            StmtKind::Clear { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Return => {}
        }
    }

    fn any_loop(&mut self, s: &Stmt) {
        if self.in_one_warp.is_some() || !self.given.one_warp.results.contains_key(&s.id) {
            return self.looped(s);
        }
        self.in_one_warp = Some(OneWarp::default());
        self.nested(|walk| walk.looped(s));
        let OneWarp { exchanges, accesses } = self.in_one_warp.take().expect("it was set");
        if exchanges || accesses.values().any(|effects| effects.len() > 1) {
            return self.looped(s);
        }
        self.one_warp.insert(s.id);
    }

    fn looped(&mut self, s: &Stmt) {
        let [body] = s.blocks()[..] else { unreachable!("a loop") };
        if let Some(buffer) = self.given.cp_async.buffers.get(&s.id) {
            self.nested(|walk| walk.copies(buffer, body));
        }
        let runs = self.given.loops.get(&s.id) != Some(&Unroll::Whole { iterations: 0 });
        if runs {
            self.nested(|walk| walk.block(body));
        }
    }

    /// The copies of an iteration, and the statements that they need.
    fn copies(&mut self, buffer: &CpAsyncBuffer, body: &Block) {
        let around = self.at;
        for s in body {
            self.at = s.id;
            match &s.kind {
                StmtKind::Let(v) if self.given.cp_async.tiles.contains_key(v) => self.access_of(*v),
                _ if buffer.keeps(s) => self.plain(s),
                _ => {}
            }
        }
        self.at = around;
    }

    fn assign(&mut self, var: Var, v: Value) {
        let Facts { f, assignment, .. } = self.given.facts;
        if !f.ty(v).is_scalar() {
            self.demand_in(v, assignment.of_var(f, var));
        }
    }

    fn define(&mut self, v: Value) {
        let Facts { f, assignment, .. } = self.given.facts;
        if self.given.fused.iter().any(|x| x.values.contains(&v)) {
            return;
        }
        match f.op(v) {
            Op::Load { .. } if f.ty(v).is_scalar() || self.given.cp_async.tiles.contains_key(&v) => {}
            Op::Load { other, .. } => {
                self.access_of(v);
                let layout = &self.given.accesses.of_value(v).layout;
                other.iter().for_each(|&other| self.demand_in(other, layout));
                self.has(v, layout);
            }
            Op::Dot { .. } => self.dot(v),
            Op::Atomic { .. } if !f.ty(v).is_scalar() => self.atomic(v),
            _ if let Some(collective) = self.given.collectives.get(&v) => self.collective(v, collective),
            Op::ClusterGather { value, .. } => {
                self.take(*value);
                self.has(v, assignment.of(v));
            }
            Op::Result(of, _) => {
                let layout = self.given.collectives[of].result();
                self.result(v, layout);
            }
            _ if f.ty(v).is_scalar() => {}
            Op::ReadVar(_) => self.has(v, assignment.of(v)),
            op if op.is_elementwise() && !assignment.is_cheap(v) => {
                let l = self.layout(assignment.of(v));
                self.out.defined.insert((v, l));
                self.demand(v, l);
            }
            // Shape operations and index arithmetic are computed at their uses.
            _ => {}
        }
    }

    /// A load or an atomic.
    fn access_of(&mut self, v: Value) {
        let (Op::Load { ptr, mask, .. } | Op::Atomic { ptr, mask, .. }) = self.given.facts.f.op(v) else {
            unreachable!("an access")
        };
        self.access(AccessId::Value(v), ptr, *mask, self.given.accesses.of_value(v));
    }

    fn access(&mut self, id: AccessId, ptr: &Address, mask: Option<Value>, access: &TileAccess) {
        let f = self.given.facts.f;
        let (index, l) = (ptr.index, self.layout(&access.layout));
        self.demand(index, l);
        let bounds = Bounds::plan(&mut self.forms.comparisons, ptr, mask, access, l);
        match mask.zip(bounds.mask) {
            Some((mask, Tested::Constants)) => self.all(self.forms.comparisons.mask_inputs(mask, l)),
            Some((mask, Tested::Elements)) => self.demand(mask, l),
            None => {}
        }
        if let Base::Pointer { address, .. } = ptr.base
            && !f.ty(address).is_scalar()
        {
            self.demand(address, l);
        }
        self.out.bounds.insert(id, bounds);
    }

    fn atomic(&mut self, v: Value) {
        let f = self.given.facts.f;
        let Op::Atomic { op, ptr, values, .. } = f.op(v) else { unreachable!("an atomic") };
        let access = self.given.accesses.of_value(v);
        self.access_of(v);
        values.iter().for_each(|&x| self.demand_in(x, &access.layout));
        if let Some(one_warp) = &mut self.in_one_warp {
            one_warp.accesses.entry(f.memory(ptr.array())).or_default().insert(op.effect());
        }
        if access.vector.elements > 1 {
            return;
        }
        let free = access.layout.free_mask();
        let of_lanes = if planted!("one-warp-atomic-by-one-copy-alone") { 0 } else { free.threads & LANES };
        let copies = if self.in_one_warp.is_some() || planted!("atomic-copies-of-other-warps-get-nothing") {
            of_lanes
        } else {
            free.threads
        };
        if self.uses[v.0 as usize] > 0 && (copies != 0 || free.regs != 0) {
            self.out.returned.insert(v, f.ty(v).dtype.size() << access.layout.bits());
            self.exchange();
        }
        self.has(v, &access.layout);
    }

    fn collective(&mut self, v: Value, collective: &Collective) {
        let f = self.given.facts.f;
        let layout = match collective {
            Collective::Reduce { given, .. } | Collective::Scan { given, .. } | Collective::Sort { given, .. } => given,
            Collective::Gather { source, layout, .. } => {
                let Op::Gather { value, index, .. } = *f.op(v) else { unreachable!("a gather") };
                self.demand_in(value, source);
                self.demand_in(index, layout);
                source
            }
            Collective::Join { layout, .. }
            | Collective::Slice { layout, .. }
            | Collective::Histogram { layout, .. }
            | Collective::Cumcount { layout, .. } => layout,
        };
        if !matches!(collective, Collective::Gather { .. }) {
            let tiles = f.op(v).operands().into_iter().filter(|&x| !f.ty(x).is_scalar());
            tiles.for_each(|x| self.demand_in(x, layout));
        }
        if collective.is_through_shared() {
            self.exchange();
        }
        self.result(v, collective.result());
    }

    fn dot(&mut self, v: Value) {
        let Facts { f, pipeline, .. } = self.given.facts;
        let products = pipeline.map_or(&self.given.cp_async.products, |p| &p.dots);
        let Op::Dot { a, b, acc, .. } = *f.op(v) else { unreachable!("a dot") };
        let Some(Product { tiling, a: place, .. }) = products.get(&v) else {
            let product = &self.given.warp_products[&v];
            self.demand_in(acc, &product.warps.acc);
            for (x, side, layout) in [(a, Side::A, &product.warps.a), (b, Side::B, &product.warps.b)] {
                if matches!(product.operand(side), WarpOperand::Registers) {
                    self.demand_in(x, layout);
                }
            }
            return self.result(v, &product.warps.acc);
        };
        let layout = tiling.accumulator(f.shape(v));
        if matches!(place, Operand::Registers) {
            self.demand_in(a, &tiling.left(f.shape(a), f.ty(a).dtype.size()));
        }
        let order = &self.given.wgmma.products[&v];
        if order.accumulators != Accumulators::Unset {
            self.demand_in(acc, &layout);
        }
        if order.wait != ProductWait::Later {
            self.result(v, &layout);
        }
    }

    /// A computed right operand is written to shared memory.
    fn written(&mut self, p: &Pipeline, matrix: usize) {
        let Facts { f, assignment, .. } = self.given.facts;
        let written = &p.written[matrix];
        let layout = assignment.any(f, written.operand);
        let along =
            layout.rank() - if written.k_major && !planted!("written-operand-vectors-of-columns") { 2 } else { 1 };
        let vec = layout.contiguous(along).min(VECTOR_BYTES / f.ty(written.operand).dtype.size());
        let l = self.layout(&layout);
        self.demand(written.operand, l);
        self.out.written.insert(matrix, StoredOperand { layout: l, vec });
    }

    fn staged_store(&mut self, s: StmtId, value: Value, staged: &StagedStore) {
        let f = self.given.facts.f;
        let value = matrix(f, value);
        let l = self.layout(&staged.tiling.accumulator(f.shape(value)));
        match self.given.fused.iter().find(|x| x.store == s) {
            Some(fused) => self.piece(value, l, fused, staged),
            None => {
                self.out.pieces.insert((s, value), PieceForm::Whole);
                self.demand(value, l);
            }
        }
    }

    /// A tile that is computed piece by piece.
    fn piece(&mut self, v: Value, l: LayoutId, fused: &FusedStore, staged: &StagedStore) {
        let Facts { f, assignment, elementwise, .. } = self.given.facts;
        let form = match f.op(v) {
            _ if !fused.values.contains(&v) || assignment.is_cheap(v) => PieceForm::Whole,
            Op::Load { .. } if staged.copied.is_some_and(|(copied, _)| copied == v) => PieceForm::Buffer,
            Op::Load { .. } => PieceForm::Load,
            _ => PieceForm::Elementwise { in_pairs: elementwise.paired_casts.contains(&v) },
        };
        self.out.pieces.insert((fused.store, v), form);
        match form {
            PieceForm::Whole => self.demand(v, l),
            PieceForm::Buffer => {}
            PieceForm::Load => self.access_of(v),
            PieceForm::Elementwise { .. } => {
                f.op(v).operands().into_iter().for_each(|o| self.piece(o, l, fused, staged));
            }
        }
    }

    /// A tile whose layout the statement leaves open.
    fn take(&mut self, v: Value) {
        let Facts { f, assignment, .. } = self.given.facts;
        if f.ty(v).is_scalar() {
            return;
        }
        let l = self.layout(&assignment.any(f, v));
        self.out.use_layouts.insert(self.at, l);
        self.demand(v, l);
    }

    fn layout(&mut self, layout: &Layout) -> LayoutId {
        self.forms.comparisons.sums.layouts.add(layout)
    }

    fn demand_in(&mut self, v: Value, layout: &Layout) {
        let l = self.layout(layout);
        self.demand(v, l);
    }

    fn all(&mut self, tiles: Vec<InLayout>) {
        tiles.into_iter().for_each(|(v, l)| self.demand(v, l));
    }

    fn demand(&mut self, v: Value, l: LayoutId) {
        if self.available.iter().any(|tiles| tiles.contains(&(v, l))) {
            return;
        }
        if let Form::Converted { by, .. } = self.forms.of(v, l)
            && by.is_through_shared()
        {
            self.exchange();
        }
        self.all(self.forms.inputs(v, l));
        self.computes(v, l);
    }

    fn computes(&mut self, v: Value, l: LayoutId) {
        self.out.computed.entry(self.at).or_default().insert((v, l));
        self.available.last_mut().expect("a block").insert((v, l));
    }

    /// The registers of a value are in a layout.
    fn has(&mut self, v: Value, layout: &Layout) {
        let l = self.layout(layout);
        self.available.last_mut().expect("a block").insert((v, l));
    }

    /// The result of an operation is in a layout, and is converted to that of the value.
    fn result(&mut self, v: Value, layout: &Layout) {
        let Facts { f, assignment, .. } = self.given.facts;
        if f.ty(v).is_scalar() {
            return;
        }
        self.has(v, layout);
        let own = assignment.of(v);
        if own != layout {
            let (from, to) = (self.layout(layout), self.layout(own));
            if let Form::Converted { by, .. } = self.forms.convert(v, from, to)
                && by.is_through_shared()
            {
                self.exchange();
            }
            self.computes(v, to);
        }
    }

    fn exchange(&mut self) {
        self.in_one_warp.iter_mut().for_each(|loops| loops.exchanges = true);
    }
}
