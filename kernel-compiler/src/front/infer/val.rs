//! The values of expressions and names during inference.

use crate::dtype::DType;
use crate::front::ast::{self, Enum, Struct};
use crate::ir::{Base, LoopOptions, Value, Var};
use std::collections::HashMap;
use std::rc::Rc;

/// A value during inference.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// Known only when the kernel runs.
    Run(Value),
    /// A compile-time integer; without a dtype it takes that of the other operand.
    Int(i128, Option<DType>),
    /// A compile-time float, which has more digits than its type until a number is computed from it.
    Float(f64, Option<DType>),
    Bool(bool),
    /// A constant of an enum.
    Variant(Rc<Enum>, usize),
    Str(String),
    Unit,
    Tuple(Vec<Val>),
    Array(Vec<Val>),
    Struct(Rc<Struct>, Vec<Val>),
    /// An element type: `x.dtype()`.
    DType(DType),
    /// An optional parameter, `Some(v)` or `None`: known at compile time.
    Option(Option<Box<Val>>),
    /// A slice or view parameter.
    Param(usize),
    /// An array in shared memory.
    Shared(usize),
    Ptr(Pointer),
    /// A view that `view` made.
    View(Rc<View>),
    Range(Rc<Range>),
    Closure(Rc<Closure>),
}

#[derive(Debug)]
pub(super) struct Range {
    pub lo: Val,
    pub hi: Val,
    pub step: Val,
    /// From the last number to the first.
    pub reversed: bool,
    /// Laid out in a row at compile time.
    pub unrolled: bool,
    pub options: LoopOptions,
}

#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub written: Rc<ast::Closure>,
    /// The scopes and the type names where it was written.
    pub scopes: Vec<HashMap<String, Binding>>,
    pub types: Vec<(String, DType)>,
    /// The type that the helper declares to which it was handed last.
    pub handed: Option<Handed>,
}

/// A parameter `name: impl Fn(..)` of a helper. Names of types are those of dtypes.
#[derive(Clone, Debug)]
pub(super) struct Handed {
    pub name: String,
    pub ty: ast::ClosureType,
}

#[derive(Clone, Debug)]
pub(super) enum Binding {
    Val(Val),
    Var(Var),
    PtrVar(PointerVar),
    /// A mutable tuple, array or struct: a variable for each part.
    Parts(Whole, Vec<Binding>),
    /// Its value has a mistake, which has been reported: its uses report nothing.
    Poisoned,
}

/// The kinds of values that have parts.
#[derive(Clone, Debug)]
pub(super) enum Whole {
    Tuple,
    Array,
    Struct(Rc<Struct>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    /// [`Base::Raw`] or [`Base::Pointer`].
    pub to: Base,
    /// In elements; none is 0.
    pub offset: Option<Value>,
}

/// The cells of a mutable pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointerVar {
    /// As it was when the variable was declared.
    pub to: Base,
    /// The address that the kernel computes.
    pub address: Option<Var>,
    pub offset: Var,
}

#[derive(Clone, Debug)]
pub(super) struct View {
    pub pointer: Pointer,
    pub extents: Extents,
}

#[derive(Clone, Debug)]
pub(super) enum Extents {
    /// Of a parameter: `rank` dimensions from an argument word on, and as many strides behind them.
    Words {
        first: usize,
        rank: usize,
    },
    Values {
        dims: Vec<Value>,
        strides: Vec<Value>,
    },
}

impl View {
    pub fn rank(&self) -> usize {
        match &self.extents {
            Extents::Words { rank, .. } => *rank,
            Extents::Values { dims, .. } => dims.len(),
        }
    }
}
