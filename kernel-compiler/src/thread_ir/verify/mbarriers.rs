//! The mbarriers of circular buffers in a warp-specialized program.
//!
//! - Before the roles, both mbarriers of each stage are initialized: `full` for one arrival, `empty` for one of each
//!   warpgroup of each CTA that copies. A fence and a barrier follow.
//! - The producer waits for `empty`, says how many bytes `full` expects, copies as many, and goes to the next stage.
//! - A consumer waits for `full`, takes the tiles, arrives at `empty`, and goes to the next stage. Where it arrives in
//!   the next iteration, it keeps the stage's number until then.
//! - A stage's number begins at 0 and wraps at the number of stages.

use super::flow::{Flow, State, Step};
use crate::thread_ir::expr::{BinaryOp, Call, Expr, Literal, Stmt};
use crate::thread_ir::function::{Counted, Device, Effect, Function};
use crate::thread_ir::name::{BufferPart, Local, Name};
use crate::thread_ir::node::{Lowered, ThreadIr};
use crate::thread_ir::walk::{exprs, walk};
use std::collections::{BTreeMap, BTreeSet};

/// Threads of a warpgroup.
const WARPGROUP: i128 = 128;

type Checked = Result<(), String>;

pub fn verify(lowered: &Lowered) -> Checked {
    stages_wrap(lowered)?;
    let Some(roles) = lowered.body.iter().position(is_roles) else { return outside(&lowered.body, false) };
    let ThreadIr::If { cond: Expr::Binary(_, _, consumers), then: producer, other: consumer } = &lowered.body[roles]
    else {
        unreachable!("roles")
    };
    outside(&lowered.body[..roles], true)?;
    outside(&lowered.body[roles + 1..], false)?;
    let counts = initialized(&lowered.body[..roles])?;
    let mut cx = Protocol { lowered, role: Role::Producer, groups: groups(consumer), copiers: BTreeMap::new() };
    cx.run(producer)?;
    cx.role = Role::Consumer;
    cx.run(consumer)?;
    let warpgroups = literal(consumers).unwrap_or(0) / WARPGROUP;
    for (&buffer, &copiers) in &cx.copiers {
        let [full, empty] = [BufferPart::Full, BufferPart::Empty].map(|of| counts.get(&(of, buffer)));
        if full != Some(&1) {
            return Err(format!("`FULL{buffer}` is to be initialized for one arrival"));
        }
        let arrivals = warpgroups * copiers;
        if empty != Some(&arrivals) {
            return Err(format!("`EMPTY{buffer}` is to be initialized for {arrivals} arrivals"));
        }
    }
    Ok(())
}

/// Whether a node parts the producer from the consumers, which share circular buffers.
fn is_roles(n: &ThreadIr) -> bool {
    let ThreadIr::If { cond: Expr::Binary(BinaryOp::Ge, tid, _), then, .. } = n else { return false };
    let mut hands_over = false;
    exprs(then, &mut |e| hands_over |= matches!(e, Expr::Call(c) if is_step_of_role(c.effect())));
    matches!(**tid, Expr::Name(Name::Tid)) && hands_over
}

fn is_step_of_role(effect: Effect) -> bool {
    matches!(effect, Effect::MbarrierExpect | Effect::MbarrierArrive | Effect::MbarrierWait | Effect::TmaLoad)
}

fn name(of: BufferPart, buffer: usize) -> Name {
    Name::CircularBuffer(of, buffer)
}

fn literal(e: &Expr) -> Option<i128> {
    if let Expr::Literal(Literal::Int { value, .. }) = e { Some(*value) } else { None }
}

/// No role's steps stand outside of the roles; mbarriers are initialized before them alone.
fn outside(nodes: &[ThreadIr], before_roles: bool) -> Checked {
    let mut found = Ok(());
    exprs(nodes, &mut |e| {
        let Expr::Call(c) = e else { return };
        let effect = c.effect();
        if is_step_of_role(effect) || effect == Effect::MbarrierInit && !before_roles {
            found = Err(format!("a step of an mbarrier is part of no role: {c}"));
        }
    });
    found
}

