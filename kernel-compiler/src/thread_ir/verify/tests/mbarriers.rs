//! Broken programs of a producer and consumers.

use super::{CONSUMERS, accepts, barrier, program, refuses, refuses_body, tid, when, word};
use crate::plan::warp_specialized::TensorMap;
use crate::thread_ir::{BinaryOp, BufferPart, Device, Expr, Generic, Local, Lowered, Name, Stmt, ThreadIr, Ty, call};

fn of(of: BufferPart) -> Name {
    Name::CircularBuffer(of, 0)
}

/// The mbarrier of a stage.
fn mbarrier(part: BufferPart, stage: impl Into<Expr>) -> Expr {
    of(part) + Expr::from(8) * stage.into()
}

fn lines(stmts: Vec<Stmt>) -> ThreadIr {
    ThreadIr::Line(stmts)
}

fn advance() -> ThreadIr {
    let wrap =
        vec![Stmt::assign(of(BufferPart::Stage), 0), Stmt::Update(BinaryOp::Xor, of(BufferPart::Phase), 1.into())];
    let cond = Expr::from(of(BufferPart::Stage)).equals(of(BufferPart::Stages));
    lines(vec![Stmt::Update(BinaryOp::Add, of(BufferPart::Stage), 1.into()), Stmt::If { cond, then: wrap }])
}

fn wait_empty() -> ThreadIr {
    call!(Device::MbarrierWait; mbarrier(BufferPart::Empty, of(BufferPart::Stage)), of(BufferPart::Phase) ^ 1, 0).into()
}

fn expect(bytes: usize) -> ThreadIr {
    call!(Device::MbarrierExpect; mbarrier(BufferPart::Full, of(BufferPart::Stage)), bytes, 0).into()
}

/// A copy of 8 rows of 32 bytes.
fn copy() -> ThreadIr {
    let to = of(BufferPart::Start) + of(BufferPart::Stage) * of(BufferPart::Bytes);
    let full = mbarrier(BufferPart::Full, of(BufferPart::Stage));
    call!(Device::TmaLoad; [0u32, Generic::Inferred]; to, Name::Map(0), Expr::Array(vec![]), full, 0).into()
}

fn wait_full() -> ThreadIr {
    call!(Device::MbarrierWait; mbarrier(BufferPart::Full, of(BufferPart::Stage)), of(BufferPart::Phase), 0).into()
}

/// A tile of the current stage, and a product that takes it.
fn tile() -> ThreadIr {
    let at = of(BufferPart::Start) + of(BufferPart::Stage) * of(BufferPart::Bytes);
    Stmt::define(Name::Buffer { operand_group: 0, buffer: 0 }, Ty::U32, at).into()
}

fn product() -> ThreadIr {
    call!(Device::Ldmatrix; [false]; Name::Buffer { operand_group: 0, buffer: 0 }, 0).into()
}

fn arrive() -> ThreadIr {
    let at = mbarrier(BufferPart::Empty, of(BufferPart::Stage));
    call!(Device::MbarrierArrive; at, (Name::Tid % 128).equals(0), 0).into()
}

/// The stage before is given back, if there is one.
fn arrive_kept() -> ThreadIr {
    let (at, when) = (mbarrier(BufferPart::Empty, of(BufferPart::Used)), Expr::from(of(BufferPart::InFlight)));
    call!(Device::MbarrierArrive; at, when & (Name::Tid % 128).equals(0).group(), 0).into()
}

fn keep() -> ThreadIr {
    lines(vec![Stmt::assign(of(BufferPart::Used), of(BufferPart::Stage)), Stmt::assign(of(BufferPart::InFlight), true)])
}

fn keeps() -> ThreadIr {
    let none = Stmt::variable(of(BufferPart::InFlight), None, Some(false.into()));
    lines(vec![Stmt::variable(of(BufferPart::Used), Some(Ty::U32), Some(0.into())), none])
}

fn producer() -> Vec<ThreadIr> {
    vec![wait_empty(), expect(512), copy(), copy(), advance()]
}

fn consumer() -> Vec<ThreadIr> {
    vec![wait_full(), tile(), product(), arrive(), advance()]
}

/// The initialization of all stages' mbarriers for so many arrivals.
fn init(full: u32, empty: u32) -> Vec<Stmt> {
    let s = Name::from(Local::S);
    let init = |part: BufferPart, n: u32| Stmt::Expr(call!(Device::MbarrierInit; mbarrier(part, s), n, 0));
    let next = Stmt::Update(BinaryOp::Add, s, 1.into());
    let body = vec![init(BufferPart::Full, full), init(BufferPart::Empty, empty), next];
    let cond = Expr::from(s).less(of(BufferPart::Stages));
    vec![Stmt::variable(s, None, Some(0.into())), Stmt::While { cond, body }]
}

