//! Operations: the definitions of values.

use crate::dtype::DType;
use crate::ir::function::{Binary, Unary};
use crate::ir::memory::{Address, BlockPointer, Hint};
use crate::ir::value::{Value, Var};

#[derive(Clone, Debug)]
pub enum Op {
    Int(i128),
    Float(f64),
    Bool(bool),
    /// Bits of a scalar parameter, length of a slice, extent or stride of a view: one argument word.
    Word {
        word: usize,
    },
    ProgramId(u32),
    NumPrograms(u32),
    /// Rank of the CTA in its cluster.
    ClusterCtaRank,
    /// A tile, or a scalar, of each CTA of the cluster, by rank along a new first dimension. The CTAs exchange through
    /// the shared array, which no other operation uses. `repeats`: it may run more than once.
    ClusterGather {
        value: Value,
        array: usize,
        repeats: bool,
    },
    /// The loop variable of the `For` that defines it.
    LoopVar,
    ReadVar(Var),
    /// `start, start + 1, ..` of rank 1.
    Arange {
        start: i128,
    },
    /// A scalar in every element.
    Splat(Value),
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    Fma(Value, Value, Value),
    Select(Value, Value, Value),
    /// Inline assembly on an element of each operand: of its results, which have these types, the one at `index`. It
    /// has no effects. `meaning` computes the same.
    Asm {
        text: String,
        results: Vec<DType>,
        index: usize,
        operands: Vec<Value>,
        meaning: Meaning,
    },
    Cast(Value),
    Bitcast(Value),
    /// Insert an extent of 1 at the axis.
    Expand(Value, usize),
    /// Broadcast extents of 1.
    Broadcast(Value),
    Reshape(Value),
    /// Two tiles side by side in a new last dimension, of extent 2.
    Join(Value, Value),
    /// A part of a tile, from this index along the axis on. Its extent along the axis is a power of two, and `start` a
    /// multiple of it.
    Slice {
        value: Value,
        axis: usize,
        start: usize,
    },
    /// The elements at these indices along the axis; zero where there is none.
    Gather {
        value: Value,
        index: Value,
        axis: usize,
    },
    /// For each index of the result, the number of elements of a tile of rank 1 that equal it, or the sum of their
    /// weights. Elements that the mask leaves out, or that are not an index of a bin, do not count.
    Histogram {
        value: Value,
        weights: Option<Value>,
        mask: Option<Value>,
    },
    /// The elements along the axis in ascending order, or in descending order, by the first tile, of integers. The
    /// elements of the other tiles go where those of the first do. As many are kept as the type says, the first ones.
    Sort {
        values: Vec<Value>,
        axis: usize,
        descending: bool,
    },
    /// Dimension `d` of the result is dimension `perm[d]` of the operand.
    Permute(Value, Vec<usize>),
    /// Along an axis, of one tile or of several, whose elements are combined together. This is the first result;
    /// [`Op::Result`] gives the others.
    Reduce {
        values: Vec<Value>,
        axis: usize,
        combine: Combine,
    },
    /// For each element the combination of all elements up to it along an axis, or from it on where `reverse`. Where
    /// `exclusive` has a scalar for each tile, that comes before the first element, and an element is not part of its
    /// own result. Several tiles are combined as in a reduction.
    Scan {
        values: Vec<Value>,
        axis: usize,
        combine: Combine,
        reverse: bool,
        exclusive: Vec<Value>,
    },
    /// The result for another tile than the first of a [`Op::Reduce`], a [`Op::Scan`] or a [`Op::Sort`] of several.
    Result(Value, usize),
    /// Index of the first largest or smallest along the axis.
    ArgReduce {
        value: Value,
        axis: usize,
        largest: bool,
    },
    /// `block_pointer`, if this is a part of an array as it stands, zero outside: `place` and `mask` say the same by
    /// element.
    Load {
        place: Address,
        mask: Option<Value>,
        other: Option<Value>,
        hint: Hint,
        block_pointer: Option<BlockPointer>,
    },
    /// `acc + a·b` of `[M, K]`, `[K, N]` and `[M, N]`, or so for each index of a dimension before these.
    Dot {
        a: Value,
        b: Value,
        acc: Value,
        precision: Precision,
    },
    /// `values` as [`Atomic::values`] says; what it gives is the old value.
    Atomic {
        op: Atomic,
        place: Address,
        values: Vec<Value>,
        mask: Option<Value>,
        relaxed: bool,
    },
}