/// The arrivals that mbarriers are initialized for.
fn initialized(nodes: &[ThreadIr]) -> Result<BTreeMap<(BufferPart, usize), i128>, String> {
    let (mut out, mut last, mut fence, mut barrier) = (BTreeMap::new(), None, None, None);
    for (i, n) in nodes.iter().enumerate() {
        let mut found = vec![];
        walk(std::slice::from_ref(n), &mut |n| {
            if let ThreadIr::Line(stmts) = n {
                stmts.iter().for_each(|s| loops(s, &mut found));
            }
        });
        for (cond, call) in found {
            let (of, buffer, stage) = mbarrier(&call.args[0]).ok_or("an mbarrier is none of a circular buffer")?;
            let s = Name::Local(Local::S);
            let all = Expr::from(s).less(name(BufferPart::Stages, buffer));
            if *stage != Expr::Name(s) || cond != Some(&all) {
                return Err(format!("the mbarriers of all stages are not initialized: {call}"));
            }
            out.insert(
                (of, buffer),
                literal(&call.args[1]).ok_or("an mbarrier does not say how many arrivals it counts")?,
            );
            last = Some(i);
        }
        let mut call = |c: &Call| match (c.function, c.effect()) {
            (Function::Device(Device::MbarriersReady), _) => fence = Some(i),
            (_, Effect::Barrier(Counted::Block | Counted::Cluster)) => barrier = Some(i),
            _ => {}
        };
        exprs(std::slice::from_ref(n), &mut |e| {
            if let Expr::Call(c) = e {
                call(c)
            }
        });
        if matches!(n, ThreadIr::Barrier { .. }) {
            barrier = Some(i);
        }
    }
    if last.is_some() && (fence < last || barrier <= last) {
        return Err("no fence and barrier stand between initialized mbarriers and the roles".into());
    }
    Ok(out)
}

/// The initializations in a statement, with the condition of the loop around.
fn loops<'s>(s: &'s Stmt, out: &mut Vec<(Option<&'s Expr>, &'s Call)>) {
    let cond = if let Stmt::While { cond, .. } = s { Some(cond) } else { None };
    match s {
        Stmt::If { then, .. } => then.iter().for_each(|s| loops(s, out)),
        s => s.walk(&mut |e| {
            if let Expr::Call(c) = e
                && c.effect() == Effect::MbarrierInit
            {
                out.push((cond, c));
            }
        }),
    }
}

/// Which mbarrier an expression is, as `FULL0 + 8 * s0`, and the stage.
fn mbarrier(e: &Expr) -> Option<(BufferPart, usize, &Expr)> {
    let Expr::Binary(BinaryOp::Add, base, offset) = e else { return None };
    let (Expr::Name(Name::CircularBuffer(of @ (BufferPart::Full | BufferPart::Empty), buffer)), offset) =
        (&**base, &**offset)
    else {
        return None;
    };
    let Expr::Binary(BinaryOp::Mul, bytes, stage) = offset else { return None };
    (literal(bytes) == Some(8)).then_some((*of, *buffer, &**stage))
}

/// The circular buffers of the tiles that consumers name.
fn groups(consumer: &[ThreadIr]) -> BTreeMap<usize, usize> {
    let mut out = BTreeMap::new();
    walk(consumer, &mut |n| {
        let ThreadIr::Line(stmts) = n else { return };
        for s in stmts {
            if let Stmt::Let { name: Name::Buffer { operand_group, .. }, value: Some(e), .. } = s
                && let [buffer] = buffers(e)[..]
            {
                out.insert(*operand_group, buffer);
            }
        }
    });
    out
}

/// The circular buffers that an expression names, each once.
fn buffers(e: &Expr) -> Vec<usize> {
    let mut found = BTreeSet::new();
    e.walk(&mut |e| {
        if let Expr::Name(Name::CircularBuffer(_, i)) = e {
            found.insert(*i);
        }
    });
    found.into_iter().collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Producer,
    Consumer,
}

/// How far a role is with the current stage of a circular buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Next,
    /// The producer's wait for `empty` is over.
    Empty,
    /// `full` expects so many bytes more than copies bring.
    Filling(i128),
    /// The consumer's wait for `full` is over.
    Full,
    /// The consumer has given the stage back, or has kept its number.
    Released,
}

/// `kept`: a stage's number is kept, at whose `empty` nobody has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    phase: Phase,
    kept: bool,
}

/// By circular buffer: how far a role may be. What is not there is as at the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
struct Stages(BTreeMap<usize, BTreeSet<At>>);

