//! Names of thread-level code, by their meaning. [`print`](super::print) spells them.

use crate::ir::{Value, Var};

/// A name of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// The thread's number in its block.
    Tid,
    /// A scalar of the kernel, or the registers of a tile.
    Value(Value),
    /// A variable of the kernel.
    Var(Var),
    /// The copy of a variable that is some iterations ahead, for the circular buffer of this number.
    Advanced(Var, usize),
    /// Whether an accumulator holds zeros that were never written.
    FreshVar(Var),
    /// Whether a product adds to the accumulator that it reads.
    AddsTo(Value),
    /// The result of an atomic, in the thread that executed it.
    Old(Value),
    /// The next value of a loop variable.
    Next(Value),
    /// The same, some iterations ahead.
    Ahead(Value),
    /// How far the last iteration of an unrolled round is from its first.
    Reach(Value),
    /// On the CPU: all results of a reduction or a scan of several tiles.
    Results(Value),
    /// A temporary.
    Temporary(usize),
    /// One of the parts of a temporary.
    Part(usize, usize),
    /// The thread's part of the flat index in a layout.
    ThreadPart(usize),
    /// A table of constants.
    Table(usize),
    /// An argument word.
    Arg(usize),
    /// A tensor map.
    Map(usize),
    /// The tile of a buffer of an operand group, in the current stage.
    Buffer {
        /// The index of the operand group in its plan.
        operand_group: usize,
        /// The index of the buffer in the group.
        buffer: usize,
    },
    /// A computed operand in shared memory.
    Matrix(usize),
    /// Shared memory for stores by tensor maps.
    Staging,
    /// Of a circular buffer.
    CircularBuffer(BufferPart, usize),
    /// Whether an iteration that is copied ahead exists.
    Live,
    /// A variable: the place of the next mark of a traced launch.
    Trace,
    /// A parameter of a closure, or a name of a few lines.
    Local(Local),
    /// On the CPU: a shared array.
    SharedArray(usize),
    /// On the CPU: the program that runs.
    Program,
    /// On the CPU: the number of the program along the three axes.
    ProgramId,
    /// On the CPU: the numbers of programs along the three axes.
    Grid,
    /// On the CPU: all argument words.
    Words,
    /// On the CPU: the numbers of a configuration.
    Numbers,
    /// On the CPU: one number of a configuration.
    Number(usize),
}

/// A constant or a variable of a circular buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BufferPart {
    /// A constant: the offset of its first stage.
    Start,
    /// A constant: the bytes of a stage.
    Bytes,
    /// A constant: the number of stages.
    Stages,
    /// A constant: the offset of the first `full` mbarrier. Its phase ends when its stage is copied.
    Full,
    /// A constant: the offset of the first `empty` mbarrier. Its phase ends when all consumers have read its stage.
    Empty,
    /// A variable: the number of the current stage.
    Stage,
    /// A variable: the parity of the phase of the mbarriers of the current stage.
    Phase,
    /// A variable: the offset of the stage that is read next.
    Read,
    /// A variable: the offset of the stage that is copied to next.
    Write,
    /// The number of stages that are filled before the loop.
    Filled,
    /// A variable: the number of the stage of the iteration before.
    Used,
    /// A variable: whether a product of the iteration before is still to be waited for.
    InFlight,
}

/// A parameter of a closure, or a name of a few lines. Inner ones may hide outer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Local {
    /// No name: a parameter that is not used.
    Ignored,
    /// A register.
    R,
    /// A register, of a group of those of one access.
    G,
    /// A step along K, or an element of a fold.
    K,
    /// A block of rows or columns.
    M,
    /// An index of an element, or of a row of a block.
    I,
    /// An element of a word.
    E,
    /// A chunk along K.
    C,
    /// A product of a batch.
    P,
    /// The accumulators of one product of a batch.
    Acc,
    /// The first argument of a reduction.
    A,
    /// The second argument of a reduction.
    B,
    /// The first of two values, or an element at hand.
    X,
    /// The second of two values.
    Y,
    /// A stage.
    S,
}
