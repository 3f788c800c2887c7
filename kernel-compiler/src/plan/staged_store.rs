//! The stores of accumulators that go through shared memory, and how the warpgroups partition them.

use crate::analysis::axis_info::{AxisAnalysis, VECTOR_BYTES};
use crate::analysis::no_wrap::counts_up;
use crate::analysis::tma_box::takes_stores;
use crate::ir::walk::walk;
use crate::ir::{Address, Array, BlockPointer, Func, Op, Stmt, StmtId, StmtKind, Value};
use crate::layout::assign::LayoutAssignment;
use crate::layout::swizzled_smem::{ROW_BYTES, SwizzledSmemTile};
use crate::missed::{Missed, Why};
use crate::mma::wgmma::{GROUP_ROWS, WgmmaTiling};
use crate::plan::operands::{self, TMA};
use crate::plan::warp_specialized::{FusedStore, Pipeline, TensorMap, of_matrix, sorted};
use std::collections::HashMap;
use std::fmt;
use tilewright_types::limits::MAX_TENSOR_MAPS;

/// The least bytes of a row of a chunk of elements of 2 bytes. Rows of longer elements have [`ROW_BYTES`].
const MIN_ROW_BYTES: usize = ROW_BYTES / 2;

/// The staging chunks of a warpgroup.
pub const CHUNKS: usize = 2;

/// A store of accumulators through shared memory, in chunks of 64 rows.
#[derive(Clone, Copy, Debug)]
pub struct StagedStore {
    pub tiling: WgmmaTiling,
    /// The bytes of a row of a chunk.
    pub row_bytes: usize,
    /// A tile of the epilogue and its operand group: the chunks are in its buffer, and take no staging memory.
    pub copied: Option<(Value, usize)>,
    pub by: StoredBy,
    pub waits: ChunkWaits,
}

/// The waits of a warpgroup that writes chunks to shared memory. A barrier of the warpgroup follows each chunk, behind
/// a fence for the asynchronous proxy where TMA stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkWaits {
    /// Before the first chunk. If the chunk before it belongs to another store, it may be any chunk of that.
    pub first: BeforeChunk,
    /// Before any other chunk.
    pub later: BeforeChunk,
    /// Behind the last chunk.
    pub end: BehindChunks,
}

/// The wait before a chunk, so that the previous contents of its buffer have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeChunk {
    /// Nothing: the buffer is that of a tile, and the thread has read its own part.
    Nothing,
    /// A barrier of the warpgroup: its threads read the contents.
    Barrier,
    /// A wait until TMA reads at most `reading` chunks, and a barrier of the warpgroup.
    WaitAndBarrier { reading: usize },
}

/// The wait behind the last chunk of a store, before the buffer of a tile is released for copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BehindChunks {
    /// Nothing: staging memory is not released.
    Nothing,
    /// A wait until TMA has read all chunks.
    Wait,
    /// A proxy fence and a barrier of the warpgroup: its threads have read the chunks.
    FenceAndBarrier,
}

impl ChunkWaits {
    /// Of a store. `after_tma`: TMA makes any store of the program.
    fn new(copied: bool, by_tma: bool, after_tma: bool) -> ChunkWaits {
        if copied {
            let end = if by_tma { BehindChunks::Wait } else { BehindChunks::FenceAndBarrier };
            return ChunkWaits { first: BeforeChunk::Nothing, later: BeforeChunk::Nothing, end };
        }
        let more = usize::from(planted!("tma-store-chunk-overwritten"));
        let wait = |reading: usize| BeforeChunk::WaitAndBarrier { reading: reading + more };
        let later = if by_tma { wait(CHUNKS - 1) } else { BeforeChunk::Barrier };
        let overwrites = planted!("tma-store-overwrites-the-store-before");
        let first = if after_tma && !overwrites { wait(0) } else { later };
        ChunkWaits { first, later, end: BehindChunks::Nothing }
    }
}

