//! The predicted time of a kernel that computes tiles of a product.
//!
//! Terms, each with a physical meaning:
//! - a launch,
//! - steps of K on the busiest multiprocessor: each costs its multiply-adds, its loads from the L2 cache, or
//!   the latency of its pipeline stage, whichever takes longest,
//! - the pipeline's fill and the epilogue, for each tile in turn,
//! - partial sums of programs that share a tile,
//! - bytes from and to device memory, which bound the whole, and which few multiprocessors move slowly.

use super::device::{DeviceModel, Math};
use super::overlap::overlapped;
use super::samples::divisor;
use super::shape::GemmShape;
use crate::resources::Resources;
use serde::{Deserialize, Serialize};
use tilewright_core::{ConfigDesc, Width};
use tilewright_runtime::Multiprocessor;

/// How a program loads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Loads {
    Tma,
    /// Asynchronous copies of 16 bytes.
    Vectors,
    /// Asynchronous copies of 8 bytes.
    DoubleWords,
    /// Asynchronous copies of 4 bytes.
    Words,
    /// Elements one by one, by any strides.
    Elements,
}

impl From<Width> for Loads {
    fn from(width: Width) -> Loads {
        match width {
            Width::Vectors => Loads::Vectors,
            Width::DoubleWords => Loads::DoubleWords,
            Width::Words => Loads::Words,
            Width::Elements => Loads::Elements,
        }
    }
}

impl Loads {
    /// The accesses that an element of so many bytes takes, where a thread does not load vectors.
    pub fn accesses(self, bytes: usize) -> f32 {
        let width = match self {
            Loads::DoubleWords => Width::DoubleWords,
            Loads::Words => Width::Words,
            Loads::Tma | Loads::Vectors | Loads::Elements => return 1.0,
        };
        (bytes as f32 / width.bytes() as f32).min(1.0)
    }

    /// The place of its latency among those of a [`GemmModel`](super::device::GemmModel).
    fn of_latency(self) -> usize {
        match self {
            Loads::Tma => 0,
            Loads::Vectors => 1,
            Loads::DoubleWords | Loads::Words => 2,
            Loads::Elements => 3,
        }
    }
}

/// The problem and the operands of a launch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct GemmWork {
    pub shape: GemmShape,
    pub batch: usize,
    pub math: Math,
    /// Of an element of A and B, and of C.
    pub bytes: [usize; 2],
    /// TMA takes both operands.
    pub tma: bool,
    pub in_sectors: bool,
    /// TMA takes the result.
    pub tma_store: bool,
    /// Rows of the result are contiguous.
    pub rows_of_c: bool,
    /// Each program has one tile.
    pub grid: bool,
    /// Whether K is contiguous in A, and in B.
    pub k_major: (bool, bool),
    /// Operands whose elements a kernel of another order reads by their strides.
    pub strided: usize,
    pub stream_k: bool,
    /// Programs that share K of a tile, under split-K.
    #[serde(deserialize_with = "divisor")]
    pub splits: usize,
}

impl GemmWork {
    /// A product by a GEMV kernel.
    pub fn gemv(
        shape: GemmShape,
        bytes: [usize; 2],
        (tma, tma_store): (bool, bool),
        b_transposed: bool,
        splits: usize,
    ) -> GemmWork {
        GemmWork {
            shape,
            batch: 1,
            math: Math::Gemv,
            bytes,
            tma,
            in_sectors: tma,
            tma_store,
            rows_of_c: true,
            grid: true,
            k_major: (true, b_transposed),
            strided: 0,
            stream_k: false,
            splits,
        }
    }
}

/// The constants of a configuration that the model knows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Tile {
    /// Of a thread block: a cluster shares the rows of a tile.
    bm: f32,
    bn: f32,
    bk: f32,
    /// Of a program.
    #[serde(deserialize_with = "divisor")]
    rows: usize,
    #[serde(deserialize_with = "divisor")]
    columns: usize,
    #[serde(deserialize_with = "divisor")]
    block_k: usize,
    #[serde(deserialize_with = "divisor")]
    ctas: usize,
    /// Programs that are launched for a multiprocessor.
    #[serde(deserialize_with = "divisor")]
    per_sm: usize,
    /// Programs on a multiprocessor at a time.
    #[serde(deserialize_with = "divisor")]
    resident: usize,
    /// Bytes that a thread spills.
    spilled: f32,
    #[serde(deserialize_with = "divisor")]
    min_k_steps: usize,
    threads: f32,
    /// Tensor cores get operands swapped: rows of the tile are columns of their instruction.
    by_columns: bool,
    /// Instructions for each multiply-add.
    times: f32,
}

/// Threads of GEMV programs that a multiprocessor has registers for.
const MAX_THREADS: usize = 1024;

