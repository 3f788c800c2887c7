//! The places where computed right operands are written to shared memory. An operand is written once for all its
//! products, before the first of them. The operands of a chain of products are written together, before its first
//! product, so that no barrier is within the chain.

use super::operands;
use super::product::Operand;
use super::warp_specialized::Pipeline;
use crate::ir::walk::{behind, dots};
use crate::ir::{Func, Op, Stmt, StmtId, StmtKind, Value};
use crate::missed::Missed;
use std::collections::HashMap;

/// Fills in the statements before which the matrices of a pipeline are written.
pub fn plan(f: &Func, p: &mut Pipeline) {
    let mut writes: HashMap<StmtId, Vec<usize>> = HashMap::new();
    let all = if planted!("written-operand-first-alone") { 1 } else { usize::MAX };
    for (matrix, written) in p.written.iter().enumerate().take(all) {
        let id = before(f, p, &f.body, written.operand, matrix).expect("an operand is defined before its products");
        writes.entry(id).or_default().push(matrix);
    }
    p.writes = writes;
}

/// The statement before which a matrix is written, if its operand is defined in this block or in one inside it.
fn before(f: &Func, p: &Pipeline, stmts: &[Stmt], operand: Value, matrix: usize) -> Option<StmtId> {
    let defines = |s: &Stmt| matches!(s.kind, StmtKind::Let(v) if v == operand);
    let Some(defined) = stmts.iter().position(defines) else {
        return stmts.iter().flat_map(Stmt::blocks).find_map(|block| before(f, p, block, operand, matrix));
    };
    let takes = |d: Value| matches!(p.dots[&d].b, Operand::Written { matrix: m, .. } if m == matrix);
    let first = stmts.iter().position(|s| dots(f, std::slice::from_ref(s)).any(takes))?;
    let start = chain_start(f, p, stmts, first);
    // A tile that is computed from a copied tile by renaming elements may arrive within the chain.
    let is_copied = p.loads.contains_key(&behind(f, operand));
    let at = if start > defined && !is_copied { start } else { first };
    let at = if planted!("written-operand-after-its-product") { (first + 1).min(stmts.len() - 1) } else { at };
    Some(stmts[at].id)
}

/// The first product of the chain of a statement's product; the statement itself where it is no product.
fn chain_start(f: &Func, p: &Pipeline, stmts: &[Stmt], at: usize) -> usize {
    let StmtKind::Let(v) = stmts[at].kind else { return at };
    let Op::Dot { acc, .. } = *f.op(v) else { return at };
    let previous = stmts[..at].iter().position(|s| matches!(s.kind, StmtKind::Let(v) if v == acc));
    match previous {
        Some(previous) if p.chained.contains(&acc) => chain_start(f, p, stmts, previous),
        _ => at,
    }
}

/// The computed operands that are written to shared memory instead of being multiplied from registers.
pub fn missed(f: &Func, p: &Pipeline) -> Vec<Missed> {
    let of = |operand: Value| {
        let size = f.ty(operand).dtype.size();
        let mut why = why!(
            "it is a computed right operand: threads write it to shared memory, between two barriers. A computed left \
             operand stays in registers"
        );
        if !operands::is_written_by_vectors(f, operand) {
            why = why!(
                "{why}. Threads write one element of {size} bytes at a time, since it is MN-major: a K-major array is \
                 written by vectors"
            );
        }
        if f.shape(operand).len() == 3 && is_one_matrix(f, operand) {
            why = why!(
                "{why}. It is one matrix for the whole batch, and is written once for each product: one product of \
                 all rows (`reshape`) writes it once"
            );
        }
        Missed::new("multiplied from registers", why).at(f.span(operand))
    };
    p.written.iter().map(|w| of(w.operand)).collect()
}

/// Whether all matrices of a batch are the same.
fn is_one_matrix(f: &Func, v: Value) -> bool {
    match f.op(v) {
        Op::Broadcast(x) => f.shape(*x)[0] == 1 && f.shape(v)[0] > 1 || is_one_matrix(f, *x),
        Op::Permute(x, perm) => perm[0] == 0 && is_one_matrix(f, *x),
        Op::Splat(_) => f.shape(v)[0] > 1,
        op => op.is_elementwise() && op.operands().into_iter().all(|x| is_one_matrix(f, x)),
    }
}
