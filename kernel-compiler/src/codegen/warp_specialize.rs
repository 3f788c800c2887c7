//! A warp-specialized program: the code of the producer and of the consumers, which have the operand groups in common
//! (see [`tma_pipeline`](crate::plan::tma_pipeline)).

use crate::codegen::context::Codegen;
use crate::codegen::role::Role;
use crate::ir::{self, Binary, BlockPointer, Func, Op, StmtKind, Value};
use crate::plan::Plan;
use crate::plan::barriers::{Scope, WarpgroupBarriers};
use crate::plan::shared_memory::{MBARRIER_BYTES, Mbarriers, Placed, SharedMemory};
use crate::plan::warp_specialized::{Multicast, OperandGroup, Pipeline, WARPGROUP};
use crate::plan::wgmma_order::{BeforeRelease, StageRelease};
use crate::thread_ir::walk::rewritten;
use crate::thread_ir::{
    BinaryOp, BufferPart, Const, ConstValue, Device, Expr, Generic, Local, Name, Stmt, ThreadIr, Ty, call,
};

/// The constants with the places of a warp-specialized program; `buffers` are those of its circular buffers.
pub(super) fn consts(memory: &SharedMemory, buffers: Vec<Vec<Const>>) -> Vec<Vec<Const>> {
    let mut consts: Vec<Vec<Const>> = memory.staging.iter().map(|&at| vec![word(Name::Staging, at)]).collect();
    consts.extend(memory.matrices.iter().enumerate().map(|(i, &at)| vec![word(Name::Matrix(i), at)]));
    consts.extend(buffers);
    consts.extend(memory.circular_buffers.iter().enumerate().filter_map(|(i, at)| {
        let Mbarriers { full, empty } = at.mbarriers?;
        let words = [(BufferPart::Full, full), (BufferPart::Empty, empty)];
        Some(words.map(|(of, place)| word(Name::CircularBuffer(of, i), place)).to_vec())
    }));
    consts
}

/// Combines the roles of a warp-specialized program.
pub(super) fn specialize(
    f: &Func,
    plan: &Plan,
    p: &Pipeline,
    producer: Vec<ThreadIr>,
    consumer: Vec<ThreadIr>,
) -> Vec<ThreadIr> {
    let consumers = f.warps * 32;
    let groups = consumers / WARPGROUP;
    let of_one = planted!("mbarrier-arrivals-of-one-block");
    let init = p
        .circular_buffers
        .iter()
        .enumerate()
        .flat_map(|(i, r)| init_mbarriers(i, groups * if of_one { 1 } else { r.copiers }));
    let ready = (!planted!("mbarriers-not-ready")).then(|| call!(Device::MbarriersReady; 0).into());
    let init = init.chain(ready).collect();
    let fetch = (0..plan.maps.len()).map(|m| call!(Device::PrefetchMap; Name::Map(m)).into()).collect();
    let (both, producer, consumer) = match plan.has_common_scalars() {
        true => common(producer, consumer),
        false => (vec![], producer, consumer),
    };
    let is_thread = |n: u32| Expr::from(Name::Tid).equals(n);
    let mut body: Vec<ThreadIr> = vec![
        Stmt::If { cond: is_thread(consumers), then: fetch }.into(),
        Stmt::If { cond: is_thread(0), then: init }.into(),
    ];
    body.extend(both);
    let cluster_sync = || Stmt::Expr(call!(Device::ClusterSync; 0));
    body.push(ThreadIr::from(if f.ctas > 1 { cluster_sync() } else { call!(Device::Barrier; 0).into() }));
    let set = |increase: bool, n: u32| ThreadIr::from(call!(Device::SetRegisters; [increase, n]; 0));
    let of_buffer = |i: usize| {
        [BufferPart::Stage, BufferPart::Phase]
            .map(|of| Stmt::variable(Name::CircularBuffer(of, i), Some(Ty::U32), Some(0.into())))
    };
    let state: Vec<Stmt> = (0..p.circular_buffers.len()).flat_map(of_buffer).collect();
    let with = |set: Option<ThreadIr>, nodes: Vec<ThreadIr>| {
        set.into_iter().chain([ThreadIr::Line(state.clone())]).chain(nodes).collect::<Vec<_>>()
    };
    let together: Vec<Stmt> =
        if f.ctas > 1 && !planted!("cluster-block-ends-early") { vec![cluster_sync()] } else { vec![] };
    let copies = ThreadIr::If {
        cond: call!(Device::Opaque; is_thread(consumers)),
        then: with(None, among(producer, plan.barriers.exchange, &together)),
        other: vec![],
    };
    let produce: Vec<ThreadIr> = p.registers.map(|r| set(false, r.producer)).into_iter().chain([copies]).collect();
    // A CTA must not end before its shared memory was read, or while other CTAs copy to it or arrive at its mbarriers.
    let read: Vec<Stmt> = if plan.staged_stores.wait_at_end() && !planted!("tma-store-source-ends-early") {
        vec![call!(Device::TmaStoreWaitRead; [0u32]; 0).into()]
    } else {
        vec![]
    };
    let leave = [read.clone(), together.clone()].concat();
    let mut consume = with(p.registers.map(|r| set(true, r.consumer)), among(consumer, plan.barriers.exchange, &leave));
    consume.push(ThreadIr::Line(read));
    let cond = Expr::from(Name::Tid).not_less(consumers);
    body.push(ThreadIr::If { cond, then: produce, other: consume });
    body.push(ThreadIr::Line(together));
    body
}

