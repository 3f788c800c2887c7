//! Writes the barriers of a [plan](crate::plan::barriers), and puts scratch buffers in their places.

use crate::plan::barriers::{Barriers, Ordered, Scope, Step, StepBarriers};
use crate::thread_ir::{Device, Expr, Stmt, ThreadIr, call};

/// The steps of nodes that the places of barriers depend on.
pub fn steps(nodes: &[ThreadIr]) -> Vec<Step> {
    let of = |n: &ThreadIr| match n {
        ThreadIr::Scratch { bytes, steps, at, .. } => {
            vec![Step::Exchange { at: *at, bytes: *bytes, steps: steps.len() }]
        }
        ThreadIr::Access { access, .. } => vec![Step::Access(access.clone())],
        ThreadIr::Barrier { .. } => vec![Step::Barrier { of_cluster: false }],
        ThreadIr::If { then, other, .. } => vec![Step::If { then: steps(then), other: steps(other) }],
        ThreadIr::Loop { body } => vec![Step::Loop { body: steps(body) }],
        ThreadIr::Block { body } => steps(body),
        ThreadIr::Break => vec![Step::Break],
        ThreadIr::Continue => vec![Step::Continue],
        ThreadIr::Return => vec![Step::Return],
        ThreadIr::Line(_) if is_cluster_barrier(n) => vec![Step::Barrier { of_cluster: true }],
        ThreadIr::Line(_) => vec![],
    };
    nodes.iter().flat_map(of).collect()
}

/// The nodes with their barriers, and with the offsets of scratch buffers.
pub fn insert(nodes: Vec<ThreadIr>, barriers: &Barriers) -> Vec<ThreadIr> {
    let mut planned = barriers.steps.iter();
    let nodes = inserted(nodes, &mut planned);
    assert!(planned.next().is_none(), "the plan has barriers for steps that the code does not have");
    nodes
}

fn inserted<'p>(nodes: Vec<ThreadIr>, planned: &mut impl Iterator<Item = &'p StepBarriers>) -> Vec<ThreadIr> {
    let mut out = vec![];
    for n in nodes {
        match n {
            ThreadIr::Scratch { bytes, steps, site, .. } => {
                let next = planned.next().expect("the plan has the exchange");
                let Ordered::Exchange { offset, between, .. } = next.of else { unreachable!("an exchange") };
                out.extend(next.before.map(|scope| barrier(scope, site)));
                for (i, step) in steps.iter().enumerate() {
                    out.extend(between.filter(|_| i > 0).map(|scope| barrier(scope, site)));
                    out.extend(step.iter().map(|s| ThreadIr::from(s.placed(offset, bytes))));
                }
            }
            ThreadIr::Access { stmts, access } => {
                let next = planned.next().expect("the plan has the access");
                out.extend(next.before.map(|scope| barrier(scope, access.site)));
                out.push(ThreadIr::Access { stmts, access });
            }
            ThreadIr::If { cond, then, other } => {
                let then = inserted(then, planned);
                out.push(ThreadIr::If { cond, then, other: inserted(other, planned) });
            }
            ThreadIr::Loop { body } => out.push(ThreadIr::Loop { body: inserted(body, planned) }),
            ThreadIr::Block { body } => out.push(ThreadIr::Block { body: inserted(body, planned) }),
            ThreadIr::Line(_) | ThreadIr::Barrier { .. } | ThreadIr::Break | ThreadIr::Continue | ThreadIr::Return => {
                out.push(n)
            }
        }
    }
    out
}

/// A barrier of these threads. Those of consumers get their number with the role
/// ([`warp_specialize`](super::warp_specialize)).
pub(crate) fn barrier(scope: Scope, site: u32) -> ThreadIr {
    match scope {
        Scope::Block | Scope::Consumers { .. } => ThreadIr::Barrier { site },
        Scope::Cluster => cluster_barrier(site),
    }
}

/// A barrier of all threads of the cluster.
pub fn cluster_barrier(site: u32) -> ThreadIr {
    call!(Device::ClusterSync; site).into()
}

fn is_cluster_barrier(n: &ThreadIr) -> bool {
    let ThreadIr::Line(stmts) = n else { return false };
    let waits = |s: &Stmt| matches!(s, Stmt::Expr(Expr::Call(c)) if c.function == Device::ClusterSync.into());
    stmts.iter().any(waits)
}