impl fmt::Display for ChunkWaits {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let before = |b: BeforeChunk| match b {
            BeforeChunk::Nothing => "nothing".to_string(),
            BeforeChunk::Barrier => "a barrier".to_string(),
            BeforeChunk::WaitAndBarrier { reading: 0 } => "a wait for all chunks and a barrier".to_string(),
            BeforeChunk::WaitAndBarrier { reading } => format!("a wait for all chunks but {reading} and a barrier"),
        };
        write!(f, "before the first chunk {}, before a later one {}", before(self.first), before(self.later))?;
        f.write_str(match self.end {
            BehindChunks::Nothing => "",
            BehindChunks::Wait => ", behind the last one a wait for all",
            BehindChunks::FenceAndBarrier => ", behind the last one a proxy fence and a barrier",
        })
    }
}

/// The way of a chunk from shared memory to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredBy {
    /// By TMA, with a tensor map of [`Plan::maps`](super::Plan::maps).
    Tma { map: usize },
    /// Each thread stores `vec` elements at once, and its share of a chunk in one or more rounds. The tile may begin
    /// before the array does, along rows or along columns: numbers there `wraps` around.
    Threads { vec: usize, rounds: usize, wraps: [bool; 2] },
}

impl StagedStore {
    /// The bytes of a chunk.
    pub fn chunk(&self) -> usize {
        self.row_bytes * GROUP_ROWS
    }

    pub fn by_tma(&self) -> bool {
        matches!(self.by, StoredBy::Tma { .. })
    }

    /// The bytes of shared memory for the chunks of all warpgroups.
    fn staging(&self) -> usize {
        if self.copied.is_some() { 0 } else { self.tiling.rows * self.tiling.cols * CHUNKS * self.chunk() }
    }
}

impl fmt::Display for StagedStore {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "through shared memory in rows of {} bytes", self.row_bytes)?;
        if let Some((tile, _)) = self.copied {
            write!(f, " in the buffer of {tile:?}")?;
        }
        match self.by {
            StoredBy::Tma { map } => write!(f, ", by map{map}"),
            StoredBy::Threads { vec, rounds, wraps } => {
                write!(f, ", by threads, {vec} elements at once, {rounds} rounds")?;
                let names = ["rows", "columns"].into_iter().zip(wraps);
                names.filter(|(_, w)| *w).try_for_each(|(name, _)| write!(f, ", {name} may begin before the array"))
            }
        }
    }
}

/// The stores of a program that go through shared memory.
#[derive(Debug, Default)]
pub struct StagedStores(pub HashMap<StmtId, StagedStore>);

impl StagedStores {
    /// The bytes of shared memory for the chunks of all stores, which have them one after the other.
    pub fn staging(&self) -> usize {
        self.0.values().map(StagedStore::staging).max().unwrap_or(0)
    }

    /// Whether TMA stores any tile.
    pub fn by_tma(&self) -> bool {
        self.0.values().any(StagedStore::by_tma)
    }

    /// Whether the consumers wait until TMA has read all chunks before they end: a CTA must not end before its shared
    /// memory was read.
    pub fn wait_at_end(&self) -> bool {
        self.by_tma()
    }

    /// Whether the consumers wait until TMA has stored all chunks before they signal other programs.
    pub fn wait_before_signals(&self) -> bool {
        self.by_tma()
    }
}

impl fmt::Display for StagedStores {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (s, staged) in sorted(&self.0) {
            writeln!(f, "store {s:?}: {staged}\n  {}", staged.waits)?;
        }
        if self.wait_before_signals() {
            writeln!(f, "all chunks are stored before a signal to other programs")?;
        }
        if self.wait_at_end() {
            writeln!(f, "all chunks are read before the end")?;
        }
        Ok(())
    }
}

