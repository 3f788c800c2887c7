//! One operation on one set of data: prepared, launched, checked.

use super::edge_values::EdgeRow;
use super::pattern::{Output, Pattern};
use super::verdict::Verdict;
use tilewright_core::DType;
use tilewright_ops::ExecOptions;
use tilewright_runtime::Result;

/// The problem to prepare.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The element type of the operation.
    pub dtype: DType,
    /// One number per axis of the operation.
    pub size: Vec<u64>,
    /// The seed of random inputs.
    pub seed: u64,
    /// Arrays start one element past a 16-byte boundary.
    pub odd: bool,
    /// Inputs hold infinities, NaN, zeros of both signs and subnormals.
    pub awkward: bool,
    /// The elements between rows of matrices.
    pub gaps: Gaps,
    /// Inputs of the table of edge values, in place of random ones.
    pub given: Option<&'static EdgeRow>,
}

/// The elements between rows of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Nothing: rows are packed.
    None,
    /// Gaps such that rows begin where vectors and tensor maps take them.
    Vectors,
    /// Gaps such that rows begin at double words, and not at vectors.
    DoubleWords,
    /// Gaps such that rows begin at words, and not at double words.
    Words,
}

impl Setup {
    /// Aligned and packed arrays of plain data, as most callers have.
    pub fn plain(dtype: DType, size: &[u64], seed: u64) -> Setup {
        Setup { dtype, size: size.to_vec(), seed, odd: false, awkward: false, gaps: Gaps::None, given: None }
    }

    /// An input of so many elements: the given one, else `made`.
    pub(super) fn input<T: Pattern>(&self, name: &str, len: usize, made: impl FnOnce() -> Vec<T>) -> Result<Vec<T>> {
        self.given.map_or_else(|| Ok(made()), |row| row.input(name, len))
    }

    /// A scalar: the given one, else `made`.
    pub(super) fn scalar<T: Pattern>(&self, name: &str, made: T) -> Result<T> {
        self.given.map_or(Ok(made), |row| row.scalar(name))
    }

    /// The contents of an output before it is written: `poison`, or a number that no row of the table wants, since an
    /// element may be wanted as a NaN.
    pub(super) fn unwritten<T: Pattern>(&self, poison: T) -> T {
        self.given.map_or(poison, |_| T::from_bits(0x4d4d_4d4d))
    }
}

/// The bytes and operations of a launch, for rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes read plus written, each array once.
    pub bytes: u64,
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: u64,
}

/// An operation with its data on a device.
pub trait Problem {
    /// The work of one launch.
    fn work(&self) -> Work;
    /// Enqueues the operation once. May be called again; in-place operations then work on their own result.
    fn launch(&mut self, on: &ExecOptions) -> Result<()>;
    /// Reads back and compares. Holds after exactly one launch.
    fn check(&mut self) -> Result<Verdict>;
    /// Reads back. Errors: memory around an output was written.
    fn outputs(&self) -> Result<Vec<Output>>;
}

/// A [`Problem`] of a state and two functions.
pub(super) struct Prepared<S> {
    pub work: Work,
    pub state: S,
    pub launch: fn(&mut S, &ExecOptions) -> Result<()>,
    pub check: fn(&mut S) -> Result<Verdict>,
    pub outputs: fn(&S) -> Result<Vec<Output>>,
}

impl<S> Problem for Prepared<S> {
    fn work(&self) -> Work {
        self.work
    }

    fn launch(&mut self, on: &ExecOptions) -> Result<()> {
        (self.launch)(&mut self.state, on)
    }

    fn check(&mut self) -> Result<Verdict> {
        (self.check)(&mut self.state)
    }

    fn outputs(&self) -> Result<Vec<Output>> {
        (self.outputs)(&self.state)
    }
}
