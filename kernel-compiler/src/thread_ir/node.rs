//! Steps of a thread, and the program that they make.

use super::expr::{Expr, Stmt, Ty};
use super::function::Effect;
use super::name::Name;
use crate::ir::{Array, Guard, StmtId};
use crate::plan::access_order::{Access, AccessKind, Elements};
use crate::plan::warp_specialized::TensorMap;

/// A step of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ThreadIr {
    /// Statements of one line.
    Line(Vec<Stmt>),
    /// An access to global memory or to a shared array, for the barriers that keep a program's accesses to one array in
    /// order.
    Access {
        /// The statements of the line, with one call that accesses the array.
        stmts: Vec<Stmt>,
        /// The array and the kind of the access.
        access: Access,
    },
    /// Threads exchange data: all run the first step, which stores, all wait, and so on to the last, which loads.
    /// [`Expr::Scratch`] is the buffer's offset.
    Scratch {
        /// The size of the buffer.
        bytes: usize,
        /// The statements between barriers.
        steps: Vec<Vec<Stmt>>,
        /// The statement of the kernel that it is for, or before which it stands.
        at: StmtId,
        /// The line of the kernel that the barriers report; 0 without sites.
        site: u32,
    },
    /// A barrier of all threads of the program, or of a role of a warp-specialized one.
    Barrier {
        /// The line of the kernel that it reports; 0 without sites.
        site: u32,
    },
    /// A branch: of the kernel, at the end of a loop, or between the roles of a warp-specialized program.
    If {
        /// A `bool`.
        cond: Expr,
        /// The steps for true.
        then: Vec<ThreadIr>,
        /// The steps for false.
        other: Vec<ThreadIr>,
    },
    /// A loop that ends at a `Break` or a `Return` alone.
    Loop {
        /// The steps of an iteration.
        body: Vec<ThreadIr>,
    },
    /// Braces around steps.
    Block {
        /// The steps. Names that they define are unknown after the block.
        body: Vec<ThreadIr>,
    },
    /// The end of the innermost loop.
    Break,
    /// The end of an iteration of the innermost loop.
    Continue,
    /// The end of the program for this thread.
    Return,
}

impl ThreadIr {
    /// A shared array's elements become zero.
    pub fn clear(stmts: Vec<Stmt>, array: usize, site: u32) -> ThreadIr {
        let array = Array::Shared(array);
        let access = Access { array, memory: array, kind: AccessKind::Clear, elements: None, at: StmtId::NONE, site };
        ThreadIr::Access { stmts, access }
    }

    /// An access to an array, which lies in a memory ([`Access::memory`]). Its kind is the effect of the call in it
    /// that accesses the array's memory.
    pub fn access(stmts: Vec<Stmt>, [array, memory]: [Array; 2], elements: Option<Elements>, site: u32) -> ThreadIr {
        let of = |effect: Effect| match array {
            Array::Shared(_) => kind_of_shared(effect),
            Array::Param(_) | Array::Pointees { .. } => kind_of_global(effect),
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
        ThreadIr::Access { stmts, access: Access { array, memory, kind, elements, at: StmtId::NONE, site } }
    }

    /// A scratch buffer that threads store to, and then load from.
    pub(crate) fn exchange(bytes: usize, store: Stmt, load: Stmt, site: u32) -> ThreadIr {
        ThreadIr::Scratch { bytes, steps: vec![vec![store], vec![load]], at: StmtId::NONE, site }
    }

    /// An exchange or an access of this statement; any other node as it is.
    pub(crate) fn of_statement(mut self, s: StmtId) -> ThreadIr {
        match &mut self {
            ThreadIr::Scratch { at, .. } | ThreadIr::Access { access: Access { at, .. }, .. } => *at = s,
            _ => {}
        }
        self
    }

    /// The loop's end, under a condition.
    pub(crate) fn break_if(cond: Expr) -> ThreadIr {
        ThreadIr::If { cond, then: vec![ThreadIr::Break], other: vec![] }
    }
}

impl From<Stmt> for ThreadIr {
    fn from(s: Stmt) -> ThreadIr {
        ThreadIr::Line(vec![s])
    }
}

impl From<Expr> for ThreadIr {
    fn from(e: Expr) -> ThreadIr {
        ThreadIr::Line(vec![Stmt::Expr(e)])
    }
}

/// The kind of an access to global memory.
fn kind_of_global(effect: Effect) -> Option<AccessKind> {
    match effect {
        Effect::GlobalRead => Some(AccessKind::Read),
        Effect::GlobalWrite => Some(AccessKind::Write),
        Effect::GlobalUpdate => Some(AccessKind::Update),
        _ => None,
    }
}

/// The kind of an access to a shared array.
fn kind_of_shared(effect: Effect) -> Option<AccessKind> {
    match effect {
        Effect::SharedRead => Some(AccessKind::Read),
        Effect::SharedWrite => Some(AccessKind::Write),
        Effect::SharedUpdate => Some(AccessKind::Update),
        _ => None,
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Const {
    /// Its name, which no other constant of the program has.
    pub name: Name,
    /// Its type and value.
    pub value: ConstValue,
}

/// The value of a constant.
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
    /// The constants, by line of the text.
    pub consts: Vec<Vec<Const>>,
    /// The statements before the body: parts of layouts, and variables of the kernel.
    pub(crate) prologue: Vec<Stmt>,
    /// The steps that every thread of a block runs.
    pub(crate) body: Vec<ThreadIr>,
    /// Bytes of dynamic shared memory of a thread block.
    pub shared_bytes: usize,
    /// The first of these bytes: shared arrays, then scratch buffers.
    pub(crate) scratch_bytes: usize,
    /// The bytes of the shared arrays among them.
    pub(crate) array_bytes: usize,
    /// Threads of a thread block, those of a producer among them.
    pub threads: u32,
    /// Conditions on argument words that the launcher checks before it takes the variant.
    pub(crate) guards: Vec<Guard>,
    /// Tensor maps, which the code calls `map0`, `map1` and so on.
    pub(crate) maps: Vec<TensorMap>,
    /// Bytes of the matrices in shared memory that hold computed operands, by number.
    pub(crate) matrices: Vec<usize>,
    /// Bytes of shared memory that stores by tensor maps go through.
    pub(crate) staging: usize,
    /// Whether any access is wider than one element: else the variants do not differ.
    pub(crate) vectors: bool,
    /// Passes that changed the function and that its calls do not show, for [`features`](crate::features).
    pub(crate) passes: Vec<&'static str>,
}

impl Lowered {
    /// Whether it runs wherever its arguments lie.
    pub(crate) fn takes_any_arguments(&self) -> bool {
        self.guards.is_empty() && self.maps.is_empty()
    }
}
