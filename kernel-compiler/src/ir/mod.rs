//! The typed tile IR of one instance. `infer` makes it, and every later phase reads it.
//!
//! Invariants. A [`Value`] is defined once, before its uses, in a block that encloses them. A [`Var`] is a mutable cell
//! with one type. Operands of an elementwise op have the shape of its result. Scalars (shape `[]`) are uniform: every
//! thread holds the same one. Control flow depends on scalars alone, so all threads of a program take it together.

pub mod function;
mod memory;
mod op;
pub mod parse;
pub mod print;
mod stmt;
mod value;
pub mod verify;
pub mod walk;

use crate::dtype::DType;
pub use function::{Binary, Takes, Unary};
pub use memory::{Address, Array, Base, BlockPointer, Dim, Guard, Hint, Number, SharedArray, Test};
pub use op::{Atomic, Combine, Meaning, Op, Precision};
pub(crate) use op::{AtomicEffect, is_product_extent, matrices};
use proc_macro2::Span;
use std::collections::BTreeSet;
pub use stmt::{Block, LoopOptions, Stmt, StmtId, StmtKind};
pub(crate) use value::{MAX_REGISTERS, padded_elements};
pub use value::{Shape, Type, Value, Var};

/// One instance of a kernel.
#[derive(Clone, Debug)]
pub struct Func {
    /// The parameters, in the order of their argument words.
    pub params: Vec<Param>,
    /// The definition of each [`Value`].
    pub values: Vec<ValueInfo>,
    /// The name and the type of each [`Var`].
    pub vars: Vec<VarInfo>,
    /// The shared arrays of the kernel, in the order in which they lie in shared memory.
    pub shared: Vec<SharedArray>,
    /// The statements that every program runs.
    pub body: Vec<Stmt>,
    /// Warps of each thread block: a power of two, 32 at most. A producer warp is not counted.
    pub warps: u32,
    /// Least number of thread blocks that a multiprocessor holds at once, which limits the registers; 0 for no limit.
    pub blocks_per_sm: u32,
    /// Buffers of a loop that copies ahead; 0 lets the compiler choose.
    pub stages: u32,
    /// Thread blocks (CTAs) of the cluster that runs a program; see [`cluster`](crate::passes::cluster).
    pub ctas: u32,
    /// Parameters that may be read before the launch before has ended; none where the kernel begins after it.
    pub pdl: Option<Vec<usize>>,
    /// A parameter that is read, and one that is written and may be the same memory; see [`Func::memory`].
    pub aliases: Vec<[usize; 2]>,
    /// Equal arguments give equal bits, however they are aligned where there is no product.
    pub deterministic: bool,
    /// The accesses to tiles of views that say `.unchecked()`, which has no effect on them.
    pub checked_views: Vec<Span>,
    /// Conditions on argument words under which the function means the same as the kernel, as
    /// [`block_pointers`](crate::passes::block_pointers) finds them. The launcher checks them.
    pub guards: Vec<Guard>,
}

impl Func {
    /// The first of the arrays that `aliases` relate to an array, which stands for the memory that they may share. A
    /// program stores an element of such memory after its last load of it, and no other program loads the element.
    pub(crate) fn memory(&self, array: Array) -> Array {
        let Array::Param(i) = array else { return array };
        let mut related = BTreeSet::from([i]);
        loop {
            let pairs = self.aliases.iter().filter(|pair| pair.iter().any(|i| related.contains(i)));
            let more: BTreeSet<usize> = pairs.flatten().copied().chain(related.iter().copied()).collect();
            if more == related {
                return Array::Param(related.first().copied().unwrap_or(i));
            }
            related = more;
        }
    }

    /// Whether an argument word is the address of an array. Others are sizes, strides, lengths and scalars.
    pub(crate) fn is_address(&self, word: usize) -> bool {
        self.params.iter().any(|p| p.first_word == word && !matches!(p.kind, ParamKind::Scalar))
    }

    /// The type of a value.
    pub fn ty(&self, v: Value) -> &Type {
        &self.values[v.0 as usize].ty
    }

    /// The definition of a value.
    pub fn op(&self, v: Value) -> &Op {
        &self.values[v.0 as usize].op
    }

    /// The extents of a value; empty for a scalar.
    pub fn shape(&self, v: Value) -> &[usize] {
        &self.ty(v).shape
    }

    fn taken_by_value(&self, v: Value) -> Vec<Value> {
        let mut taken = self.op(v).operands();
        if let Some((body, results)) = self.op(v).closure() {
            taken.extend(body.iter().flat_map(|&inner| self.taken_by_value(inner)).chain(results.iter().copied()));
        }
        taken
    }

