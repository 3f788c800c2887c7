//! The shared memory of a warp-specialized thread block, and the numbers of stages that fit in it. It is decided when
//! the sizes of the scratch buffers are known, which the code of the consumers determines.

use crate::ir::Func;
use crate::missed::Missed;
use crate::plan::operands::TMA;
use crate::plan::tma_pipeline::ALIGN;
use crate::plan::warp_specialized::{CircularBuffer, Pipeline};
use tilewright_types::limits::MAX_SHARED_BYTES_SM90;

/// The shared memory of a multiprocessor, and the bytes of it that the system reserves for each thread block.
const SHARED_BYTES: usize = 228 << 10;
const RESERVED_BYTES: usize = 1 << 10;
const MAX_STAGES: usize = 12;
pub const MBARRIER_BYTES: usize = 8;

/// Byte offsets in the shared memory of a thread block. Scratch buffers come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// The chunks of stores.
    pub staging: usize,
    /// The computed right operands.
    pub matrices: Vec<usize>,
    pub circular_buffers: Vec<Placed>,
    /// The bytes of all.
    pub bytes: usize,
}

/// The place of a circular buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub start: usize,
    pub stages: usize,
    /// The mbarriers of its stages.
    pub full: usize,
    pub empty: usize,
}

/// Places everything behind the first `scratch` bytes; stores take `staging` bytes.
pub fn places(f: &Func, p: &Pipeline, scratch: usize, staging: usize) -> Result<SharedMemory, Missed> {
    let begin = scratch.next_multiple_of(ALIGN);
    let mut at = begin + staging;
    let mut take = |bytes: usize| {
        let start = at;
        at += bytes;
        start
    };
    let matrices = p.written.iter().map(|w| take(w.tile.bytes().next_multiple_of(ALIGN))).collect();
    let blocks = f.blocks_per_sm.max(1) as usize;
    let room = (SHARED_BYTES / blocks - RESERVED_BYTES)
        .min(MAX_SHARED_BYTES_SM90)
        .saturating_sub(take(0) + p.circular_buffers.len() * 2 * MBARRIER_BYTES * MAX_STAGES);
    let stages = stages(f, p, room);
    let starts: Vec<usize> = p.circular_buffers.iter().zip(&stages).map(|(r, n)| take(r.bytes * n)).collect();
    let placed = |(start, stages): (usize, usize)| {
        let full = take(MBARRIER_BYTES * stages);
        Placed { start, stages, full, empty: take(MBARRIER_BYTES * stages) }
    };
    let circular_buffers = starts.into_iter().zip(stages).map(placed).collect();
    let bytes = at;
    if bytes > MAX_SHARED_BYTES_SM90 {
        let why = format!("its buffers take {bytes} bytes of shared memory, of {MAX_SHARED_BYTES_SM90} at most");
        return Err(Missed::new(TMA, why));
    }
    Ok(SharedMemory { staging: begin, matrices, circular_buffers, bytes })
}

/// The numbers of stages: as many as fit, equal for all circular buffers in loops that do not set a number.
fn stages(f: &Func, p: &Pipeline, room: usize) -> Vec<usize> {
    let fixed = |r: &&CircularBuffer| !r.repeats || r.stages > 0;
    let once: usize = p.circular_buffers.iter().filter(fixed).map(|r| r.bytes * r.stages.max(1) as usize).sum();
    let each: usize = p.circular_buffers.iter().filter(|r| !fixed(r)).map(|r| r.bytes).sum();
    let n = match f.stages {
        0 => (room.saturating_sub(once) / each.max(1)).clamp(2, MAX_STAGES),
        n => n as usize,
    };
    let of = |r: &CircularBuffer| match (r.repeats, r.stages) {
        (false, _) => 1,
        (true, 0) => n,
        (true, stages) => stages as usize,
    };
    p.circular_buffers.iter().map(of).collect()
}
