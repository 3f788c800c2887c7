//! A program in two roles: the producer's and the consumers' code around the same operand groups (see [`tma_pipeline`](crate::plan::tma_pipeline)).

use crate::codegen::context::Codegen;
use crate::codegen::role::Role;
use crate::codegen::text::{buffer_name, matrix_name, scalar};
use crate::codegen::thread_ir::ThreadIr;
use crate::ir::{BlockPointer, Func, Op, Stmt, StmtKind, Value};
use crate::plan::product::InFlight;
use crate::plan::tma_pipeline::ALIGN;
use crate::plan::warp_specialized::{CircularBuffer, Multicast, OperandGroup, Pipeline, TensorMap};

/// Dynamic shared memory of a multiprocessor, what each program costs beside its own, and the most one program may have.
const SHARED_BYTES: usize = 228 << 10;
const RESERVED_BYTES: usize = 1 << 10;
const MAX_SHARED_BYTES: usize = 227 << 10;
const MAX_STAGES: usize = 12;
const WARPGROUP: u32 = 128;
/// A warpgroup copies, though one thread is enough: registers are handed over by warpgroups.
const PRODUCERS: u32 = WARPGROUP;

/// All threads of all blocks of a cluster.
const CLUSTER_SYNC: &str = "d::cluster_sync(0);";

/// Puts the roles of a specialised program together.
pub(super) fn specialize(
    f: &Func,
    p: &Pipeline,
    producer: Vec<ThreadIr>,
    consumer: Vec<ThreadIr>,
    maps: &[TensorMap],
    exchange_bytes: usize,
    staging: usize,
) -> (Vec<String>, Vec<ThreadIr>, usize, u32) {
    let consumers = f.warps * 32;
    let threads = consumers + PRODUCERS;
    let blocks = f.blocks_per_sm.max(1) as usize;
    let staged = exchange_bytes.next_multiple_of(ALIGN);
    let mut at = staged + staging;
    let mut consts = vec![format!("const STAGING: u32 = {staged};")];
    for (i, m) in p.written.iter().enumerate() {
        consts.push(format!("const {}: u32 = {at};", matrix_name(i)));
        at += m.bytes().next_multiple_of(ALIGN);
    }
    let room = (SHARED_BYTES / blocks - RESERVED_BYTES)
        .min(MAX_SHARED_BYTES)
        .saturating_sub(at + p.rings.len() * 16 * MAX_STAGES);
    let stages = stages(f, p, room);
    for (i, (r, n)) in p.rings.iter().zip(&stages).enumerate() {
        consts
            .push(format!("const RING{i}: u32 = {at}; const BYTES{i}: u32 = {}; const STAGES{i}: u32 = {n};", r.bytes));
        at += r.bytes * n;
    }
    for (i, n) in stages.iter().enumerate() {
        consts.push(format!("const FULL{i}: u32 = {at}; const EMPTY{i}: u32 = {};", at + 8 * n));
        at += 16 * n;
    }
    let groups = consumers / WARPGROUP;
    let of_one = planted!("mbarrier-arrivals-of-one-block");
    let init: String = p.rings.iter().enumerate().map(|(i, r)| format!("let mut s = 0; while s < STAGES{i} {{ d::mbarrier_init(FULL{i} + 8 * s, 1, 0); d::mbarrier_init(EMPTY{i} + 8 * s, {}, 0); s += 1; }} ", groups * if of_one { 1 } else { r.copiers })).collect();
    let fetch: String = (0..maps.len()).map(|m| format!("d::prefetch_map(map{m}); ")).collect();
    // Where threads store what they have computed, addresses take the registers.
    let stores = maps.iter().any(|m| m.stores);
    let (both, producer, consumer) = if stores { common(producer, consumer) } else { (vec![], producer, consumer) };
    let ready = if planted!("mbarriers-not-ready") { "" } else { "d::mbarriers_ready(0);" };
    let mut body = vec![
        ThreadIr::Line(format!("if tid == {consumers} {{ {fetch}}}")),
        ThreadIr::Line(format!("if tid == 0 {{ {init}{ready} }}")),
    ];
    body.extend(both);
    body.push(ThreadIr::Line(if f.ctas > 1 { CLUSTER_SYNC } else { "d::barrier(0);" }.into()));
    let registers = registers(consumers, threads, blocks as u32, p.rings.len());
    let set = |increase: bool, n: u32| ThreadIr::Line(format!("d::set_registers::<{increase}, {n}>(0);"));
    let state: String = (0..p.rings.len()).map(|i| format!("let mut s{i}: u32 = 0; let mut p{i}: u32 = 0; ")).collect();
    let with = |set: Option<ThreadIr>, nodes: Vec<ThreadIr>| {
        set.into_iter().chain([ThreadIr::Line(state.clone())]).chain(nodes).collect::<Vec<_>>()
    };
    let together = if f.ctas > 1 && !planted!("cluster-block-ends-early") { CLUSTER_SYNC } else { "" };
    let copies = ThreadIr::If {
        cond: format!("d::opaque(tid == {consumers})"),
        then: with(None, among(producer, consumers, together)),
        other: vec![],
    };
    let produce: Vec<ThreadIr> = registers.map(|r| set(false, r.0)).into_iter().chain([copies]).collect();
    // Shared memory must last until it was read, and until no other block copies into it or arrives at its barriers.
    let read = if stores && !planted!("tma-store-source-ends-early") { "d::tma_store_wait_read::<0>(0);" } else { "" };
    let mut consume =
        with(registers.map(|r| set(true, r.1)), among(consumer, consumers, &format!("{read} {together}")));
    consume.push(ThreadIr::Line(read.into()));
    body.push(ThreadIr::If { cond: format!("tid >= {consumers}"), then: produce, other: consume });
    body.push(ThreadIr::Line(together.into()));
    (consts, body, at, threads)
}

