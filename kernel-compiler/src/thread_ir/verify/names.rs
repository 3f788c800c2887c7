//! Every name is defined once in a block, before its use, and a value of the kernel once on every way.

use crate::thread_ir::expr::{Body, Call, Closure, Expr, Generic, Scratch, Stmt};
use crate::thread_ir::function::{Device, Function};
use crate::thread_ir::name::{BufferPart, Name};
use crate::thread_ir::node::{Lowered, ThreadIr};
use std::collections::{HashMap, HashSet};

pub fn verify(lowered: &Lowered) -> Checked {
    let mut cx = Names { maps: lowered.maps.len(), ..Names::default() };
    for c in lowered.consts.iter().flatten() {
        if !cx.consts.insert(c.name) {
            return Err(format!("the constant `{}` is defined twice", c.name));
        }
    }
    cx.scoped(|cx| {
        cx.stmts(&lowered.prologue)?;
        cx.nodes(&lowered.body)
    })
}

/// The same of a function of the CPU.
pub(crate) fn verify_cpu(body: &[ThreadIr]) -> Checked {
    let given = [Name::Program, Name::ProgramId, Name::Grid, Name::Words, Name::Numbers];
    let mut cx = Names { consts: HashSet::from(given), ..Names::default() };
    cx.scoped(|cx| cx.nodes(body))
}

#[derive(Default)]
struct Names {
    maps: usize,
    /// The names that are defined outside of the function's body.
    consts: HashSet<Name>,
    /// The defined names, innermost block last, and whether each can be assigned to.
    scopes: Vec<HashMap<Name, bool>>,
    /// Loops around.
    loops: usize,
    /// Blocks around that copy for a later iteration: they have that iteration's values.
    blocks_ahead: usize,
}

type Checked = Result<(), String>;

impl Names {
    fn scoped(&mut self, inner: impl FnOnce(&mut Self) -> Checked) -> Checked {
        self.scopes.push(HashMap::new());
        let result = inner(self);
        self.scopes.pop();
        result
    }

    fn define(&mut self, name: Name, assignable: bool, again: bool) -> Checked {
        if matches!(name, Name::Tid | Name::Arg(_) | Name::Map(_)) || self.consts.contains(&name) {
            return Err(format!("`{name}` is defined, but stands for something already"));
        }
        let (here, around) = self.scopes.split_last_mut().expect("a block");
        // An inner block that defines a value of the kernel once more would hide the other one.
        let is_ahead = self.blocks_ahead > 0;
        if matches!(name, Name::Value(_)) && !again && !is_ahead && around.iter().any(|s| s.contains_key(&name)) {
            return Err(format!("`{name}` is defined in a block and around it"));
        }
        let before = here.insert(name, assignable);
        // Locals of a few lines may hide others, and a loop that takes a circular buffer after another has a state of
        // its own.
        let may_hide =
            matches!(name, Name::Local(_) | Name::CircularBuffer(BufferPart::Used | BufferPart::InFlight, _));
        if before.is_some() && !again && !may_hide {
            return Err(format!("`{name}` is defined twice in a block"));
        }
        Ok(())
    }

    fn find(&self, name: Name) -> Option<bool> {
        self.scopes.iter().rev().find_map(|s| s.get(&name)).copied()
    }

    fn use_of(&self, name: Name) -> Checked {
        let known = match name {
            Name::Tid | Name::Arg(_) => true,
            Name::Map(i) => i < self.maps,
            name => self.consts.contains(&name) || self.find(name).is_some(),
        };
        if known { Ok(()) } else { Err(format!("`{name}` is used, but not defined before")) }
    }

    fn assign(&self, name: Name) -> Checked {
        match self.find(name) {
            Some(true) => Ok(()),
            Some(false) => Err(format!("`{name}` is assigned to, but is no variable")),
            None => Err(format!("`{name}` is assigned to, but not defined before")),
        }
    }

    fn nodes(&mut self, nodes: &[ThreadIr]) -> Checked {
        let ahead = usize::from(nodes.first().is_some_and(is_of_later_iteration));
        self.blocks_ahead += ahead;
        nodes.iter().try_for_each(|n| self.node(n))?;
        self.blocks_ahead -= ahead;
        Ok(())
    }

