//! Matrices in scratch memory.

use crate::Executor;
use crate::planner::cost::Traffic;
use tilewright_core::{AsSlice, AsSliceMut, Element, SliceArg, ViewArg, ViewMutArg};
use tilewright_runtime::{Error, Result, Scratch};

/// Rows of copies begin at multiples of this many bytes: whole cache lines.
const PITCH_BYTES: usize = 128;

/// The elements from row to row and of the whole matrix, where rows begin at multiples of so many elements; none where
/// a number overflows. Allocations and predictions both ask here.
fn padded([rows, cols]: [usize; 2], multiples: usize) -> Option<(usize, usize)> {
    let pitch = cols.checked_next_multiple_of(multiples)?;
    Some((pitch, rows.checked_mul(pitch)?))
}

/// A launch that reads so many bytes and fills `count` matrices as [`ScratchMatrix::aligned`] makes them, with elements
/// of `size` bytes.
pub(super) fn to_aligned(read: usize, dims: [usize; 2], size: usize, count: usize) -> Traffic {
    let padded = padded(dims, PITCH_BYTES / size);
    let scratch = padded.and_then(|(_, len)| len.checked_mul(size)?.checked_mul(count)).unwrap_or(usize::MAX);
    Traffic { bytes: read.saturating_add(scratch), scratch }
}

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
        let (pitch, len) = padded(dims, multiples).ok_or_else(too_large)?;
        Ok(ScratchMatrix { memory: on.stream().scratch(len)?, dims, pitch })
    }

    /// With unspecified contents and rows that TMA takes, which begin at cache lines.
    ///
    /// Errors: as [`ScratchMatrix::new`].
    pub fn aligned(on: &impl Executor, dims: [usize; 2]) -> Result<Self> {
        ScratchMatrix::new(on, dims, PITCH_BYTES / size_of::<T>())
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
        // SAFETY: the rest of the memory after its first rows, which has `dims[0]` rows of `pitch` elements; borrowed
        // as long.
        unsafe { SliceArg::from_raw(all.addr() + (before * size_of::<T>()) as u64, all.len() - before, all.device()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_runtime::Runtime;

    /// A column takes a cache line for each element.
    #[test]
    fn predictions_count_what_is_allocated() {
        fn agree<T: Element>(dims: [usize; 2], bytes: usize) {
            let matrix = ScratchMatrix::<T>::aligned(&Runtime::cpu(), dims).unwrap();
            assert_eq!(matrix.memory.as_slice_arg().len() * size_of::<T>(), bytes, "{dims:?}");
            let traffic = to_aligned(1000, dims, size_of::<T>(), 2);
            assert_eq!((traffic.bytes, traffic.scratch), (1000 + 2 * bytes, 2 * bytes), "{dims:?}");
        }
        agree::<f32>([300, 1], 300 * 128);
        agree::<f32>([3, 33], 3 * 256);
        agree::<u8>([7, 128], 7 * 128);
        agree::<u16>([7, 65], 7 * 256);
        agree::<u16>([7, 0], 0);
        assert_eq!(to_aligned(1, [usize::MAX, 2], 4, 1).bytes, usize::MAX);
    }
}
