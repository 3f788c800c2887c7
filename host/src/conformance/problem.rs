//! One operation on one set of data: prepared, launched, checked.

use super::verdict::Verdict;
use crate::error::Result;
use crate::ops::On;
use kernel_core::DType;

/// What to prepare.
#[derive(Clone, Debug)]
pub struct Setup {
    pub dtype: DType,
    /// One number per axis of the operation.
    pub size: Vec<u64>,
    pub seed: u64,
    /// Arrays start one element past a 16-byte boundary.
    pub odd: bool,
    /// Inputs hold infinities, NaN, zeros of both signs and subnormals.
    pub awkward: bool,
    /// Rows of matrices have gaps between them; else they are packed.
    pub gaps: bool,
}

impl Setup {
    /// Aligned and packed arrays of plain data, as most callers have.
    pub fn plain(dtype: DType, size: &[u64], seed: u64) -> Setup {
        Setup { dtype, size: size.to_vec(), seed, odd: false, awkward: false, gaps: false }
    }
}

/// What a launch moves and computes, for rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes read plus written, each array once.
    pub bytes: u64,
    pub flops: u64,
}

/// An operation with its data on a device.
pub trait Problem {
    fn work(&self) -> Work;
    /// Enqueues the operation once. May be called again; in-place operations then work on their own result.
    fn launch(&mut self, on: &On) -> Result<()>;
    /// Reads back and compares. Holds after exactly one launch.
    fn check(&mut self) -> Result<Verdict>;
}

/// A [`Problem`] of a state and two functions.
pub(super) struct Prepared<S> {
    pub work: Work,
    pub state: S,
    pub launch: fn(&mut S, &On) -> Result<()>,
    pub check: fn(&mut S) -> Result<Verdict>,
}

impl<S> Problem for Prepared<S> {
    fn work(&self) -> Work {
        self.work
    }

    fn launch(&mut self, on: &On) -> Result<()> {
        (self.launch)(&mut self.state, on)
    }

    fn check(&mut self) -> Result<Verdict> {
        (self.check)(&mut self.state)
    }
}
