//! Operations: the definitions of values.

use crate::dtype::DType;
use crate::ir::function::{Binary, Unary};
use crate::ir::memory::{Address, BlockPointer, Hint};
use crate::ir::value::{Value, Var};

/// The definition of a value: an operation on other values. [`verify`](super::verify) checks shapes and types.
#[derive(Clone, Debug)]
pub enum Op {
    /// An integer constant, which the scalar type holds.
    Int(i128),
    /// A constant of a scalar float type, before it is rounded to that type.
    Float(f64),
    /// A scalar constant of type `bool`.
    Bool(bool),
    /// Bits of a scalar parameter, length of a slice, extent or stride of a view: one argument word.
    Word {
        /// Its number in the argument words of the kernel.
        word: usize,
    },
    /// The number of the program along an axis of the grid (0, 1 or 2): an integer scalar.
    ProgramId(u32),
    /// The number of programs along an axis of the grid (0, 1 or 2): an integer scalar.
    NumPrograms(u32),
    /// Rank of the CTA in its cluster.
    ClusterCtaRank,
    /// A tile, or a scalar, of each CTA of the cluster, by rank along a new first dimension. The CTAs exchange through
    /// a shared array that no other operation uses.
    ClusterGather {
        /// The CTA's own part. The result has its shape behind the number of CTAs.
        value: Value,
        /// The shared array of the exchange, which holds the padded result.
        array: usize,
        /// Whether it may run more than once.
        repeats: bool,
    },
    /// The loop variable of the `For` that defines it.
    LoopVar,
    /// The present content of a variable, with the type of the variable.
    ReadVar(Var),
    /// `start, start + 1, ..` of rank 1.
    Arange {
        /// The first element, of type `u64` as all of them.
        start: i128,
    },
    /// A scalar in every element.
    Splat(Value),
    /// A function of one value, on each element.
    Unary(Unary, Value),
    /// A function of two values of one shape, on each pair of elements.
    Binary(Binary, Value, Value),
    /// `a * b + c` of three floats of the type of the result: one rounding in f32 and f64. Floats of 16 bits are
    /// rounded to f32 first.
    Fma(Value, Value, Value),
    /// The second operand where the first one, a `bool`, is true, else the third.
    Select(Value, Value, Value),
    /// Inline assembly on an element of each operand. It has no effects.
    Asm {
        /// The PTX in the form of `asm!`: `{0}` and so on are the results, then the operands.
        text: String,
        /// The element types of all results.
        results: Vec<DType>,
        /// Which of the results this value is.
        index: usize,
        /// Tiles of the shape of the result, or scalars where it is one.
        operands: Vec<Value>,
        /// A closure that computes the same result, for backends without PTX.
        meaning: Meaning,
    },
    /// Each element converted to the element type of the result, as `as` does.
    Cast(Value),
    /// The bits of each element as another element type of the same size.
    Bitcast(Value),
    /// Insert an extent of 1 at the axis.
    Expand(Value, usize),
    /// Broadcast extents of 1.
    Broadcast(Value),
    /// The elements in row-major order in another shape. Padding stays in its place.
    Reshape(Value),
    /// Two tiles side by side in a new last dimension, of extent 2.
    Join(Value, Value),
    /// A part of a tile. Its extent along the axis is a power of two, and `start` a multiple of it.
    Slice {
        /// The whole tile.
        value: Value,
        /// The dimension that is cut.
        axis: usize,
        /// The index of the first element along the axis.
        start: usize,
    },
    /// The elements at these indices along the axis; zero where there is none.
    Gather {
        /// The tile that elements are taken from.
        value: Value,
        /// Integers, in the shape of the result.
        index: Value,
        /// The dimension that the indices are in. In the others an element stays where it is.
        axis: usize,
    },
    /// For each index of the result, the number of elements of a tile of rank 1 that equal it, or the sum of their
    /// weights. Elements that the mask leaves out, or that are not an index of a bin, do not count.
    Histogram {
        /// Integers: the bin of each element.
        value: Value,
        /// Summands in the element type of the result. Without them the result counts in `i32`.
        weights: Option<Value>,
        /// The elements that count; all without it.
        mask: Option<Value>,
    },
    /// For each element of a tile of rank 1, the number of elements before it that equal it. Elements that the mask
    /// leaves out, or that are not less than the number of bins, do not count, and have 0.
    Cumcount {
        /// Integers: the bin of each element.
        value: Value,
        /// The number of bins.
        bins: usize,
        /// The elements that count; all without it.
        mask: Option<Value>,
    },
    /// The elements along the axis in the order of the first tile, of integers. The elements of the other tiles go
    /// where those of the first do. The type of the result says how many of the first elements are kept.
    Sort {
        /// Tiles of one shape. The first has the keys.
        values: Vec<Value>,
        /// The dimension that is sorted.
        axis: usize,
        /// Whether the greatest key comes first.
        descending: bool,
    },
    /// Dimension `d` of the result is dimension `perm[d]` of the operand.
    Permute(Value, Vec<usize>),
    /// The combination of all elements along an axis. Elements of several tiles are combined together. This is the
    /// first result; [`Op::Result`] gives the others.
    Reduce {
        /// Tiles of one shape.
        values: Vec<Value>,
        /// The dimension that the result lacks.
        axis: usize,
        /// The operation on two elements, which is associative and commutative.
        combine: Combine,
    },
    /// For each element the combination of all elements up to it along an axis. In an exclusive scan an element is not
    /// part of its own result. Several tiles are combined as in a reduction.
    Scan {
        /// Tiles of the shape of the result.
        values: Vec<Value>,
        /// The dimension that is scanned.
        axis: usize,
        /// The operation on two elements, which is associative.
        combine: Combine,
        /// Whether the scan begins at the last element.
        reverse: bool,
        /// The scalars before the first element, one for each tile; none for an inclusive scan.
        exclusive: Vec<Value>,
    },
    /// The result for another tile than the first of a [`Op::Reduce`], a [`Op::Scan`] or a [`Op::Sort`] of several.
    Result(Value, usize),
    /// The index of the first largest, or first smallest, element along the axis.
    ArgReduce {
        /// The tile that is searched.
        value: Value,
        /// The dimension that the result lacks. The result is an `i32`.
        axis: usize,
        /// Whether it finds the largest element, not the smallest.
        largest: bool,
    },
    /// A tile, or a scalar, from memory.
    Load {
        /// The memory of each element. The index has the shape of the result.
        ptr: Address,
        /// The elements that are loaded; all without it. Elements out of bounds are not loaded in either case.
        mask: Option<Value>,
        /// The values of elements that are not loaded; zero without it.
        other: Option<Value>,
        /// The cache policy of the load.
        hint: Hint,
        /// The same elements as a block of an array, if they are one. TMA takes it.
        block_pointer: Option<BlockPointer>,
    },
    /// `acc + a·b` of `[M, K]`, `[K, N]` and `[M, N]`, or so for each index of a dimension before these.
    Dot {
        /// The left operand. Both operands have one element type.
        a: Value,
        /// The right operand.
        b: Value,
        /// The accumulator, of the type of the result.
        acc: Value,
        /// The rounding of f32 operands; [`Precision::Ieee`] for other types.
        precision: Precision,
    },
    /// The old elements of memory, which the operation changes. [`Atomic::values`] lists the operands.
    Atomic {
        /// The operation on an element of memory.
        op: Atomic,
        /// The memory of each element.
        ptr: Address,
        /// The operands of the operation, of the shape of the result.
        values: Vec<Value>,
        /// The elements that are changed; all without it.
        mask: Option<Value>,
        /// Whether it orders no other accesses.
        relaxed: bool,
    },
}