impl Tile {
    /// `resources`: of a program on such a multiprocessor, where they are known.
    pub fn of(config: &ConfigDesc, resources: Option<(&Resources, &Multiprocessor)>) -> Tile {
        let get = |name: &str| config.value_of(name).map(|v| v as usize);
        let size = |name: &str| get(name).unwrap_or(1).max(1);
        let (rows, columns, block_k) = (size("BM"), size("BN"), size("BK"));
        let ctas = config.ctas.max(1) as usize;
        let per_sm = get("PER_SM").unwrap_or_else(|| match (config.blocks_per_sm as usize, rows) {
            // GEMV kernels share a multiprocessor by their threads.
            (0, 1) => (MAX_THREADS / (config.warps as usize * 32)).max(1),
            (blocks, _) => blocks.max(1),
        });
        Tile {
            bm: rows as f32 / ctas as f32,
            bn: columns as f32,
            bk: block_k as f32,
            rows,
            columns,
            block_k,
            ctas,
            per_sm,
            resident: resources.map_or(per_sm, |(r, sm)| r.resident(sm)),
            spilled: resources.map_or(0.0, |(r, _)| r.spill_bytes as f32),
            min_k_steps: size("MIN_K_STEPS"),
            threads: (config.warps * 32) as f32,
            by_columns: get("BY_COLUMNS") == Some(1) || rows < 64,
            times: if get("TF32X3") == Some(1) { 3.0 } else { 1.0 },
        }
    }
}

/// The predicted microseconds of one launch of a configuration.
pub(crate) fn predict(model: &DeviceModel, num_sms: usize, t: &Tile, work: &GemmWork, loads: Loads) -> f32 {
    // Warpgroups that decompose both operands in the loop multiply half as fast as warpgroups that decompose B alone
    // (H100: 366 products of 624×576×720 in tiles of 128×128 at 68 TFLOP/s, where the rate of the latter gives 132).
    let (math, times) = if t.times > 1.0 && loads == Loads::Tma { (Math::Tf32x3, 2.0) } else { (work.math, t.times) };
    let c = model.gemm.of(math);
    let wgmma = usize::from(loads != Loads::Tma);
    let GemmShape { m, n, k } = work.shape;
    let tiles = m.div_ceil(t.rows).saturating_mul(n.div_ceil(t.columns)).saturating_mul(work.batch).max(1);
    let steps = k.div_ceil(t.block_k).max(1);
    // A step of K: multiply-adds, which short instructions slow down, beside loads.
    let instruction = if t.by_columns { t.bm.min(t.bn) } else { t.bn };
    let rate = c.rate[wgmma] * instruction / (instruction + c.short);
    let flops = 2.0 * t.bm * t.bn * t.bk / rate * times;
    let mn_major = !(work.k_major.0 && work.k_major.1);
    let unsectored = loads == Loads::Tma && !work.in_sectors;
    let rate = if unsectored { model.l2_unsectored_per_sm } else { model.l2_per_sm };
    let by_vectors = work.bytes[0] as f32 / rate * if mn_major { c.mn_major } else { 1.0 };
    let elements = (t.bm + t.bn / t.ctas as f32) * t.bk;
    let (each, of_thread) = match loads {
        Loads::Tma | Loads::Vectors => (by_vectors, 0.0),
        Loads::DoubleWords | Loads::Words => {
            let copies = loads.accesses(work.bytes[0]);
            (copies * c.word, copies * c.element_of_thread)
        }
        Loads::Elements => (c.element * (1.0 + work.strided as f32 * c.strided), c.element_of_thread),
    };
    let (loaded, by_threads) = (elements * each, elements / t.threads * of_thread);
    let latency = c.latency[loads.of_latency()] + by_threads;
    // A lone warpgroup does not fill the tensor cores.
    let lone = if loads == Loads::Tma && t.threads <= 128.0 { c.lone } else { 1.0 };
    let spilled = 1.0 + t.spilled * model.spilled;
    let issued = if loads == Loads::Tma { 0.0 } else { t.threads / 32.0 * c.step_of_warp };
    let step = |programs: f32| (programs * (flops.max(loaded) + issued)).max(flops * lone).max(latency) * spilled;
    // Kernels that load elements or words one by one store them so.
    let stored_whole = work.tma_store && matches!(loads, Loads::Tma | Loads::Vectors);
    let one_by_one = loads.accesses(work.bytes[1]);
    let stored = match (stored_whole, work.rows_of_c) {
        (true, _) => work.bytes[1] as f32 / model.store_per_sm,
        (false, true) => c.store_element[wgmma] * one_by_one,
        // Neighbors of a row are so many bytes apart.
        (false, false) => {
            let apart = m as f32 * work.bytes[1] as f32;
            // Eight lanes have neighbors of a column of `wgmma`'s accumulators.
            let together = if loads == Loads::Tma { 8.0 } else { 1.0 };
            c.store_element[wgmma] + c.store_strided * (apart / SECTOR).min(1.0) / together
        }
    };
    // A thread stores its part of the tile one by one, or as vectors.
    let of_thread = if stored_whole { c.store_of_thread[0] } else { c.store_of_thread[1] * one_by_one };
    let part = t.bm * t.bn / t.threads * of_thread;
    let tile = |programs: usize, steps: usize| {
        let programs = programs as f32;
        steps as f32 * step(programs) + c.tile + part.max(programs * t.bm * t.bn * stored)
    };
    // The first stages are copied before the first step.
    let fill = c.fill[wgmma] + by_threads;
    let (busy, programs) = if work.stream_k {
        let pieces = tiles.saturating_mul(k.div_ceil(t.block_k * t.min_k_steps).max(1));
        let programs = (num_sms * t.per_sm).min(pieces);
        let on_sm = programs.div_ceil(num_sms);
        // Programs for which there is no room yet.
        let (at_once, late) = (on_sm.min(t.resident), on_sm.div_ceil(t.resident) as f32);
        let waves = tiles / programs;
        let rest = tiles - waves * programs;
        let parts = programs.checked_div(rest).map_or(1, |most| most.min(steps / t.min_k_steps).max(1));
        let sums = (t.rows * t.columns * 8 * at_once) as f32;
        let shared = if parts > 1 { model.partials + sums / model.store_per_sm } else { 0.0 };
        let last = if rest > 0 { tile(at_once, steps.div_ceil(parts)) + shared } else { 0.0 };
        let begun = if loads == Loads::Tma { 1 } else { waves + usize::from(rest > 0) };
        (late * (waves as f32 * tile(at_once, steps) + last + begun as f32 * fill), programs)
    } else {
        let on_sm = tiles.saturating_mul(work.splits).div_ceil((num_sms / t.ctas).max(1));
        let at_once = on_sm.min(t.resident);
        let (whole, exact) = (on_sm.div_ceil(at_once) as f32, on_sm as f32 / at_once as f32);
        let rounds = whole - c.last_round * (whole - exact);
        let sums = (work.splits * t.rows * t.columns * 4) as f32;
        let reduced = if work.splits > 1 { model.partials + sums / model.reduced_per_program } else { 0.0 };
        // A producer warp fills the stages of the next tile meanwhile. Other loops begin anew.
        let filled = if work.grid || loads != Loads::Tma { on_sm.div_ceil(at_once) as f32 } else { 1.0 };
        (
            rounds * tile(at_once, steps.div_ceil(work.splits)) + reduced + filled * fill,
            tiles.saturating_mul(work.splits).saturating_mul(t.ctas),
        )
    };
    let area = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_mul(work.batch) as f32;
    let results = m.saturating_mul(n).saturating_mul(work.batch) as f32;
    // The bytes that a multiprocessor has in flight bound it: few of them do not fill the device memory.
    let rate = model.memory.min(programs.min(num_sms) as f32 * model.memory_per_sm);
    let memory = (area * work.bytes[0] as f32 + results * work.bytes[1] as f32) / rate;
    let cluster = if t.ctas > 1 { model.cluster } else { 0.0 };
    model.launch + cluster + overlapped(busy, memory)
}

