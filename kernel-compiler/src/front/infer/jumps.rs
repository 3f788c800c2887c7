//! The loops around a statement, and the jumps that leave them.

use crate::ir::{StmtKind, Var};

/// A loop around the inferred code.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub label: Option<String>,
    /// Laid out in a row: nothing leaves it.
    pub is_unrolled: bool,
}

/// A jump to a loop from within another one: the inner loop is left, and a flag tells the outer ones how to go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    /// The loop that a label names, as an index of the loops around.
    pub target: usize,
    pub jump: Jump,
    pub flag: Var,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    Break,
    Continue,
}

impl From<Jump> for StmtKind {
    fn from(jump: Jump) -> StmtKind {
        match jump {
            Jump::Break => StmtKind::Break,
            Jump::Continue => StmtKind::Continue,
        }
    }
}