/// The scalars that both roles begin with, and what is left of them: computed while barriers are initialised, they are not in the
/// way of the first copy.
fn common(producer: Vec<ThreadIr>, consumer: Vec<ThreadIr>) -> (Vec<ThreadIr>, Vec<ThreadIr>, Vec<ThreadIr>) {
    let declaration =
        |n: &ThreadIr| matches!(n, ThreadIr::Line(l) if l.starts_with("let mut m") || l.starts_with("let mut fresh_m"));
    // Values of their own, up to the first statement that is none: what they are made of is among them, and variables are not written yet.
    let scalar = |n: &&ThreadIr| matches!(n, ThreadIr::Line(l) if l.strip_prefix("let v").is_some_and(|l| l.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(": ")));
    let line = |n: &ThreadIr| if let ThreadIr::Line(l) = n { l.clone() } else { String::new() };
    let first = |nodes: &[ThreadIr]| {
        nodes.iter().skip_while(|n| declaration(n)).take_while(scalar).map(line).collect::<Vec<_>>()
    };
    let theirs = first(&consumer);
    let both: Vec<String> = first(&producer).into_iter().filter(|l| theirs.contains(l)).collect();
    let without = |nodes: Vec<ThreadIr>| nodes.into_iter().filter(|n| !both.contains(&line(n))).collect();
    let (producer, consumer) = (without(producer), without(consumer));
    (both.into_iter().map(ThreadIr::Line).collect(), producer, consumer)
}

/// A warpgroup is done with a ring's stage; `when` comes before the choice of its thread. `ctas` are those who copy into it:
/// each is told by a thread of its own.
pub(super) fn empty(ring: usize, ctas: u32, stage: &str, when: &str) -> String {
    match ctas {
        1 => format!("d::mbarrier_arrive(EMPTY{ring} + 8 * {stage}, {when}(tid % {WARPGROUP} == 0), 0);"),
        _ => format!(
            "d::mbarrier_arrive_at(EMPTY{ring} + 8 * {stage}, tid % {ctas}, {when}(tid % {WARPGROUP} < {ctas}), 0);"
        ),
    }
}

