//! Products of f32 on tensor cores, where every number is taken apart in two of tf32 first; and of one row, which are read once and need none.

use super::product::{Extents, Operand};
use super::repack::{Bits, Packed, memory_of};
use super::scratch_matrix::ScratchMatrix;
use super::{Launch, split_k};
use crate::error::{Error, Result};
use device_kernels::matmul_f32::f32_products as k;
use device_kernels::matmul_split::shared_tiles::{batched_matmul_f32_mixed, matmul_f32_mixed_nn, matmul_f32_mixed_nt, matmul_row_nn, matmul_row_nt};
use kernel_core::{KernelDesc, SliceMutArg, ViewArg, ViewMutArg};

/// Less is not worth two launches more: the product of all extents, and rows and columns that use an operand again.
const LEAST_PRODUCT: u64 = 1 << 27;
const LEAST_REUSE: u64 = 128;
/// Less is not worth one launch more, unless B is as large as this, for then it is read faster.
const LEAST_MIXED: u64 = 1 << 25;
const LEAST_OPERAND: u64 = 1 << 20;
/// B of rows that no tensor map takes is copied first, which is worth it for as many rows, and no less than this.
const COPIED_FOR: core::ops::RangeInclusive<u64> = 17..=256;
const LEAST_COPIED: u64 = 1 << 28;
/// Of more rows it is better that programs find B taken apart. (A, of few rows, is written twice, its rows padded.)
const MOST_ROWS: u64 = 1536;
/// As many columns are better made as rows of the transpose, and turned, where sums are as long as this and A is as large.
const FEW_COLUMNS: u64 = 512;
const LEAST_DEPTH_TO_TURN: u64 = 256;
const LEAST_OPERAND_TO_TURN: u64 = 1 << 22;
/// A shorter depth is not worth taking an operand apart for, be it all or a program's part.
const LEAST_DEPTH: u64 = 128;
/// Tiles stand side by side along an axis of the grid, and are as narrow as this.
const MOST_COLUMNS: u64 = 65535 * 64;
/// Columns of a program that makes a row, of B as it is, most often, and of B transposed, at least, and what that means for an axis of their grid.
const ROW_COLUMNS: [u64; 2] = [32, 4];
const MOST_COLUMNS_OF_A_ROW: u64 = 65535 * ROW_COLUMNS[1];
/// More sums than this are not worth writing and reading again.
const MOST_SUMS: u64 = 1 << 26;
/// Rows of the parts are a multiple of this: whole cache lines of f32.
const PITCH: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Both operands are taken apart first.
    Apart,
    /// A is; of B programs do it themselves. So many share a tile.
    Mixed(u64),
    /// Of one row, nothing is: by multiply-adds. So many programs share some columns.
    Row(u64),
}

/// Whether columns are so few that they are better made as rows of the transpose, and turned.
pub(super) fn few_columns(e: Extents) -> bool {
    e.n <= FEW_COLUMNS && e.m > 2 * e.n && e.k >= LEAST_DEPTH_TO_TURN && e.m.saturating_mul(e.k) >= LEAST_OPERAND_TO_TURN
}

/// `y = xᵀ`.
pub(super) fn turn(on: &impl Launch, x: ViewArg<f32, 2>, y: ViewMutArg<f32, 2>) -> Result<()> {
    let to = y.as_view();
    // SAFETY: the same memory, borrowed as long, as integers of the same size: any bits are one.
    let (x_bits, y_bits) = unsafe { (memory_of::<f32, u32, 2>(x), SliceMutArg::<u32>::from_raw(to.addr(), to.span(), to.place())) };
    let too_large = || Error::TooLarge { len: to.span(), size: size_of::<f32>() };
    let (x_bits, y_bits) = (x_bits.strided(x.dims(), x.strides()).ok_or_else(too_large)?, y_bits.strided(to.dims(), to.strides()).ok_or_else(too_large)?);
    on.launch(u32::repack_call(x_bits, y_bits, true))
}

