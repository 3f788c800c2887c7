//! Visits of thread-level code.

use super::expr::{Asm, Body, Call, Closure, Expr, Generic, Scratch, Stmt};
use super::node::{Const, ConstValue, Lowered, ThreadIr};

impl Expr {
    /// Calls `visit` with the expression and all in it, outer before inner.
    pub(crate) fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        match self {
            Expr::Name(_)
            | Expr::Literal(_)
            | Expr::Register
            | Expr::Scratch(_)
            | Expr::Chain { .. }
            | Expr::Matrix { .. } => {}
            Expr::Not(e) | Expr::Ref(e) | Expr::Cast(e, _) | Expr::Field(e, _) | Expr::Group(e) => e.walk(visit),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Expr::Method(_, e, args) => {
                e.walk(visit);
                args.iter().for_each(|a| a.walk(visit));
            }
            Expr::Call(c) => {
                for g in &c.generics {
                    if let Generic::Expr(e) = g {
                        e.walk(visit);
                    }
                }
                c.args.iter().for_each(|a| a.walk(visit));
            }
            Expr::Closure(c) => c.body.walk(visit),
            Expr::Apply(c, args) => {
                c.body.walk(visit);
                args.iter().for_each(|a| a.walk(visit));
            }
            Expr::If { cond, then, other } => {
                cond.walk(visit);
                then.walk(visit);
                other.iter().for_each(|b| b.walk(visit));
            }
            Expr::Block(b) => b.walk(visit),
            Expr::Asm(a) => {
                a.operands.iter().for_each(|(_, _, e)| e.walk(visit));
                a.meaning.walk(visit);
            }
            Expr::Tuple(items) | Expr::Array(items) => items.iter().for_each(|i| i.walk(visit)),
        }
    }

    /// The same expression for register `r`.
    pub(crate) fn at(&self, r: impl Into<Expr>) -> Expr {
        let r = r.into();
        self.mapped(&mut |e| matches!(e, Expr::Register).then(|| r.clone()))
    }

    /// A copy in which `with` replaces expressions. Those for which it returns none are copied.
    pub(crate) fn mapped(&self, with: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
        if let Some(e) = with(self) {
            return e;
        }
        let all = |items: &[Expr], with: &mut dyn FnMut(&Expr) -> Option<Expr>| {
            items.iter().map(|i| i.mapped(with)).collect::<Vec<_>>()
        };
        match self {
            Expr::Name(_)
            | Expr::Literal(_)
            | Expr::Register
            | Expr::Scratch(_)
            | Expr::Chain { .. }
            | Expr::Matrix { .. } => self.clone(),
            Expr::Not(e) => Expr::Not(Box::new(e.mapped(with))),
            Expr::Ref(e) => Expr::Ref(Box::new(e.mapped(with))),
            Expr::Cast(e, ty) => Expr::Cast(Box::new(e.mapped(with)), ty.clone()),
            Expr::Field(e, i) => Expr::Field(Box::new(e.mapped(with)), *i),
            Expr::Group(e) => Expr::Group(Box::new(e.mapped(with))),
            Expr::Binary(op, a, b) => Expr::Binary(*op, Box::new(a.mapped(with)), Box::new(b.mapped(with))),
            Expr::Index(a, b) => Expr::Index(Box::new(a.mapped(with)), Box::new(b.mapped(with))),
            Expr::Method(m, e, args) => Expr::Method(*m, Box::new(e.mapped(with)), all(args, with)),
            Expr::Call(c) => {
                let generic = |g: &Generic| match g {
                    Generic::Expr(e) => Generic::Expr(e.mapped(with)),
                    g => g.clone(),
                };
                let generics = c.generics.iter().map(generic).collect();
                Expr::Call(Call { function: c.function, generics, args: all(&c.args, with) })
            }
            Expr::Closure(c) => Expr::Closure(c.mapped(with)),
            Expr::Apply(c, args) => Expr::Apply(c.mapped(with), all(args, with)),
            Expr::If { cond, then, other } => Expr::If {
                cond: Box::new(cond.mapped(with)),
                then: then.mapped(with),
                other: other.as_ref().map(|b| b.mapped(with)),
            },
            Expr::Block(b) => Expr::Block(b.mapped(with)),
            Expr::Asm(a) => {
                let operands = a.operands.iter().map(|(name, t, e)| (*name, *t, e.mapped(with))).collect();
                Expr::Asm(Box::new(Asm { operands, meaning: a.meaning.mapped(with), ..(**a).clone() }))
            }
            Expr::Tuple(items) => Expr::Tuple(all(items, with)),
            Expr::Array(items) => Expr::Array(all(items, with)),
        }
    }
}