/// Bytes of a sector of the L2 cache.
const SECTOR: f32 = 32.0;

/// The predicted microseconds of a launch on the CPU: multiply-adds of whole tiles, the elements of operands that a
/// step of K loads, by rows, and its sums. The multiply-adds of a GEMV kernel are slower.
pub(crate) fn predict_on_cpu(threads: usize, t: &Tile, work: &GemmWork) -> f32 {
    /// Multiply-adds of a thread.
    const PER_MICROSECOND: f32 = 4.0e4;
    /// A row of an operand, and an element of it.
    const ROW: f32 = 0.01;
    const ELEMENT: f32 = 0.0013;
    /// A sum.
    const SUM: f32 = 0.0008;
    let GemmShape { m, n, k } = work.shape;
    let tiles = m.div_ceil(t.rows).saturating_mul(n.div_ceil(t.columns)).saturating_mul(work.batch);
    let [rows, columns, block_k] = [t.rows, t.columns, t.block_k].map(|n| n as f32);
    // Elements that are apart in memory are loaded one by one.
    let strided = if work.strided > 0 { 2.0 } else { 1.0 };
    let slower = strided * if work.math == Math::Gemv { 4.0 } else { 1.0 };
    let loaded = (rows + columns) * block_k * ELEMENT + (rows + block_k) * ROW;
    let step = rows * columns * block_k * slower / PER_MICROSECOND + loaded + rows * columns * SUM;
    tiles.div_ceil(threads) as f32 * k.div_ceil(t.block_k) as f32 * step
}
