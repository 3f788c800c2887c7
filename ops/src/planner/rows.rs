//! The predicted time of a kernel that goes over rows, such as a softmax.
//!
//! Terms: a launch, the tiles of the busiest multiprocessor, each with the elements of its padded tile and a latency,
//! but no less than its programs take to start, and bytes from and to device memory, which bound the whole.

use super::device::DeviceModel;
use super::gemm::Loads;
use super::overlap::overlapped;
use super::samples::divisor;
use serde::{Deserialize, Serialize};
use tilewright_core::Width;

/// The work of a launch over rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RowsWork {
    pub programs: usize,
    /// Threads of a program.
    pub threads: usize,
    /// Programs on a multiprocessor at a time.
    #[serde(deserialize_with = "divisor")]
    pub resident: usize,
    /// Tiles that a program loads, one after another.
    pub tiles: usize,
    /// Elements of a tile, masked elements included.
    pub tile: usize,
    /// Bytes of the rows that are read and written.
    pub bytes: usize,
    /// Bytes of an element.
    pub size: usize,
    /// How often a row is read.
    pub readings: usize,
    /// Tiles have several rows.
    pub several_rows: bool,
    /// Exchanges between lanes in the reductions of a tile, for each warp.
    pub exchanges: f32,
    /// Of vectors, of words, or of elements one by one.
    pub loads: Loads,
}

impl RowsWork {
    /// How much longer an element takes than one of a vector: `by_elements` times where elements are loaded one by one,
    /// and in proportion to the accesses in between.
    fn slower(&self, by_elements: f32) -> f32 {
        let of_vectors = self.size as f32 / Width::Vectors.bytes() as f32;
        let accesses = match self.loads {
            Loads::Tma | Loads::Vectors => of_vectors,
            Loads::DoubleWords | Loads::Words | Loads::Elements => self.loads.accesses(self.size),
        };
        1.0 + (accesses - of_vectors) / (1.0 - of_vectors) * (by_elements - 1.0)
    }
}

/// The predicted microseconds of one launch.
pub(crate) fn predict(model: &DeviceModel, num_sms: usize, work: &RowsWork) -> f32 {
    /// Warps that a multiprocessor issues from at a time.
    const SCHEDULERS: f32 = 4.0;
    let c = &model.rows;
    let on_sm = work.programs.div_ceil(num_sms).max(1);
    let at_once = on_sm.min(work.resident);
    let rounds = on_sm as f32 / at_once as f32;
    let several = c.several_rows[usize::from(work.loads != Loads::Vectors)];
    let several = if work.several_rows { several } else { 1.0 };
    let slower = work.slower(c.element_unaligned / c.element);
    let element = several * c.element * slower;
    let reduced = work.exchanges * c.exchange;
    // A multiprocessor shares its throughput among programs; a program by itself is bound by its own threads.
    let shared = (work.tile as f32 * element + reduced / SCHEDULERS) * at_once as f32;
    let alone = c.latency + reduced + work.tile as f32 / work.threads as f32 * c.element_of_thread * slower;
    let busy = (rounds * (c.program + work.tiles as f32 * shared.max(alone))).max(on_sm as f32 * c.start);
    let memory = work.bytes as f32 * (1.0 + c.again * (work.readings - 1) as f32) / c.memory;
    c.launch + overlapped(busy, memory)
}
