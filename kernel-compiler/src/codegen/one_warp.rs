//! Loops that one warp runs, and the exchange of their results with the other warps.

use crate::codegen::context::Codegen;
use crate::codegen::pieces::any;
use crate::ir::{self, Var};
use crate::plan::shared_memory::SCALAR_BYTES;
use crate::thread_ir::walk::walk;
use crate::thread_ir::{Access, Device, Expr, Name, Scratch, Stmt, ThreadIr, call};

impl Codegen<'_> {
    /// A loop that the first warp runs.
    pub(super) fn one_warp_loop(&mut self, s: &ir::Stmt, results: &[Var]) {
        let nodes = self.nested(|cx| cx.loops(s));
        // Earlier accesses of other threads to these arrays precede the loop.
        for access in accesses(&nodes).into_iter().filter(|_| !planted!("one-warp-loop-begins-early")) {
            self.node(ThreadIr::Access { stmts: vec![], access });
        }
        let is_other = call!(Device::Opaque; Expr::from(Name::Tid).not_less(32));
        self.node(ThreadIr::If { cond: is_other, then: vec![], other: without_accesses(nodes) });
        if results.is_empty() {
            // All other warps wait for the end of the loop.
            return self.node(ThreadIr::Barrier { site: 0 });
        }
        if planted!("one-warp-keeps-its-results") {
            return;
        }
        let (mut stores, mut loads) = (vec![], vec![]);
        for (i, &var) in results.iter().enumerate() {
            let dtype = self.f.vars[var.0 as usize].ty.dtype;
            let at = || any(Expr::Scratch(Scratch::Unplaced) + i * SCALAR_BYTES);
            let is_first = Expr::from(Name::Tid).equals(0);
            let store = call!(
                Device::SharedStore; [dtype, 1u32, 1u32];
                at(), any(is_first), any(Expr::from(self.var(var))), 0
            );
            let load = call!(Device::SharedLoad; [dtype, 1u32, 1u32]; at(), any(true), 0).element(0);
            stores.push(Stmt::Expr(store));
            loads.push(Stmt::assign(self.var(var), load));
        }
        self.node(ThreadIr::Scratch {
            bytes: results.len() * SCALAR_BYTES,
            steps: vec![stores, loads],
            at: self.at,
            site: 0,
        });
    }
}

/// The accesses of nodes, one for each array. The plan has no loop here that exchanges data between warps, or whose
/// accesses to a memory are of different kinds.
fn accesses(nodes: &[ThreadIr]) -> Vec<Access> {
    let mut found = Vec::<Access>::new();
    walk(nodes, &mut |n| match n {
        ThreadIr::Barrier { .. } | ThreadIr::Scratch { .. } => unreachable!("a barrier of all warps in a loop of one"),
        ThreadIr::Access { access, .. } => {
            let is_alike = |a: &Access| a.memory != access.memory || a.kind == access.kind;
            assert!(found.iter().all(is_alike), "accesses of different kinds in a loop of one warp");
            if !found.iter().any(|a| a.array == access.array) {
                found.push(Access { elements: None, ..access.clone() });
            }
        }
        _ => {}
    });
    found
}

fn without_accesses(nodes: Vec<ThreadIr>) -> Vec<ThreadIr> {
    let of = |n| match n {
        ThreadIr::Access { stmts, .. } => ThreadIr::Line(stmts),
        ThreadIr::If { cond, then, other } => {
            ThreadIr::If { cond, then: without_accesses(then), other: without_accesses(other) }
        }
        ThreadIr::Loop { body } => ThreadIr::Loop { body: without_accesses(body) },
        ThreadIr::Block { body } => ThreadIr::Block { body: without_accesses(body) },
        n => n,
    };
    nodes.into_iter().map(of).collect()
}
