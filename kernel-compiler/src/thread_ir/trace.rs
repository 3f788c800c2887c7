//! Marks around the steps of a program that a timeline of its warps shows, for `tile profile --trace`. The driver
//! inserts them where a trace is asked for; other code has none.
//!
//! An event begins and ends, or takes no time. It is a step that waits, orders or hands over: waits for mbarriers and
//! their release, products and waits for them, copies, barriers, stores and atomics. Loads have no marks: a load
//! returns at once, and the wait for it is where its first use is. A loop that polls an atomic is one event. So is an
//! iteration of a loop that has another loop with events in it, as the loop over the tiles of a persistent program.
//!
//! Equal steps that follow each other, with definitions of scalars between them at most, are one event. Events of a
//! warp nest: what is open where a thread leaves a loop or the program is closed there (see [`verify`](super::verify)).

mod steps;

use super::build::call;
use super::expr::{Expr, Stmt, Ty};
use super::function::{Device, Effect, Function};
use super::name::Name;
use super::node::{Lowered, ThreadIr};
use std::mem;
use steps::{Kind, Step, Steps};
use tilewright_types::{TraceLayout, TracePhase};

/// The event that the marks of one number stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The step, as in `wait full 0`.
    pub label: String,
    /// The line of the kernel; 0 where it is not known.
    pub line: u32,
    /// The unit of a mark's value, as in `stage`; none where it has no value.
    pub value: Option<&'static str>,
}

/// Inserts the marks, and gives the events by their numbers, from 1 on. `params` are the names of the parameters.
pub(crate) fn insert(lowered: &mut Lowered, params: &[String], layout: &TraceLayout) -> Vec<TraceEvent> {
    let steps = Steps { params, maps: &lowered.maps };
    let mut marks = Marks { steps, layout: *layout, events: vec![], around: vec![] };
    let mut body = marks.block(mem::take(&mut lowered.body));
    if !ends_in_jump(&body) {
        body.push(marks.end().into());
    }
    let begin = call!(Device::TraceBegin; [layout.blocks, layout.warps, layout.capacity, layout.listed];);
    let events = marks.events;
    lowered.prologue.insert(0, Stmt::variable(Name::Trace, Some(Ty::U64), Some(begin)));
    lowered.body = body;
    events
}

/// Whether a node has marks alone.
pub(super) fn is_marks(n: &ThreadIr) -> bool {
    let is_mark = |s: &Stmt| match s {
        Stmt::Assign(_, Expr::Call(c)) | Stmt::Expr(Expr::Call(c)) => c.effect() == Effect::Mark,
        _ => false,
    };
    matches!(n, ThreadIr::Line(stmts) if !stmts.is_empty() && stmts.iter().all(is_mark))
}

/// The events that are open around a step.
#[derive(Clone, Copy)]
enum Around {
    Event(u32),
    Loop,
}

struct Marks<'a> {
    steps: Steps<'a>,
    layout: TraceLayout,
    events: Vec<TraceEvent>,
    around: Vec<Around>,
}

/// A part of a block: a statement of a node, or a node as a whole, with its event.
struct Part {
    node: usize,
    step: Option<Step>,
    /// Whether it defines a scalar alone: that does not end an event.
    is_scalar: bool,
}