/// A constant: a number of bytes or of stages.
fn word(name: Name, value: usize) -> Const {
    Const { name, value: ConstValue::Word(value) }
}

/// The constants of a circular buffer.
pub(super) fn buffer_consts(circular_buffer: usize, at: &Placed) -> Vec<Const> {
    [(BufferPart::Start, at.start), (BufferPart::Bytes, at.bytes), (BufferPart::Stages, at.stages)]
        .map(|(of, value)| word(Name::CircularBuffer(of, circular_buffer), value))
        .to_vec()
}

/// Initializes the mbarriers of all stages of a circular buffer. A stage is released by `arrivals` arrivals.
fn init_mbarriers(circular_buffer: usize, arrivals: u32) -> [Stmt; 2] {
    let s = Name::from(Local::S);
    let init = |of: BufferPart, arrivals: u32| {
        Stmt::Expr(call!(Device::MbarrierInit; mbarrier(of, circular_buffer, s), arrivals, 0))
    };
    let next = Stmt::Update(BinaryOp::Add, s, 1.into());
    let body = vec![init(BufferPart::Full, 1), init(BufferPart::Empty, arrivals), next];
    [
        Stmt::variable(s, None, Some(0.into())),
        Stmt::While { cond: Expr::from(s).less(Name::CircularBuffer(BufferPart::Stages, circular_buffer)), body },
    ]
}

/// The mbarrier of a stage.
fn mbarrier(of: BufferPart, circular_buffer: usize, stage: Name) -> Expr {
    Name::CircularBuffer(of, circular_buffer) + Expr::from(MBARRIER_BYTES) * stage
}

/// A barrier of the threads of a warpgroup.
pub(super) fn warpgroup_barrier(plan: &Plan, site: u32) -> Expr {
    let WarpgroupBarriers { first, threads } = plan.barriers.warpgroups.expect("a warp-specialized program");
    call!(Device::GroupBarrier; Expr::from(first) + (Name::Tid >> 7).group(), threads, site)
}

/// The scalars at the beginning of both roles, and the remaining code of the roles.
fn common(producer: Vec<ThreadIr>, consumer: Vec<ThreadIr>) -> (Vec<ThreadIr>, Vec<ThreadIr>, Vec<ThreadIr>) {
    let definition = |n: &ThreadIr| match n {
        ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } => match stmts.first() {
            Some(Stmt::Let { name, mutable, ty, .. }) => Some((*name, *mutable, ty.is_some())),
            _ => None,
        },
        _ => None,
    };
    let declaration = |n: &ThreadIr| matches!(definition(n), Some((Name::Var(_) | Name::FreshVar(_), true, _)));
    // The scalars up to the first other statement. Their operands are among them, and no variable is assigned before.
    let value = |n: &&ThreadIr| matches!(definition(n), Some((Name::Value(_), false, true)));
    let first =
        |nodes: &[ThreadIr]| nodes.iter().skip_while(|n| declaration(n)).take_while(value).cloned().collect::<Vec<_>>();
    let theirs = first(&consumer);
    let both: Vec<ThreadIr> = first(&producer).into_iter().filter(|l| theirs.contains(l)).collect();
    let without = |nodes: Vec<ThreadIr>| nodes.into_iter().filter(|n| !both.contains(n)).collect();
    let (producer, consumer) = (without(producer), without(consumer));
    (both, producer, consumer)
}

