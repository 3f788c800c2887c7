//! Steps of a thread, and the program that they make.

use super::expr::{Expr, Stmt, Ty};
use super::function::Effect;
use super::name::Name;
use crate::ir::{Array, Guard};
use crate::plan::warp_specialized::TensorMap;

/// A step of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Statements of one line.
    Line(Vec<Stmt>),
    /// An access to global memory or to a shared array, for the barriers that keep a program's accesses to one array in
    /// order.
    Access {
        stmts: Vec<Stmt>,
        access: Access,
    },
    /// Threads exchange data: all run the first step, which stores, all wait, and so on to the last, which loads.
    /// [`Expr::Scratch`] is the buffer's offset.
    Scratch {
        bytes: usize,
        steps: Vec<Vec<Stmt>>,
        site: u32,
    },
    Barrier {
        site: u32,
    },
    If {
        cond: Expr,
        then: Vec<Node>,
        other: Vec<Node>,
    },
    Loop {
        body: Vec<Node>,
    },
    /// Names of its own.
    Block {
        body: Vec<Node>,
    },
    Break,
    Continue,
    Return,
}

impl Node {
    /// A shared array's elements become zero.
    pub fn clear(stmts: Vec<Stmt>, array: usize, site: u32) -> Node {
        let access = Access { array: Array::Shared(array), kind: AccessKind::Clear, key: (u32::MAX, 0), site };
        Node::Access { stmts, access }
    }

    /// An access to an array. Its kind is the effect of the call in it that accesses the array's memory.
    pub fn access(stmts: Vec<Stmt>, array: Array, key: (u32, u64), site: u32) -> Node {
        let of = |effect: Effect| match array {
            Array::Shared(_) => AccessKind::of_shared(effect),
            Array::Param(_) | Array::Pointees { .. } => AccessKind::of_global(effect),
        };
        let mut kind = None;
        stmts.iter().for_each(|s| {
            s.walk(&mut |e| {
                if let Expr::Call(c) = e {
                    kind = kind.or(of(c.effect()));
                }
            })
        });
        let kind = kind.expect("a call that reaches the array");
        Node::Access { stmts, access: Access { array, kind, key, site } }
    }

    /// A scratch buffer that threads store to, and then load from.
    pub(crate) fn exchange(bytes: usize, store: Stmt, load: Stmt, site: u32) -> Node {
        Node::Scratch { bytes, steps: vec![vec![store], vec![load]], site }
    }

    /// The loop's end, under a condition.
    pub(crate) fn break_if(cond: Expr) -> Node {
        Node::If { cond, then: vec![Node::Break], other: vec![] }
    }
}

impl From<Stmt> for Node {
    fn from(s: Stmt) -> Node {
        Node::Line(vec![s])
    }
}

impl From<Expr> for Node {
    fn from(e: Expr) -> Node {
        Node::Line(vec![Stmt::Expr(e)])
    }
}

/// The kind of an access. Two accesses of one kind need no order: the language gives stores to the same element none,
/// and updates are atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    Read,
    Write,
    /// An atomic that reads and writes.
    Update,
    /// A write of all elements, which comes before or after every other one.
    Clear,
}

impl AccessKind {
    fn of_global(effect: Effect) -> Option<AccessKind> {
        match effect {
            Effect::GlobalRead => Some(AccessKind::Read),
            Effect::GlobalWrite => Some(AccessKind::Write),
            Effect::GlobalUpdate => Some(AccessKind::Update),
            _ => None,
        }
    }

    fn of_shared(effect: Effect) -> Option<AccessKind> {
        match effect {
            Effect::SharedRead => Some(AccessKind::Read),
            Effect::SharedWrite => Some(AccessKind::Write),
            Effect::SharedUpdate => Some(AccessKind::Update),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    pub array: Array,
    pub kind: AccessKind,
    /// Accesses with equal keys reach the same element from the same thread.
    pub key: (u32, u64),
    pub site: u32,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Const {
    pub name: Name,
    pub value: ConstValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstValue {
    /// A `u32`.
    Word(usize),
    /// Numbers of this type.
    Table(Ty, Vec<u64>),
}

/// A lowered instance.
#[derive(Debug, Default)]
pub struct Lowered {
    /// By line.
    pub consts: Vec<Vec<Const>>,
    pub(crate) prologue: Vec<Stmt>,
    pub(crate) body: Vec<Node>,
    pub shared_bytes: usize,
    /// Those of them, from the first on, that are scratch buffers.
    pub(crate) scratch_bytes: usize,
    pub threads: u32,
    pub(crate) guards: Vec<Guard>,
    /// Tensor maps, called `map0, map1, ..` in the code.
    pub(crate) maps: Vec<TensorMap>,
    /// Shared memory for stores by tensor maps, beside that.
    pub(crate) staging: usize,
    /// Whether any access is wider than one element: else the variants do not differ.
    pub(crate) vectors: bool,
    /// Passes that changed the function and that its calls do not show, for [`features`](crate::features).
    pub(crate) passes: Vec<&'static str>,
}