    fn node(&mut self, n: &ThreadIr) -> Checked {
        match n {
            ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } => self.stmts(stmts),
            ThreadIr::Scratch { .. } => Err("a scratch buffer is left without its offset in shared memory".into()),
            ThreadIr::If { cond, then, other } => {
                self.expr(cond)?;
                self.scoped(|cx| cx.nodes(then))?;
                self.scoped(|cx| cx.nodes(other))
            }
            ThreadIr::Loop { body } => {
                self.loops += 1;
                self.scoped(|cx| cx.nodes(body))?;
                self.loops -= 1;
                Ok(())
            }
            ThreadIr::Block { body } => self.scoped(|cx| cx.nodes(body)),
            ThreadIr::Break | ThreadIr::Continue if self.loops == 0 => Err("a jump stands in no loop".into()),
            ThreadIr::Break | ThreadIr::Continue | ThreadIr::Return | ThreadIr::Barrier { .. } => Ok(()),
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Checked {
        stmts.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> Checked {
        match s {
            Stmt::Let { name, mutable, value, .. } => {
                if let Some(e) = value {
                    self.expr(e)?;
                }
                // Sums are the same name before the wait for them and after it.
                let again = value.as_ref().is_some_and(|e| waits_for(e, *name));
                self.define(*name, *mutable || value.is_none(), again)
            }
            Stmt::LetPair(names, values) => {
                values.iter().try_for_each(|e| self.expr(e))?;
                names.iter().try_for_each(|n| self.define(*n, false, false))
            }
            Stmt::Assign(name, e) | Stmt::Update(_, name, e) => {
                self.expr(e)?;
                self.assign(*name)
            }
            Stmt::Expr(e) => self.expr(e),
            Stmt::If { cond, then: body } | Stmt::While { cond, body } => {
                self.expr(cond)?;
                self.scoped(|cx| cx.stmts(body))
            }
        }
    }

    fn exprs<'e>(&mut self, all: impl IntoIterator<Item = &'e Expr>) -> Checked {
        all.into_iter().try_for_each(|e| self.expr(e))
    }

    fn expr(&mut self, e: &Expr) -> Checked {
        match e {
            Expr::Name(n) => self.use_of(*n),
            Expr::Register => Err("an expression for any register is used for none".into()),
            Expr::Scratch(Scratch::Unplaced) => Err("a scratch buffer has no offset".into()),
            Expr::Scratch(Scratch::Placed { .. }) | Expr::Literal(_) | Expr::Chain { .. } | Expr::Matrix { .. } => {
                Ok(())
            }
            Expr::Not(e) | Expr::Ref(e) | Expr::Cast(e, _) | Expr::Field(e, _) | Expr::Group(e) => self.expr(e),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => self.exprs([&**a, &**b]),
            Expr::Method(_, e, args) => {
                self.expr(e)?;
                self.exprs(args)
            }
            Expr::Call(c) => {
                let generics = c.generics.iter().filter_map(|g| if let Generic::Expr(e) = g { Some(e) } else { None });
                self.exprs(generics)?;
                self.exprs(&c.args)
            }
            Expr::Closure(c) => self.closure(c),
            Expr::Apply(c, args) => {
                self.closure(c)?;
                self.exprs(args)
            }
            Expr::If { cond, then, other } => {
                self.expr(cond)?;
                self.body(then)?;
                other.iter().try_for_each(|b| self.body(b))
            }
            Expr::Block(b) => self.body(b),
            Expr::Asm(a) => {
                self.exprs(a.operands.iter().map(|(_, _, e)| e))?;
                self.scoped(|cx| {
                    a.operands.iter().try_for_each(|(name, ..)| cx.define(*name, false, false))?;
                    cx.body(&a.meaning)
                })
            }
            Expr::Tuple(items) | Expr::Array(items) => self.exprs(items),
        }
    }

    fn closure(&mut self, c: &Closure) -> Checked {
        self.scoped(|cx| {
            c.params.iter().try_for_each(|p| cx.define(*p, false, false))?;
            cx.expr(&c.body)
        })
    }

    fn body(&mut self, b: &Body) -> Checked {
        self.scoped(|cx| {
            cx.stmts(&b.stmts)?;
            cx.expr(&b.value)
        })
    }
}

/// Whether a block begins with the number of a later iteration as the value of the loop's variable.
fn is_of_later_iteration(first: &ThreadIr) -> bool {
    let ThreadIr::Line(stmts) = first else { return false };
    matches!(stmts.first(), Some(Stmt::Let { value: Some(Expr::Name(Name::Ahead(_))), .. }))
}

/// Whether a value is that of a product's sums when they are done.
fn waits_for(e: &Expr, name: Name) -> bool {
    let Expr::Call(Call { function: Function::Device(Device::WgmmaDone), args, .. }) = e else { return false };
    matches!(args.first(), Some(Expr::Name(n)) if *n == name)
}