/// A loop of each role around these, behind an initialization.
fn specialized_after(before: Vec<ThreadIr>, producer: Vec<ThreadIr>, consumer: Vec<ThreadIr>) -> Lowered {
    let state = || {
        [BufferPart::Stage, BufferPart::Phase]
            .map(|part| Stmt::variable(of(part), Some(Ty::U32), Some(0.into())))
            .to_vec()
    };
    let role = |body: Vec<ThreadIr>| vec![lines(state()), keeps(), ThreadIr::Loop { body: [body, leave()].concat() }];
    let copies = when(call!(Device::Opaque; tid().equals(CONSUMERS)), role(producer));
    let end = arrive_kept();
    let roles = ThreadIr::If {
        cond: tid().not_less(CONSUMERS),
        then: vec![copies],
        other: [role(consumer), vec![end]].concat(),
    };
    let consts = [
        (BufferPart::Start, 128),
        (BufferPart::Bytes, 512),
        (BufferPart::Stages, 1),
        (BufferPart::Full, 640),
        (BufferPart::Empty, 648),
    ];
    let consts = consts.map(|(part, n)| word(of(part), n)).concat();
    let map = TensorMap { param: 0, dims: vec![], extents: vec![8, 16], swizzle: 32, stores: false };
    let body = [before, vec![roles]].concat();
    Lowered { consts: vec![consts], maps: vec![map], ..program(body) }
}

fn leave() -> Vec<ThreadIr> {
    vec![ThreadIr::break_if(Expr::from(Name::Arg(0)).equals(0))]
}

fn initialized(full: u32, empty: u32) -> Vec<ThreadIr> {
    let ready = call!(Device::MbarriersReady; 0).into();
    let then = init(full, empty).into_iter().chain([ready]).collect();
    vec![Stmt::If { cond: tid().equals(0), then }.into(), barrier()]
}

fn specialized(producer: Vec<ThreadIr>, consumer: Vec<ThreadIr>) -> Lowered {
    specialized_after(initialized(1, 2), producer, consumer)
}

#[test]
fn stages_are_handed_over_in_turns() {
    accepts(&specialized(producer(), consumer()));
    let p = |nodes: Vec<ThreadIr>, message: &str| refuses(&specialized(nodes, consumer()), message);
    p(vec![expect(512), copy(), copy(), advance()], "a stage is filled that was not awaited");
    p(vec![wait_empty(), copy(), copy(), advance()], "a copy fills a stage that expects nothing");
    p(vec![wait_empty(), expect(256), copy(), copy(), advance()], "`FULL0` expects fewer bytes than are copied");
    p(vec![wait_empty(), expect(512), copy(), advance()], "`FULL0` expects 256 bytes that nothing brings");
    p(vec![wait_empty(), expect(512), copy(), copy()], "a role waits for a stage that it has");
    p([producer(), vec![advance()]].concat(), "a stage of circular buffer 0 is left out");
    p(vec![wait_full()], "a role waits for another mbarrier than its own");
    p(vec![wait_empty(), arrive()], "a step of the other role");
    let c = |nodes: Vec<ThreadIr>, message: &str| refuses(&specialized(producer(), nodes), message);
    c(vec![wait_full(), tile(), product(), advance()], "a stage of circular buffer 0 is left out");
    c(vec![wait_full(), tile(), product(), arrive()], "a role waits for a stage that it has");
    c(vec![arrive(), wait_full(), advance()], "a stage is given back that the consumer does not have");
    c(vec![wait_full(), arrive(), arrive(), advance()], "a stage is given back that the consumer does not have");
    c(vec![wait_empty()], "a role waits for another mbarrier than its own");
    c(vec![expect(512)], "a step of the other role");
    // On one of two ways.
    let sometimes = |n: ThreadIr| when(Expr::from(Name::Arg(1)).equals(0), vec![n]);
    c(vec![wait_full(), sometimes(arrive()), advance()], "a stage of circular buffer 0 is left out");
    let leaves = [vec![wait_full(), sometimes(ThreadIr::Return)], consumer()[1..].to_vec()].concat();
    c(leaves, "a role ends with a stage of circular buffer 0");
    accepts(&specialized(producer(), vec![sometimes(ThreadIr::Block { body: consumer() })]));
}

#[test]
fn tiles_are_taken_between_wait_and_release() {
    let c =
        |nodes: Vec<ThreadIr>| refuses(&specialized(producer(), nodes), "taken outside of its wait and its release");
    c(vec![tile(), product(), wait_full(), arrive(), advance()]);
    c(vec![wait_full(), tile(), arrive(), product(), advance()]);
}

#[test]
fn roles_wait_for_their_phase() {
    let wait = |part: BufferPart, phase: Expr| -> ThreadIr {
        call!(Device::MbarrierWait; mbarrier(part, of(BufferPart::Stage)), phase, 0).into()
    };
    let early = wait(BufferPart::Empty, of(BufferPart::Phase).into());
    refuses(&specialized(vec![early], consumer()), "another phase than its own");
    let other = wait(BufferPart::Full, of(BufferPart::Phase) ^ 1);
    refuses(&specialized(producer(), vec![other]), "another phase than its own");
}