/// How a product is faster so, if it is, and if the kernels for it run here.
pub(super) fn way(on: &impl Launch, e: Extents, b: &Operand<f32>, c_in_rows: bool) -> Option<Way> {
    let mixed = mixed_desc(b.transposed);
    if let Some((kernel, _)) = on.pin() {
        let apart = ["matmul_f32_parts", "split", "split_transposed"].contains(&kernel.name);
        if core::ptr::eq(kernel, row_desc(b.transposed)) {
            return Some(Way::Row(split_k::PINNED_PARTS));
        }
        let pinned = core::ptr::eq(kernel, mixed) && b.maps();
        return if apart { Some(Way::Apart) } else { pinned.then_some(Way::Mixed(split_k::PINNED_PARTS)) };
    }
    if e.m == 1 && e.n <= MOST_COLUMNS_OF_A_ROW {
        return Some(Way::Row(parts_of_row(on.num_sms(), e, b.transposed)));
    }
    let product = e.m.saturating_mul(e.n).saturating_mul(e.k);
    let few = e.m <= MOST_ROWS && e.n <= MOST_COLUMNS;
    let taken = b.maps() || COPIED_FOR.contains(&e.m) && product >= LEAST_COPIED;
    if few && taken && c_in_rows && (product >= LEAST_MIXED || e.n.saturating_mul(e.k) >= LEAST_OPERAND) && on.runtime().0.takes_maps(mixed) {
        let parts = parts(on.num_sms(), e);
        if parts.saturating_mul(e.m).saturating_mul(e.n) <= MOST_SUMS {
            return Some(Way::Mixed(parts));
        }
    }
    let large = product >= LEAST_PRODUCT && e.m.min(e.n) >= LEAST_REUSE;
    (large && on.runtime().0.takes_maps(k::matmul_f32_parts::DESCS[0])).then_some(Way::Apart)
}

fn mixed_desc(b_transposed: bool) -> &'static KernelDesc {
    if b_transposed { matmul_f32_mixed_nt::DESCS[0] } else { matmul_f32_mixed_nn::DESCS[0] }
}

fn row_desc(b_transposed: bool) -> &'static KernelDesc {
    if b_transposed { matmul_row_nt::DESCS[0] } else { matmul_row_nn::DESCS[0] }
}

/// How many programs should share the columns of one: until there are two for each multiprocessor, or the depth of each gets short.
fn parts_of_row(num_sms: u64, e: Extents, b_transposed: bool) -> u64 {
    const LEAST_DEPTH: u64 = 1024;
    let programs = e.n.div_ceil(ROW_COLUMNS[usize::from(b_transposed)]).max(1);
    (2 * num_sms / programs).clamp(1, (e.k / LEAST_DEPTH).max(1))
}

/// How many programs should share a tile: so many that they come in full waves, each with some of the depth.
fn parts(num_sms: u64, e: Extents) -> u64 {
    const MOST: u64 = 32;
    // On an H200: 4 µs for each part of 2^20 sums, 0.035 µs for a step.
    const SUMS_PER_STEP: u64 = 1 << 13;
    let most = (e.k / LEAST_DEPTH).clamp(1, MOST);
    let tiles = |size: u64| e.m.div_ceil(size).saturating_mul(e.n.div_ceil(size)).max(1);
    // Two programs with small tiles fit on a multiprocessor, one with large ones.
    let small = e.m <= 64 || tiles(128).saturating_mul(most) < num_sms;
    let (tiles, at_once) = if small { (tiles(64), 2 * num_sms) } else { (tiles(128), num_sms) };
    // Of the time of a step of depth: waves times the depth of one, and what each part costs to be written and added up.
    let sums = e.m.saturating_mul(e.n) / SUMS_PER_STEP;
    let cost = |parts: u64| (tiles.saturating_mul(parts).div_ceil(at_once).saturating_mul(e.k) / parts).saturating_add(sums.saturating_mul(parts));
    (1..=most).min_by_key(|&parts| cost(parts)).unwrap_or(1)
}

