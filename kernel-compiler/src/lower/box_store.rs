//! Stores of accumulators to a view by tensor maps: a warpgroup's part goes through shared memory in chunks of 64 rows and 128
//! bytes, which are copied out while the next one, or the next tile, is computed. The hardware clips them at the view's ends.

use super::pipeline::Map;
use super::*;
use crate::layout::dot::{GROUP_ROWS, Groups};

/// Bytes of a chunk's row, of a chunk, and chunks of a warpgroup.
const ROW: usize = 128;
const CHUNK: usize = ROW * GROUP_ROWS;
const CHUNKS: usize = 2;

impl Lower<'_> {
    /// Whether it is such a store, and has been made.
    pub(super) fn box_store(&mut self, place: &Place, value: Value, tile: &[Value], span: proc_macro2::Span) -> bool {
        let f = self.f;
        let (Role::Consumer(_), [_, _]) = (self.role, f.shape(value)) else { return false };
        let (dtype, shape) = (f.ty(value).dtype, f.shape(value));
        let size = dtype.size();
        let Some(g) = Groups::new(shape, f.warps as usize) else { return false };
        let layout = g.accumulator(shape);
        let (rows, cols) = (shape[0] / g.rows, shape[1] / g.cols);
        if !self.boxes || !matches!(size, 2 | 4) || !(cols * size).is_multiple_of(ROW) || !self.homes.is_accumulator(value) || *self.homes.of(value) != layout {
            return false;
        }
        let map = Map { param: place.param(), extents: vec![GROUP_ROWS, ROW / size], swizzle: ROW };
        let known = self.maps.iter().position(|m| *m == map);
        let map = known.unwrap_or_else(|| {
            self.maps.push(map);
            self.maps.len() - 1
        });
        let groups = g.rows * g.cols;
        self.staging = groups * CHUNKS * CHUNK;
        let site = self.site(span);
        let regs = self.demand(value, &layout);
        // Words of a thread: of pairs of 16-bit elements, or of single ones of 32 bits; 16 to a chunk.
        let (words, t) = (self.fresh(), dtype.rust());
        let n = layout.regs() * size / 4;
        match size {
            2 => self.line(format!("let {words}: [u32; {n}] = d::each(|r| d::pair::<{t}>({}, {}));", regs.at("2 * r"), regs.at("2 * r + 1"))),
            _ => self.line(format!("let {words}: [{t}; {n}] = {};", each(&regs.at("r")))),
        }
        // Where a thread's words lie in a chunk: rows are swizzled as the map says, which leaves the banks of a warp apart.
        let row = "((tid >> 5) & 3) * 2048 + ((tid >> 2) & 7) * 128";
        let (thread, of_word): (String, fn(usize) -> usize) = match size {
            2 => (format!("{row} + (((tid >> 2) & 7) << 4) + (tid & 3) * 4"), |w| (w & 1) << 10 | w >> 1 << 4),
            _ => (format!("{row} + ((((tid >> 2) & 7) ^ ((tid >> 1) & 1)) << 4) + (tid & 1) * 8"), |w| (w & 1) << 2 | (w >> 1 & 1) << 10 | w >> 2 << 5),
        };
        let (at, place_in) = (self.fresh(), self.const_table("u32", (0..16).map(|w| of_word(w).to_string()).collect()));
        self.line(format!("let {at}: u32 = {thread};"));
        let (word, vec) = if size == 2 { ("u32", 1) } else { (t, 2) };
        let chunks = cols * size / ROW;
        let total = g.row_blocks * chunks;
        // Of an even number of chunks each has its buffer, else the last one's may still be read.
        let pending = if total % CHUNKS == 0 { CHUNKS - 1 } else { 0 };
        let (group_row, group_col) = (format!("((tid >> 7) & {})", g.rows - 1), format!("((tid >> 7) / {})", g.rows));
        for q in 0..total {
            let (m, c) = (q / chunks, q % chunks);
            let buffer = format!("STAGING + (tid >> 7) * {} + {}", CHUNKS * CHUNK, q % CHUNKS * CHUNK);
            let barrier = format!("d::group_barrier(2 + (tid >> 7), 128, {site});");
            self.line(format!("d::tma_store_wait_read::<{pending}>({site}); {barrier}"));
            self.line(format!("d::shared_store::<{word}, 16, {vec}>(|r| {buffer} + ({at} ^ {place_in}[r]), |_| true, |r| {words}[{} + r], {site});", q * 16));
            self.line(format!("d::proxy_fence({site}); {barrier}"));
            let row = format!("s::add({}, ({group_row} * {rows} + {}) as u64)", scalar(tile[0]), m * GROUP_ROWS);
            let col = format!("s::add({}, ({group_col} * {cols} + {}) as u64)", scalar(tile[1]), c * ROW / size);
            self.line(format!("d::store_box({buffer}, map{map}, [{row}, {col}], tid % 128 == 0, {site});"));
        }
        true
    }
}