impl Closure {
    fn mapped(&self, with: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Closure {
        Closure { params: self.params.clone(), ty: self.ty.clone(), body: Box::new(self.body.mapped(with)) }
    }
}

impl Body {
    fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.stmts.iter().for_each(|s| s.walk(visit));
        self.value.walk(visit);
    }

    fn mapped(&self, with: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Body {
        let stmts = self.stmts.iter().map(|s| s.mapped(with)).collect();
        Body { stmts, value: Box::new(self.value.mapped(with)) }
    }
}

impl Stmt {
    /// Calls `visit` with all expressions in it.
    pub(crate) fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Stmt::Let { value, .. } => value.iter().for_each(|e| e.walk(visit)),
            Stmt::LetPair(_, values) => values.iter().for_each(|e| e.walk(visit)),
            Stmt::Assign(_, e) | Stmt::Update(_, _, e) | Stmt::Expr(e) => e.walk(visit),
            Stmt::If { cond, then: body } | Stmt::While { cond, body } => {
                cond.walk(visit);
                body.iter().for_each(|s| s.walk(visit));
            }
        }
    }

    pub(crate) fn mapped(&self, with: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Stmt {
        let all = |stmts: &[Stmt], with: &mut dyn FnMut(&Expr) -> Option<Expr>| {
            stmts.iter().map(|s| s.mapped(with)).collect::<Vec<_>>()
        };
        match self {
            Stmt::Let { name, mutable, ty, value } => Stmt::Let {
                name: *name,
                mutable: *mutable,
                ty: ty.clone(),
                value: value.as_ref().map(|e| e.mapped(with)),
            },
            Stmt::LetPair(names, values) => {
                let [a, b] = &**values;
                Stmt::LetPair(*names, Box::new([a.mapped(with), b.mapped(with)]))
            }
            Stmt::Assign(name, e) => Stmt::Assign(*name, e.mapped(with)),
            Stmt::Update(op, name, e) => Stmt::Update(*op, *name, e.mapped(with)),
            Stmt::Expr(e) => Stmt::Expr(e.mapped(with)),
            Stmt::If { cond, then } => Stmt::If { cond: cond.mapped(with), then: all(then, with) },
            Stmt::While { cond, body } => Stmt::While { cond: cond.mapped(with), body: all(body, with) },
        }
    }

    /// The same for a scratch buffer that has its offset.
    pub(crate) fn placed(&self, offset: usize, bytes: usize) -> Stmt {
        self.mapped(&mut |e| matches!(e, Expr::Scratch(_)).then_some(Expr::Scratch(Scratch::Placed { offset, bytes })))
    }
}

impl Expr {
    /// How many nodes it has.
    pub(crate) fn size(&self) -> usize {
        let mut nodes = 0;
        self.walk(&mut |_| nodes += 1);
        nodes
    }
}

impl ThreadIr {
    /// The blocks in it.
    pub(crate) fn blocks(&self) -> [&[ThreadIr]; 2] {
        match self {
            ThreadIr::If { then, other, .. } => [then, other],
            ThreadIr::Loop { body } | ThreadIr::Block { body } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// Its own expressions, without those of its blocks.
    pub(crate) fn walk_own<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } => stmts.iter().for_each(|s| s.walk(visit)),
            ThreadIr::Scratch { steps, .. } => steps.iter().flatten().for_each(|s| s.walk(visit)),
            ThreadIr::If { cond, .. } => cond.walk(visit),
            _ => {}
        }
    }
}

