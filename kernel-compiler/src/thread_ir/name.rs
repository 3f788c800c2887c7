//! Names of thread-level code, by their meaning. [`print`](super::print) spells them.

use crate::ir::{Value, Var};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// The thread's number in its block.
    Tid,
    /// A scalar of the kernel, or the registers of a tile.
    Value(Value),
    /// A variable of the kernel.
    Var(Var),
    /// The copy of a variable that is some iterations ahead.
    Advanced(Var),
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
        operand_group: usize,
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
    Local(Local),
    /// On the CPU: a shared array.
    SharedArray(usize),
    /// On the CPU: the program that runs, its number and the grid, and all argument words.
    Program,
    ProgramId,
    Grid,
    Words,
    /// On the CPU: the numbers of a configuration, and one of them.
    Numbers,
    Number(usize),
}

/// A constant or a variable of a circular buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BufferPart {
    /// Constants: where it begins, the bytes of a stage, and how many stages it has.
    Start,
    Bytes,
    Stages,
    /// Constants: where its mbarriers are.
    Full,
    Empty,
    /// The current stage, and the parity of its phase.
    Stage,
    Phase,
    /// The offsets of the stages that are read and written.
    Read,
    Write,
    /// Stages that are filled before the loop.
    Filled,
    /// The stage of the iteration before, and whether there is one.
    Used,
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
    I,
    /// An element of a word.
    E,
    /// A chunk along K.
    C,
    /// A product of a batch, and its accumulator.
    P,
    Acc,
    /// Elements that a reduction combines.
    A,
    B,
    X,
    Y,
    /// A stage.
    S,
}
