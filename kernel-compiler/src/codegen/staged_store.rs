//! Stores of accumulators to a block pointer. The part of a warpgroup goes through shared memory in chunks of 64 rows
//! and 128 or 64 bytes. Where the array has a tensor map, TMA stores a chunk while the next chunk or the next tile is
//! computed, and clips it at the ends of the array. Otherwise the warps store it, consecutive lanes to consecutive
//! elements.

use crate::codegen::context::Codegen;
use crate::codegen::epilogue::{MATRICES_BYTES, Piece};
use crate::codegen::pieces::{all_of, any, each, number, of_r};
use crate::codegen::role::Role;
use crate::codegen::warp_specialize::warpgroup_barrier;
use crate::dtype::DType;
use crate::ir::{self, Address, Binary, BlockPointer, Hint, StmtKind, Value};
use crate::layout::swizzled_smem::ROW_BYTES;
use crate::mma::wgmma::GROUP_ROWS;
use crate::plan::accesses::AccessId;
use crate::plan::staged_store::{
    BeforeChunk, BehindChunks, CHUNKS, StagedStore, StoredBy, WARP_ROWS, matrix, rows_at_once,
};
use crate::thread_ir::{
    Access, AccessKind, BinaryOp, Device, Expr, Generic, Literal, Local, Name, Stmt, ThreadIr, Ty, call,
};

