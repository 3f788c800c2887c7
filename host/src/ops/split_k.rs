//! Products of few tiles and a long depth: several programs share a tile of the result, each with a part of the depth.

use super::Launch;
use crate::error::{Error, Result};
use tilewright_core::{AsSliceMut, SliceMutArg};

/// Calls `launch` with scratch memory for so many partial sums, and with zeroed semaphores of so many tiles.
pub(super) fn with_workspace(
    on: &impl Launch,
    [sums, tiles]: [Option<u64>; 2],
    launch: impl FnOnce(SliceMutArg<f32>, SliceMutArg<u64>) -> Result<()>,
) -> Result<()> {
    let len = |n: Option<u64>| {
        n.and_then(|n| usize::try_from(n).ok()).ok_or(Error::TooLarge { len: u64::MAX, size: size_of::<f32>() })
    };
    let mut sums = on.stream().scratch::<f32>(len(sums)?)?;
    let mut semaphores = on.stream().zeroed_scratch::<u64>(len(tiles)?)?;
    launch((&mut sums).as_slice_mut_arg(), (&mut semaphores).as_slice_mut_arg())
}