#[test]
fn a_kept_stage_is_given_back_in_the_next_iteration() {
    let kept = || vec![wait_full(), tile(), product(), arrive_kept(), keep(), advance()];
    accepts(&specialized(producer(), kept()));
    let never = vec![wait_full(), tile(), product(), keep(), advance()];
    refuses(&specialized(producer(), never), "a kept stage of circular buffer 0 is not given back");
    let without = vec![arrive_kept(), keep(), advance()];
    refuses(&specialized(producer(), without), "is kept that the consumer does not have");
    let at = mbarrier(BufferPart::Empty, of(BufferPart::Used));
    let always = call!(Device::MbarrierArrive; at, (Name::Tid % 128).equals(0), 0).into();
    refuses(&specialized(producer(), vec![always]), "given back though none may be kept");
    // The program ends, and nobody has given back the last one.
    let mut l = specialized(producer(), kept());
    let Some(ThreadIr::If { other, .. }) = l.body.last_mut() else { unreachable!("roles") };
    other.pop();
    refuses(&l, "a role ends with a stage of circular buffer 0");
}

#[test]
fn mbarriers_are_initialized_before_the_roles() {
    let with = |before: Vec<ThreadIr>| specialized_after(before, producer(), consumer());
    refuses(&with(initialized(2, 2)), "`FULL0` is to be initialized for one arrival");
    refuses(&with(initialized(1, 1)), "`EMPTY0` is to be initialized for 2 arrivals");
    refuses(&with(vec![]), "`FULL0` is to be initialized");
    refuses(&with(initialized(1, 2)[..1].to_vec()), "no fence and barrier stand between");
    let bare = Stmt::If { cond: tid().equals(0), then: init(1, 2) };
    refuses(&with(vec![bare.into(), barrier()]), "no fence and barrier stand between");
    refuses_body(vec![call!(Device::MbarrierInit; 0, 1, 0).into()], "a step of an mbarrier is part of no role");
}

#[test]
fn arrivals_are_those_of_all_ctas() {
    let at = || mbarrier(BufferPart::Empty, of(BufferPart::Stage));
    let arrive_at = |ctas: u32| -> ThreadIr {
        call!(Device::MbarrierArriveAt; at(), Name::Tid % ctas, (Name::Tid % 128).less(ctas), 0).into()
    };
    let consumer = || vec![wait_full(), arrive_at(2), advance()];
    accepts(&specialized_after(initialized(1, 4), producer(), consumer()).with_end_of_two_ctas());
    refuses(
        &specialized_after(initialized(1, 2), producer(), consumer()).with_end_of_two_ctas(),
        "`EMPTY0` is to be initialized for 4 arrivals",
    );
}

impl Lowered {
    /// The stage that is kept last is given back to two CTAs.
    fn with_end_of_two_ctas(mut self) -> Lowered {
        let (at, when) = (mbarrier(BufferPart::Empty, of(BufferPart::Used)), Expr::from(of(BufferPart::InFlight)));
        let when = when & (Name::Tid % 128).less(2).group();
        let Some(ThreadIr::If { other, .. }) = self.body.last_mut() else { unreachable!("roles") };
        other.pop();
        other.push(call!(Device::MbarrierArriveAt; at, Name::Tid % 2u32, when, 0).into());
        self
    }
}

#[test]
fn a_stage_is_one_of_the_buffers() {
    let with =
        |n: ThreadIr| refuses(&specialized(vec![wait_empty(), expect(512), copy(), copy(), n], consumer()), "stage");
    let plus = |part: BufferPart, n: usize| Stmt::Update(BinaryOp::Add, of(part), n.into());
    with(plus(BufferPart::Stage, 1).into());
    with(plus(BufferPart::Stage, 2).into());
    with(Stmt::assign(of(BufferPart::Stage), 1).into());
    let ThreadIr::Line(mut stmts) = advance() else { unreachable!("a line") };
    let Stmt::If { then, .. } = &mut stmts[1] else { unreachable!("the wrap") };
    then.pop();
    with(lines(stmts));
    let at = |value: Expr| {
        let read = Stmt::variable(of(BufferPart::Read), Some(Ty::U32), Some(value));
        let consts = [(BufferPart::Start, 128), (BufferPart::Bytes, 8), (BufferPart::Stages, 2)];
        let consts = consts.map(|(part, n)| word(of(part), n)).concat();
        Lowered { consts: vec![consts], ..program(vec![read.into()]) }
    };
    accepts(&at(of(BufferPart::Start).into()));
    refuses(&at(0.into()), "does not begin at the first stage");
    let mut beyond = at(of(BufferPart::Start).into());
    beyond.body.push(Stmt::Update(BinaryOp::Add, of(BufferPart::Read), of(BufferPart::Bytes).into()).into());
    refuses(&beyond, "does not wrap behind the last stage");
}
