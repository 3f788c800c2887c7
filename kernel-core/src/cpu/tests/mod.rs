mod axes;
mod bench;
mod dots;
mod programs;
mod tiles;

/// Code that has no numbers.
///
/// # Safety
/// The argument words are addresses and numbers as `run` takes them in every program of the grid.
unsafe fn launch(run: crate::CpuFn, grid: [u64; 3], words: &[u64]) {
    // SAFETY: the caller's contract.
    unsafe { super::launch(crate::CpuCode::alone(run), grid, words) }
}