/// As many as fit, the same number for all that repeat.
fn stages(f: &Func, p: &Pipeline, room: usize) -> Vec<usize> {
    let fixed = |r: &&CircularBuffer| !r.repeats || r.stages > 0;
    let once: usize = p.rings.iter().filter(fixed).map(|r| r.bytes * r.stages.max(1) as usize).sum();
    let each: usize = p.rings.iter().filter(|r| !fixed(r)).map(|r| r.bytes).sum();
    let n = match f.stages {
        0 => (room.saturating_sub(once) / each.max(1)).clamp(2, MAX_STAGES),
        n => n as usize,
    };
    let of = |r: &CircularBuffer| match (r.repeats, r.stages) {
        (false, _) => 1,
        (true, 0) => n,
        (true, stages) => stages as usize,
    };
    p.rings.iter().map(of).collect()
}

/// Registers of a producer's and a consumer's thread, where there are not enough for all to have the most.
fn registers(consumers: u32, threads: u32, blocks: u32, rings: usize) -> Option<(u32, u32)> {
    const REGISTERS: u32 = 65536;
    const MOST: u32 = 255;
    // Below this the producer's scalars spill: where it is in every ring, and in the loops that fill them.
    let producer = if rings > 2 { 56 } else { 40 };
    let at_start = REGISTERS / (threads * blocks) / 8 * 8;
    if at_start >= MOST - 7 {
        return None;
    }
    let consumer = ((at_start * threads).checked_sub(producer * PRODUCERS)? / consumers / 8 * 8).min(240);
    (consumer > at_start).then_some((producer, consumer))
}

/// Barriers of the consumers leave the producer out; `leave` comes before they end.
fn among(nodes: Vec<ThreadIr>, threads: u32, leave: &str) -> Vec<ThreadIr> {
    let each = |n: ThreadIr| match n {
        ThreadIr::Barrier { site } => vec![ThreadIr::Line(format!("d::group_barrier(1, {threads}, {site});"))],
        ThreadIr::If { cond, then, other } => {
            vec![ThreadIr::If { cond, then: among(then, threads, leave), other: among(other, threads, leave) }]
        }
        ThreadIr::Loop { body } => vec![ThreadIr::Loop { body: among(body, threads, leave) }],
        ThreadIr::Block { body } => vec![ThreadIr::Block { body: among(body, threads, leave) }],
        ThreadIr::Return => vec![ThreadIr::Line(leave.into()), ThreadIr::Return],
        n => vec![n],
    };
    nodes.into_iter().flat_map(each).collect()
}