/// The release of a stage of a circular buffer by a warpgroup. `when` is tested before the thread is selected. `ctas`
/// CTAs copy to the stage: a thread of its own arrives at the mbarrier of each.
pub(super) fn empty(circular_buffer: usize, ctas: u32, stage: Name, when: Option<Expr>) -> Expr {
    let at = mbarrier(BufferPart::Empty, circular_buffer, stage);
    let in_group = Name::Tid % WARPGROUP;
    let also = |thread: Expr| match when {
        Some(when) => when & thread.group(),
        None => thread.group(),
    };
    match ctas {
        1 => call!(Device::MbarrierArrive; at, also(in_group.equals(0)), 0),
        _ => call!(Device::MbarrierArriveAt; at, Name::Tid % ctas, also(in_group.less(ctas)), 0),
    }
}

/// Replaces barriers in the code of the consumers by barriers without the producer, and puts `leave` before returns.
fn among(nodes: Vec<ThreadIr>, scope: Scope, leave: &[Stmt]) -> Vec<ThreadIr> {
    let Scope::Consumers { number, threads } = scope else { unreachable!("a warp-specialized program") };
    rewritten(nodes, &mut |n| match n {
        ThreadIr::Barrier { site } => vec![call!(Device::GroupBarrier; number, threads, site).into()],
        ThreadIr::Return => vec![ThreadIr::Line(leave.to_vec()), ThreadIr::Return],
        n => vec![n],
    })
}