/// The extent of a batch, if there is one, and those of its matrices: of an operand or a result of [`Op::Dot`].
pub(crate) fn matrices(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// What a `dot` of f32 operands does to their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// Products and sums in f32.
    #[default]
    Ieee,
    /// Operands rounded to tf32.
    Tf32,
    /// Operands split in two tf32 numbers, and three products of them.
    Tf32x3,
}

/// How a reduction or a scan combines two elements.
#[derive(Clone, Debug)]
pub enum Combine {
    /// Of one tile.
    Binary(Binary),
    /// A user's closure: scalar values, defined by `body`, of two arguments. Arguments and results have a value for
    /// each tile.
    Closure { a: Vec<Value>, b: Vec<Value>, body: Vec<Value>, results: Vec<Value> },
}

/// A user's closure that computes a scalar: values, defined by `body`, of an argument for each operand.
#[derive(Clone, Debug)]
pub struct Meaning {
    pub params: Vec<Value>,
    pub body: Vec<Value>,
    pub result: Value,
}

/// What one thread does to an element that others may be at. The numbers are those of
/// `tilewright_core::scalar::atomic_op`, which `Cas`, a function of its own there, has none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add = 0,
    Max = 1,
    Min = 2,
    And = 3,
    Or = 4,
    Xor = 5,
    Xchg = 6,
    Load = 7,
    Store = 8,
    Cas = 9,
}

impl Atomic {
    pub const ALL: [Atomic; 10] = {
        use Atomic::*;
        [Add, Max, Min, And, Or, Xor, Xchg, Load, Store, Cas]
    };

    pub fn name(self) -> &'static str {
        match self {
            Atomic::Add => "add",
            Atomic::Max => "max",
            Atomic::Min => "min",
            Atomic::And => "and",
            Atomic::Or => "or",
            Atomic::Xor => "xor",
            Atomic::Xchg => "xchg",
            Atomic::Load => "load",
            Atomic::Store => "store",
            Atomic::Cas => "cas",
        }
    }

    /// The values that it takes, as messages call them.
    pub fn values(self) -> &'static [&'static str] {
        match self {
            Atomic::Load => &[],
            Atomic::Cas => &["the expected value", "the new value"],
            _ => &["a value"],
        }
    }

    /// Whether, unless relaxed, it comes after what the program did before it.
    pub(crate) fn releases(self) -> bool {
        self != Atomic::Load
    }

    /// Whether, unless relaxed, what the program does next comes after it.
    pub(crate) fn acquires(self) -> bool {
        self != Atomic::Store
    }
}

