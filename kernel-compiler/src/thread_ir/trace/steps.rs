//! The steps of a program that are events, by the effects of their calls.

use crate::ir::Array;
use crate::plan::warp_specialized::TensorMap;
use crate::thread_ir::expr::{Call, Expr, Literal, Stmt};
use crate::thread_ir::function::{Counted, Device, Effect, Function};
use crate::thread_ir::name::{BufferPart, Name};
use crate::thread_ir::node::ThreadIr;
use crate::thread_ir::walk::walk;

/// The kind of an event. Of a statement with several calls the greatest one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Store,
    ClusterStore,
    Staging,
    Operand,
    Atomic,
    /// An atomic load: a step of a loop that polls.
    AtomicLoad,
    Mma,
    CpAsync,
    CpAsyncWait,
    TmaStore,
    TmaStoreWait,
    TmaLoad,
    Wgmma,
    /// Products that are waited for at once.
    WgmmaAndWait,
    WgmmaWait,
    NamedBarrier,
    WarpgroupBarrier,
    Barrier,
    ClusterBarrier,
    WaitForLaunch,
    /// The release of a stage of a circular buffer.
    Release(usize),
    WaitEmpty(usize),
    WaitFull(usize),
    WaitMbarrier,
    Poll,
    Iteration,
}

impl Kind {
    pub fn label(self) -> String {
        let text = match self {
            Kind::Store => "store",
            Kind::ClusterStore => "store to the cluster",
            Kind::Staging => "write staging buffer",
            Kind::Operand => "write operand",
            Kind::Atomic => "atomic",
            Kind::AtomicLoad => "atomic load",
            Kind::Mma => "mma.sync",
            Kind::CpAsync => "cp.async",
            Kind::CpAsyncWait => "wait cp.async",
            Kind::TmaStore => "TMA store",
            Kind::TmaStoreWait => "wait TMA store",
            Kind::TmaLoad => "TMA load",
            Kind::Wgmma => "wgmma",
            Kind::WgmmaAndWait => "wgmma and wait",
            Kind::WgmmaWait => "wait wgmma",
            Kind::NamedBarrier => "named barrier",
            Kind::WarpgroupBarrier => "warpgroup barrier",
            Kind::Barrier => "barrier",
            Kind::ClusterBarrier => "cluster barrier",
            Kind::WaitForLaunch => "wait for the launch before",
            Kind::Release(buffer) => return format!("release {buffer}"),
            Kind::WaitEmpty(buffer) => return format!("wait empty {buffer}"),
            Kind::WaitFull(buffer) => return format!("wait full {buffer}"),
            Kind::WaitMbarrier => "wait mbarrier",
            Kind::Poll => "poll",
            Kind::Iteration => "iteration",
        };
        text.into()
    }

    /// Whether the event takes no time.
    pub fn is_instant(self) -> bool {
        matches!(self, Kind::Release(_))
    }

    /// Whether steps of this kind that follow each other are one event.
    fn continues(self) -> bool {
        matches!(
            self,
            Kind::Store
                | Kind::ClusterStore
                | Kind::Staging
                | Kind::Operand
                | Kind::Mma
                | Kind::CpAsync
                | Kind::TmaStore
                | Kind::TmaLoad
                | Kind::Wgmma
        )
    }

    fn is_barrier(self) -> bool {
        matches!(self, Kind::NamedBarrier | Kind::WarpgroupBarrier | Kind::Barrier | Kind::ClusterBarrier)
    }
}

/// A step that is an event, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub kind: Kind,
    /// The array that it reaches.
    pub subject: Option<String>,
    /// A `u32`, and what it counts.
    pub value: Option<(Expr, &'static str)>,
    pub line: u32,
}

impl Step {
    /// Whether it is a part of the event that begins with `first`.
    pub fn continues(&self, first: &Step) -> bool {
        self.kind == first.kind && self.kind.continues()
    }
}

/// Finds the steps of a program.
pub(super) struct Steps<'a> {
    /// The names of the parameters.
    pub params: &'a [String],
    pub maps: &'a [TensorMap],
}