impl Codegen<'_> {
    pub(super) fn staged_store(&mut self, s: &ir::Stmt, staged: &StagedStore) {
        let f = self.f;
        let StmtKind::Store { ptr, value, block_pointer: Some(block_pointer), hint, span, .. } = &s.kind else {
            unreachable!("a store of a tile of a view")
        };
        let value = matrix(f, *value);
        let (dtype, shape) = (f.ty(value).dtype, f.shape(value));
        let &StagedStore { tiling: g, row_bytes, copied, .. } = staged;
        let (size, by_tma) = (dtype.size(), staged.by_tma());
        let layout = g.accumulator(shape);
        let (rows, cols) = (shape[0] / g.rows, shape[1] / g.cols);
        let site = self.site(*span);
        let fused = self.fused();
        let fused = fused.iter().find(|x| x.store == s.id);
        // Computed here, after the products, which leave few registers.
        let (at, lane) = (self.fresh(), self.fresh());
        self.line(Stmt::define(lane, Ty::U32, call!(Device::OpaqueWord; Name::Tid)));
        self.line(Stmt::define(at, Ty::U32, place_of_words(lane, size, row_bytes, by_tma)));
        let chunks = cols * size / row_bytes;
        let chunk = staged.chunk();
        let total = g.row_blocks * chunks;
        let group = StoredPart {
            rows,
            cols,
            chunks,
            size,
            row_bytes,
            row: ((Name::Tid >> 7).group() & (g.rows - 1)).group(),
            col: ((Name::Tid >> 7).group() / g.rows).group(),
        };
        let plan = self.plan;
        let barrier = || Stmt::Expr(warpgroup_barrier(plan, site));
        let wait_read = |pending: usize| Stmt::Expr(call!(Device::TmaStoreWaitRead; [pending]; site));
        let fence = || Stmt::Expr(call!(Device::ProxyFence; site));
        // Values that no piece computes are computed before the first piece.
        if fused.is_none() {
            self.demand(value, &layout);
        }
        if by_tma && !planted!("tma-store-without-access") {
            // Earlier loads of all threads from what may be the same memory come first.
            let (array, kind) = (ptr.array(), AccessKind::Write);
            let access = Access { array, memory: f.memory(array), kind, elements: None, at: s.id, site };
            self.node(ThreadIr::Access { stmts: vec![], access });
        }
        // The chunks of a warpgroup are in its own bytes, whichever store they belong to.
        let of_one = self.plan.staged_stores.staging() / (g.rows * g.cols);
        for q in 0..total {
            let buffer = match copied {
                Some((load, operand_group)) => {
                    group.in_tile(Name::Buffer { operand_group, buffer: 0 }, f.shape(load), q)
                }
                None => {
                    let of_group = (Name::Tid >> 7).group() * of_one;
                    Name::Staging + of_group + q % CHUNKS * chunk
                }
            };
            match if q == 0 { staged.waits.first } else { staged.waits.later } {
                BeforeChunk::Nothing => {}
                BeforeChunk::Barrier => self.lines(vec![barrier()]),
                BeforeChunk::WaitAndBarrier { reading } => self.lines(vec![wait_read(reading), barrier()]),
            }
            let len = chunk / size / 128;
            let piece = Piece { store: s.id, layout: &layout, first: q * len, len, buffer: &buffer, at };
            let regs = self.piece(value, &piece);
            // The words of a thread: 128 threads share the 64 rows.
            let count = row_bytes / 8;
            let words = match size {
                2 => {
                    let word = |second: usize| {
                        let r = Expr::from(2) * Local::R;
                        regs.at(if second == 0 { r } else { r + second }.group())
                    };
                    self.bind(Ty::array(Ty::U32, count), each(call!(Device::Pair; [dtype]; word(0), word(1))))
                }
                _ => self.bind(Ty::array(dtype, count), each(regs.at(Local::R))),
            };
            self.put_chunk(dtype, &group, words, &buffer, at, site);
            self.lines(
                (by_tma && !planted!("tma-store-without-proxy-fence"))
                    .then(fence)
                    .into_iter()
                    .chain([barrier()])
                    .collect(),
            );
            match staged.by {
                StoredBy::Tma { map } => self.copy_out((block_pointer, *hint, map), &group, (q, &buffer), site),
                StoredBy::Threads { vec, rounds, wraps } => {
                    let by = (lane, vec, rounds, wraps);
                    self.write_out((ptr, block_pointer, *hint), &group, (q, &buffer), by, site);
                }
            }
        }
        // Then one thread releases the buffer of a tile for copies (see `release`).
        match staged.waits.end {
            BehindChunks::Nothing => {}
            BehindChunks::Wait => self.lines(vec![wait_read(0)]),
            BehindChunks::FenceAndBarrier => self.lines(vec![fence(), barrier()]),
        }
    }

    /// The code before this program signals other programs that its stores are done.
    pub(super) fn release_stores(&mut self, site: u32) {
        let waits = self.plan.staged_stores.wait_before_signals();
        if waits && matches!(self.role, Role::Consumer(_)) && !planted!("announced-before-tma-store-ends") {
            self.line(call!(Device::TmaStoreWait; site));
        }
        if !planted!("release-without-barrier") {
            self.barrier(site);
        }
    }

    /// Writes the words of a thread to its chunk.
    fn put_chunk(&mut self, dtype: DType, group: &StoredPart, words: Name, buffer: &Expr, at: Name, site: u32) {
        let word = |i: Expr| Expr::from(words).element(i);
        if dtype.size() == 2 {
            for i in 0..group.row_bytes / MATRICES_BYTES {
                let four = Expr::Array((0..4).map(|w| word((i * 4 + w).into())).collect());
                let place = buffer.clone() + (at ^ (i * MATRICES_BYTES)).group();
                self.line(call!(Device::Stmatrix; place, four, site));
            }
            return;
        }
        let of_word = |w: u32| (w & 1) << 2 | (w >> 1 & 1) << 10 | w >> 2 << 5;
        let place_in = Expr::from(self.word_table((0..16).map(of_word))).element(Local::R);
        let place = buffer.clone() + (at ^ place_in).group();
        self.line(call!(
            Device::SharedStore; [dtype, 16u32, 2u32];
            of_r(place), any(true), of_r(word(Local::R.into())), site
        ));
    }

    fn copy_out(
        &mut self,
        (block_pointer, hint, map): (&BlockPointer, Hint, usize),
        group: &StoredPart,
        (q, buffer): (usize, &Expr),
        site: u32,
    ) {
        let origin = Expr::Array(group.origin(&block_pointer.at, q));
        self.line(call!(
            Device::TmaStore; [hint as u32, Generic::Inferred];
            buffer, Name::Map(map), origin, (Name::Tid % 128).equals(0), site
        ));
    }

    /// Stores a chunk by threads. A warp takes 16 rows; consecutive lanes store consecutive elements, 16 bytes each
    /// where the addresses are multiples of 16 bytes.
    fn write_out(
        &mut self,
        (ptr, block_pointer, hint): (&Address, &BlockPointer, Hint),
        group: &StoredPart,
        (q, buffer): (usize, &Expr),
        (lane, vec, rounds, wraps): (Name, usize, usize, [bool; 2]),
        site: u32,
    ) {
        let t = self.f.dtype_at(ptr);
        let size = t.size();
        // The rows and columns that the lanes of a warp store at a time, and the position of a lane in them.
        let row_bytes = group.row_bytes;
        let vectors = row_bytes / 16;
        let (high, wide) = (rows_at_once(row_bytes, vec), if vec > 1 { row_bytes / size } else { 32 });
        let (in_rows, in_columns): (Expr, Expr) = if vec > 1 {
            ((lane >> vectors.ilog2() & (high - 1)).group(), (lane & (vectors - 1)).group() * vec)
        } else {
            (0.into(), (lane & 31).group())
        };
        let across = row_bytes / size / wide;
        let regs = WARP_ROWS / rounds / high * across * vec;
        let of = |r: usize| (r / vec / across * high, r / vec % across * wide + r % vec);
        let r = |table: Name| Expr::from(table).element(Local::R);
        let rows = r(self.word_table((0..regs).map(|r| of(r).0 as u32)));
        let cols = r(self.word_table((0..regs).map(|r| of(r).1 as u32)));
        let mut origin = group.origin(&block_pointer.at, q);
        let rank = origin.len();
        let (col, row) = (origin.pop().expect("columns"), origin.pop().expect("rows"));
        let (r0, c0, base, v) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        let of_warp = || (lane >> 5 & 3).group() * WARP_ROWS;
        let first_row = (of_warp() + in_rows.clone()).group().cast(Ty::U64);
        let first_col = in_columns.clone().group().cast(Ty::U64);
        self.lines(vec![
            Stmt::define(r0, Ty::U64, call!(Binary::Add; row, first_row)),
            Stmt::define(c0, Ty::U64, call!(Binary::Add; col, first_col)),
        ]);
        let (below, left) = (self.fresh(), self.fresh());
        let (extent, stride) =
            (|d: usize| number(&block_pointer.dims[d].extent), |d: usize| number(&block_pointer.dims[d].stride));
        let limited = |d: usize| block_pointer.dims[d].is_limited() && !planted!("tile-store-beyond-extent");
        // A tile may begin before the array does: a row or a column that has wrapped around is beyond every extent, and
        // later ones are not.
        let wraps = [rank - 2, rank - 1].map(|d| limited(d) && wraps[d + 2 - rank]);
        let outer = || origin.iter().cloned().enumerate();
        let inside: Vec<Expr> = outer().filter(|&(d, _)| limited(d)).map(|(d, o)| o.less(extent(d))).collect();
        let left_of = |d: usize, from: Name| match limited(d) {
            true => call!(Device::Limit; extent(d), from),
            false => Expr::Literal(Literal::MaxU32),
        };
        let rows_left = left_of(rank - 2, r0);
        let rows_left = match inside.is_empty() {
            true => rows_left,
            false => Expr::when(all_of(inside, BinaryOp::AndThen), rows_left, 0),
        };
        self.lines(vec![Stmt::define(below, Ty::U32, rows_left), Stmt::define(left, Ty::U32, left_of(rank - 1, c0))]);
        let pitch = stride(rank - 2);
        let first = Expr::from(r0).wrapping_mul(pitch.clone()).wrapping_add(c0);
        let first = outer().fold(first, |at, (d, o)| at.wrapping_add(o.wrapping_mul(stride(d))));
        self.line(Stmt::define(base, Ty::U64, self.first(ptr).wrapping_add(first.wrapping_mul(size))));
        let round = (rounds > 1).then(|| self.fresh());
        let from = || round.map_or(0.into(), Expr::from);
        let row = || (in_rows.clone() + from() + rows.clone()).group();
        let swizzle = match size {
            4 => ((row() & 3).group() << 5).group(),
            _ => (swizzled_row(row(), row_bytes) << 4).group(),
        };
        let in_chunk = (((in_columns + cols.clone()).group() * size) ^ swizzle).group();
        let (last_row, last_col) = of(regs - 1);
        let is_inside = |d: usize, from: Name, left: Name, i: Expr| match wraps[d + 2 - rank] {
            true => Expr::from(from).wrapping_add(i.group().cast(Ty::U64)).less(extent(d)).group(),
            false => i.less(left).group(),
        };
        let both = |row: Expr, col: Expr| is_inside(rank - 2, r0, below, row) & is_inside(rank - 1, c0, left, col);
        let last_row = if planted!("tile-store-full-by-the-first-round") { last_row.into() } else { from() + last_row };
        let is_whole = vec > 1 && wraps == [false; 2];
        let full = if is_whole { both(last_row, last_col.into()) } else { false.into() };
        let from_chunk = buffer.clone() + (of_warp() + row()).group() * row_bytes + in_chunk;
        let loaded = call!(Device::SharedLoad; [t, regs, vec]; of_r(from_chunk), any(true), site);
        let bytes_down = (from() + rows.clone()).group().cast(Ty::U64).group().wrapping_mul(pitch.wrapping_mul(size));
        let addr = Expr::from(base).wrapping_add(bytes_down);
        let addr = addr.wrapping_add(cols.clone().cast(Ty::U64) * size);
        let ok = both(from() + rows, cols);
        let store = call!(
            Device::Store; [t, regs, vec, false, false];
            of_r(addr), full, of_r(ok), of_r(Expr::from(v).element(Local::R)), hint as u32, site
        );
        let once = vec![Stmt::bind(v, loaded), store.into()];
        let stmts = match round {
            None => once,
            // The count is opaque, or LLVM would unroll the loop.
            Some(from) => {
                let next = Stmt::Update(BinaryOp::Add, from, (WARP_ROWS / rounds).into());
                let cond = Expr::from(from).less(call!(Device::OpaqueWord; WARP_ROWS));
                let body = once.into_iter().chain([next]).collect();
                vec![Stmt::variable(from, Some(Ty::U32), Some(0.into())), Stmt::While { cond, body }]
            }
        };
        self.access(AccessId::Store(self.at), ptr, site, stmts);
    }
}

