//! The shared memory of a thread block, and the numbers of stages that fit in it. Both are decided when the sizes of
//! the scratch buffers are known, which the generated code determines.

use crate::ir::{Func, SharedArray};
use crate::missed::Missed;
use crate::plan::Plan;
use crate::plan::cp_async_pipeline::CpAsyncBuffer;
use crate::plan::operands::{self, TMA, WGMMA};
use crate::plan::tma_pipeline::ALIGN;
use crate::plan::warp_specialized::{CircularBuffer, Pipeline};
use std::fmt;
use tilewright_types::limits::MAX_SHARED_BYTES_SM90;

/// The shared memory of a multiprocessor, and the bytes of it that the system reserves for each thread block.
const SHARED_BYTES: usize = 228 << 10;
const RESERVED_BYTES: usize = 1 << 10;
const MAX_STAGES: usize = 12;
pub const MBARRIER_BYTES: usize = 8;
/// The bytes of a scratch buffer for each scalar that one thread gives to all.
pub const SCALAR_BYTES: usize = 8;

/// Byte offsets in the shared memory of a thread block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// The end of the shared arrays, which come first.
    pub array_bytes: usize,
    /// The end of the scratch buffers, which come next.
    pub scratch_bytes: usize,
    /// The chunks of stores by tensor maps, of a warp-specialized program.
    pub staging: Option<usize>,
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
    /// The bytes of a stage.
    pub bytes: usize,
    pub stages: usize,
    /// The mbarriers of its stages, where TMA fills them.
    pub mbarriers: Option<Mbarriers>,
}

/// The places of the mbarriers of a circular buffer, one for each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarriers {
    pub full: usize,
    pub empty: usize,
}

/// The shared memory of a program whose scratch buffers end at `scratch_bytes`.
pub fn allocate(f: &Func, plan: &Plan, scratch_bytes: usize) -> Result<SharedMemory, Missed> {
    let memory = match &plan.pipeline {
        Some(p) => warp_specialized(f, p, scratch_bytes, plan.staged_stores.staging()),
        None => multistage(f, plan, scratch_bytes),
    };
    if memory.bytes <= MAX_SHARED_BYTES_SM90 {
        return Ok(memory);
    }
    let bytes = memory.bytes;
    if plan.pipeline.is_some() {
        let why = why!(
            "its buffers take {bytes} bytes of shared memory, of {MAX_SHARED_BYTES_SM90} at most: take smaller tiles, \
             or fewer stages"
        );
        return Err(operands::missed_by_all(f, TMA, why));
    }
    if plan.cp_async.by_wgmma() {
        // Code for warps alone needs less.
        let why = why!(
            "its stages and scratch buffers take {bytes} bytes of shared memory, of {MAX_SHARED_BYTES_SM90} at most: \
             take smaller tiles, or fewer stages"
        );
        return Err(operands::missed_by_all(f, WGMMA, why));
    }
    Ok(memory)
}

/// The circular buffers begin at the same byte: one loop runs after another.
fn multistage(f: &Func, plan: &Plan, scratch_bytes: usize) -> SharedMemory {
    let (cp_async, start) = (&plan.cp_async, plan.cp_async.start(scratch_bytes));
    let mut buffers: Vec<&CpAsyncBuffer> = cp_async.buffers.values().collect();
    buffers.sort_by_key(|b| b.index);
    let placed = |b: &CpAsyncBuffer| Placed {
        start,
        bytes: b.bytes,
        stages: cp_async.stages(f, b, scratch_bytes),
        mbarriers: None,
    };
    let circular_buffers: Vec<Placed> = buffers.into_iter().map(placed).collect();
    let of_all = if planted!("shared-memory-of-the-first-loop") { 1 } else { usize::MAX };
    let most = circular_buffers.iter().take(of_all).map(|at| at.bytes * at.stages).max();
    SharedMemory {
        array_bytes: SharedArray::places(&f.shared).1,
        scratch_bytes,
        staging: None,
        matrices: vec![],
        circular_buffers,
        bytes: most.map_or(scratch_bytes, |bytes| start + bytes),
    }
}

/// Everything behind the scratch buffers has a place of its own; stores take `staging` bytes.
fn warp_specialized(f: &Func, p: &Pipeline, scratch_bytes: usize, staging: usize) -> SharedMemory {
    let begin = scratch_bytes.next_multiple_of(ALIGN);
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
    let placed = |((start, stages), r): ((usize, usize), &CircularBuffer)| {
        let full = take(MBARRIER_BYTES * stages);
        let mbarriers = Some(Mbarriers { full, empty: take(MBARRIER_BYTES * stages) });
        Placed { start, bytes: r.bytes, stages, mbarriers }
    };
    let circular_buffers = starts.into_iter().zip(stages).zip(&p.circular_buffers).map(placed).collect();
    SharedMemory {
        array_bytes: SharedArray::places(&f.shared).1,
        scratch_bytes,
        staging: Some(begin),
        matrices,
        circular_buffers,
        bytes: at,
    }
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

impl fmt::Display for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let arrays = self.array_bytes;
        writeln!(f, "{} bytes", self.bytes)?;
        writeln!(f, "0: shared arrays")?;
        writeln!(f, "{arrays}: scratch buffers of {} bytes", self.scratch_bytes - arrays)?;
        self.staging.iter().try_for_each(|at| writeln!(f, "{at}: chunks of stores by tensor maps"))?;
        for (i, at) in self.matrices.iter().enumerate() {
            writeln!(f, "{at}: computed right operand {i}")?;
        }
        for (i, b) in self.circular_buffers.iter().enumerate() {
            writeln!(f, "{}: circular buffer {i}, {} stages of {} bytes", b.start, b.stages, b.bytes)?;
            if let Some(Mbarriers { full, empty }) = b.mbarriers {
                writeln!(f, "{full}, {empty}: its full and empty mbarriers")?;
            }
        }
        Ok(())
    }
}