impl Steps<'_> {
    /// The step of a statement. `array` is what its access reaches.
    pub fn step(&self, s: &Stmt, array: Option<Array>) -> Option<Step> {
        let mut found: Option<Step> = None;
        s.walk(&mut |e| {
            let Expr::Call(c) = e else { return };
            let Some(kind) = kind(c) else { return };
            if found.as_ref().is_none_or(|f| f.kind < kind) {
                let value =
                    stage(c).filter(|_| matches!(kind, Kind::Release(_) | Kind::WaitEmpty(_) | Kind::WaitFull(_)));
                found = Some(Step {
                    kind,
                    subject: self.subject(kind, c, array),
                    value: value.map(|stage| (stage, "stage")),
                    line: line(c),
                });
            }
        });
        found
    }

    /// The step that a whole node is.
    pub fn step_of_node(&self, n: &ThreadIr) -> Option<Step> {
        match n {
            ThreadIr::Barrier { site } => Some(Step { kind: Kind::Barrier, subject: None, value: None, line: *site }),
            ThreadIr::Loop { body } => self.poll(body),
            _ => None,
        }
    }

    /// A loop that waits for other programs: it loads by atomics, and has no step but these and barriers.
    fn poll(&self, body: &[ThreadIr]) -> Option<Step> {
        let (mut polls, mut others) = (None, false);
        walk(body, &mut |n| {
            others |= matches!(n, ThreadIr::Loop { .. });
            n.walk_own(&mut |e| {
                let Expr::Call(c) = e else { return };
                match kind(c) {
                    Some(Kind::AtomicLoad) => polls = polls.or(Some(line(c))),
                    Some(kind) => others |= !kind.is_barrier(),
                    None => {}
                }
            });
        });
        let step = |line| Step { kind: Kind::Poll, subject: None, value: None, line };
        polls.filter(|_| !others).map(step)
    }

    /// The name of the array that a step reaches.
    fn subject(&self, kind: Kind, c: &Call, array: Option<Array>) -> Option<String> {
        let param = match kind {
            Kind::TmaLoad | Kind::TmaStore => c.args.iter().find_map(|a| match a {
                Expr::Name(Name::Map(map)) => Some(self.maps.get(*map)?.param),
                _ => None,
            }),
            Kind::Store | Kind::Atomic | Kind::AtomicLoad => match array {
                Some(Array::Param(param)) => Some(param),
                _ => None,
            },
            _ => None,
        };
        self.params.get(param?).cloned()
    }
}

fn kind(c: &Call) -> Option<Kind> {
    let Function::Device(device) = c.function else { return None };
    Some(match c.effect() {
        Effect::GlobalRead if device == Device::Atomic => Kind::AtomicLoad,
        Effect::GlobalWrite => Kind::Store,
        Effect::GlobalUpdate => Kind::Atomic,
        Effect::SharedWrite if names(c, &|n| matches!(n, Name::Staging)) => Kind::Staging,
        Effect::SharedWrite if names(c, &|n| matches!(n, Name::Matrix(_))) => Kind::Operand,
        Effect::ClusterWrite => Kind::ClusterStore,
        Effect::CopyAhead => Kind::CpAsync,
        Effect::CopyWait => Kind::CpAsyncWait,
        Effect::Warp if device == Device::MmaTile => Kind::Mma,
        Effect::Barrier(Counted::Block) => Kind::Barrier,
        Effect::Barrier(Counted::Cluster) => Kind::ClusterBarrier,
        Effect::Barrier(Counted::Named) => match c.args.first() {
            Some(Expr::Literal(_)) => Kind::NamedBarrier,
            _ => Kind::WarpgroupBarrier,
        },
        Effect::MbarrierWait => match mbarrier(c) {
            Some((BufferPart::Empty, buffer)) => Kind::WaitEmpty(buffer),
            Some((_, buffer)) => Kind::WaitFull(buffer),
            None => Kind::WaitMbarrier,
        },
        Effect::MbarrierArrive => Kind::Release(mbarrier(c)?.1),
        Effect::Wgmma if waits(c) => Kind::WgmmaAndWait,
        Effect::Wgmma => Kind::Wgmma,
        Effect::WgmmaWait => Kind::WgmmaWait,
        Effect::TmaLoad => Kind::TmaLoad,
        Effect::TmaStore => Kind::TmaStore,
        Effect::TmaWait => Kind::TmaStoreWait,
        Effect::Control if device == Device::GridDependencyWait => Kind::WaitForLaunch,
        _ => return None,
    })
}

/// The mbarrier of a circular buffer that a call names.
fn mbarrier(c: &Call) -> Option<(BufferPart, usize)> {
    find(c.args.first()?, &|n| match n {
        Name::CircularBuffer(of @ (BufferPart::Full | BufferPart::Empty), buffer) => Some((of, buffer)),
        _ => None,
    })
}

/// The stage of a circular buffer whose mbarrier a call names.
fn stage(c: &Call) -> Option<Expr> {
    find(c.args.first()?, &|n| match n {
        Name::CircularBuffer(BufferPart::Stage | BufferPart::Used, _) => Some(Expr::Name(n)),
        _ => None,
    })
}

fn find<T>(e: &Expr, of: &dyn Fn(Name) -> Option<T>) -> Option<T> {
    let mut found = None;
    e.walk(&mut |e| {
        if let Expr::Name(n) = e
            && found.is_none()
        {
            found = of(*n);
        }
    });
    found
}

fn names(c: &Call, is: &dyn Fn(Name) -> bool) -> bool {
    let of = |n: Name| is(n).then_some(());
    c.args.iter().any(|a| find(a, &of).is_some())
}

/// Whether products are waited for at once.
fn waits(c: &Call) -> bool {
    c.args.iter().any(|a| matches!(a, Expr::Chain { wait: true, .. }))
}

/// The line of the kernel that a call reports: its last argument.
fn line(c: &Call) -> u32 {
    match c.args.last() {
        Some(Expr::Literal(Literal::Int { value, dtype: None })) => u32::try_from(*value).unwrap_or(0),
        _ => 0,
    }
}
