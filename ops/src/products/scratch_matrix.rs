//! Matrices in scratch memory.

use crate::Executor;
use tilewright_core::{AsSlice, AsSliceMut, Element, SliceArg, ViewArg, ViewMutArg};
use tilewright_runtime::{Error, Result, Scratch};

/// Rows of neighbors, each `pitch` elements behind the one before.
pub(super) struct ScratchMatrix<T> {
    memory: Scratch<T>,
    dims: [usize; 2],
    pitch: usize,
}

impl<T: Element> ScratchMatrix<T> {
    /// With unspecified contents and rows that begin at multiples of so many elements.
    ///
    /// Errors: [`Error::OutOfMemory`], [`Error::TooLarge`].
    pub fn new(on: &impl Executor, dims: [usize; 2], multiples: usize) -> Result<Self> {
        let too_large = || Error::TooLarge { len: dims[0].saturating_mul(dims[1]), size: size_of::<T>() };
        let pitch = dims[1].checked_next_multiple_of(multiples).ok_or_else(too_large)?;
        let len = dims[0].checked_mul(pitch).ok_or_else(too_large)?;
        Ok(ScratchMatrix { memory: on.stream().scratch(len)?, dims, pitch })
    }

    pub fn view(&self) -> Result<ViewArg<'_, T, 2>> {
        self.first_rows(self.dims[0])
    }

    pub fn first_rows(&self, rows: usize) -> Result<ViewArg<'_, T, 2>> {
        let all = self.memory.as_slice_arg();
        Ok(all.strided([rows, self.dims[1]], [self.pitch, 1])?)
    }

    pub fn view_mut(&mut self) -> Result<ViewMutArg<'_, T, 2>> {
        let (dims, pitch) = (self.dims, self.pitch);
        let all = self.memory.as_slice_mut_arg();
        Ok(all.strided(dims, [pitch, 1])?)
    }

    /// The rows from this one on. Panics where there are gaps between rows, or fewer of them.
    pub fn tail(&self, first: usize) -> SliceArg<'_, T> {
        assert!(first <= self.dims[0] && self.pitch == self.dims[1]);
        let all = self.memory.as_slice_arg();
        let before = first * self.pitch;
        // SAFETY: what follows the first rows of the memory, which has `dims[0]` rows of `pitch` elements; borrowed as
        // long.
        unsafe { SliceArg::from_raw(all.addr() + (before * size_of::<T>()) as u64, all.len() - before, all.device()) }
    }
}