impl Codegen<'_> {
    /// A statement of the producer.
    pub(super) fn produce(&mut self, s: &Stmt, p: &Pipeline) {
        if !p.keeps(s) {
            return;
        }
        if let StmtKind::Let(v) = &s.kind
            && let Some(&(operand_group, buffer)) = p.loads.get(v)
        {
            return self.copy(*v, p, operand_group, buffer);
        }
        self.plain(s);
    }

    fn copy(&mut self, v: Value, p: &Pipeline, operand_group: usize, buffer: usize) {
        let (f, site) = (self.f, self.site(self.f.values[v.0 as usize].span));
        let Op::Load { block_pointer: Some(BlockPointer { at, .. }), hint, .. } = f.op(v) else {
            unreachable!("a window")
        };
        let (c, b, ring) = (
            &p.operand_groups[operand_group],
            &p.operand_groups[operand_group].buffers[buffer],
            p.operand_groups[operand_group].ring,
        );
        if buffer == 0 {
            let bytes: usize = c.buffers.iter().map(|b| b.tile.bytes()).sum();
            let bytes = bytes - if planted!("mbarrier-expects-a-tile-less") { c.buffers[0].tile.bytes() } else { 0 };
            let first = if planted!("mbarrier-wrong-phase") { 0 } else { 1 };
            self.line(format!("d::mbarrier_wait(EMPTY{ring} + 8 * s{ring}, p{ring} ^ {first}, {site}); d::mbarrier_expect(FULL{ring} + 8 * s{ring}, {bytes}, {site});"));
        }
        let step = b.tile.row_bytes / f.ty(v).dtype.size();
        let (ctas, rank) = (f.ctas as usize, "d::cluster_rank()");
        let boxes = if b.multicast == Some(Multicast::Boxes) { b.tile.count / ctas } else { b.tile.count };
        for i in 0..boxes {
            let mut at: Vec<String> = at.iter().map(|&o| scalar(o)).collect();
            let (row, last) = (at.len() - 2, at.len() - 1);
            let mut dst = format!("RING{ring} + s{ring} * BYTES{ring} + {}", b.offset + i * b.tile.box_bytes());
            if i > 0 {
                at[last] = format!("s::add({}, {})", at[last], i * step);
            }
            // Of what all need each block copies its part.
            if let Some(share) = b.multicast {
                let (d, elements, bytes) = match share {
                    Multicast::Boxes => (last, boxes * step, boxes * b.tile.box_bytes()),
                    Multicast::Rows => (row, b.tile.rows / ctas, b.tile.box_bytes() / ctas),
                };
                at[d] = format!("s::add({}, {rank} * {elements})", at[d]);
                dst = format!("{dst} + {rank} as u32 * {bytes}");
            }
            let (copy, all) = if b.multicast.is_some() {
                ("copy_box_to", format!(", {}", (1 << ctas) - 1))
            } else {
                ("copy_box", String::new())
            };
            self.line(format!(
                "d::{copy}::<{}, _>({dst}, map{}, [{}], FULL{ring} + 8 * s{ring}{all}, {site});",
                *hint as u32,
                b.map,
                at.join(", ")
            ));
        }
        if buffer + 1 == c.buffers.len() {
            self.advance(ring);
        }
    }

    fn advance(&mut self, ring: usize) {
        let flip = if planted!("mbarrier-phase-not-flipped") { 0 } else { 1 };
        self.line(format!("s{ring} += 1; if s{ring} == STAGES{ring} {{ s{ring} = 0; p{ring} ^= {flip}; }}"));
    }

    /// OperandGroup and buffer of a load that a consumer finds copied.
    pub(super) fn copied(&self, v: Value) -> Option<(usize, usize)> {
        let Role::Consumer(p) = self.role else { return None };
        p.loads.get(&v).copied()
    }

    /// In the consumers, a load is a wait for its operand_group, by the last of the operand_group's loads.
    pub(super) fn arrived(&mut self, v: Value, operand_group: usize, c: &OperandGroup) {
        let last = c.buffers.last().expect("a operand_group has loads");
        if last.load != v {
            return;
        }
        let (site, ring) = (self.site(self.f.values[v.0 as usize].span), c.ring);
        if !planted!("tma-operand-not-waited") {
            self.line(format!("d::mbarrier_wait(FULL{ring} + 8 * s{ring}, p{ring}, {site});"));
        }
        for (i, b) in c.buffers.iter().enumerate() {
            self.line(format!(
                "let {}: u32 = RING{ring} + s{ring} * BYTES{ring} + {};",
                buffer_name(operand_group, i),
                b.offset
            ));
        }
    }

    /// After the last use of a operand_group.
    pub(super) fn release(&mut self, p: &Pipeline, operand_group: usize) {
        let OperandGroup { ring, by_threads, meets, ref fetched, .. } = p.operand_groups[operand_group];
        if by_threads || fetched.iter().any(|&product| !self.ends_at_once(product)) {
            self.threads_have_read();
        } else if !meets && !planted!("release-without-meeting") {
            // Or a stage would be given back, and filled again, while some of them still wait for it: they would miss that phase.
            self.line(format!("d::group_barrier(2 + (tid >> 7), {WARPGROUP}, 0);"));
        }
        let is_late =
            |of: InFlight| p.late.values().any(|l| l.of.product == of.product && l.operand_group == operand_group);
        match self.late {
            Some(of) if is_late(of) => self.release_deferred(p, ring),
            _ => self.line(empty(ring, p.rings[ring].copiers, &format!("s{ring}"), "")),
        }
        self.advance(ring);
    }

    /// Before one thread of a warpgroup gives back, for all of them, what they loaded. Without a fence a copy may overwrite what loads, though
    /// begun before it, have not read yet.
    pub(super) fn threads_have_read(&mut self) {
        let fence = if planted!("release-without-proxy-fence") { "" } else { "d::proxy_fence(0); " };
        self.line(format!("{fence}d::group_barrier(2 + (tid >> 7), {WARPGROUP}, 0);"));
    }
}