/// Plans the stores, and adds their tensor maps. TMA stores tiles where `vectors` says that rows are aligned.
pub fn plan(
    f: &Func,
    a: &AxisAnalysis,
    layouts: &LayoutAssignment,
    fused: &[FusedStore],
    p: &Pipeline,
    vectors: bool,
    maps: &mut Vec<TensorMap>,
) -> Result<StagedStores, Missed> {
    // Kernels that signal other programs have more live values, and store in rounds: the addresses of all rows would
    // take the registers of elements that are not stored yet.
    let signals = walk(&f.body).any(|s| matches!(&s.kind, StmtKind::Let(v) if f.op(*v).has_effect()));
    let of = |s: &Stmt| {
        let StmtKind::Store { ptr, value, block_pointer: Some(to), .. } = &s.kind else { return None };
        let tiling = tiling(f, layouts, *value).ok()?;
        let value = matrix(f, *value);
        let size = f.ty(value).dtype.size();
        let row_bytes = row_bytes(f.shape(value)[1] / tiling.cols, size).expect("a tiling has whole rows of chunks");
        let mut loads = fused.iter().filter(|x| x.store == s.id).flat_map(|x| &x.loads);
        let copied = loads.find_map(|&v| p.loads.get(&v).map(|&(operand_group, _)| (v, operand_group)));
        // The program waits for stores by TMA only before it signals other programs.
        let by = match vectors && is_for_tma(f, a, ptr, to).is_ok() {
            true => {
                let map = TensorMap {
                    param: ptr.param().expect("a block pointer is in a parameter"),
                    dims: to.dims.clone(),
                    extents: of_matrix(to.dims.len(), GROUP_ROWS, row_bytes / size),
                    swizzle: row_bytes,
                    stores: true,
                };
                StoredBy::Tma { map: map.among(maps) }
            }
            false => {
                let vec = vector_of_rows(f, a, ptr);
                let rank = to.at.len();
                let counts_up = |d: usize| counts_up(f, to.at[d]) || planted!("tile-store-ends-below-zero");
                let wraps = [rank - 2, rank - 1].map(|d| to.dims[d].is_limited() && !counts_up(d));
                StoredBy::Threads { vec, rounds: if signals { rounds(row_bytes, vec) } else { 1 }, wraps }
            }
        };
        Some((s.id, (tiling, row_bytes, copied, by)))
    };
    let stores: Vec<_> = walk(&f.body).filter_map(of).collect();
    let is_by_tma = |by: &StoredBy| matches!(by, StoredBy::Tma { .. });
    let after_tma = stores.iter().any(|(_, (.., by))| is_by_tma(by));
    let store = |(s, (tiling, row_bytes, copied, by)): (StmtId, (_, _, Option<_>, _))| {
        let waits = ChunkWaits::new(copied.is_some(), is_by_tma(&by), after_tma);
        (s, StagedStore { tiling, row_bytes, copied, by, waits })
    };
    if maps.len() > MAX_TENSOR_MAPS {
        let why = why!(
            "the loads and stores take {} tensor maps, of {MAX_TENSOR_MAPS} at most: pass several matrices as one view",
            maps.len()
        );
        return Err(operands::missed_by_all(f, TMA, why));
    }
    Ok(StagedStores(stores.into_iter().map(store).collect()))
}

/// The elements that a thread stores at once: 16 bytes where all addresses are multiples of 16 bytes.
fn vector_of_rows(f: &Func, a: &AxisAnalysis, ptr: &Address) -> usize {
    let most = VECTOR_BYTES / f.dtype_at(ptr).size();
    let along = f.shape(ptr.index).len() - 1;
    if a.vector_at(f, ptr, along) == (most, false) { most } else { 1 }
}

/// The rows of a chunk that a warp stores.
pub const WARP_ROWS: usize = 16;

/// The rows of a chunk that a warp stores at a time.
pub fn rows_at_once(row_bytes: usize, vec: usize) -> usize {
    if vec > 1 { 32 / (row_bytes / VECTOR_BYTES) } else { 1 }
}

fn rounds(row_bytes: usize, vec: usize) -> usize {
    WARP_ROWS / rows_at_once(row_bytes, vec).max(4)
}

/// The matrix that a store stores, also a matrix of a batch. Its elements have 2 bytes: threads that store accumulators
/// of 4 bytes fill whole sectors without shared memory.
pub fn matrix(f: &Func, value: Value) -> Value {
    match f.op(value) {
        Op::Reshape(x)
            if f.ty(value).dtype.size() == 2
                && matches!((f.shape(*x), f.shape(value)), ([m, n], [1, rows, cols]) if (m, n) == (rows, cols)) =>
        {
            *x
        }
        _ => value,
    }
}

