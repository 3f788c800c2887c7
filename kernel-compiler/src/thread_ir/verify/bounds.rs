//! Upper bounds of offsets in shared memory.

use crate::thread_ir::expr::{BinaryOp, Call, Expr, Literal, Scratch, Stmt};
use crate::thread_ir::function::{Device, Function};
use crate::thread_ir::name::{BufferPart, Name};
use crate::thread_ir::node::{ConstValue, Lowered, ThreadIr};
use crate::thread_ir::walk::walk;
use std::collections::{HashMap, HashSet};

/// The greatest number that an expression may be, and the bits that it may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Upper {
    pub most: u64,
    bits: u64,
}

impl Upper {
    fn exactly(n: u64) -> Upper {
        Upper { most: n, bits: n }
    }

    fn up_to(most: u64) -> Upper {
        Upper { most, bits: most.checked_ilog2().map_or(0, |top| u64::MAX >> (63 - top)) }
    }

    /// Of one of these numbers.
    fn any_of(numbers: &[u64]) -> Upper {
        Upper { most: numbers.iter().copied().max().unwrap_or(0), bits: numbers.iter().fold(0, |all, n| all | n) }
    }

    fn of_bits(bits: u64, most: u64) -> Upper {
        Upper { most: most.min(bits), bits }
    }
}

/// The known bounds of names.
pub struct Bounds {
    names: HashMap<Name, Upper>,
    /// Temporaries that have several definitions, one of them without a bound.
    unknown: HashSet<Name>,
}

impl Bounds {
    /// Those of a program's tables, of its threads' parts of layouts and of temporaries, for the first `threads`.
    pub fn new(lowered: &Lowered, threads: u32) -> Bounds {
        let mut out = Bounds { names: HashMap::new(), unknown: HashSet::new() };
        out.names.insert(Name::Tid, Upper::up_to(u64::from(threads.saturating_sub(1))));
        for c in lowered.consts.iter().flatten() {
            let upper = match &c.value {
                ConstValue::Word(n) => Upper::exactly(*n as u64),
                ConstValue::Table(_, numbers) => Upper::any_of(numbers),
            };
            out.names.insert(c.name, upper);
        }
        // The offset in a stage counts, wherever the stage begins.
        for c in lowered.consts.iter().flatten() {
            if let Name::CircularBuffer(BufferPart::Start, i) = c.name {
                for part in [BufferPart::Read, BufferPart::Write] {
                    out.names.insert(Name::CircularBuffer(part, i), Upper::exactly(0));
                }
            }
        }
        lowered.prologue.iter().for_each(|s| out.note(s));
        walk(&lowered.body, &mut |n| {
            if let ThreadIr::Line(stmts) = n {
                stmts.iter().for_each(|s| out.note(s));
            }
        });
        out
    }

    /// Roles may have different parts of one name.
    fn note(&mut self, s: &Stmt) {
        let Stmt::Let { name: name @ (Name::ThreadPart(_) | Name::Temporary(_)), value, mutable, .. } = s else {
            return;
        };
        match value.as_ref().filter(|_| !mutable).and_then(|e| self.of(e)) {
            Some(upper) if !self.unknown.contains(name) => {
                let before = self.names.get(name).copied().unwrap_or(Upper::exactly(0));
                let either = Upper { most: upper.most.max(before.most), bits: upper.bits | before.bits };
                self.names.insert(*name, either);
            }
            Some(_) => {}
            None => {
                self.unknown.insert(*name);
                self.names.remove(name);
            }
        }
    }

    /// Of an offset; a scratch buffer begins at zero. None where an operand is not known.
    pub fn of(&self, e: &Expr) -> Option<Upper> {
        match e {
            Expr::Scratch(Scratch::Placed { .. }) => Some(Upper::exactly(0)),
            Expr::Literal(Literal::Int { value, .. }) => Some(Upper::exactly(u64::try_from(*value).ok()?)),
            Expr::Name(n) => self.names.get(n).copied(),
            Expr::Group(e) => self.of(e),
            Expr::Call(Call { function: Function::Device(Device::OpaqueWord), args, .. }) => self.of(args.first()?),
            // An element of a table.
            Expr::Index(of, _) => match **of {
                Expr::Name(table @ Name::Table(_)) => self.names.get(&table).copied(),
                _ => None,
            },
            Expr::Binary(op, a, b) => match (op, &**b) {
                (BinaryOp::And, Expr::Literal(Literal::Int { value, .. })) if self.of(a).is_none() => {
                    let n = u64::try_from(*value).ok()?;
                    Some(Upper::of_bits(n, n))
                }
                (op, Expr::Literal(Literal::Int { value, .. })) => {
                    by_constant(*op, self.of(a)?, u64::try_from(*value).ok()?)
                }
                _ => binary(*op, self.of(a)?, self.of(b)?),
            },
            _ => None,
        }
    }
}

fn by_constant(op: BinaryOp, a: Upper, n: u64) -> Option<Upper> {
    match op {
        BinaryOp::Mul if n.is_power_of_two() => Some(Upper { most: a.most * n, bits: a.bits * n }),
        // A bit that goes to several places.
        BinaryOp::Mul if a.bits == 1 => Some(Upper::exactly(n)),
        BinaryOp::Shl => Some(Upper { most: a.most << n, bits: a.bits << n }),
        BinaryOp::Shr => Some(Upper { most: a.most >> n, bits: a.bits >> n }),
        op => binary(op, a, Upper::exactly(n)),
    }
}

fn binary(op: BinaryOp, a: Upper, b: Upper) -> Option<Upper> {
    match op {
        BinaryOp::Add if a.bits & b.bits == 0 => Some(Upper { most: a.most + b.most, bits: a.bits | b.bits }),
        BinaryOp::Add => Some(Upper::up_to(a.most + b.most)),
        BinaryOp::Mul => Some(Upper::up_to(a.most * b.most)),
        BinaryOp::And => Some(Upper::of_bits(a.bits & b.bits, a.most.min(b.most))),
        BinaryOp::Xor | BinaryOp::Or => Some(Upper::of_bits(a.bits | b.bits, a.most + b.most)),
        _ => None,
    }
}
