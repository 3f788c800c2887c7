//! Stores of accumulators to a window of an array: a warpgroup's part goes through shared memory in chunks of 64 rows and 128 bytes. Where
//! tensor maps take the array they are copied out while the next one, or the next tile, is computed, clipped at the array's ends by
//! the hardware; else by the warps, neighbouring lanes to neighbouring elements.

use crate::codegen::context::Codegen;
use crate::codegen::epilogue::Piece;
use crate::codegen::role::Role;
use crate::codegen::text::{buffer_name, each, number, scalar};
use crate::codegen::thread_ir::{AccessKind, ThreadIr};
use crate::ir::{Address, BlockPointer, Hint, Number, Op, Stmt, StmtKind, Value};
use crate::mma::wgmma::GROUP_ROWS;
use crate::passes::block_pointers::UNLIMITED;
use crate::plan::tma_store::{ROW, matrix, part};
use crate::plan::warp_specialized::{TensorMap, of_matrix};

/// Bytes of a chunk, and chunks of a warpgroup.
const CHUNK: usize = ROW * GROUP_ROWS;
const CHUNKS: usize = 2;

impl Codegen<'_> {
    /// Whether a statement is such a store, and has been made.
    pub(super) fn tma_store(&mut self, s: &Stmt) -> bool {
        let f = self.f;
        let StmtKind::Store { place, value, block_pointer: Some(block_pointer), hint, span, .. } = &s.kind else {
            return false;
        };
        let value = matrix(f, *value);
        let (Role::Consumer(_), Some(g)) = (self.role, part(f, value)) else { return false };
        let (dtype, shape) = (f.ty(value).dtype, f.shape(value));
        let size = dtype.size();
        let layout = g.accumulator(shape);
        let (rows, cols) = (shape[0] / g.rows, shape[1] / g.cols);
        if !self.layouts.is_accumulator(value) || *self.layouts.of(value) != layout {
            return false;
        }
        // The program may read again, or change, what it stores: copies that nobody waits for would be too late. Before it tells others it waits (see `told`).
        let boxes = self.boxes && !crate::ir::walk::walk(&f.body).any(|s| matches!(&s.kind, StmtKind::Let(v) if matches!(f.op(*v), Op::Load { place: from, .. } | Op::Atomic { place: from, .. } if from.param() == place.param())));
        let (site, groups) = (self.site(*span), g.rows * g.cols);
        let fused = self.fused;
        let fused = fused.iter().find(|x| x.store == s.id);
        let copied = self.copied_tile(fused);
        // Computed here, after the products: before them registers are rare.
        let (at, lane) = (self.fresh(), self.fresh());
        self.line(format!("let {lane}: u32 = d::opaque_word(tid);"));
        // Where a thread's words lie in a chunk: rows are swizzled as the map says, which leaves the banks of a warp apart. Of
        // 2-byte elements matrices of 8 by 8 are stored: a lane has the address of a row, upper and lower ones take turns.
        self.line(match size {
            2 => format!("let {at}: u32 = (({lane} >> 5) & 3) * 2048 + (({lane} >> 3) & 1) * 1024 + ({lane} & 7) * 128 + ((({lane} & 7) ^ (({lane} >> 4) & 1)) << 4);"),
            // Of words a quad has 32 bytes of a row: rows that follow each other are to leave its banks, which the maps' swizzle does not see to.
            _ if !boxes => format!("let {at}: u32 = (({lane} >> 5) & 3) * 2048 + (({lane} >> 2) & 7) * 128 + (((({lane} >> 2) & 3) << 1 ^ (({lane} >> 1) & 1)) << 4) + ({lane} & 1) * 8;"),
            _ => format!("let {at}: u32 = (({lane} >> 5) & 3) * 2048 + (({lane} >> 2) & 7) * 128 + (((({lane} >> 2) & 7) ^ (({lane} >> 1) & 1)) << 4) + ({lane} & 1) * 8;"),
        });
        let chunks = cols * size / ROW;
        let total = g.row_blocks * chunks;
        let group = Part {
            rows,
            cols,
            chunks,
            row: format!("((tid >> 7) & {})", g.rows - 1),
            col: format!("((tid >> 7) / {})", g.rows),
        };
        let barrier = format!("d::group_barrier(2 + (tid >> 7), 128, {site});");
        if copied.is_none() {
            self.staging = groups * CHUNKS * CHUNK;
        }
        // What no piece computes is at hand before the first.
        if fused.is_none() {
            self.demand(value, &layout);
        }
        for q in 0..total {
            let buffer = match copied {
                Some((load, operand_group)) => group.in_tile(&buffer_name(operand_group, 0), f.shape(load), q, size),
                None => format!("STAGING + (tid >> 7) * {} + {}", CHUNKS * CHUNK, q % CHUNKS * CHUNK),
            };
            if copied.is_none() {
                // Who had this buffer has been read; of another store's chunks, be they copied out or not, any may have been there.
                let read = if q == 0 && self.boxes { 0 } else { CHUNKS - 1 };
                let read = read + usize::from(planted!("tma-store-chunk-overwritten"));
                let read = if boxes || read == 0 {
                    format!("d::tma_store_wait_read::<{read}>({site}); ")
                } else {
                    String::new()
                };
                self.line(read + &barrier);
            }
            let len = CHUNK / size / 128;
            let piece = Piece { fused, layout: &layout, first: q * len, len, buffer: &buffer, at: &at };
            let regs = self.piece(value, &piece);
            let (words, t) = (self.fresh(), dtype.rust());
            match size {
                2 => self.line(format!(
                    "let {words}: [u32; 16] = d::each(|r| d::pair::<{t}>({}, {}));",
                    regs.at("(2 * r)"),
                    regs.at("(2 * r + 1)")
                )),
                _ => self.line(format!("let {words}: [{t}; 16] = {};", each(&regs.at("r")))),
            }
            self.put_chunk(size, t, &words, &buffer, &at, site);
            self.line(if boxes && !planted!("tma-store-without-proxy-fence") {
                format!("d::proxy_fence({site}); {barrier}")
            } else {
                barrier.clone()
            });
            match boxes {
                true => self.copy_out((place, block_pointer, *hint), &group, q, size, &buffer, site),
                false => self.write_out((place, block_pointer, *hint), &group, (q, &buffer), &lane, site),
            }
        }
        if copied.is_some() {
            // Then the tile's place is given back, by one thread for all, to copies (see `release`).
            self.line(if boxes {
                format!("d::tma_store_wait_read::<0>({site});")
            } else {
                format!("d::proxy_fence({site}); {barrier}")
            });
        }
        true
    }

    /// Before others are told what this program has stored.
    pub(super) fn told(&mut self, site: u32) {
        let f = self.f;
        let copies = |s: &Stmt| matches!(&s.kind, StmtKind::Store { value, block_pointer: Some(_), .. } if part(f, matrix(f, *value)).is_some());
        let copies = |s: &Stmt| copies(s) && !planted!("announced-before-tma-store-ends");
        if self.boxes && matches!(self.role, Role::Consumer(_)) && crate::ir::walk::walk(&f.body).any(copies) {
            self.line(format!("d::tma_store_wait({site});"));
        }
        if !planted!("release-without-barrier") {
            self.node(ThreadIr::Barrier { site });
        }
    }

    /// A thread's words to its chunk.
    fn put_chunk(&mut self, size: usize, t: &str, words: &str, buffer: &str, at: &str, site: u32) {
        if size == 2 {
            for i in 0..4 {
                let four: Vec<String> = (0..4).map(|w| format!("{words}[{}]", i * 4 + w)).collect();
                self.line(format!("d::stmatrix({buffer} + ({at} ^ {}), [{}], {site});", i * 32, four.join(", ")));
            }
            return;
        }
        let of_word = |w: usize| (w & 1) << 2 | (w >> 1 & 1) << 10 | w >> 2 << 5;
        let place_in = self.const_table("u32", (0..16).map(|w| of_word(w).to_string()).collect());
        self.line(format!(
            "d::shared_store::<{t}, 16, 2>(|r| {buffer} + ({at} ^ {place_in}[r]), |_| true, |r| {words}[r], {site});"
        ));
    }

    fn copy_out(
        &mut self,
        (place, block_pointer, hint): (&Address, &BlockPointer, Hint),
        group: &Part,
        q: usize,
        size: usize,
        buffer: &str,
        site: u32,
    ) {
        let extents = of_matrix(block_pointer.dims.len(), GROUP_ROWS, ROW / size);
        let map =
            TensorMap { param: place.param(), dims: block_pointer.dims.clone(), extents, swizzle: ROW, stores: true };
        let map = map.among(&mut self.maps);
        self.line(format!(
            "d::store_box::<{}, _>({buffer}, map{map}, [{}], tid % 128 == 0, {site});",
            hint as u32,
            group.origin(&block_pointer.at, q, size).join(", ")
        ));
    }

    /// A warp takes 16 rows of the chunk; its lanes stand beside each other, with 16 bytes each where what they take begins at multiples of these.
    fn write_out(
        &mut self,
        (place, block_pointer, hint): (&Address, &BlockPointer, Hint),
        group: &Part,
        (q, buffer): (usize, &str),
        lane: &str,
        site: u32,
    ) {
        const ROWS: usize = 16;
        let p = &self.f.params[place.param()];
        let (t, size, slot) = (p.dtype.rust(), p.dtype.size(), p.slot);
        let index = place.index();
        let most = 16 / size;
        let vec =
            if self.a.vector(self.f, index, self.f.shape(index).len() - 1, size) == (most, false) { most } else { 1 };
        // Rows and columns that the lanes take at a time, and where in them a lane is.
        let (high, wide) = if vec > 1 { (32 * 16 / ROW, ROW / size) } else { (1, 32) };
        let (in_rows, in_columns) = if vec > 1 {
            (format!("({lane} >> 3 & 3)"), format!("({lane} & 7) * {vec}"))
        } else {
            ("0".into(), format!("({lane} & 31)"))
        };
        // In kernels that tell others of what they store, which have more to remember, in rounds: addresses of all rows would take the registers of what is
        // not stored yet.
        let tells = crate::ir::walk::walk(&self.f.body)
            .any(|s| matches!(&s.kind, StmtKind::Let(v) if self.f.op(*v).has_effect()));
        let (across, rounds) = (ROW / size / wide, if tells { 4 } else { 1 });
        let regs = ROWS / rounds / high * across * vec;
        let of = |r: usize| (r / vec / across * high, r / vec % across * wide + r % vec);
        let rows = self.const_table("u32", (0..regs).map(|r| of(r).0.to_string()).collect());
        let cols = self.const_table("u32", (0..regs).map(|r| of(r).1.to_string()).collect());
        let mut origin = group.origin(&block_pointer.at, q, size);
        let rank = origin.len();
        let (col, row) = (origin.pop().expect("columns"), origin.pop().expect("rows"));
        let (r0, c0, base, v) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        self.line(format!("let {r0}: u64 = s::add({row}, (({lane} >> 5 & 3) * {ROWS} + {in_rows}) as u64); let {c0}: u64 = s::add({col}, ({in_columns}) as u64);"));
        let (below, left) = (self.fresh(), self.fresh());
        let (extent, stride) =
            (|d: usize| number(&block_pointer.dims[d].extent), |d: usize| number(&block_pointer.dims[d].stride));
        let limited = |d: usize| block_pointer.dims[d].extent != Number::constant(UNLIMITED);
        let limited = |d: usize| limited(d) && !planted!("tile-store-beyond-extent");
        let inside: Vec<String> = origin
            .iter()
            .enumerate()
            .filter(|&(d, _)| limited(d))
            .map(|(d, o)| format!("{o} < {}", extent(d)))
            .collect();
        let before: String =
            origin.iter().enumerate().map(|(d, o)| format!(".wrapping_add({o}.wrapping_mul({}))", stride(d))).collect();
        let left_of = |d: usize, from: &str| {
            if limited(d) { format!("d::limit({}, {from})", extent(d)) } else { "u32::MAX".into() }
        };
        let rows_left = left_of(rank - 2, &r0);
        let rows_left = if inside.is_empty() {
            rows_left
        } else {
            format!("if {} {{ {rows_left} }} else {{ 0 }}", inside.join(" && "))
        };
        self.line(format!("let {below}: u32 = {rows_left}; let {left}: u32 = {};", left_of(rank - 1, &c0)));
        let pitch = stride(rank - 2);
        self.line(format!("let {base}: u64 = a{slot}.wrapping_add({r0}.wrapping_mul({pitch}).wrapping_add({c0}){before}.wrapping_mul({size}));"));
        let from = if rounds > 1 { self.fresh() } else { "0".into() };
        let row = format!("({in_rows} + {from} + {rows}[r])");
        let swizzle = if size == 4 { format!("(({row} & 3) << 5)") } else { format!("(({row} & 7) << 4)") };
        let in_chunk = format!("(({in_columns} + {cols}[r]) * {size} ^ {swizzle})");
        let (last_row, last_col) = of(regs - 1);
        let full =
            if vec > 1 { format!("({from} + {last_row} < {below}) & ({last_col} < {left})") } else { "false".into() };
        let once = format!(
            "let {v} = d::shared_load::<{t}, {regs}, {vec}>(|r| {buffer} + (({lane} >> 5 & 3) * {ROWS} + {row}) * {ROW} + {in_chunk}, |_| true, {site}); \
             d::store::<{t}, {regs}, {vec}, false>(|r| {base}.wrapping_add((({from} + {rows}[r]) as u64).wrapping_mul({pitch}.wrapping_mul({size}))).wrapping_add({cols}[r] as u64 * {size}), {full}, |r| ({from} + {rows}[r] < {below}) & ({cols}[r] < {left}), |r| {v}[r], {}, {site});",
            hint as u32,
        );
        let text = match rounds {
            1 => once,
            // LLVM would lay out what it can count.
            _ => format!(
                "let mut {from}: u32 = 0; while {from} < d::opaque_word({ROWS}) {{ {once} {from} += {}; }}",
                ROWS / rounds
            ),
        };
        self.access(place, AccessKind::Write, None, true, site, text);
    }
}