/// The offset of a thread's words in a chunk. Rows are swizzled as the tensor map says, so that the lanes of a warp
/// access distinct banks.
fn place_of_words(lane: Name, size: usize, row_bytes: usize, by_tma: bool) -> Expr {
    let bits = |shift: u32, mask: u32| {
        if shift == 0 { (lane & mask).group() } else { ((lane >> shift).group() & mask).group() }
    };
    // The row of a quad, and the pair of words of a lane in it.
    let quad = |swizzled: Expr| {
        bits(5, 3) * (16 * row_bytes) + bits(2, 7) * row_bytes + (swizzled.group() << 4).group() + bits(0, 1) * 8
    };
    match size {
        // `stmatrix` stores matrices of 8 by 8 elements of 2 bytes: each lane gives the address of a row, alternately
        // of the upper and the lower matrices.
        2 => {
            let swizzled = (swizzled_row(lane.into(), row_bytes) ^ bits(4, 1)).group() << 4;
            bits(5, 3) * (16 * row_bytes) + bits(3, 1) * (8 * row_bytes) + bits(0, 7) * row_bytes + swizzled.group()
        }
        // A quad has 32 bytes of a row of words. Consecutive rows must use other banks, which the swizzle of the map
        // does not achieve.
        _ if !by_tma => quad(bits(2, 3) << 1 ^ bits(1, 1)),
        _ => quad(bits(2, 7) ^ bits(1, 1)),
    }
}

