mod bench;
mod dots;
mod programs;
mod tiles;

/// Code that has no numbers.
unsafe fn launch(run: crate::CpuFn, grid: [u64; 3], slots: &[u64]) {
    unsafe { super::launch(crate::CpuCode::alone(run), grid, slots) }
}