impl Lowered {
    /// Calls `visit` with all expressions of the program.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.prologue.iter().for_each(|s| s.walk(visit));
        exprs(&self.body, visit);
    }

    /// How many expressions, constants and numbers of tables the program has.
    pub(crate) fn size(&self) -> usize {
        let numbers = |c: &Const| if let ConstValue::Table(_, numbers) = &c.value { numbers.len() } else { 1 };
        let mut size = self.consts.iter().flatten().map(numbers).sum();
        self.walk(&mut |_| size += 1);
        size
    }

    /// Whether all threads of its block, or of a role, ever wait for each other at a [`ThreadIr::Barrier`].
    pub(crate) fn has_barriers(&self) -> bool {
        let mut found = false;
        walk(&self.body, &mut |n| found |= matches!(n, ThreadIr::Barrier { .. }));
        found
    }

    /// Whether the device library has other forms of a function that is called for other targets from sm_80 on.
    pub(crate) fn is_by_target(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e, Expr::Call(call) if call.is_by_target()));
        found
    }
}

/// A copy of nodes in which `with` replaces expressions. Those for which it returns none are copied.
pub(crate) fn mapped(nodes: &[ThreadIr], with: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Vec<ThreadIr> {
    let mut out = vec![];
    for n in nodes {
        let stmts = |stmts: &[Stmt], with: &mut dyn FnMut(&Expr) -> Option<Expr>| {
            stmts.iter().map(|s| s.mapped(with)).collect::<Vec<_>>()
        };
        out.push(match n {
            ThreadIr::Line(line) => ThreadIr::Line(stmts(line, with)),
            ThreadIr::Access { stmts: line, access } => {
                ThreadIr::Access { stmts: stmts(line, with), access: access.clone() }
            }
            ThreadIr::Scratch { bytes, steps, at, site } => {
                let steps = steps.iter().map(|step| stmts(step, with)).collect();
                ThreadIr::Scratch { bytes: *bytes, steps, at: *at, site: *site }
            }
            ThreadIr::If { cond, then, other } => {
                let cond = cond.mapped(with);
                ThreadIr::If { cond, then: mapped(then, with), other: mapped(other, with) }
            }
            ThreadIr::Loop { body } => ThreadIr::Loop { body: mapped(body, with) },
            ThreadIr::Block { body } => ThreadIr::Block { body: mapped(body, with) },
            ThreadIr::Barrier { .. } | ThreadIr::Break | ThreadIr::Continue | ThreadIr::Return => n.clone(),
        });
    }
    out
}

/// Calls `visit` with all expressions of nodes.
pub(crate) fn exprs<'e>(nodes: &'e [ThreadIr], visit: &mut dyn FnMut(&'e Expr)) {
    walk(nodes, &mut |n| n.walk_own(visit));
}

/// Calls `visit` with all nodes, outer before inner.
pub fn walk<'n>(nodes: &'n [ThreadIr], visit: &mut dyn FnMut(&'n ThreadIr)) {
    for n in nodes {
        visit(n);
        n.blocks().into_iter().for_each(|b| walk(b, visit));
    }
}

/// Replaces each node, from the innermost on, with the nodes that `with` makes of it.
pub(crate) fn rewritten(nodes: Vec<ThreadIr>, with: &mut dyn FnMut(ThreadIr) -> Vec<ThreadIr>) -> Vec<ThreadIr> {
    let mut out = vec![];
    for n in nodes {
        let n = match n {
            ThreadIr::If { cond, then, other } => {
                ThreadIr::If { cond, then: rewritten(then, with), other: rewritten(other, with) }
            }
            ThreadIr::Loop { body } => ThreadIr::Loop { body: rewritten(body, with) },
            ThreadIr::Block { body } => ThreadIr::Block { body: rewritten(body, with) },
            n => n,
        };
        out.extend(with(n));
    }
    out
}