impl Stages {
    fn of(&self, buffer: usize) -> BTreeSet<At> {
        self.0.get(&buffer).cloned().unwrap_or_else(|| BTreeSet::from([At::default()]))
    }

    fn change(&mut self, buffer: usize, mut change: impl FnMut(At) -> Result<At, String>) -> Checked {
        let now = self.of(buffer).into_iter().map(&mut change).collect::<Result<_, _>>()?;
        self.0.insert(buffer, now);
        Ok(())
    }

    fn is_done(&self) -> Checked {
        match self.0.iter().find(|(_, at)| at.iter().any(|at| *at != At::default())) {
            Some((buffer, _)) => Err(format!("a role ends with a stage of circular buffer {buffer} in its hands")),
            None => Ok(()),
        }
    }
}

impl State for Stages {
    fn barrier(&mut self) {}

    fn join(&mut self, other: &Self) {
        let keys: Vec<usize> = self.0.keys().chain(other.0.keys()).copied().collect();
        for buffer in keys {
            let both = &self.of(buffer) | &other.of(buffer);
            self.0.insert(buffer, both);
        }
    }
}

struct Protocol<'a> {
    lowered: &'a Lowered,
    role: Role,
    /// Operand groups' circular buffers.
    groups: BTreeMap<usize, usize>,
    /// By circular buffer: the CTAs that a warpgroup tells of an empty stage.
    copiers: BTreeMap<usize, i128>,
}