impl Marks<'_> {
    /// The nodes of a block with marks.
    fn block(&mut self, nodes: Vec<ThreadIr>) -> Vec<ThreadIr> {
        let parts: Vec<Part> = nodes.iter().enumerate().flat_map(|(i, n)| self.parts(i, n)).collect();
        // Of each part: the event that begins before it, and the one that ends after it.
        let mut runs: Vec<[Option<u32>; 2]> = vec![[None; 2]; parts.len()];
        let mut at = 0;
        while at < parts.len() {
            let Some(first) = &parts[at].step else {
                at += 1;
                continue;
            };
            let equal = |p: &Part| p.step.as_ref().is_some_and(|s| s.continues(first));
            let more = parts[at + 1..].iter().take_while(|p| equal(p) || p.is_scalar).count();
            let more = parts[at + 1..][..more].iter().rposition(equal).map_or(0, |last| last + 1);
            let end = at + 1 + more;
            let event = self.event(parts[at..end].iter().filter_map(|p| p.step.as_ref()));
            runs[at][0] = Some(event);
            runs[end - 1][1] = Some(event);
            at = end;
        }
        let mut runs = parts.into_iter().zip(runs).peekable();
        let mut out = vec![];
        for (i, n) in nodes.into_iter().enumerate() {
            let mut of_node = vec![];
            while let Some(of) = runs.next_if(|(part, _)| part.node == i) {
                of_node.push(of);
            }
            self.node(n, of_node, &mut out);
        }
        out
    }

    fn parts(&self, node: usize, n: &ThreadIr) -> Vec<Part> {
        let of = |s: &Stmt, array| {
            let step = self.steps.step(s, array);
            Part { node, is_scalar: step.is_none() && defines_scalar(s), step }
        };
        match n {
            ThreadIr::Line(stmts) => stmts.iter().map(|s| of(s, None)).collect(),
            ThreadIr::Access { stmts, access } => stmts.iter().map(|s| of(s, Some(access.array))).collect(),
            n => vec![Part { node, step: self.steps.step_of_node(n), is_scalar: false }],
        }
    }

    fn node(&mut self, n: ThreadIr, parts: Vec<(Part, [Option<u32>; 2])>, out: &mut Vec<ThreadIr>) {
        let whole = || parts.first().and_then(|(p, [begin, _])| Some(((*begin)?, p.step.as_ref()?)));
        match n {
            ThreadIr::Line(stmts) => out.push(ThreadIr::Line(self.stmts(stmts, &parts))),
            ThreadIr::Access { stmts, access } => {
                out.push(ThreadIr::Access { stmts: self.stmts(stmts, &parts), access });
            }
            ThreadIr::Barrier { .. } => {
                let (event, _) = whole().expect("a barrier is a step");
                out.extend([self.begin(event, None).into(), n, self.mark(event, TracePhase::End, None).into()]);
            }
            ThreadIr::Loop { body } => match whole() {
                // Nothing in it has marks, but for what leaves it.
                Some((event, _)) => {
                    out.push(self.begin(event, None).into());
                    self.around.extend([Around::Event(event), Around::Loop]);
                    let body = self.jumps(body);
                    self.around.truncate(self.around.len() - 2);
                    out.extend([ThreadIr::Loop { body }, self.mark(event, TracePhase::End, None).into()]);
                }
                None => out.push(self.looped(body)),
            },
            ThreadIr::If { cond, then, other } => {
                let (then, other) = (self.block(then), self.block(other));
                out.push(ThreadIr::If { cond, then, other });
            }
            ThreadIr::Block { body } => {
                let body = self.block(body);
                out.push(ThreadIr::Block { body });
            }
            ThreadIr::Break | ThreadIr::Continue | ThreadIr::Return => out.extend(self.jump(n)),
            ThreadIr::Scratch { .. } => unreachable!("scratch buffers have their places"),
        }
    }

    fn stmts(&self, stmts: Vec<Stmt>, parts: &[(Part, [Option<u32>; 2])]) -> Vec<Stmt> {
        let mut out = vec![];
        for (s, (part, [begin, end])) in stmts.into_iter().zip(parts) {
            if let (Some(event), Some(step)) = (begin, &part.step) {
                let value = step.value.as_ref().map(|(e, _)| e.clone());
                out.push(match step.kind.is_instant() {
                    true => self.mark(*event, TracePhase::Instant, value),
                    false => self.begin(*event, value),
                });
            }
            let is_instant = part.step.as_ref().is_some_and(|s| s.kind.is_instant());
            out.push(s);
            out.extend(end.filter(|_| !is_instant).map(|event| self.mark(event, TracePhase::End, None)));
        }
        out
    }

    /// A loop that is no event. Its iterations are events where a loop in it has some.
    fn looped(&mut self, body: Vec<ThreadIr>) -> ThreadIr {
        self.around.push(Around::Loop);
        let body = match self.has_marked_loop(&body) {
            true => self.iteration(body),
            false => self.block(body),
        };
        self.around.pop();
        ThreadIr::Loop { body }
    }

    /// The iteration begins behind the tests for the end of the loop, and behind the number of the iteration.
    fn iteration(&mut self, mut body: Vec<ThreadIr>) -> Vec<ThreadIr> {
        let tests = body.iter().take_while(|n| is_test(n)).count();
        let number = body.get(tests).and_then(iteration_number);
        let rest = body.split_off(tests + usize::from(number.is_some()));
        let value = number.map(|n| (Expr::from(n).cast(Ty::U32), "iteration"));
        let line = self.first_line(&rest);
        let step = Step { kind: Kind::Iteration, subject: None, value, line };
        let event = self.event([&step].into_iter());
        let mut out = self.block(body);
        out.push(self.begin(event, step.value.map(|(e, _)| e)).into());
        self.around.push(Around::Event(event));
        let rest = self.block(rest);
        let falls_through = !ends_in_jump(&rest);
        out.extend(rest);
        self.around.pop();
        out.extend(falls_through.then(|| self.mark(event, TracePhase::End, None).into()));
        out
    }

    /// The least line of the events in nodes; 0 without any.
    fn first_line(&self, nodes: &[ThreadIr]) -> u32 {
        let mut least = None;
        let mut see = |line: u32| least = [least, Some(line)].into_iter().flatten().filter(|l| *l > 0).min();
        let mut todo: Vec<&ThreadIr> = nodes.iter().collect();
        while let Some(n) = todo.pop() {
            self.parts(0, n).into_iter().filter_map(|p| p.step).for_each(|s| see(s.line));
            todo.extend(n.blocks().into_iter().flatten());
        }
        least.unwrap_or(0)
    }

    /// Whether a loop in these nodes has events, or is one.
    fn has_marked_loop(&self, nodes: &[ThreadIr]) -> bool {
        nodes.iter().any(|n| {
            let inner = n.blocks();
            let looped = matches!(n, ThreadIr::Loop { .. }) && (self.is_marked(n) || self.has_marks(inner[0]));
            looped || inner.into_iter().any(|b| self.has_marked_loop(b))
        })
    }

    fn has_marks(&self, nodes: &[ThreadIr]) -> bool {
        nodes.iter().any(|n| self.is_marked(n) || n.blocks().into_iter().any(|b| self.has_marks(b)))
    }

    fn is_marked(&self, n: &ThreadIr) -> bool {
        self.parts(0, n).iter().any(|p| p.step.is_some())
    }

    /// Nodes without marks of their own, but for jumps.
    fn jumps(&mut self, nodes: Vec<ThreadIr>) -> Vec<ThreadIr> {
        let mut out = vec![];
        for n in nodes {
            match n {
                ThreadIr::If { cond, then, other } => {
                    let (then, other) = (self.jumps(then), self.jumps(other));
                    out.push(ThreadIr::If { cond, then, other });
                }
                ThreadIr::Block { body } => {
                    let body = self.jumps(body);
                    out.push(ThreadIr::Block { body });
                }
                ThreadIr::Break | ThreadIr::Continue | ThreadIr::Return => out.extend(self.jump(n)),
                n => out.push(n),
            }
        }
        out
    }

    /// A jump, behind the ends of the events that it leaves.
    fn jump(&self, n: ThreadIr) -> Vec<ThreadIr> {
        let leaves_program = matches!(n, ThreadIr::Return);
        let left = self.around.iter().rev().take_while(|a| leaves_program || matches!(a, Around::Event(_)));
        let ends = left.filter_map(|a| match a {
            Around::Event(event) => Some(self.mark(*event, TracePhase::End, None)),
            Around::Loop => None,
        });
        let ends: Vec<Stmt> = ends.chain(leaves_program.then(|| self.end())).collect();
        let line = (!ends.is_empty()).then_some(ThreadIr::Line(ends));
        line.into_iter().chain([n]).collect()
    }

    /// The number of the event of equal steps.
    fn event<'s>(&mut self, mut steps: impl Iterator<Item = &'s Step>) -> u32 {
        let first = steps.next().expect("a step");
        let mut subjects: Vec<&str> = first.subject.iter().map(String::as_str).collect();
        for subject in steps.filter_map(|s| s.subject.as_deref()) {
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        let between = if subjects.is_empty() { "" } else { " " };
        let label = format!("{}{between}{}", first.kind.label(), subjects.join(", "));
        let event = TraceEvent { label, line: first.line, value: first.value.as_ref().map(|(_, of)| *of) };
        let known = self.events.iter().position(|e| *e == event);
        let index = known.unwrap_or_else(|| {
            self.events.push(event);
            self.events.len() - 1
        });
        index as u32 + 1
    }

    fn begin(&self, event: u32, value: Option<Expr>) -> Stmt {
        self.mark(event, TracePhase::Begin, value)
    }

    fn mark(&self, event: u32, phase: TracePhase, value: Option<Expr>) -> Stmt {
        let value = value.unwrap_or(0.into());
        let mark = call!(Device::Trace; [self.layout.capacity]; Name::Trace, phase.mark(event), value);
        Stmt::assign(Name::Trace, mark)
    }

    fn end(&self) -> Stmt {
        let TraceLayout { blocks, warps, capacity, listed } = self.layout;
        Stmt::Expr(call!(Device::TraceEnd; [blocks, warps, capacity, listed]; Name::Trace))
    }
}

