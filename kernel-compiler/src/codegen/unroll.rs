//! Loops over a range: in rounds of one iteration, or of several where the kernel asks for them.
//!
//! An iteration takes its step before its body, so that `continue` needs nothing: `i` is that of the next one. The ways differ in
//! where it is asked whether there is a next one, and not in which iterations there are: the two roles of a specialised
//! program may go different ways and still meet in every copy.

use crate::codegen::context::Codegen;
use crate::codegen::role::Role;
use crate::codegen::text::scalar;
use crate::codegen::thread_ir::ThreadIr;
use crate::ir::{Func, Op, Stmt, StmtKind, Value};

impl Codegen<'_> {
    /// The loop `s`, of which `inner` lowers an iteration, as often as it is laid out.
    pub(super) fn unroll(&mut self, s: &Stmt, inner: impl Fn(&mut Self)) {
        let StmtKind::For { iv, lo, hi, step, options, .. } = &s.kind else { unreachable!("a loop over a range") };
        let (f, i, ty) = (self.f, format!("i{}", iv.0), self.f.ty(*iv).dtype.rust());
        self.line(format!("let mut {i}: {ty} = {};", scalar(*lo)));
        let head = format!("let {}: {ty} = {i}; {i} = s::add({i}, {});", scalar(*iv), scalar(*step));
        let iteration = |cx: &mut Self| {
            cx.nested(|cx| {
                cx.line(head.clone());
                inner(cx);
            })
        };
        // A node, not text: what a round leaves behind is there after the loop.
        let done = ThreadIr::If { cond: format!("{i} >= {}", scalar(*hi)), then: vec![ThreadIr::Break], other: vec![] };
        let one_by_one = |body: Vec<ThreadIr>| ThreadIr::Loop { body: [vec![done.clone()], body].concat() };
        // The producer's iterations are a few scalars and copies: a row of them gains nothing.
        let n = if let Role::Producer(_) = self.role { 1 } else { options.unroll.max(1) as usize };
        if n == 1 {
            let body = iteration(self);
            return self.node(one_by_one(body));
        }
        let trips = trips(f, *lo, *hi, *step);
        let all = trips.is_some_and(|t| t <= n as i128);
        let copies = if all { trips.expect("known") as usize } else { n };
        let copies: Vec<Vec<ThreadIr>> = (0..copies).map(|c| apart(iteration(self), c as u64)).collect();
        let any = |jump: Jump| copies.iter().any(|c| jumps(c, jump));
        let (breaks, continues) = (any(Jump::Break), any(Jump::Continue));
        // After a `break` there is no next iteration.
        let none = format!("{i} = {};", scalar(*hi));
        let none = if planted!("unroll-goes-on-after-break") { String::new() } else { none };
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
        // Rounds for as long as their last iteration is one of the loop's; the rest goes one by one.
        let (unsigned, reach) = (ty.replace('i', "u"), format!("reach{}", iv.0));
        let n = n - usize::from(planted!("unroll-one-iteration-too-many"));
        self.line(format!("let {reach} = ({} as {unsigned}).saturating_mul({});", scalar(*step), n - 1));
        let whole =
            format!("{i} < {hi} && ({hi} as {unsigned}).wrapping_sub({i} as {unsigned}) > {reach}", hi = scalar(*hi));
        let short = ThreadIr::If { cond: format!("!({whole})"), then: vec![ThreadIr::Break], other: vec![] };
        self.node(ThreadIr::Loop { body: [short].into_iter().chain(copies.into_iter().map(place)).collect() });
        if trips.is_none_or(|t| t % n as i128 != 0) && !planted!("unroll-drops-the-rest") {
            let body = iteration(self);
            self.node(one_by_one(body));
        }
    }
}

/// How many iterations there are, where that is known.
fn trips(f: &Func, lo: Value, hi: Value, step: Value) -> Option<i128> {
    let (Op::Int(lo), Op::Int(hi), Op::Int(step), dtype) = (f.op(lo), f.op(hi), f.op(step), f.ty(lo).dtype) else {
        return None;
    };
    if lo >= hi {
        return Some(0);
    }
    let n = (*step > 0).then(|| (hi - lo + step - 1) / step)?;
    // Where the last step wraps, the loop goes on.
    dtype.holds(lo + n * step).then_some(n)
}

/// A copy's accesses reach other elements than those of other copies.
fn apart(nodes: Vec<ThreadIr>, copy: u64) -> Vec<ThreadIr> {
    let copy = if planted!("unroll-copies-share-keys") { 0 } else { copy };
    let each = |n: ThreadIr| match n {
        ThreadIr::Access { text, mut access } => {
            // Odd and large: copies of copies have keys of their own too.
            access.key.1 = access.key.1.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(copy);
            ThreadIr::Access { text, access }
        }
        ThreadIr::If { cond, then, other } => ThreadIr::If { cond, then: apart(then, copy), other: apart(other, copy) },
        ThreadIr::Loop { body } => ThreadIr::Loop { body: apart(body, copy) },
        ThreadIr::Block { body } => ThreadIr::Block { body: apart(body, copy) },
        n => n,
    };
    nodes.into_iter().map(each).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Jump {
    Break,
    Continue,
}

/// Whether nodes leave the loop that they stand in, or its iteration.
fn jumps(nodes: &[ThreadIr], jump: Jump) -> bool {
    nodes.iter().any(|n| match n {
        ThreadIr::Break => jump == Jump::Break,
        ThreadIr::Continue => jump == Jump::Continue,
        ThreadIr::If { then, other, .. } => jumps(then, jump) || jumps(other, jump),
        ThreadIr::Block { body } => jumps(body, jump),
        _ => false,
    })
}

/// An iteration in a loop of its own, where both ways out lead to the next one; before `break`, `none` leaves none.
fn once(nodes: Vec<ThreadIr>, none: &str) -> Vec<ThreadIr> {
    let each = |n: ThreadIr| match n {
        ThreadIr::Break => vec![ThreadIr::Line(none.into()), ThreadIr::Break],
        ThreadIr::Continue => vec![ThreadIr::Break],
        ThreadIr::If { cond, then, other } => {
            vec![ThreadIr::If { cond, then: once(then, none), other: once(other, none) }]
        }
        ThreadIr::Block { body } => vec![ThreadIr::Block { body: once(body, none) }],
        n => vec![n],
    };
    nodes.into_iter().flat_map(each).collect()
}