impl Protocol<'_> {
    fn run(&mut self, nodes: &[ThreadIr]) -> Checked {
        let mut state = Some(Stages::default());
        let mut visit = |step: Step, at: &mut Stages| match step {
            Step::Access(_) => Ok(()),
            Step::Call(c) => self.call(c, at),
            Step::Stmt(s) => stmt(s, at),
            Step::Return => at.is_done(),
        };
        Flow::new(&mut visit).nodes(nodes, &mut state)?;
        state.map_or(Ok(()), |at| at.is_done())
    }

    fn call(&mut self, c: &Call, at: &mut Stages) -> Checked {
        let wrong = |why: &str| Err(format!("{why}: {c}"));
        let of = |e: &Expr| mbarrier(e).map(|(of, i, stage)| (of, i, stage.clone()));
        let current = |i: usize, stage: &Expr| *stage == Expr::Name(name(BufferPart::Stage, i));
        match (c.effect(), self.role) {
            (Effect::MbarrierInit, _) => wrong("an mbarrier is initialized in a role"),
            (Effect::MbarrierWait, role) => {
                let Some((part, i, stage)) = of(&c.args[0]) else { return wrong("a wait for no stage") };
                let phase = name(BufferPart::Phase, i);
                let (awaited, parity, after) = match role {
                    Role::Producer => (BufferPart::Empty, phase ^ 1, Phase::Empty),
                    Role::Consumer => (BufferPart::Full, phase.into(), Phase::Full),
                };
                if part != awaited || !current(i, &stage) {
                    return wrong("a role waits for another mbarrier than its own");
                }
                if c.args[1] != parity {
                    return wrong("a role waits for another phase than its own");
                }
                at.change(i, |at| match at.phase {
                    Phase::Next => Ok(At { phase: after, ..at }),
                    _ => Err(format!("a role waits for a stage that it has: {c}")),
                })
            }
            (Effect::MbarrierExpect, Role::Producer) => {
                let (Some((BufferPart::Full, i, stage)), Some(bytes)) = (of(&c.args[0]), literal(&c.args[1])) else {
                    return wrong("bytes are expected of no stage");
                };
                if !current(i, &stage) {
                    return wrong("bytes are expected of another stage");
                }
                at.change(i, |at| match at.phase {
                    Phase::Empty => Ok(At { phase: Phase::Filling(bytes), ..at }),
                    _ => Err(format!("a stage is filled that was not awaited: {c}")),
                })
            }
            (Effect::TmaLoad, Role::Producer) => {
                let Some((BufferPart::Full, i, stage)) = of(&c.args[3]) else { return wrong("a copy fills no stage") };
                if !current(i, &stage) || buffers(&c.args[0]) != [i] {
                    return wrong("a copy fills another stage than it arrives at");
                }
                let Some(bytes) = self.bytes(c) else { return wrong("a copy of no tensor map") };
                at.change(i, |at| match at.phase {
                    Phase::Filling(left) if left >= bytes => Ok(At { phase: Phase::Filling(left - bytes), ..at }),
                    Phase::Filling(_) => Err(format!("`FULL{i}` expects fewer bytes than are copied: {c}")),
                    _ => Err(format!("a copy fills a stage that expects nothing: {c}")),
                })
            }
            (Effect::MbarrierArrive, Role::Consumer) => self.arrive(c, at),
            (Effect::MbarrierExpect | Effect::TmaLoad | Effect::MbarrierArrive, _) => wrong("a step of the other role"),
            (_, Role::Consumer) => self.takes(c, at),
            _ => Ok(()),
        }
    }

    fn arrive(&mut self, c: &Call, at: &mut Stages) -> Checked {
        let wrong = |why: &str| Err(format!("{why}: {c}"));
        let Some((BufferPart::Empty, i, stage)) = mbarrier(&c.args[0]) else {
            return wrong("a consumer arrives at no stage");
        };
        let copiers = match (c.function, &c.args[1]) {
            (Function::Device(Device::MbarrierArriveAt), Expr::Binary(BinaryOp::Rem, _, ctas)) => literal(ctas),
            _ => Some(1),
        };
        let copiers = copiers.ok_or("an arrival does not say how many CTAs it tells")?;
        if *self.copiers.entry(i).or_insert(copiers) != copiers {
            return wrong("an arrival tells other CTAs than one before");
        }
        let stage = match stage {
            Expr::Name(Name::CircularBuffer(of, of_buffer)) if *of_buffer == i => Some(of),
            _ => None,
        };
        match stage {
            Some(BufferPart::Stage) => at.change(i, |at| match at.phase {
                Phase::Full => Ok(At { phase: Phase::Released, ..at }),
                _ => Err(format!("a stage is given back that the consumer does not have: {c}")),
            }),
            Some(BufferPart::Used) => {
                let mut conditional = false;
                c.args.iter().for_each(|a| {
                    a.walk(&mut |e| conditional |= *e == Expr::Name(name(BufferPart::InFlight, i)));
                });
                if !conditional {
                    return wrong("a stage is given back though none may be kept");
                }
                at.change(i, |at| Ok(At { kept: false, ..at }))
            }
            _ => wrong("a consumer gives back another stage than its own"),
        }
    }

    /// Tiles are taken from stages that have arrived.
    fn takes(&self, c: &Call, at: &Stages) -> Checked {
        let mut early = None;
        c.args.iter().for_each(|a| {
            a.walk(&mut |e| {
                if let Expr::Name(Name::Buffer { operand_group, .. }) = e
                    && let Some(&i) = self.groups.get(operand_group)
                    && at.of(i).iter().any(|at| at.phase != Phase::Full)
                {
                    early = Some(i);
                }
            });
        });
        match early {
            Some(i) => Err(format!("a tile of circular buffer {i} is taken outside of its wait and its release: {c}")),
            None => Ok(()),
        }
    }

    /// The bytes that the copies of all CTAs bring, of which this is one.
    fn bytes(&self, c: &Call) -> Option<i128> {
        let Expr::Name(Name::Map(map)) = c.args[1] else { return None };
        let map = self.lowered.maps.get(map)?;
        let rows: usize = map.extents.split_last()?.1.iter().product();
        let ctas = match c.function {
            Function::Device(Device::TmaLoadMulticast) => literal(&c.args[4])?.count_ones(),
            _ => 1,
        };
        Some((rows * map.swizzle) as i128 * i128::from(ctas))
    }
}

fn stmt(s: &Stmt, at: &mut Stages) -> Checked {
    match *s {
        Stmt::Update(_, Name::CircularBuffer(BufferPart::Stage, i), _) => at.change(i, |at| match at.phase {
            Phase::Filling(0) | Phase::Released => Ok(At { phase: Phase::Next, ..at }),
            Phase::Filling(left) => Err(format!("`FULL{i}` expects {left} bytes that nothing brings")),
            _ => Err(format!("a stage of circular buffer {i} is left out")),
        }),
        Stmt::Assign(Name::CircularBuffer(BufferPart::Used, i), _) => at.change(i, |at| match at {
            At { phase: Phase::Full, kept: false } => Ok(At { phase: Phase::Released, kept: true }),
            At { kept: true, .. } => Err(format!("a kept stage of circular buffer {i} is not given back")),
            _ => Err(format!("a stage of circular buffer {i} is kept that the consumer does not have")),
        }),
        Stmt::Let { name: Name::CircularBuffer(BufferPart::Used, i), .. } => at.change(i, |at| match at.kept {
            false => Ok(at),
            true => Err(format!("a kept stage of circular buffer {i} is not given back")),
        }),
        _ => Ok(()),
    }
}

