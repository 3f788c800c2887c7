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

/// A statement of a function, with the blocks in it.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// The key of plans, which [`Func::number`](crate::ir::Func::number) sets.
    pub id: StmtId,
    /// The statement itself.
    pub kind: StmtKind,
}

impl From<StmtKind> for Stmt {
    fn from(kind: StmtKind) -> Stmt {
        Stmt { id: StmtId::NONE, kind }
    }
}

/// The kinds of statements. Control flow is that of the whole program: conditions and bounds are scalars.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Compute a value here.
    Let(Value),
    /// Give a variable a new content of its type.
    Assign(Var, Value),
    /// A tile, or a scalar, to memory.
    Store {
        /// The memory of each element. The index has the shape of the value.
        ptr: Address,
        /// The new elements, of the element type of the memory.
        value: Value,
        /// The elements that are stored; all without it. Elements out of bounds are not stored in either case.
        mask: Option<Value>,
        /// The cache policy of the store.
        hint: Hint,
        /// The same elements as a block of an array, if they are one. TMA takes it.
        block_pointer: Option<BlockPointer>,
        /// The place in the source of the kernel, for the lines of reports.
        span: Span,
    },
    /// All elements of a shared array become zero.
    Clear {
        /// The index in [`Func::shared`](crate::ir::Func::shared).
        array: usize,
        /// The place in the source where the kernel makes the array.
        span: Span,
    },
    /// A branch.
    If {
        /// A scalar `bool`.
        cond: Value,
        /// The statements for true.
        then: Vec<Stmt>,
        /// The statements for false.
        other: Vec<Stmt>,
    },
    /// A loop over the numbers from `lo` on, below `hi`, `step` apart. All four are scalars of one integer type.
    For {
        /// The loop variable, an [`Op::LoopVar`](crate::ir::Op::LoopVar) that is defined in the body alone.
        iv: Value,
        /// The first number.
        lo: Value,
        /// The end, which is not part of the range.
        hi: Value,
        /// The distance of two numbers, which is positive.
        step: Value,
        /// The statements of an iteration.
        body: Vec<Stmt>,
        /// Hints of the source for copies and code.
        options: LoopOptions,
    },
    /// A loop that ends at a `Break` or a `Return` alone.
    Loop {
        /// The statements of an iteration.
        body: Vec<Stmt>,
    },
    /// The end of the innermost loop.
    Break,
    /// The end of an iteration of the innermost loop.
    Continue,
    /// The end of the program.
    Return,
    /// A check at run time: the launch fails if an element is false.
    Assert {
        /// A `bool`, or a tile of them.
        cond: Value,
        /// The text of the failure.
        message: String,
        /// The place in the source, whose line is reported.
        span: Span,
    },
    /// Output for debugging, on the host.
    Print {
        /// The text before the value.
        message: String,
        /// A scalar, or a tile.
        value: Value,
        /// Whether it is a breakpoint: the emulated SM reports the whole tile under its name.
        watch: bool,
        /// The place in the source, whose line is reported.
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
            StmtKind::Store { ptr, value, mask, block_pointer, .. } => ptr
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
