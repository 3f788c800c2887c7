//! Loops with pipelined copies (see [`cp_async_pipeline`](crate::plan::cp_async_pipeline)): the copies to a stage, and
//! the loads of operands from it.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, any, done, of_r, thread_part};
use crate::ir::{self, Op, StmtKind, Value};
use crate::layout::linear::matrix::combine;
use crate::mma::fragments::{FetchPath, Side, chunk};
use crate::mma::mma_sync::{Unit, Warps};
use crate::plan::accesses::AccessId;
use crate::plan::cp_async_pipeline::{Beyond, CopiedTile, CpAsyncBuffer};
use crate::plan::mma_sync::{WarpOperand, WarpProduct};
use crate::plan::smem_operand::flat;
use crate::thread_ir::{
    BinaryOp, Body, BufferPart, Device, Expr, Generic, Local, Name, Stmt, ThreadIr, Ty, call, closure, next_number,
};

/// The copies of one iteration.
struct Copies {
    /// Whether there is an iteration that takes them.
    live: Stmt,
    /// The registers of tiles that are not copied asynchronously.
    registers: Vec<Stmt>,
    /// The steps before the products: copies, and loads to registers.
    start: Vec<ThreadIr>,
    commit: Option<ThreadIr>,
    /// The steps after the products: stores of the registers.
    finish: Vec<ThreadIr>,
    next: ThreadIr,
}

/// Whether nothing is copied beyond the last iteration.
fn are_left_out() -> bool {
    !planted!("cp-async-beyond-the-loop")
}

/// Whether a jump passes by copies beyond the last iteration.
fn are_passed_by(beyond: Beyond) -> bool {
    beyond == Beyond::Skipped && are_left_out()
}

impl Copies {
    fn before(&self, beyond: Beyond) -> Vec<ThreadIr> {
        let lines = ThreadIr::Line([vec![self.live.clone()], self.registers.clone()].concat());
        let start = match are_passed_by(beyond) {
            true => ThreadIr::If { cond: Name::Live.into(), then: self.start.clone(), other: vec![] },
            false => ThreadIr::Block { body: self.start.clone() },
        };
        [lines, start].into_iter().chain(self.commit.clone()).collect()
    }

    fn after(&self, beyond: Beyond) -> Vec<ThreadIr> {
        let finish = match are_passed_by(beyond) && !self.finish.is_empty() {
            true => vec![ThreadIr::If { cond: Name::Live.into(), then: self.finish.clone(), other: vec![] }],
            false => self.finish.clone(),
        };
        [finish, vec![self.next.clone()]].concat()
    }
}