/// `f(op(A) op(B))`, A of any strides, B of any for [`Way::Apart`].
pub(super) fn multiply(on: &impl Launch, e: Extents, way: Way, (a, b): (Operand<f32>, Operand<f32>), c: ViewMutArg<f32, 2>, below: f32) -> Result<()> {
    let a = a.turned(false).view;
    match way {
        Way::Apart => {
            let (a, b) = (Parts::of(on, a)?, Parts::of(on, b.turned(true).view)?);
            on.launch(k::matmul_f32_parts(a.high.view()?, a.low.view()?, b.high.view()?, b.low.view()?, c, below))
        }
        Way::Mixed(parts) if !b.maps() => {
            let rows = Packed::<u32>::new(on, &b, b.transposed)?;
            let copied: Operand<f32> = rows.operand()?;
            if !copied.maps() {
                return Err(Error::TooLarge { len: b.view.span(), size: size_of::<f32>() });
            }
            multiply(on, e, Way::Mixed(parts), (Operand::new(a, false), copied), c, below)
        }
        Way::Mixed(parts) => split_k::with_sums(on, e, parts, split_k::LEAST_TILE, |sums, tickets| {
            // Last, so that nothing but this launch stands before the next, not even in a graph.
            let a = Parts::of(on, a)?;
            let (high, low) = (a.high.view()?, a.low.view()?);
            let mixed = if b.transposed { matmul_f32_mixed_nt } else { matmul_f32_mixed_nn };
            on.launch_early(mixed(high, low, b.view, sums, tickets, c, below))
        }),
        Way::Row(parts) => split_k::with_sums(on, e, parts, [1, ROW_COLUMNS[1]], |sums, tickets| {
            let row = if b.transposed { matmul_row_nt } else { matmul_row_nn };
            on.launch(row(a, b.view, sums, tickets, c, below))
        }),
    }
}

/// Whether a batch of products is faster so. B stands as one matrix.
pub(super) fn batch_pays(on: &impl Launch, e: Extents, batch: u64, b: &Operand<f32>) -> bool {
    let desc = batched_matmul_f32_mixed::DESCS[0];
    if let Some((kernel, _)) = on.pin() {
        return core::ptr::eq(kernel, desc) && b.maps();
    }
    let products = [e.m, e.n, e.k].into_iter().fold(batch, u64::saturating_mul);
    let least = if b.maps() { LEAST_MIXED } else { LEAST_COPIED };
    products >= least && e.k >= LEAST_DEPTH && on.runtime().0.takes_maps(desc)
}

/// Products of a batch, whose matrices of A stand one below the other, `below` rows apart.
pub(super) fn multiply_batch(on: &impl Launch, a: Operand<f32>, below: u64, b: ViewArg<f32, 3>, c: ViewMutArg<f32, 3>) -> Result<()> {
    let a = Parts::of(on, a.turned(false).view)?;
    on.launch(batched_matmul_f32_mixed(a.high.view()?, a.low.view()?, below, b, c))
}

/// The two parts of an operand, in scratch memory.
struct Parts {
    high: ScratchMatrix<f32>,
    low: ScratchMatrix<f32>,
}

impl Parts {
    fn of(on: &impl Launch, x: ViewArg<f32, 2>) -> Result<Parts> {
        let (mut high, mut low) = (ScratchMatrix::new(on, x.dims(), PITCH)?, ScratchMatrix::new(on, x.dims(), PITCH)?);
        let (h, l) = (high.view_mut()?, low.view_mut()?);
        // Columns in memory are read as rows of the transpose.
        on.launch(if x.strides()[1] == 1 { k::split(x, h, l) } else { k::split_transposed(x.flipped(), h, l) })?;
        Ok(Parts { high, low })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_share_the_columns_of_a_row_where_there_are_few() {
        let of = |n, k, transposed| parts_of_row(132, Extents { m: 1, n, k }, transposed);
        assert_eq!([of(4096, 4096, false), of(1024, 8192, false), of(1024, 4096, true), of(1, 1 << 20, true), of(1, 100, false)], [2, 8, 1, 264, 1]);
        assert!(of(u64::MAX, u64::MAX, false) == 1, "nothing overflows");
    }

    #[test]
    fn programs_share_tiles_in_full_waves() {
        let of = |m, n, k| parts(132, Extents { m, n, k });
        // Of 128 x 128 one on a multiprocessor.
        assert_eq!([of(512, 4096, 4096), of(256, 4096, 4096), of(128, 4096, 4096), of(768, 4096, 4096)], [1, 2, 4, 2]);
        assert_eq!([of(1024, 1024, 1024), of(768, 768, 768), of(256, 1024, 8192)], [2, 3, 8]);
        // Of 64 x 64 two, for few rows, and where the depth is too short for more parts.
        assert_eq!([of(64, 4096, 4096), of(1, 4096, 4096), of(64, 1024, 16384), of(512, 512, 512)], [4, 4, 16, 4]);
        assert_eq!([of(1, 1, 0), of(1, 64, 1 << 20)], [1, 32]);
        assert!(of(u64::MAX, u64::MAX, u64::MAX) >= 1, "nothing overflows");
    }
}
