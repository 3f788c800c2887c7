//! Parts of arrays.

use crate::{LaunchResult, TensorElement};
use tilewright::kernel::{SliceArg, SliceMutArg};

/// `len` elements of an array, from `start` on. Errors: one of tilewright where they are not in the array.
pub fn of<T: TensorElement>(x: SliceArg<'_, T>, start: usize, len: usize) -> LaunchResult<SliceArg<'_, T>> {
    let end = start.saturating_add(len);
    if end > x.len() {
        return Err(tilewright::Error::OutOfRange { what: "a part of a tensor", start, end, len: x.len() }.into());
    }
    // SAFETY: elements of the array.
    Ok(unsafe { SliceArg::from_raw(x.addr() + (start * size_of::<T>()) as u64, len, x.device()) })
}

/// The first `len` elements of an array that is written, and the others. Errors: as [`of`].
pub fn split<T: TensorElement>(
    x: SliceMutArg<'_, T>,
    len: usize,
) -> LaunchResult<(SliceMutArg<'_, T>, SliceMutArg<'_, T>)> {
    let Some(rest) = x.len().checked_sub(len) else {
        return Err(
            tilewright::Error::OutOfRange { what: "a part of a tensor", start: 0, end: len, len: x.len() }.into()
        );
    };
    let (addr, device) = (x.addr(), x.device());
    // SAFETY: the two parts of an array that is given away, which do not overlap.
    Ok(unsafe {
        let behind = addr + (len * size_of::<T>()) as u64;
        (SliceMutArg::from_raw(addr, len, device), SliceMutArg::from_raw(behind, rest, device))
    })
}
