//! The predicted time of a kernel of attention.
//!
//! A program has a block of queries and goes through their keys block by block. Terms: a launch, the blocks of keys of
//! the busiest multiprocessor, each with its multiply-adds and exponentials or the latency of one after another, a part
//! for each program, partial sums of programs that share keys, and bytes from and to device memory, which bound the
//! whole.

use super::device::DeviceModel;
use super::overlap::overlapped;
use super::samples::{divisor, divisors};
use serde::{Deserialize, Serialize};

/// The problem that a launch computes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AttentionWork {
    /// Heads, or groups of heads whose queries are rows of one block.
    pub heads: usize,
    /// Rows of queries of each.
    pub rows: usize,
    /// Queries of a head; rows are as many, or several times.
    pub queries: usize,
    pub keys: usize,
    /// Elements of a head, as the kernel pads them.
    pub d: usize,
    pub causal: bool,
    /// Bytes of queries, keys, values and results together.
    pub bytes: usize,
    /// Queries and keys of a block.
    #[serde(deserialize_with = "divisors")]
    pub block: [usize; 2],
    /// Programs that are launched for a multiprocessor, under split-KV.
    pub per_sm: usize,
    /// Programs on a multiprocessor at a time.
    #[serde(deserialize_with = "divisor")]
    pub resident: usize,
    /// Each program computes several blocks of queries, one after another.
    pub persistent: bool,
    /// Warpgroups multiply, and TMA loads.
    pub wgmma: bool,
    /// Programs share the keys of a block of queries, under split-KV.
    pub split_kv: bool,
    /// Rows that a program adds up at a time, under split-KV.
    pub reduce_rows: usize,
}

/// Programs that share the keys of a block of queries, at most.
const MAX_PARTS: usize = 64;
/// Rows of partial sums that a program loads at a time.
const SUMS_AT_ONCE: usize = 8;

/// The predicted microseconds of one launch.
pub(crate) fn predict(model: &DeviceModel, num_sms: usize, work: &AttentionWork) -> f32 {
    let (c, path) = (&model.attention, usize::from(!work.wgmma));
    let [bm, bn] = work.block;
    let blocks = work.heads.saturating_mul(work.rows.div_ceil(bm)).max(1);
    let steps = work.keys.div_ceil(bn).max(1);
    // The mean number of keys that the queries of a block see, out of the keys that the last block sees.
    let seen = match work.causal && work.queries > 1 {
        false => 1.0,
        true => {
            let first = work.keys.saturating_add(bm).saturating_sub(work.queries).min(work.keys);
            ((first as f32 + work.keys as f32) / (2.0 * work.keys.max(1) as f32)).min(1.0)
        }
    };
    let elements = (bm * bn) as f32;
    let busy = elements * (4.0 * work.d as f32 / c.rate[path] + c.exponential[path]);
    let alone = c.latency[path] + busy * c.alone[path];
    let step = |programs: f32| (programs * busy).max(alone);
    let time = if work.split_kv {
        let most = (num_sms * work.per_sm / blocks).clamp(1, steps.min(MAX_PARTS));
        let deep = steps.div_ceil(most);
        let parts = steps.div_ceil(deep);
        let on_sm = blocks.saturating_mul(parts).div_ceil(num_sms);
        let at_once = on_sm.min(work.resident);
        let rounds = on_sm.div_ceil(at_once) as f32;
        let rows = work.rows.min(bm) as f32;
        let sums = if parts == 1 {
            0.0
        } else {
            // Each part writes its sums, and adds up those of all parts for some rows at a time.
            let exchanged = 2.0 * rows * work.d as f32 * 4.0 * at_once as f32;
            let groups = (rows / (parts * work.reduce_rows.max(1)) as f32).ceil();
            let loads = (parts * work.reduce_rows).div_ceil(SUMS_AT_ONCE) as f32;
            c.partials + exchanged / model.store_per_sm + groups * loads * c.combined_rows
        };
        rounds * (deep as f32 * step(at_once as f32) + c.block[path] + c.fill[path]) + sums
    } else {
        let on_sm = blocks as f32 / num_sms as f32;
        // Blocks that see fewer keys come last, or in pairs: multiprocessors have the same work.
        let on_sm = if seen < 1.0 { (on_sm * seen).max(1.0) } else { on_sm.ceil() };
        let at_once = on_sm.min(work.resident as f32).max(1.0);
        // Programs of a round do not end at once.
        let rounds = 0.5 * ((on_sm / at_once).ceil() + on_sm / at_once);
        // A persistent program overlaps the fill of its next block.
        let filled = if work.persistent { 1.0 } else { rounds };
        rounds * (steps as f32 * step(at_once) + c.block[path]) + filled * c.fill[path]
    };
    let memory = work.bytes as f32 / c.memory;
    model.launch + overlapped(time, memory)
}
