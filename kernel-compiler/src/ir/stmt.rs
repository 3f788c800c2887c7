//! Statements.

use crate::ir::memory::{Address, BlockPointer, Hint};
use crate::ir::value::{Value, Var};
use proc_macro2::Span;
use std::fmt;

/// Statements that run one after another.
pub type Block = Vec<Stmt>;

/// A statement's place in the order of its function. Plans of later phases are keyed by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

impl StmtId {
    /// A statement of a function that is being changed: [`Func::number`](crate::ir::Func::number) gives it an id.
    pub(crate) const NONE: StmtId = StmtId(u32::MAX);
}

impl fmt::Debug for StmtId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub id: StmtId,
    pub kind: StmtKind,
}

impl From<StmtKind> for Stmt {
    fn from(kind: StmtKind) -> Stmt {
        Stmt { id: StmtId::NONE, kind }
    }
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Compute a value here.
    Let(Value),
    Assign(Var, Value),
    /// `block_pointer` as in [`Op::Load`](crate::ir::Op::Load).
    Store {
        place: Address,
        value: Value,
        mask: Option<Value>,
        hint: Hint,
        block_pointer: Option<BlockPointer>,
        span: Span,
    },
    /// All elements of a shared array become zero.
    Clear {
        array: usize,
        span: Span,
    },
    If {
        cond: Value,
        then: Vec<Stmt>,
        other: Vec<Stmt>,
    },
    For {
        iv: Value,
        lo: Value,
        hi: Value,
        step: Value,
        body: Vec<Stmt>,
        options: LoopOptions,
    },
    Loop {
        body: Vec<Stmt>,
    },
    Break,
    Continue,
    Return,
    Assert {
        cond: Value,
        message: String,
        span: Span,
    },
    Print {
        message: String,
        value: Value,
        /// The whole tile under its name, on the emulated SM: a breakpoint.
        watch: bool,
        span: Span,
    },
}

/// How a loop is to be carried out, by its source; it means the same without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LoopOptions {
    /// Buffers of its copies ahead; 0 leaves it to [`Func::stages`](crate::ir::Func::stages).
    pub stages: u32,
    /// Iterations laid out in a row; 0 lets the compiler choose.
    pub unroll: u32,
    /// One pipeline through this loop and the ones inside it.
    pub flatten: bool,
    /// Whether some warps copy while others compute; `None` lets the compiler choose.
    pub warp_specialize: Option<bool>,
}

impl Stmt {
    /// The statements inside it, by block.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match &self.kind {
            StmtKind::If { then, other, .. } => vec![then, other],
            StmtKind::For { body, .. } | StmtKind::Loop { body } => vec![body],
            _ => vec![],
        }
    }

    /// The same, to be changed.
    pub(crate) fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match &mut self.kind {
            StmtKind::If { then, other, .. } => vec![then, other],
            StmtKind::For { body, .. } | StmtKind::Loop { body } => vec![body],
            _ => vec![],
        }
    }

    /// The values that a statement uses itself, not through those inside it; to be replaced.
    pub(crate) fn uses_mut(&mut self) -> Vec<&mut Value> {
        match &mut self.kind {
            StmtKind::Assign(_, v)
            | StmtKind::If { cond: v, .. }
            | StmtKind::Assert { cond: v, .. }
            | StmtKind::Print { value: v, .. } => vec![v],
            StmtKind::Store { place, value, mask, block_pointer, .. } => place
                .operands_mut()
                .chain([value])
                .chain(mask)
                .chain(block_pointer.iter_mut().flat_map(|w| &mut w.at))
                .collect(),
            StmtKind::For { lo, hi, step, .. } => vec![lo, hi, step],
            StmtKind::Let(_)
            | StmtKind::Clear { .. }
            | StmtKind::Loop { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return => vec![],
        }
    }
}