impl Codegen<'_> {
    /// Lowers a statement of the producer.
    pub(super) fn produce(&mut self, s: &ir::Stmt, p: &Pipeline) {
        if !p.keeps(s) {
            return;
        }
        if let StmtKind::Let(v) = &s.kind
            && let Some(&(operand_group, _)) = p.loads.get(v)
        {
            p.copies.get(v).into_iter().flatten().for_each(|&buffer| self.copy(p, operand_group, buffer));
            return;
        }
        self.plain(s);
    }

    fn copy(&mut self, p: &Pipeline, operand_group: usize, buffer: usize) {
        let c = &p.operand_groups[operand_group];
        let (b, circular_buffer) = (&c.buffers[buffer], c.circular_buffer);
        let (f, site) = (self.f, self.site(self.f.values[b.load.0 as usize].span));
        let Op::Load { block_pointer: Some(BlockPointer { at, .. }), hint, .. } = f.op(b.load) else {
            unreachable!("a block pointer")
        };
        let (stage, phase) = (
            Name::CircularBuffer(BufferPart::Stage, circular_buffer),
            Name::CircularBuffer(BufferPart::Phase, circular_buffer),
        );
        if c.order.first() == Some(&buffer) {
            let bytes: usize = c.buffers.iter().map(|b| b.tile.bytes()).sum();
            let bytes = bytes - if planted!("mbarrier-expects-a-tile-less") { c.buffers[0].tile.bytes() } else { 0 };
            let other_phase = phase ^ if planted!("mbarrier-wrong-phase") { 0 } else { 1 };
            self.lines(vec![
                call!(Device::MbarrierWait; mbarrier(BufferPart::Empty, circular_buffer, stage), other_phase, site)
                    .into(),
                call!(Device::MbarrierExpect; mbarrier(BufferPart::Full, circular_buffer, stage), bytes, site).into(),
            ]);
        }
        let step = b.tile.row_bytes / f.ty(b.load).dtype.size();
        let (ctas, rank) = (f.ctas as usize, || call!(Device::ClusterRank;));
        let boxes = if b.multicast == Some(Multicast::Boxes) { b.tile.count / ctas } else { b.tile.count };
        for i in 0..boxes {
            let mut at: Vec<Expr> = at.iter().map(|&o| o.into()).collect();
            let (row, last) = (at.len() - 2, at.len() - 1);
            let mut plus = |d: usize, n: Expr| at[d] = call!(Binary::Add; &at[d], n);
            let mut dst = stage_start(circular_buffer) + (b.offset + i * b.tile.box_bytes());
            if i > 0 {
                plus(last, (i * step).into());
            }
            // Each CTA copies its part of a tile that all CTAs need.
            if let Some(share) = b.multicast {
                let (d, elements, bytes) = match share {
                    Multicast::Boxes => (last, boxes * step, boxes * b.tile.box_bytes()),
                    Multicast::Rows => (row, b.tile.rows / ctas, b.tile.box_bytes() / ctas),
                };
                plus(d, rank() * elements);
                dst = dst + rank().cast(Ty::U32) * bytes;
            }
            let (hint, map, full) =
                (*hint as u32, Name::Map(b.map), mbarrier(BufferPart::Full, circular_buffer, stage));
            let at = Expr::Array(at);
            self.line(match b.multicast {
                Some(_) => {
                    let all = (1 << ctas) - 1;
                    call!(Device::TmaLoadMulticast; [hint, Generic::Inferred]; dst, map, at, full, all, site)
                }
                None => call!(Device::TmaLoad; [hint, Generic::Inferred]; dst, map, at, full, site),
            });
        }
        if c.order.last() == Some(&buffer) {
            self.advance(circular_buffer);
        }
    }

    fn advance(&mut self, circular_buffer: usize) {
        let (stage, phase) = (
            Name::CircularBuffer(BufferPart::Stage, circular_buffer),
            Name::CircularBuffer(BufferPart::Phase, circular_buffer),
        );
        let around = vec![
            Stmt::assign(stage, 0),
            Stmt::Update(BinaryOp::Xor, phase, if planted!("mbarrier-phase-not-flipped") { 0 } else { 1 }.into()),
        ];
        self.lines(vec![
            Stmt::Update(BinaryOp::Add, stage, 1.into()),
            Stmt::If {
                cond: Expr::from(stage).equals(Name::CircularBuffer(BufferPart::Stages, circular_buffer)),
                then: around,
            },
        ]);
    }

    /// The operand group and the buffer of a load, if a consumer reads a copied tile there.
    pub(super) fn copied(&self, v: Value) -> Option<(usize, usize)> {
        let Role::Consumer(p) = self.role else { return None };
        p.loads.get(&v).copied()
    }

    /// In the consumers the last load of an operand group becomes a wait for the group.
    pub(super) fn arrived(&mut self, v: Value, operand_group: usize, c: &OperandGroup) {
        let last = c.buffers.last().expect("an operand group has loads");
        if last.load != v {
            return;
        }
        let (site, circular_buffer) = (self.site(self.f.values[v.0 as usize].span), c.circular_buffer);
        if !planted!("tma-operand-not-waited") {
            let full =
                mbarrier(BufferPart::Full, circular_buffer, Name::CircularBuffer(BufferPart::Stage, circular_buffer));
            self.line(
                call!(Device::MbarrierWait; full, Name::CircularBuffer(BufferPart::Phase, circular_buffer), site),
            );
        }
        for (i, b) in c.buffers.iter().enumerate() {
            let name = Name::Buffer { operand_group, buffer: i };
            self.line(Stmt::define(name, Ty::U32, stage_start(circular_buffer) + b.offset));
        }
    }

    /// The code after the last use of an operand group.
    pub(super) fn release(&mut self, p: &Pipeline, operand_group: usize) {
        let circular_buffer = p.operand_groups[operand_group].circular_buffer;
        let StageRelease { before, deferred } = self.plan.wgmma.releases[operand_group];
        match before {
            BeforeRelease::FenceAndBarrier => self.threads_have_read(),
            BeforeRelease::Barrier if !planted!("release-without-meeting") => {
                self.line(warpgroup_barrier(self.plan, 0));
            }
            BeforeRelease::Barrier | BeforeRelease::Nothing => {}
        }
        match deferred {
            true => self.release_deferred(p, circular_buffer),
            false => self.line(empty(
                circular_buffer,
                p.circular_buffers[circular_buffer].copiers,
                Name::CircularBuffer(BufferPart::Stage, circular_buffer),
                None,
            )),
        }
        self.advance(circular_buffer);
    }

    /// The code before one thread of a warpgroup releases a stage from which all of its threads loaded. Without a fence
    /// a later copy may overwrite elements that earlier loads have not read yet.
    pub(super) fn threads_have_read(&mut self) {
        let fence = (!planted!("release-without-proxy-fence")).then(|| call!(Device::ProxyFence; 0).into());
        self.lines(fence.into_iter().chain([warpgroup_barrier(self.plan, 0).into()]).collect());
    }
}

/// The offset of the current stage of a circular buffer.
fn stage_start(circular_buffer: usize) -> Expr {
    Name::CircularBuffer(BufferPart::Start, circular_buffer)
        + Name::CircularBuffer(BufferPart::Stage, circular_buffer)
            * Name::CircularBuffer(BufferPart::Bytes, circular_buffer)
}