/// The extent of a batch, if there is one, and those of its matrices: of an operand or a result of [`Op::Dot`].
pub(crate) fn matrices(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// Whether one of the rows and the columns of a product may have this extent: a power of two, or 3, 5 or 7 times one.
pub(crate) fn is_product_extent(extent: usize) -> bool {
    extent > 0 && extent >> extent.trailing_zeros() <= 7
}

/// How a `dot` rounds f32 operands.
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
    /// A user's closure of two arguments, which computes scalars.
    Closure {
        /// The first argument: a scalar for each tile.
        a: Vec<Value>,
        /// The second argument: a scalar for each tile.
        b: Vec<Value>,
        /// The values that the closure computes, in order.
        body: Vec<Value>,
        /// The result for each tile.
        results: Vec<Value>,
    },
}

/// A user's closure that computes a scalar of one element of each operand.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The arguments, one scalar for each operand.
    pub params: Vec<Value>,
    /// The values that the closure computes, in order.
    pub body: Vec<Value>,
    /// The value of the closure.
    pub result: Value,
}

/// An atomic operation on an element that other threads may access. The numbers are those of
/// `tilewright_core::scalar::atomic_op`. `Cas` has none: it is a function of its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// The sum.
    Add = 0,
    /// The greater value; of a number and NaN the number.
    Max = 1,
    /// The lesser value; of a number and NaN the number.
    Min = 2,
    /// The bits that both values have.
    And = 3,
    /// The bits that either value has.
    Or = 4,
    /// The bits that one value alone has.
    Xor = 5,
    /// The new value, for every old one.
    Xchg = 6,
    /// No change. Unless relaxed, it acquires.
    Load = 7,
    /// The new value. Unless relaxed, it releases. Its result is zero.
    Store = 8,
    /// The new value where memory has the bits of the expected one.
    Cas = 9,
}

/// The effect of an atomic on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtomicEffect {
    Load,
    Store,
    Update,
}

impl Atomic {
    /// Every operation, in the order of the numbers.
    pub const ALL: [Atomic; 10] = {
        use Atomic::*;
        [Add, Max, Min, And, Or, Xor, Xchg, Load, Store, Cas]
    };

    /// The name in the text form of the IR, and behind `atomic_` in kernels.
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

    /// The effect on memory.
    pub(crate) fn effect(self) -> AtomicEffect {
        match self {
            Atomic::Load => AtomicEffect::Load,
            Atomic::Store => AtomicEffect::Store,
            _ => AtomicEffect::Update,
        }
    }

    /// Whether, unless relaxed, earlier accesses of the program come before it.
    pub(crate) fn releases(self) -> bool {
        self != Atomic::Load
    }

    /// Whether, unless relaxed, later accesses of the program come after it.
    pub(crate) fn acquires(self) -> bool {
        self != Atomic::Store
    }
}

/// References to the operands of an operation, by the methods that give them.
macro_rules! operands {
    ($op:expr, $of_ptr:ident, $as:ident, $iter:ident) => {
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
            Op::Cumcount { value, mask, .. } => [Some(value), mask.$as()].into_iter().flatten().collect(),
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![a, b, c],
            Op::Load { ptr, mask, other, block_pointer, .. } => ptr
                .$of_ptr()
                .chain(mask.$as())
                .chain(other.$as())
                .chain(block_pointer.$iter().flat_map(|b| b.at.$iter()))
                .collect(),
            Op::Dot { a, b, acc, .. } => vec![a, b, acc],
            Op::Atomic { ptr, values, mask, .. } => ptr.$of_ptr().chain(values.$iter()).chain(mask.$as()).collect(),
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

    /// The values that its closure defines, and the closure's results.
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
                | Op::Cumcount { .. }
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