/// The number that the vectors of a chunk's row are permuted by: that of its 128 bytes.
fn swizzled_row(row: Expr, row_bytes: usize) -> Expr {
    let row = match ROW_BYTES / row_bytes {
        1 => row,
        rows => (row >> rows.ilog2()).group(),
    };
    (row & (row_bytes / 16 - 1)).group()
}

/// The part of a warpgroup. Its chunks are ordered by rows, then by columns.
struct StoredPart {
    rows: usize,
    cols: usize,
    /// Chunks along the columns, the bytes of an element, and those of a row of a chunk.
    chunks: usize,
    size: usize,
    row_bytes: usize,
    row: Expr,
    col: Expr,
}

impl StoredPart {
    /// The offset of a chunk in a tile of this shape, whose boxes are next to each other.
    fn in_tile(&self, tile: Name, shape: &[usize], q: usize) -> Expr {
        let (m, c) = (q / self.chunks, q % self.chunks);
        let row = self.row.clone() * self.rows + m * GROUP_ROWS;
        let col = self.col.clone() * self.chunks + c;
        tile + row.group() * self.row_bytes + col.group() * (shape[0] * self.row_bytes)
    }

    /// The coordinates of a chunk in the array.
    fn origin(&self, at: &[Value], q: usize) -> Vec<Expr> {
        let (m, c) = (q / self.chunks, q % self.chunks);
        let [before @ .., rows, cols] = at else { unreachable!("a matrix") };
        let start = |at: Value, of_group: Expr| call!(Binary::Add; at, of_group.group().cast(Ty::U64));
        let row = start(*rows, self.row.clone() * self.rows + m * GROUP_ROWS);
        let col = start(*cols, self.col.clone() * self.cols + c * self.row_bytes / self.size);
        before.iter().map(|&o| Expr::from(o)).chain([row, col]).collect()
    }
}