/// The partition of a matrix that is stored through shared memory, if its shape and its elements allow that.
/// Accumulators of this shape have it.
pub fn part(f: &Func, value: Value) -> Option<WgmmaTiling> {
    let (shape, size) = (f.shape(value), f.ty(value).dtype.size());
    let [_, n] = *shape else { return None };
    let g = WgmmaTiling::new(shape, f.warps as usize)?;
    (matches!(size, 2 | 4) && row_bytes(n / g.cols, size).is_some()).then_some(g)
}

/// The bytes of a row of a chunk, where a warpgroup's part has so many columns of elements of `size` bytes.
fn row_bytes(cols: usize, size: usize) -> Option<usize> {
    let least = if size == 2 { MIN_ROW_BYTES } else { ROW_BYTES };
    Some(SwizzledSmemTile::new(GROUP_ROWS, cols, size).row_bytes).filter(|&row| row >= least)
}

/// The partition of a matrix that is stored through shared memory, or why threads store their registers.
fn tiling(f: &Func, layouts: &LayoutAssignment, value: Value) -> Result<WgmmaTiling, Why> {
    let value = matrix(f, value);
    let shape = f.shape(value);
    if matches!(f.op(value), Op::Permute(..)) {
        return Err(why!(
            "it is transposed, by `trans` or since the operands of its product are swapped: TMA stores what wgmma \
             computes"
        ));
    }
    let tiling = part(f, value).ok_or_else(|| match shape.len() {
        2 => why!(
            "warpgroups have no rows of whole 64 bytes of it (128 of elements of 4 bytes), or its elements have \
             neither 2 nor 4 bytes: take more columns, or fewer warps"
        ),
        _ => why!("it is a batch of matrices, and TMA stores one: multiply one matrix in each program"),
    })?;
    match layouts.is_accumulator(value) && *layouts.of(value) == tiling.accumulator(shape) {
        true => Ok(tiling),
        false => {
            Err(why!("its layout is not that of accumulators: TMA stores what is computed elementwise from a product"))
        }
    }
}

/// Whether a program may load elements that it has stored to an array. Then it must not store by TMA.
fn is_read_again(f: &Func, array: Array) -> bool {
    let reads = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) => {
            matches!(f.op(*v), Op::Load { ptr, .. } if ptr.array() == array)
                || matches!(f.op(*v), Op::Atomic { ptr, .. } if ptr.array() == array)
                    && !planted!("tma-store-in-front-of-an-atomic")
        }
        _ => false,
    };
    walk(&f.body).any(reads)
}

/// Whether TMA can make a store of accumulators, where rows are aligned; or why threads make it.
fn is_for_tma(f: &Func, a: &AxisAnalysis, ptr: &Address, to: &BlockPointer) -> Result<(), Why> {
    if is_read_again(f, ptr.array()) {
        return Err(why!("the kernel loads from the array that it stores to: store to another one"));
    }
    if !takes_stores(f, a, to, f.dtype_at(ptr).size()) {
        return Err(why!(
            "its tile may begin before the array, or between multiples of 16 bytes of a row: compute its place without \
             subtraction and signed numbers, and its column as a multiple of a constant"
        ));
    }
    Ok(())
}

/// The stores of matrices that threads make in a program for TMA.
pub fn missed(f: &Func, a: &AxisAnalysis, layouts: &LayoutAssignment) -> Vec<Missed> {
    let of = |s: &Stmt| match &s.kind {
        StmtKind::Store { ptr, value, block_pointer: Some(to), span, .. }
            if f.shape(*value).iter().filter(|&&e| e > 1).count() > 1 =>
        {
            let why = match tiling(f, layouts, *value) {
                Err(why) => why,
                Ok(_) => is_for_tma(f, a, ptr, to).err()?,
            };
            Some(Missed::new("stored by TMA", why).at(*span))
        }
        _ => None,
    };
    walk(&f.body).filter_map(of).collect()
}