/// Whether a statement defines a scalar and does nothing else.
fn defines_scalar(s: &Stmt) -> bool {
    let mut acts = false;
    s.walk(&mut |e| acts |= matches!(e, Expr::Call(c) if c.effect() != Effect::None) || matches!(e, Expr::Asm(_)));
    !acts && matches!(s, Stmt::Let { ty: Some(Ty::Scalar(_)), .. })
}

/// A test for the end of a loop, before an iteration.
fn is_test(n: &ThreadIr) -> bool {
    matches!(n, ThreadIr::If { then, other, .. } if matches!(then[..], [ThreadIr::Break]) && other.is_empty())
}

/// The number of the iteration that a line defines.
fn iteration_number(n: &ThreadIr) -> Option<Name> {
    let ThreadIr::Line(stmts) = n else { return None };
    match stmts.first()? {
        Stmt::Let { name: name @ Name::Value(_), value: Some(Expr::Name(Name::Next(_))), .. } => Some(*name),
        _ => None,
    }
}

/// Whether what follows nodes is not reached, as far as the last one says.
fn ends_in_jump(nodes: &[ThreadIr]) -> bool {
    matches!(nodes.last(), Some(ThreadIr::Break | ThreadIr::Continue | ThreadIr::Return))
}

/// A mark of an event, by its number and its phase; none of a call that is no mark of an event.
pub(super) fn of_event(call: &super::expr::Call) -> Option<(u32, TracePhase)> {
    use super::expr::Literal;
    match (call.function, call.args.get(1)) {
        (Function::Device(Device::Trace), Some(Expr::Literal(Literal::Int { value, .. }))) => {
            TracePhase::of(u32::try_from(*value).ok()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