    /// The operands of a statement itself, without those of nested statements. The operands of a closure are among
    /// them.
    pub(crate) fn used_by(&self, s: &Stmt) -> Vec<Value> {
        match &s.kind {
            StmtKind::Let(v) => self.taken_by_value(*v),
            StmtKind::Assign(_, v)
            | StmtKind::If { cond: v, .. }
            | StmtKind::Assert { cond: v, .. }
            | StmtKind::Print { value: v, .. } => vec![*v],
            StmtKind::Store { ptr, value, mask, .. } => ptr.operands().copied().chain([*value]).chain(*mask).collect(),
            StmtKind::For { lo, hi, step, .. } => vec![*lo, *hi, *step],
            _ => vec![],
        }
    }

    /// The element type at a place.
    pub(crate) fn dtype_at(&self, ptr: &Address) -> DType {
        match ptr.base {
            Base::Slice(param) | Base::Raw(param) => self.params[param].dtype,
            Base::Shared(array) => self.shared[array].dtype,
            Base::Pointer { dtype, .. } => dtype,
        }
    }

    /// The place of a value in the kernel's source.
    pub(crate) fn span(&self, v: Value) -> Span {
        self.values[v.0 as usize].span
    }

    /// A new value, defined behind these statements.
    pub(crate) fn push(&mut self, op: Op, ty: Type, span: Span, out: &mut Vec<Stmt>) -> Value {
        let v = Value(self.values.len() as u32);
        self.values.push(ValueInfo { ty, op, span });
        out.push(StmtKind::Let(v).into());
        v
    }

    /// Numbers the statements in the order of the function, outer before inner. A pass that adds statements ends with
    /// it.
    pub fn number(&mut self) {
        fn block(stmts: &mut [Stmt], next: &mut u32) {
            for s in stmts {
                s.id = StmtId(*next);
                *next += 1;
                s.blocks_mut().into_iter().for_each(|b| block(b, next));
            }
        }
        block(&mut self.body, &mut 0);
    }

    /// Whether the last step of a loop may lead beyond the greatest number of its type. Of 64 bits no loop is asked: it
    /// would have to end within a step of the greatest number.
    pub(crate) fn may_step_beyond(&self, hi: Value, step: Value) -> bool {
        let dtype = self.ty(hi).dtype;
        match (self.op(hi), self.op(step)) {
            (_, Op::Int(1)) => false,
            (Op::Int(hi), Op::Int(step)) => !dtype.holds(hi.saturating_add(*step)),
            _ => dtype.size() < 8,
        }
    }

    /// Whether it is a constant of zeros.
    pub(crate) fn is_zeros(&self, v: Value) -> bool {
        match self.op(v) {
            Op::Splat(x) => self.is_zeros(*x),
            Op::Float(x) => x.to_bits() == 0,
            Op::Int(n) => *n == 0,
            _ => false,
        }
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name in the signature.
    pub name: String,
    /// The form of the parameter, which says how many argument words it has.
    pub kind: ParamKind,
    /// The type of a scalar, or of the elements.
    pub dtype: DType,
    /// Its first argument word.
    pub first_word: usize,
}

/// The form of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// `&[T]`: an address and a length.
    Slice {
        /// Whether it is `&mut [T]`.
        mutable: bool,
    },
    /// `View<T, RANK>`: an address, the extents, and the strides in elements.
    View {
        /// The number of dimensions.
        rank: usize,
        /// Whether it is `ViewMut<T, RANK>`.
        mutable: bool,
    },
    /// `*const T`: an address.
    Ptr {
        /// Whether it is `*mut T`.
        mutable: bool,
    },
    /// A number or a `bool`: its bits.
    Scalar,
}

impl ParamKind {
    pub(crate) fn words(self) -> usize {
        match self {
            ParamKind::Slice { .. } => 2,
            ParamKind::View { rank, .. } => 1 + 2 * rank,
            ParamKind::Ptr { .. } | ParamKind::Scalar => 1,
        }
    }

    pub(crate) fn is_array(self) -> bool {
        self != ParamKind::Scalar
    }

    pub(crate) fn is_mut(self) -> bool {
        matches!(
            self,
            ParamKind::Slice { mutable: true }
                | ParamKind::View { mutable: true, .. }
                | ParamKind::Ptr { mutable: true }
        )
    }
}

/// The definition of a value.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// The type of the result.
    pub ty: Type,
    /// The operation that computes it.
    pub op: Op,
    /// The place in the source of the kernel.
    pub span: Span,
}

/// A variable: a mutable cell that keeps its content over iterations.
#[derive(Clone, Debug)]
pub struct VarInfo {
    /// The name in the source of the kernel.
    pub name: String,
    /// The type of the content.
    pub ty: Type,
}
