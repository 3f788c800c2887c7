//! Writes the barriers of a [plan](crate::plan::barriers), and puts scratch buffers in their places.

use crate::plan::barriers::{Barriers, Ordered, Scope, Step, StepBarriers};
use crate::thread_ir::{Device, Expr, Node, Stmt, call};

/// The steps of nodes that the places of barriers depend on.
pub fn steps(nodes: &[Node]) -> Vec<Step> {
    let of = |n: &Node| match n {
        Node::Scratch { bytes, steps, at, .. } => vec![Step::Exchange { at: *at, bytes: *bytes, steps: steps.len() }],
        Node::Access { access, .. } => vec![Step::Access(access.clone())],
        Node::Barrier { .. } => vec![Step::Barrier { of_cluster: false }],
        Node::If { then, other, .. } => vec![Step::If { then: steps(then), other: steps(other) }],
        Node::Loop { body } => vec![Step::Loop { body: steps(body) }],
        Node::Block { body } => steps(body),
        Node::Break => vec![Step::Break],
        Node::Continue => vec![Step::Continue],
        Node::Return => vec![Step::Return],
        Node::Line(_) if is_cluster_barrier(n) => vec![Step::Barrier { of_cluster: true }],
        Node::Line(_) => vec![],
    };
    nodes.iter().flat_map(of).collect()
}

/// The nodes with their barriers, and with the offsets of scratch buffers.
pub fn insert(nodes: Vec<Node>, barriers: &Barriers) -> Vec<Node> {
    let mut planned = barriers.steps.iter();
    let nodes = inserted(nodes, &mut planned);
    assert!(planned.next().is_none(), "the plan has barriers for steps that the code does not have");
    nodes
}

fn inserted<'p>(nodes: Vec<Node>, planned: &mut impl Iterator<Item = &'p StepBarriers>) -> Vec<Node> {
    let mut out = vec![];
    for n in nodes {
        match n {
            Node::Scratch { bytes, steps, site, .. } => {
                let next = planned.next().expect("the plan has the exchange");
                let Ordered::Exchange { offset, between, .. } = next.of else { unreachable!("an exchange") };
                out.extend(next.before.map(|scope| barrier(scope, site)));
                for (i, step) in steps.iter().enumerate() {
                    out.extend(between.filter(|_| i > 0).map(|scope| barrier(scope, site)));
                    out.extend(step.iter().map(|s| Node::from(s.placed(offset, bytes))));
                }
            }
            Node::Access { stmts, access } => {
                let next = planned.next().expect("the plan has the access");
                out.extend(next.before.map(|scope| barrier(scope, access.site)));
                out.push(Node::Access { stmts, access });
            }
            Node::If { cond, then, other } => {
                let then = inserted(then, planned);
                out.push(Node::If { cond, then, other: inserted(other, planned) });
            }
            Node::Loop { body } => out.push(Node::Loop { body: inserted(body, planned) }),
            Node::Block { body } => out.push(Node::Block { body: inserted(body, planned) }),
            Node::Line(_) | Node::Barrier { .. } | Node::Break | Node::Continue | Node::Return => out.push(n),
        }
    }
    out
}

/// A barrier of these threads. Those of consumers get their number with the role
/// ([`warp_specialize`](super::warp_specialize)).
pub(crate) fn barrier(scope: Scope, site: u32) -> Node {
    match scope {
        Scope::Block | Scope::Consumers { .. } => Node::Barrier { site },
        Scope::Cluster => cluster_barrier(site),
    }
}

/// A barrier of all threads of the cluster.
pub fn cluster_barrier(site: u32) -> Node {
    call!(Device::ClusterSync; site).into()
}

fn is_cluster_barrier(n: &Node) -> bool {
    let Node::Line(stmts) = n else { return false };
    let waits = |s: &Stmt| matches!(s, Stmt::Expr(Expr::Call(c)) if c.function == Device::ClusterSync.into());
    stmts.iter().any(waits)
}