/// The part of a warpgroup, in chunks by rows, then by columns.
struct Part {
    rows: usize,
    cols: usize,
    chunks: usize,
    row: String,
    col: String,
}

impl Part {
    /// Where a chunk lies in a tile of that shape, in boxes side by side.
    fn in_tile(&self, base: &str, shape: &[usize], q: usize, size: usize) -> String {
        let (m, c) = (q / self.chunks, q % self.chunks);
        format!(
            "{base} + ({} * {} + {}) * {ROW} + ({} * {} + {c}) * {}",
            self.row,
            self.rows,
            m * GROUP_ROWS,
            self.col,
            self.cols * size / ROW,
            shape[0] * ROW
        )
    }

    /// Where a chunk begins in the array.
    fn origin(&self, at: &[Value], q: usize, size: usize) -> Vec<String> {
        let (m, c) = (q / self.chunks, q % self.chunks);
        let [before @ .., rows, cols] = at else { unreachable!("a matrix") };
        let row = format!("s::add({}, ({} * {} + {}) as u64)", scalar(*rows), self.row, self.rows, m * GROUP_ROWS);
        let col = format!("s::add({}, ({} * {} + {}) as u64)", scalar(*cols), self.col, self.cols, c * ROW / size);
        before.iter().map(|&o| scalar(o)).chain([row, col]).collect()
    }
}
