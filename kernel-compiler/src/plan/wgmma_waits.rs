//! The places where consumers wait for products and release buffers. A wait comes before the first use of a product's
//! result, so that the statements in between overlap the product. In attention the product of the next scores then
//! overlaps the product of the last weights, and both overlap the computation of weights, if the kernel is written so.

use super::operands::TileUses;
use super::product::Operand;
use super::warp_specialized::{Pipeline, Step, WgmmaWaits};
use crate::dtype::DType;
use crate::ir::walk::behind;
use crate::ir::{Func, Op, Stmt, StmtId, StmtKind, Value, Var};
use std::collections::{HashMap, HashSet};

/// `release` has the statements that use an operand group last.
pub fn plan(f: &Func, p: &Pipeline, release: &HashMap<StmtId, Vec<usize>>) -> WgmmaWaits {
    let products: HashSet<Value> = p.dots.keys().copied().collect();
    let mut cx = Plan { f, p, release, uses: TileUses::new(f, &products), out: WgmmaWaits::default() };
    cx.block(&f.body);
    cx.out
}

/// The last product of a chain, in a block.
struct End {
    product: Value,
    /// The position of its statement.
    begun: usize,
    /// The position of the statement after which it is waited for.
    waited: usize,
    /// The position of its assignment.
    assigned: Option<(usize, Var)>,
}

struct Plan<'a> {
    f: &'a Func,
    p: &'a Pipeline,
    release: &'a HashMap<StmtId, Vec<usize>>,
    uses: TileUses,
    out: WgmmaWaits,
}