/// References to the operands of an operation, by the methods that give them.
macro_rules! operands {
    ($op:expr, $of_place:ident, $as:ident, $iter:ident) => {
        match $op {
            Op::Int(_)
            | Op::Float(_)
            | Op::Bool(_)
            | Op::Word { .. }
            | Op::ProgramId(_)
            | Op::NumPrograms(_)
            | Op::ClusterCtaRank
            | Op::LoopVar
            | Op::ReadVar(_)
            | Op::Arange { .. } => vec![],
            Op::Splat(v)
            | Op::Unary(_, v)
            | Op::Cast(v)
            | Op::Bitcast(v)
            | Op::Result(v, _)
            | Op::Expand(v, _)
            | Op::Broadcast(v)
            | Op::Reshape(v)
            | Op::Permute(v, _) => vec![v],
            Op::ArgReduce { value, .. } => vec![value],
            Op::Reduce { values, .. } | Op::Sort { values, .. } => values.$iter().collect(),
            Op::Scan { values, exclusive, .. } => values.$iter().chain(exclusive.$iter()).collect(),
            Op::Binary(_, a, b) | Op::Join(a, b) => vec![a, b],
            Op::Asm { operands, .. } => operands.$iter().collect(),
            Op::Slice { value, .. } | Op::ClusterGather { value, .. } => vec![value],
            Op::Gather { value, index, .. } => vec![value, index],
            Op::Histogram { value, weights, mask } => {
                [Some(value), weights.$as(), mask.$as()].into_iter().flatten().collect()
            }
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![a, b, c],
            Op::Load { place, mask, other, block_pointer, .. } => place
                .$of_place()
                .chain(mask.$as())
                .chain(other.$as())
                .chain(block_pointer.$iter().flat_map(|b| b.at.$iter()))
                .collect(),
            Op::Dot { a, b, acc, .. } => vec![a, b, acc],
            Op::Atomic { place, values, mask, .. } => {
                place.$of_place().chain(values.$iter()).chain(mask.$as()).collect()
            }
        }
    };
}

impl Op {
    /// Operands, in order; a closure's inner values are not among them.
    pub(crate) fn operands(&self) -> Vec<Value> {
        operands!(self, operands, as_ref, iter).into_iter().copied().collect()
    }

    /// The same, to be replaced.
    pub(crate) fn operands_mut(&mut self) -> Vec<&mut Value> {
        operands!(self, operands_mut, as_mut, iter_mut)
    }

    /// The tiles that it reduces, and the axis.
    pub fn reduced(&self) -> Option<(&[Value], usize)> {
        match self {
            Op::Reduce { values, axis, .. } => Some((values, *axis)),
            Op::ArgReduce { value, axis, .. } => Some((std::slice::from_ref(value), *axis)),
            _ => None,
        }
    }

    /// The same, to be replaced.
    pub(crate) fn reduced_mut(&mut self) -> Option<(&mut [Value], &mut usize)> {
        match self {
            Op::Reduce { values, axis, .. } => Some((values, axis)),
            Op::ArgReduce { value, axis, .. } => Some((std::slice::from_mut(value), axis)),
            _ => None,
        }
    }

    /// How it combines elements.
    pub(crate) fn combine(&self) -> Option<&Combine> {
        match self {
            Op::Reduce { combine, .. } | Op::Scan { combine, .. } => Some(combine),
            _ => None,
        }
    }

    /// The values that a closure of it defines, and those that the closure gives.
    pub(crate) fn closure(&self) -> Option<(&[Value], &[Value])> {
        match (self, self.combine()) {
            (Op::Asm { meaning, .. }, _) => Some((&meaning.body, std::slice::from_ref(&meaning.result))),
            (_, Some(Combine::Closure { body, results, .. })) => Some((body, results)),
            _ => None,
        }
    }

    /// An element of the result comes of other elements than the same one of each operand, which other threads may
    /// have. A view does no such work: it is read through.
    pub(crate) fn crosses_threads(&self) -> bool {
        matches!(
            self,
            Op::Reduce { .. }
                | Op::ArgReduce { .. }
                | Op::Scan { .. }
                | Op::Result(..)
                | Op::Join(..)
                | Op::Slice { .. }
                | Op::ClusterGather { .. }
                | Op::Gather { .. }
                | Op::Histogram { .. }
                | Op::Sort { .. }
        )
    }

    /// Each element of the result depends on the same element of the operands.
    pub(crate) fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Op::Unary(..)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::Select(..)
                | Op::Asm { .. }
                | Op::Cast(..)
                | Op::Bitcast(..)
        )
    }

    /// Only renames elements.
    pub(crate) fn is_view(&self) -> bool {
        matches!(self, Op::Expand(..) | Op::Broadcast(..) | Op::Reshape(..) | Op::Permute(..))
    }

    /// Must run where and as often as it is written.
    pub(crate) fn has_effect(&self) -> bool {
        matches!(self, Op::Atomic { .. })
    }
}
