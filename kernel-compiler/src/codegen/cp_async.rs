//! Loops with copies ahead (see [`ahead`](super::ahead)): copies into a stage, and operands out of it.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::text::{acts, scalar, thread_part};
use crate::codegen::thread_ir::ThreadIr;
use crate::ir::{Op, Stmt, StmtKind, Value};
use crate::layout::linear::matrix::combine;
use crate::mma::fragments::{Side, Way, chunk};
use crate::mma::mma_sync::{Unit, Warps};
use crate::plan::cp_async_pipeline::{CopiedTile, CpAsyncBuffer};
use crate::plan::smem_operand::{fetch, flat, source};

/// The copies of one iteration: what comes before its products, and what after them.
struct Copies {
    start: Vec<ThreadIr>,
    finish: Vec<ThreadIr>,
}

impl Codegen<'_> {
    /// Before the loop the first stages are filled, all but those that are being read; in an iteration the one that was read before these.
    pub(super) fn staged(&mut self, s: &Stmt) {
        let (f, ahead) = (self.f, self.ahead);
        let ring = &ahead.rings[&s.id];
        let StmtKind::For { iv, lo, hi, step, body, .. } = &s.kind else { unreachable!("a loop") };
        let (n, j, ty) = (ring.index, format!("j{}", iv.0), f.ty(*iv).dtype.rust());
        let first = |s: &Stmt| {
            if let StmtKind::Let(v) = &s.kind {
                ahead.tiles.contains_key(v).then(|| self.f.values[v.0 as usize].span)
            } else {
                None
            }
        };
        let site = body.iter().find_map(first).map_or(0, |span| self.site(span));
        self.line(format!("let mut {j}: {ty} = {};", scalar(*lo)));
        self.line(format!("let mut read{n}: u32 = RING{n}; let mut write{n}: u32 = RING{n};"));
        ring.vars.iter().for_each(|v| self.line(format!("let mut n{i} = m{i};", i = v.0)));
        let copies = self.copies(ring, body, (*iv, *hi, *step));
        let leave = |cond: String| ThreadIr::If { cond, then: vec![ThreadIr::Break], other: vec![] };
        let fill = vec![leave(format!("filled{n} == STAGES{n}")), ThreadIr::Line(format!("filled{n} += 1;"))];
        self.line(format!("let mut filled{n}: u32 = {};", ring.read()));
        self.node(ThreadIr::Loop { body: [fill, copies.start.clone(), copies.finish.clone()].concat() });
        self.unroll(s, |cx| {
            if ring.asynchronous {
                let read = ring.read() - usize::from(planted!("cp-async-wait-for-one-too-few"));
                cx.line(format!("d::cp_async_wait::<{{ STAGES{n} - {} }}>({site});", 1 + read));
            }
            if cx.ahead.by_wgmma() && !planted!("cp-async-without-proxy-fence") {
                cx.line(format!("d::proxy_fence({site});"));
            }
            // What was copied is there for all, and the stage of the iteration before has been read.
            if !planted!("cp-async-without-barrier") {
                cx.node(ThreadIr::Barrier { site });
            }
            copies.start.iter().for_each(|node| cx.node(node.clone()));
            let outer = std::mem::replace(&mut cx.late, ring.late);
            cx.stmts(body);
            cx.late = outer;
            if ring.late.is_some() && !planted!("cp-async-late-without-wait") {
                cx.line(format!("d::wgmma_wait_previous({site});"));
            }
            copies.finish.iter().for_each(|node| cx.node(node.clone()));
            cx.line(next("read", n));
        });
        if let Some(late) = ring.late {
            let m = self.var(late.var);
            self.line(format!(
                "{m} = d::wgmma_done::<_, _, 0, {}>({m}, {site});",
                self.ahead.products[&late.product].tiling.n
            ));
        }
        // Others use the memory next.
        if ring.asynchronous && !planted!("cp-async-left-in-flight") {
            self.line(format!("d::cp_async_wait::<0>({site});"));
        }
        if !planted!("cp-async-ring-left-without-barrier") {
            self.node(ThreadIr::Barrier { site });
        }
    }

    fn copies(&mut self, ring: &CpAsyncBuffer, body: &[Stmt], (iv, hi, step): (Value, Value, Value)) -> Copies {
        let (mut start, mut finish) = (vec![], vec![]);
        self.advanced = ring.vars.clone();
        let block = self.nested(|cx| {
            let (j, v, ty) = (format!("j{}", iv.0), scalar(iv), cx.f.ty(iv).dtype.rust());
            cx.line(format!(
                "let {v}: {ty} = {j}; let live = {v} < {}; {j} = s::add({j}, {});",
                scalar(hi),
                scalar(step)
            ));
            for s in body {
                match &s.kind {
                    StmtKind::Let(v) if cx.ahead.tiles.contains_key(v) => cx.copy_ahead(*v, &mut start, &mut finish),
                    _ if ring.keeps(s) => cx.plain(s),
                    _ => {}
                }
            }
        });
        self.advanced.clear();
        start.push(ThreadIr::Block { body: block });
        if ring.asynchronous {
            // In every iteration, so that the number of groups tells the stage.
            start.push(ThreadIr::Line("d::cp_async_commit(0);".into()));
        }
        finish.push(ThreadIr::Line(next("write", ring.index)));
        Copies { start, finish }
    }

    /// By asynchronous copies, or through registers where these cannot be: then the stores come after the products.
    fn copy_ahead(&mut self, v: Value, start: &mut Vec<ThreadIr>, finish: &mut Vec<ThreadIr>) {
        let f = self.f;
        let Op::Load { place, mask, hint, .. } = f.op(v).clone() else { unreachable!("a load") };
        let (tile, layout, site) =
            (&self.ahead.tiles[&v], self.layouts.of(v).clone(), self.site(f.values[v.0 as usize].span));
        let (t, n) = (f.ty(v).dtype.rust(), layout.regs());
        let mask = mask.filter(|_| !planted!("cp-async-mask-dropped"));
        let plan = self.plan(&place, mask, &layout, false);
        let (full, ok) = (format!("live & {}", plan.full), format!("live & {}", plan.ok));
        let (full, ok) = if planted!("cp-async-beyond-the-loop") { (plan.full, plan.ok) } else { (full, ok) };
        let (threads, slots): (Vec<u32>, Vec<u32>) =
            (layout.thread_bases(), (0..n).map(|r| layout.reg_index(r)).collect());
        let to = self.stage_offset("write", tile, &threads, &slots, |flat| flat).at("r");
        // Of threads with the same elements one copies.
        let copies = layout.free_mask().threads;
        let copies = if planted!("cp-async-by-all-copies") { 0 } else { copies };
        let act = acts(copies);
        if let Some(vec) = tile.vec {
            let copy =
                format!("d::copy_ahead::<{t}, {n}, {vec}>(|r| {to}, |r| {}, {full}, |r| {ok}, {site});", plan.addr);
            self.line(if copies == 0 { copy } else { format!("if {act} {{ {copy} }}") });
            return;
        }
        let name = self.fresh();
        start.push(ThreadIr::Line(format!("let {name}: [{t}; {n}];")));
        let (vec, hint) = (if plan.descending { 1 } else { plan.vec }, hint as u32);
        self.line(format!("{name} = d::load::<{t}, {n}, {}, {}>(|r| {}, {full}, |r| {ok}, |_| <{t} as s::Scalar>::ZERO, {hint}, {site});", plan.vec, plan.descending, plan.addr));
        finish.push(ThreadIr::Line(format!(
            "d::shared_store::<{t}, {n}, {vec}>(|r| {to}, |_| {act}, |r| {name}[r], {site});"
        )));
    }

    /// Offset in shared memory, from `base`, of slot `#`: elements lie at `place`, bases over the bits of their flat index. The
    /// constants that no bit of the thread reaches are added, to end up in instructions.
    pub(super) fn shared_place(
        &mut self,
        base: &str,
        place: &[u32],
        threads: &[u32],
        slots: &[u32],
        element: impl Fn(u32) -> u32,
    ) -> Regs {
        let of = |places: &[u32]| places.iter().map(|&p| combine(place, element(p))).collect::<Vec<u32>>();
        let (threads, slots) = (of(threads), of(slots));
        let reached = threads.iter().fold(0, |a, b| a | b);
        let table =
            |cx: &mut Self, mask: u32| cx.const_table("u32", slots.iter().map(|s| (s & mask).to_string()).collect());
        let thread = thread_part(&threads);
        let thread = match slots.iter().any(|s| s & reached != 0) {
            true => format!("({thread} ^ {}[#])", table(self, reached)),
            false => format!("({thread})"),
        };
        Regs(format!("({base} + {thread} + {}[#])", table(self, !reached)))
    }

    fn stage_offset(
        &mut self,
        stage: &str,
        tile: &CopiedTile,
        threads: &[u32],
        slots: &[u32],
        element: impl Fn(u32) -> u32,
    ) -> Regs {
        self.shared_place(&format!("{stage}{} + {}", tile.ring, tile.offset), &tile.place, threads, slots, element)
    }

    /// A closure that fetches fragments of an operand, of product `p` of a batch, and whether elements along the depth are
    /// together in these.
    pub(super) fn fragments(&mut self, d: Value, side: Side, unit: Unit, w: &Warps) -> (String, bool) {
        let (f, ahead, site) = (self.f, self.ahead, self.site(self.f.values[d.0 as usize].span));
        let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
        let operand = if side == Side::A { a } else { b };
        let t = f.ty(operand).dtype.rust();
        let Some((fetch, flipped)) = fetch(f, d, side, |l| ahead.tiles.get(&l).map(|t| t.fast)) else {
            return self.from_registers(operand, side, unit, w);
        };
        let tile = &ahead.tiles[&source(f, operand).expect("a load").0];
        let at = self.stage_offset("read", tile, &fetch.threads, &fetch.slots, |p| flat(p, f.shape(operand), flipped));
        let (per, product) = (fetch.per, product(w, fetch.slots.len()));
        let text = match (fetch.way, unit) {
            (Way::Matrix { transposed }, _) => format!(
                "|i, k| d::ldmatrix::<{transposed}>({}, {site})",
                at.at(&format!("{product}i * {} + k", w.steps))
            ),
            (Way::Elements { vec }, Unit::Fma) => format!(
                "|c| d::shared_load::<{t}, {per}, {vec}>(|r| {}, |_| true, {site})",
                at.at(&format!("{product}c * {per} + r"))
            ),
            (Way::Elements { vec }, _) => {
                let load = format!(
                    "d::shared_load::<{t}, {per}, {vec}>(|r| {}, |_| true, {site})",
                    at.at(&format!("{product}(i * {} + k) * {per} + r", w.steps))
                );
                format!("|i, k| {{ let x = {load}; d::words::<{t}, 4>(|e| x[e]) }}")
            }
        };
        (text, fetch.k_major)
    }

    /// The operand in the instructions' own layout, in an array.
    fn from_registers(&mut self, operand: Value, side: Side, unit: Unit, w: &Warps) -> (String, bool) {
        let (t, size) = (self.f.ty(operand).dtype.rust(), self.f.ty(operand).dtype.size());
        let layout = if side == Side::A { &w.a } else { &w.b };
        let name = self.array(operand, layout);
        let (steps, deep, across, product) = (w.steps, chunk(w), w.col_blocks, product(w, layout.regs()));
        let word = 4 / size.min(4);
        match (unit, side) {
            (Unit::Fma, Side::A) => (
                format!(
                    "|c| d::each::<{t}, {}>(|r| {name}[{product}r / {deep} * {steps} + c * {deep} + r % {deep}])",
                    w.row_blocks * deep
                ),
                true,
            ),
            (Unit::Fma, Side::B) => {
                (format!("|c| d::each::<{t}, {n}>(|r| {name}[{product}c * {n} + r])", n = across * deep), false)
            }
            (_, Side::A) => {
                (format!("|i, k| d::words::<{t}, 4>(|e| {name}[{product}(i * {steps} + k) * {} + e])", 4 * word), true)
            }
            (_, Side::B) => {
                let block = if across == 1 { "0".to_string() } else { format!("(2 * i + e / {})", 2 * word) };
                (
                    format!(
                        "|i, k| d::words::<{t}, 4>(|e| {name}[{product}({block} * {steps} + k) * {} + e % {}])",
                        2 * word,
                        2 * word
                    ),
                    true,
                )
            }
        }
    }
}

/// Where product `p` of a batch begins, of so many things of all products.
fn product(w: &Warps, of: usize) -> String {
    if w.products == 1 { String::new() } else { format!("p * {} + ", of / w.products) }
}

/// To the next stage, around the ring.
fn next(at: &str, n: usize) -> String {
    format!("{at}{n} += BYTES{n}; if {at}{n} == RING{n} + STAGES{n} * BYTES{n} {{ {at}{n} = RING{n}; }}")
}
