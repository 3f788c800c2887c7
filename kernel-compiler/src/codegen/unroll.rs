//! Loops over a range, unrolled where the kernel says so.
//!
//! An iteration adds the step before its body, so that `continue` needs no code: `i` is the number of the next
//! iteration. The forms of a loop differ in the places of the tests for its end, and run the same iterations. So the
//! producer and the consumers of a warp-specialized program may have different forms and still agree on every copy.

use crate::codegen::context::Codegen;
use crate::codegen::role::Role;
use crate::dtype::unsigned;
use crate::ir::{self, StmtKind};
use crate::plan::unroll::Unroll;
use crate::thread_ir::{Elements, Expr, Method, Name, Stmt, ThreadIr, Ty, next_number, walk::rewritten};

impl Codegen<'_> {
    /// Lowers the loop `s`. `inner` lowers an iteration, and is called once for each unrolled copy.
    pub(super) fn unroll(&mut self, s: &ir::Stmt, inner: impl Fn(&mut Self)) {
        let StmtKind::For { iv, lo, hi, step, .. } = &s.kind else { unreachable!("a loop over a range") };
        let (f, i, dtype) = (self.f, Name::Next(*iv), self.f.ty(*iv).dtype);
        self.line(Stmt::variable(i, Some(dtype.into()), Some((*lo).into())));
        let head = vec![Stmt::define(*iv, dtype.into(), i), Stmt::assign(i, next_number(f, i, *hi, *step))];
        let iteration = |cx: &mut Self| {
            cx.nested(|cx| {
                cx.lines(head.clone());
                inner(cx);
            })
        };
        let done = ThreadIr::break_if(Expr::from(i).not_less(*hi));
        let one_by_one = |body: Vec<ThreadIr>| ThreadIr::Loop { body: [vec![done.clone()], body].concat() };
        let form = self.plan.form_of_loop(s.id, matches!(self.role, Role::Producer(_)));
        let n = match form {
            Unroll::OneByOne => {
                let body = iteration(self);
                return self.node(one_by_one(body));
            }
            Unroll::Whole { iterations } | Unroll::Rounds { iterations, .. } => iterations,
        };
        let all = matches!(form, Unroll::Whole { .. });
        let copies: Vec<Vec<ThreadIr>> = (0..n).map(|c| apart(iteration(self), c as u64)).collect();
        let any = |jump: Jump| copies.iter().any(|c| jumps(c, jump));
        let (breaks, continues) = (any(Jump::Break), any(Jump::Continue));
        // After a `break` there is no next iteration.
        let none = match planted!("unroll-goes-on-after-break") {
            true => ThreadIr::Line(vec![]),
            false => ThreadIr::from(Stmt::assign(i, *hi)),
        };
        let place = |body: Vec<ThreadIr>| {
            if continues {
                ThreadIr::Loop { body: [once(body, &none), vec![ThreadIr::Break]].concat() }
            } else {
                ThreadIr::Block { body }
            }
        };
        if breaks {
            let end = all.then_some(ThreadIr::Break);
            let body = copies.into_iter().flat_map(|c| [done.clone(), place(c)]).chain(end).collect();
            return self.node(ThreadIr::Loop { body });
        }
        if all {
            return copies.into_iter().for_each(|c| self.node(place(c)));
        }
        // A round runs as long as its last iteration is one of the loop. The remaining iterations run one by one.
        let unsigned = Ty::from(unsigned(dtype));
        let n = n - usize::from(planted!("unroll-one-iteration-too-many"));
        let (reach, hi) = (Name::Reach(*iv), || Expr::from(*hi));
        let times = if planted!("unroll-reach-wraps") { Method::WrappingMul } else { Method::SaturatingMul };
        let furthest = Expr::from(*step).cast(unsigned.clone()).group().method(times, n - 1);
        self.line(Stmt::bind(reach, furthest));
        let left = hi().cast(unsigned.clone()).group().method(Method::WrappingSub, Expr::from(i).cast(unsigned));
        let whole = Expr::from(i).less(hi()).and_then(left.greater(reach));
        let short = ThreadIr::break_if(!whole.group());
        self.node(ThreadIr::Loop { body: [short].into_iter().chain(copies.into_iter().map(place)).collect() });
        if matches!(form, Unroll::Rounds { rest: true, .. }) && !planted!("unroll-drops-the-rest") {
            let body = iteration(self);
            self.node(one_by_one(body));
        }
    }
}

/// Tells the accesses of a copy from those of the other copies, which reach other elements.
fn apart(nodes: Vec<ThreadIr>, copy: u64) -> Vec<ThreadIr> {
    let copy = if planted!("unroll-copies-share-keys") { 0 } else { copy };
    rewritten(nodes, &mut |mut n| {
        if let ThreadIr::Access { access, .. } = &mut n
            && let Some(Elements { threads, .. }) = &mut access.elements
        {
            // The factor is odd and large, so that copies of copies are told apart too.
            *threads = threads.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(copy);
        }
        vec![n]
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Jump {
    Break,
    Continue,
}

/// Whether nodes leave the loop around them, or its iteration.
fn jumps(nodes: &[ThreadIr], jump: Jump) -> bool {
    nodes.iter().any(|n| match n {
        ThreadIr::Break => jump == Jump::Break,
        ThreadIr::Continue => jump == Jump::Continue,
        ThreadIr::If { then, other, .. } => jumps(then, jump) || jumps(other, jump),
        ThreadIr::Block { body } => jumps(body, jump),
        _ => false,
    })
}

/// An iteration in a loop of its own, so that `continue` and `break` lead to the next copy; before a `break`, `none`
/// makes sure that no further iteration runs.
fn once(nodes: Vec<ThreadIr>, none: &ThreadIr) -> Vec<ThreadIr> {
    let each = |n: ThreadIr| match n {
        ThreadIr::Break => vec![none.clone(), ThreadIr::Break],
        ThreadIr::Continue => vec![ThreadIr::Break],
        ThreadIr::If { cond, then, other } => {
            vec![ThreadIr::If { cond, then: once(then, none), other: once(other, none) }]
        }
        ThreadIr::Block { body } => vec![ThreadIr::Block { body: once(body, none) }],
        n => vec![n],
    };
    nodes.into_iter().flat_map(each).collect()
}
