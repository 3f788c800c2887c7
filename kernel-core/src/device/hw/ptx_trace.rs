//! Marks of a traced launch in PTX: the array is laid out as `tilewright_types::TraceLayout` says.
//!
//! A cursor is the number of marks so far in its low half, and the place of the first one in its high half. A lane
//! without a slot begins with more marks than any slot has. No step has a branch: marks that have no place are
//! predicated off.

use core::arch::asm;

use super::{num_programs, program_id, thread};

/// Records before the marks of a slot.
const HEAD: u32 = 3;
/// The marks of a lane without a slot: the count does not wrap in a launch.
const NO_SLOT: u64 = 1 << 31;
const LANES: u32 = 32;

/// The number of this thread block in the grid.
#[inline(always)]
fn block() -> u64 {
    let id = |axis| program_id(axis) as u64;
    let n = |axis| num_programs(axis) as u64;
    id(0) + n(0) * (id(1) + n(1) * id(2))
}

/// The record of a listed block, and whether it is listed.
#[inline(always)]
fn listed_block<const BLOCKS: u32, const WARPS: u32, const CAPACITY: u32, const LISTED: u32>(
    block: u64,
) -> (u32, bool) {
    let listed = block < LISTED as u64;
    let before = BLOCKS * WARPS * CAPACITY;
    (if listed { before + block as u32 * HEAD } else { 0 }, listed)
}

/// Writes the head of this warp's slot, and gives the cursor. Only the first lane of a traced warp has a slot.
#[inline(always)]
pub fn trace_begin<const BLOCKS: u32, const WARPS: u32, const CAPACITY: u32, const LISTED: u32>() -> u64 {
    let (thread, block) = (thread(), block());
    let traced = thread % LANES == 0 && block < BLOCKS as u64;
    let slot = if traced { (block as u32 * WARPS + thread / LANES) * CAPACITY } else { 0 };
    let (of_block, listed) = listed_block::<BLOCKS, WARPS, CAPACITY, LISTED>(block);
    // SAFETY: a slot, or the records of a listed block, lie in the array, which the crate of the entry declares. Only
    // this thread writes them.
    unsafe {
        asm!(
            "{{",
            ".reg .pred traced, listed;",
            ".reg .b32 sm;",
            ".reg .b64 first, place, now, time, seen;",
            "setp.ne.u32 traced, {traced}, 0;",
            "setp.ne.u32 listed, {listed}, 0;",
            "mov.u32 sm, %smid;",
            "cvt.u64.u32 seen, sm;",
            "or.b64 seen, seen, 0x100000000;",
            "mov.u64 now, %clock64;",
            "mov.u64 time, %globaltimer;",
            "mov.u64 first, tile_trace;",
            "mad.wide.u32 place, {slot}, 16, first;",
            "@traced st.global.v2.b64 [place], {{now, time}};",
            "@traced st.global.b64 [place+32], seen;",
            "mad.wide.u32 place, {of_block}, 16, first;",
            "@listed st.global.v2.b64 [place], {{now, time}};",
            "@listed st.global.b64 [place+32], seen;",
            "}}",
            traced = in(reg32) traced as u32, slot = in(reg32) slot,
            listed = in(reg32) (listed && thread == 0) as u32, of_block = in(reg32) of_block,
            options(nostack)
        )
    }
    if traced { ((slot + HEAD) as u64) << 32 } else { NO_SLOT }
}

/// Writes a mark with its value, if the slot has room, and gives the next cursor.
#[inline(always)]
pub fn trace<const CAPACITY: u32>(mut cursor: u64, mark: u32, value: u32) -> u64 {
    // SAFETY: the place is one of this warp's slot where fewer marks came before than the slot has room for. Only this
    // thread writes the slot.
    unsafe {
        asm!(
            "{{",
            ".reg .pred room;",
            ".reg .b32 count, first;",
            ".reg .b64 place, now, data;",
            "mov.b64 {{count, first}}, {cursor};",
            "setp.lt.u32 room, count, {most};",
            "mov.b64 data, {{{mark}, {value}}};",
            "mov.u64 place, tile_trace;",
            "mad.wide.u32 place, count, 16, place;",
            "mad.wide.u32 place, first, 16, place;",
            "add.u32 count, count, 1;",
            "mov.b64 {cursor}, {{count, first}};",
            "mov.u64 now, %clock64;",
            "@room st.global.v2.b64 [place], {{now, data}};",
            "}}",
            cursor = inout(reg64) cursor, mark = in(reg32) mark, value = in(reg32) value, most = const CAPACITY - HEAD,
            options(nostack)
        )
    }
    cursor
}

/// Writes the end of this warp, and of its block if no warp has ended later.
#[inline(always)]
pub fn trace_end<const BLOCKS: u32, const WARPS: u32, const CAPACITY: u32, const LISTED: u32>(cursor: u64) {
    let (of_block, listed) = listed_block::<BLOCKS, WARPS, CAPACITY, LISTED>(block());
    let first_lane = thread() % LANES == 0;
    // SAFETY: as of `trace_begin`. Warps of a block write its end by atomics.
    unsafe {
        asm!(
            "{{",
            ".reg .pred traced, listed;",
            ".reg .b32 count, first;",
            ".reg .b64 array, place, now, time, marks;",
            "mov.b64 {{count, first}}, {cursor};",
            "setp.ne.u32 traced, first, 0;",
            "setp.ne.u32 listed, {listed}, 0;",
            "cvt.u64.u32 marks, count;",
            "mov.u64 now, %clock64;",
            "mov.u64 time, %globaltimer;",
            "mov.u64 array, tile_trace;",
            "mad.wide.u32 place, {of_block}, 16, array;",
            "@listed red.global.max.u64 [place+16], now;",
            "@listed red.global.max.u64 [place+24], time;",
            "mad.wide.u32 place, first, 16, array;",
            "@traced st.global.v2.b64 [place+-32], {{now, time}};",
            "@traced st.global.b64 [place+-8], marks;",
            "}}",
            cursor = in(reg64) cursor, listed = in(reg32) (listed && first_lane) as u32, of_block = in(reg32) of_block,
            options(nostack)
        )
    }
}