impl Codegen<'_> {
    /// The code before the loop fills every stage but the stages that the first iteration reads. Each iteration fills
    /// the stage that the iteration before it has read.
    pub(super) fn staged(&mut self, s: &ir::Stmt) {
        let (f, cp_async) = (self.f, &self.plan.cp_async);
        let buffer = &cp_async.buffers[&s.id];
        let StmtKind::For { iv, lo, hi, step, body, .. } = &s.kind else { unreachable!("a loop") };
        let (n, j, ty) = (buffer.index, Name::Ahead(*iv), Ty::from(f.ty(*iv).dtype));
        let of_buffer = |of: BufferPart| Name::CircularBuffer(of, n);
        let first = |s: &ir::Stmt| {
            if let StmtKind::Let(v) = &s.kind {
                cp_async.tiles.contains_key(v).then(|| self.f.values[v.0 as usize].span)
            } else {
                None
            }
        };
        let site = body.iter().find_map(first).map_or(0, |span| self.site(span));
        self.line(Stmt::variable(j, Some(ty), Some((*lo).into())));
        let at_start =
            |at: BufferPart| Stmt::variable(of_buffer(at), Some(Ty::U32), Some(of_buffer(BufferPart::Start).into()));
        self.lines(vec![at_start(BufferPart::Read), at_start(BufferPart::Write)]);
        for &v in &buffer.vars {
            self.line(Stmt::variable(Name::Advanced(v, n), None, Some(Name::Var(v).into())));
        }
        let copies = self.copies(buffer, body, (*iv, *hi, *step));
        let filled = of_buffer(BufferPart::Filled);
        let fill = vec![
            ThreadIr::break_if(Expr::from(filled).equals(of_buffer(BufferPart::Stages))),
            Stmt::Update(BinaryOp::Add, filled, 1.into()).into(),
        ];
        self.line(Stmt::variable(filled, Some(Ty::U32), Some(buffer.read().into())));
        let (first, later) = buffer.beyond;
        let waits = cp_async.waits(buffer);
        self.node(ThreadIr::Loop { body: [fill, copies.before(first), copies.after(first)].concat() });
        self.unroll(s, |cx| {
            if let Some(n) = waits.copies {
                let later = Generic::Expr(of_buffer(BufferPart::Stages) - n);
                cx.line(call!(Device::CpAsyncWait; [later]; site));
            }
            if waits.proxy_fence && !planted!("cp-async-without-proxy-fence") {
                cx.line(call!(Device::ProxyFence; site));
            }
            // All threads see the copied tiles, and all have read the stage of the iteration before.
            if !planted!("cp-async-without-barrier") {
                cx.node(ThreadIr::Barrier { site });
            }
            copies.before(later).into_iter().for_each(|node| cx.node(node));
            cx.stmts(body);
            if waits.product && !planted!("cp-async-deferred-wait-left-out") {
                cx.line(call!(Device::WgmmaWaitPrevious; site));
            }
            copies.after(later).into_iter().for_each(|node| cx.node(node));
            cx.lines(next(BufferPart::Read, n));
        });
        if let Some(deferred_wait) = buffer.deferred_wait {
            let m = self.var(deferred_wait.var);
            self.line(Stmt::assign(m, done(m, 0, self.plan.cp_async.products[&deferred_wait.product].tiling.n, site)));
        }
        // Other values use the shared memory next.
        if waits.copies.is_some() && !planted!("cp-async-left-in-flight") {
            self.line(call!(Device::CpAsyncWait; [0u32]; site));
        }
        if !planted!("cp-async-buffer-left-without-barrier") {
            self.node(ThreadIr::Barrier { site });
        }
    }

    fn copies(&mut self, buffer: &CpAsyncBuffer, body: &[ir::Stmt], (iv, hi, step): (Value, Value, Value)) -> Copies {
        let (mut registers, mut finish) = (vec![], vec![]);
        self.advanced = buffer.vars.iter().map(|&v| (v, buffer.index)).collect();
        let j = Name::Ahead(iv);
        let start = self.nested(|cx| {
            cx.lines(vec![
                Stmt::define(iv, cx.f.ty(iv).dtype.into(), j),
                Stmt::assign(j, next_number(cx.f, j, hi, step)),
            ]);
            let around = cx.at;
            for s in body {
                cx.at = s.id;
                match &s.kind {
                    StmtKind::Let(v) if cx.plan.cp_async.tiles.contains_key(v) => {
                        cx.copy_ahead(*v, &mut registers, &mut finish);
                    }
                    _ if buffer.keeps(s) => cx.plain(s),
                    _ => {}
                }
            }
            cx.at = around;
        });
        self.advanced.clear();
        Copies {
            live: Stmt::bind(Name::Live, Expr::from(j).less(hi)),
            registers,
            start,
            // In every iteration, so that the number of groups identifies the stage.
            commit: buffer.asynchronous.then(|| call!(Device::CpAsyncCommit; 0).into()),
            finish,
            next: ThreadIr::Line(next(BufferPart::Write, buffer.index)),
        }
    }

    /// Copies a tile by `cp.async`, or through registers where `cp.async` cannot copy it: then the stores come after
    /// the products.
    fn copy_ahead(&mut self, v: Value, registers: &mut Vec<Stmt>, finish: &mut Vec<ThreadIr>) {
        let f = self.f;
        let Op::Load { ptr, mask, hint, .. } = f.op(v).clone() else { unreachable!("a load") };
        let (tile, access, site) =
            (&self.plan.cp_async.tiles[&v], self.plan.accesses.of_value(v), self.site(f.values[v.0 as usize].span));
        let layout = &access.layout;
        let (t, n) = (f.ty(v).dtype, layout.regs());
        let mask = mask.filter(|_| !planted!("cp-async-mask-dropped"));
        let accesses = self.accesses(AccessId::Value(v), &ptr, mask, access);
        let live = |cond: Expr| if are_left_out() { Name::Live & cond } else { cond };
        let (addr, full, ok) = (of_r(accesses.addr), live(accesses.full), of_r(live(accesses.ok)));
        let (threads, slots): (Vec<u32>, Vec<u32>) =
            (layout.thread_bases(), (0..n).map(|r| layout.reg_index(r)).collect());
        let to = of_r(self.stage_offset(BufferPart::Write, tile, &threads, &slots, |flat| flat).at(Local::R));
        // One of the threads that have the same elements copies them.
        let copies = layout.free_mask().threads;
        let copies = if planted!("cp-async-by-all-copies") { 0 } else { copies };
        let act = acts(copies);
        if let Some(vec) = tile.vec {
            let undivided = access.is_copied_whole(vec);
            let copy = Stmt::Expr(call!(Device::CopyAhead; [t, n, vec, undivided]; to, addr, full, ok, site));
            self.line(if copies == 0 { copy } else { Stmt::If { cond: act, then: vec![copy] } });
            return;
        }
        let name = self.fresh();
        // A copy that is left out loads nothing to them.
        let zeros = call!(Device::Each; [t, n]; any(Expr::zero(t)));
        registers.push(Stmt::variable(name, Some(Ty::array(t, n)), Some(zeros)));
        let (vec, hint) = (accesses.vec_in_shared, hint as u32);
        let zero = any(Expr::zero(t));
        let loaded = call!(
            Device::Load; [t, n, accesses.vec, accesses.descending, accesses.undivided];
            addr, full, ok, zero, hint, site
        );
        self.line(Stmt::assign(name, loaded));
        let element = of_r(Expr::from(name).element(Local::R));
        finish.push(call!(Device::SharedStore; [t, n, vec]; to, any(act), element, site).into());
    }

    /// The offset in shared memory, from `base`, of each register of an access. `slots` has the parts of flat indices
    /// that registers give, `place` the offsets of elements as bases over the bits of the flat index. Constants in bits
    /// that the thread's number does not change are added, so that they become offsets of instructions.
    pub(super) fn shared_place(
        &mut self,
        base: Expr,
        place: &[u32],
        threads: &[u32],
        slots: &[u32],
        element: impl Fn(u32) -> u32,
    ) -> Regs {
        let of = |places: &[u32]| places.iter().map(|&p| combine(place, element(p))).collect::<Vec<u32>>();
        let (threads, slots) = (of(threads), of(slots));
        let reached = threads.iter().fold(0, |a, b| a | b);
        let table = |cx: &mut Self, mask: u32| {
            Expr::from(cx.word_table(slots.iter().map(|s| s & mask))).element(Expr::Register)
        };
        let thread = thread_part(&threads);
        let thread = match slots.iter().any(|s| s & reached != 0) {
            true => thread ^ table(self, reached),
            false => thread,
        };
        Regs((base + thread.group() + table(self, !reached)).group())
    }

    fn stage_offset(
        &mut self,
        stage: BufferPart,
        tile: &CopiedTile,
        threads: &[u32],
        slots: &[u32],
        element: impl Fn(u32) -> u32,
    ) -> Regs {
        let base = Name::CircularBuffer(stage, tile.buffer) + tile.offset;
        self.shared_place(base, &tile.place, threads, slots, element)
    }

    /// A closure that loads the fragments of an operand, of product `p` of a batch, and whether the fragments are
    /// K-major.
    pub(super) fn fragments(&mut self, d: Value, side: Side, product: &WarpProduct) -> (Expr, bool) {
        let (f, site) = (self.f, self.site(self.f.values[d.0 as usize].span));
        let (unit, w) = (product.unit, &product.warps);
        let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
        let operand = if side == Side::A { a } else { b };
        let t = f.ty(operand).dtype;
        let WarpOperand::Stage { load, fetch, flipped } = product.operand(side) else {
            return self.from_registers(operand, side, unit, w);
        };
        let tile = &self.plan.cp_async.tiles[load];
        let at = self.stage_offset(BufferPart::Read, tile, &fetch.threads, &fetch.slots, |p| {
            flat(p, f.shape(operand), *flipped)
        });
        let (per, first) = (fetch.per, of_product(w, fetch.slots.len()));
        let load = |slot: Expr, vec: usize| {
            let place = of_r(at.at(from(&first, slot * per) + Local::R));
            call!(Device::SharedLoad; [t, per, vec]; place, any(true), site)
        };
        let of_block = [Local::I, Local::K];
        let fragments = match (fetch.path, unit) {
            (FetchPath::Matrix { transposed }, _) => {
                let place = at.at(from(&first, Local::I * w.steps) + Local::K);
                closure(of_block, call!(Device::Ldmatrix; [transposed]; place, site))
            }
            (FetchPath::Elements { vec }, Unit::Fma) => closure([Local::C], load(Local::C.into(), vec)),
            (FetchPath::Elements { vec }, _) => {
                let loaded = load((Local::I * w.steps + Local::K).group(), vec);
                let element = Expr::from(Local::X).element(Local::E);
                let words = call!(Device::Words; [t, 4u32]; closure([Local::E], element));
                closure(of_block, Body::after(vec![Stmt::bind(Local::X, loaded)], words))
            }
        };
        (fragments, fetch.k_major)
    }

    /// The operand in the layout of the instructions, in an array.
    fn from_registers(&mut self, operand: Value, side: Side, unit: Unit, w: &Warps) -> (Expr, bool) {
        let t = self.f.ty(operand).dtype;
        let layout = if side == Side::A { &w.a } else { &w.b };
        let of = Expr::from(self.array(operand, layout));
        let (steps, deep, across, first) = (w.steps, chunk(w), w.col_blocks, of_product(w, layout.regs()));
        let word = 4 / t.size().min(4);
        let words = |element: Expr| {
            let words = call!(Device::Words; [t, 4u32]; closure([Local::E], of.clone().element(element)));
            closure([Local::I, Local::K], words)
        };
        let elements = |n: usize, element: Expr| {
            closure([Local::C], call!(Device::Each; [t, n]; of_r(of.clone().element(element))))
        };
        match (unit, side) {
            (Unit::Fma, Side::A) => {
                let row = from(&first, Local::R / deep * steps);
                (elements(w.row_blocks * deep, row + Local::C * deep + Local::R % deep), true)
            }
            (Unit::Fma, Side::B) => {
                let n = across * deep;
                (elements(n, from(&first, Local::C * n) + Local::R), false)
            }
            (_, Side::A) => {
                let block = (Local::I * steps + Local::K).group();
                (words(from(&first, block * (4 * word)) + Local::E), true)
            }
            (_, Side::B) => {
                let block =
                    if across == 1 { 0.into() } else { (Expr::from(2) * Local::I + Local::E / (2 * word)).group() };
                let block = (block * steps + Local::K).group();
                (words(from(&first, block * (2 * word)) + Local::E % (2 * word)), true)
            }
        }
    }
}

/// The first register or place of product `p` of a batch, if all products have `of`; none where there is one product.
fn of_product(w: &Warps, of: usize) -> Option<Expr> {
    (w.products > 1).then(|| Local::P * (of / w.products))
}

/// `first + then`.
fn from(first: &Option<Expr>, then: Expr) -> Expr {
    match first {
        Some(first) => first.clone() + then,
        None => then,
    }
}

/// The step to the next stage of the circular buffer.
fn next(at: BufferPart, n: usize) -> Vec<Stmt> {
    let (at, of_buffer) = (Name::CircularBuffer(at, n), |of: BufferPart| Name::CircularBuffer(of, n));
    let end = of_buffer(BufferPart::Start) + of_buffer(BufferPart::Stages) * of_buffer(BufferPart::Bytes);
    vec![
        Stmt::Update(BinaryOp::Add, at, of_buffer(BufferPart::Bytes).into()),
        Stmt::If { cond: Expr::from(at).equals(end), then: vec![Stmt::assign(at, of_buffer(BufferPart::Start))] },
    ]
}