/// Stages' numbers, and their offsets, begin at the first stage and wrap behind the last one.
fn stages_wrap(lowered: &Lowered) -> Checked {
    let mut found = Ok(());
    walk(&lowered.body, &mut |n| {
        let (ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. }) = n else { return };
        for (i, s) in stmts.iter().enumerate() {
            let checked = match s {
                Stmt::Let { name: Name::CircularBuffer(of, buffer), value, .. } => begins(*of, *buffer, value.as_ref()),
                Stmt::Update(BinaryOp::Add, Name::CircularBuffer(of, buffer), by) => {
                    match next(*of, *buffer).is_some_and(|(step, wrap)| *by == step && stmts.get(i + 1) == Some(&wrap))
                    {
                        // The statement behind it is the one that wraps.
                        true => continue,
                        false if *of == BufferPart::Filled => Ok(()),
                        false => Err(format!("`{s}` does not wrap behind the last stage")),
                    }
                }
                Stmt::Assign(Name::CircularBuffer(of, buffer), value) => assigned(*of, *buffer, value),
                Stmt::If { then, .. } if i == 0 || !wraps(&stmts[i - 1], s) => nothing_assigned(then),
                Stmt::While { body, .. } => nothing_assigned(body),
                _ => Ok(()),
            };
            if found.is_ok() {
                found = checked;
            }
        }
    });
    found
}

/// The increment of a stage's number or offset, and the statement behind it that wraps it.
fn next(of: BufferPart, buffer: usize) -> Option<(Expr, Stmt)> {
    let n = |of| Expr::from(name(of, buffer));
    let at = name(of, buffer);
    match of {
        BufferPart::Stage => {
            let then =
                vec![Stmt::assign(at, 0), Stmt::Update(BinaryOp::Xor, name(BufferPart::Phase, buffer), 1.into())];
            Some((1.into(), Stmt::If { cond: Expr::from(at).equals(n(BufferPart::Stages)), then }))
        }
        BufferPart::Read | BufferPart::Write => {
            let end = n(BufferPart::Start) + n(BufferPart::Stages) * n(BufferPart::Bytes);
            let then = vec![Stmt::assign(at, n(BufferPart::Start))];
            Some((n(BufferPart::Bytes), Stmt::If { cond: Expr::from(at).equals(end), then }))
        }
        _ => None,
    }
}

fn wraps(before: &Stmt, s: &Stmt) -> bool {
    matches!(before, Stmt::Update(_, Name::CircularBuffer(of, buffer), _)
        if next(*of, *buffer).is_some_and(|(_, wrap)| wrap == *s))
}

fn begins(of: BufferPart, buffer: usize, value: Option<&Expr>) -> Checked {
    let first: Expr = match of {
        BufferPart::Stage | BufferPart::Phase | BufferPart::Used => 0.into(),
        BufferPart::Read | BufferPart::Write => name(BufferPart::Start, buffer).into(),
        _ => return Ok(()),
    };
    if value == Some(&first) {
        Ok(())
    } else {
        Err(format!("`{}` does not begin at the first stage", name(of, buffer)))
    }
}

fn assigned(of: BufferPart, buffer: usize, value: &Expr) -> Checked {
    let allowed = match of {
        BufferPart::Used => *value == Expr::Name(name(BufferPart::Stage, buffer)),
        BufferPart::InFlight => *value == true.into(),
        _ => false,
    };
    if allowed { Ok(()) } else { Err(format!("`{} = {value}` is no stage", name(of, buffer))) }
}

fn nothing_assigned(stmts: &[Stmt]) -> Checked {
    stmts.iter().try_for_each(|s| match s {
        Stmt::Assign(n @ Name::CircularBuffer(..), _) | Stmt::Update(_, n @ Name::CircularBuffer(..), _) => {
            Err(format!("`{n}` changes under a condition"))
        }
        Stmt::If { then: body, .. } | Stmt::While { body, .. } => nothing_assigned(body),
        _ => Ok(()),
    })
}