impl Plan<'_> {
    fn block(&mut self, stmts: &[Stmt]) {
        let ends = self.ends(stmts);
        let going_on = |n: usize| ends[n].waited > ends[n].begun || ends[..n].iter().any(|e| e.waited >= ends[n].begun);
        let deferred: Vec<usize> = (0..ends.len()).filter(|&n| going_on(n)).collect();
        for &n in &deferred {
            let e = &ends[n];
            let later = ends[n + 1..].iter().filter(|l| l.begun <= e.waited).count()
                + usize::from(planted!("wgmma-wait-for-one-too-few"));
            let to = e.assigned.filter(|&(at, _)| at <= e.waited);
            self.out.deferred.insert(e.product);
            self.out.postponed.extend(to.map(|(at, _)| stmts[at].id));
            let step = Step::Wait { product: e.product, later, to: to.map(|(_, var)| var) };
            self.out.after.entry(stmts[e.waited].id).or_default().push(step);
        }
        for (i, s) in stmts.iter().enumerate() {
            for &operand_group in self.release.get(&s.id).into_iter().flatten() {
                let users = deferred.iter().map(|&n| &ends[n]).filter(|e| self.takes_from(e.product, operand_group));
                let at = users.map(|e| e.waited).filter(|_| !planted!("wgmma-release-before-wait")).fold(i, usize::max);
                self.out.after.entry(stmts[at].id).or_default().push(Step::Release(operand_group));
            }
            match &s.kind {
                StmtKind::If { then, other, .. } => {
                    self.block(then);
                    self.block(other);
                }
                StmtKind::For { body, .. } | StmtKind::Loop { body } => self.block(body),
                _ => {}
            }
        }
    }

    /// The products of a block, in the order in which they are waited for.
    fn ends(&self, stmts: &[Stmt]) -> Vec<End> {
        let deferred = |d: &Value| self.p.deferred_waits.values().any(|l| l.of.product == *d);
        let ends = stmts.iter().enumerate().filter_map(|(i, s)| {
            if let StmtKind::Let(d) = &s.kind {
                (self.p.dots.contains_key(d) && !self.p.chained.contains(d) && !deferred(d)).then_some((i, *d))
            } else {
                None
            }
        });
        let mut ends: Vec<End> = ends.map(|(i, d)| self.end(stmts, i, d)).collect();
        // Operands in registers must not be written while another product is in flight: `ptxas` would wait for each
        // instruction.
        for e in &mut ends {
            let later = (e.begun + 1..stmts.len())
                .filter(|&i| matches!(&stmts[i].kind, StmtKind::Let(d) if self.p.dots.contains_key(d)));
            let written = later.filter_map(|i| self.written(stmts, e.begun, i)).min();
            e.waited = e.waited.min(written.map_or(stmts.len(), |i| i - 1));
        }
        // Products end in the order in which they begin.
        for n in (1..ends.len()).rev() {
            ends[n - 1].waited = ends[n - 1].waited.min(ends[n].waited);
        }
        ends
    }

    fn end(&self, stmts: &[Stmt], begun: usize, product: Value) -> End {
        let f = self.f;
        let assigned = (begun + 1..stmts.len()).find_map(|i| {
            if let StmtKind::Assign(var, v) = stmts[i].kind { (v == product).then_some((i, var)) } else { None }
        });
        let touches = |s: &Stmt| match (&s.kind, assigned) {
            (StmtKind::Let(v), Some((_, var))) => matches!(f.op(*v), Op::ReadVar(of) if *of == var),
            (StmtKind::Assign(to, _), Some((_, var))) => *to == var,
            _ => false,
        };
        // A product whose left operand is the value of a variable is waited for before the next value of the variable
        // is computed: both have the same registers.
        let Op::Dot { a, .. } = *f.op(product) else { unreachable!("a dot") };
        let left = match f.op(behind(f, a)) {
            Op::ReadVar(var) if matches!(self.p.dots[&product].a, Operand::Registers) => Some(*var),
            _ => None,
        };
        let next = stmts[begun..].iter().find_map(|s| {
            if let StmtKind::Assign(var, v) = &s.kind { (Some(*var) == left).then(|| behind(f, *v)) } else { None }
        });
        let takes = |i: usize| {
            let s = &stmts[i];
            if next.is_some() && matches!(&s.kind, StmtKind::Let(v) if Some(*v) == next)
                || matches!(&s.kind, StmtKind::Assign(var, _) if Some(*var) == left)
            {
                return true;
            }
            let branches = matches!(
                &s.kind,
                StmtKind::If { .. }
                    | StmtKind::For { .. }
                    | StmtKind::Loop { .. }
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Return
            );
            // Before the assignment the variable has its previous value.
            let touched = assigned.is_some_and(|(at, _)| i > at) && touches(s);
            branches || touched || assigned.is_none_or(|(at, _)| at != i) && self.uses.by(f, s).any(|v| v == product)
        };
        let taker = (begun + 1..stmts.len()).find(|&i| takes(i)).unwrap_or(stmts.len());
        let meanwhile = stmts[begun + 1..taker].iter().any(|s| matches!(&s.kind, StmtKind::Let(v) if self.is_work(*v)));
        End { product, begun, waited: if meanwhile { (taker - 1).min(stmts.len() - 1) } else { begun }, assigned }
    }

    /// The first statement after `from` that writes an operand in registers.
    fn written(&self, stmts: &[Stmt], from: usize, product: usize) -> Option<usize> {
        let (f, StmtKind::Let(d)) = (self.f, &stmts[product].kind) else { unreachable!("a product") };
        let Op::Dot { a, acc, .. } = *f.op(*d) else { unreachable!("a dot") };
        let left = match self.p.dots[d].a {
            Operand::Registers => Some(a),
            o if o.through_registers(f.ty(a).dtype) => return Some(product),
            _ => None,
        };
        let by = |v: Value, s: &Stmt| match f.op(v) {
            Op::ReadVar(var) => matches!(&s.kind, StmtKind::Assign(to, _) if to == var),
            Op::Dot { .. } => false,
            _ => matches!(&s.kind, StmtKind::Let(w) if *w == v),
        };
        let writes = |v: Value| {
            let v = behind(f, v);
            match f.op(v) {
                _ if f.is_zeros(v) => None,
                // Their registers are written at the product itself.
                Op::Splat(_) | Op::Arange { .. } => Some(product),
                _ => (from + 1..product).find(|&i| by(v, &stmts[i])),
            }
        };
        left.into_iter().chain([acc]).filter_map(writes).min()
    }

    /// Whether a value takes time to compute. Index tiles and comparisons of them do not.
    fn is_work(&self, v: Value) -> bool {
        let (op, ty) = (self.f.op(v), self.f.ty(v));
        !ty.is_scalar()
            && !matches!(ty.dtype, DType::U64 | DType::Bool)
            && (op.is_elementwise() || op.crosses_threads() || matches!(op, Op::Dot { .. }))
    }

    /// Whether a product of the chain that ends with this one takes an operand from an operand group.
    fn takes_from(&self, product: Value, operand_group: usize) -> bool {
        let Op::Dot { acc, .. } = *self.f.op(product) else { unreachable!("a dot") };
        let p = self.p.dots[&product];
        let takes =
            [p.a, p.b].iter().any(|o| matches!(o, Operand::Buffer { operand_group: c, .. } if *c == operand_group));
        takes || self.p.chained.contains(&acc) && self.takes_from(acc, operand_group)
    }
}
