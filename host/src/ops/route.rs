//! Which way a product goes. What its sizes, its operands' strides and the device say about that is all here, and launches nothing; the files of the ways do
//! what is said. What a kernel's own configurations are measured for is the tuner's, and so is a choice that is not clear ([`Schedule::Measured`]).
//!
//! A pinned kernel is taken wherever it can be: tests and benchmarks name it.

use super::multiply::{Way, WideKernel};
use super::product::{GemmShape, Operand, Transpose};
use super::{Launch, Multiply, split, stream_k};
use crate::runtime::BackendKind;
use tilewright_kernels::matmul_f32::f32_products::{batched_matmul_f32_mixed, matmul_f32_parts};

use tilewright_core::{DType, Element, KernelDesc};

// --- a product as a whole ---

/// How a product of f32 is made to its accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Both operands are taken apart in two of tf32 first.
    Apart,
    /// A is; of B programs do it themselves. So many share a tile.
    Mixed(usize),
    /// Of one row, nothing is: by multiply-adds. So many programs share some columns.
    Row(usize),
}

/// As many columns are better made as rows of the transpose, and turned, where sums are as long as this and A is as large.
const FEW_COLUMNS: usize = 512;
const LEAST_DEPTH_TO_TURN: usize = 256;
const LEAST_OPERAND_TO_TURN: usize = 1 << 22;

fn is_f32<T: Element>() -> bool {
    T::DTYPE == DType::F32
}

/// Whether a product is made as the transposed one, `Cᵀ = Bᵀ Aᵀ`: a column, whose transpose is a row where it lies.
pub(super) fn is_row_of_transpose(on: &impl Launch, e: GemmShape) -> bool {
    on.pin().is_none() && e.n == 1 && e.m > 1
}

/// Whether a product of f32 has few columns: its transpose is made in scratch memory, by A as its right operand, and turned.
pub(super) fn has_few_columns(on: &impl Launch, e: GemmShape, a: &Operand<f32>) -> bool {
    let few = e.n <= FEW_COLUMNS
        && e.m > 2 * e.n
        && e.k >= LEAST_DEPTH_TO_TURN
        && e.m.saturating_mul(e.k) >= LEAST_OPERAND_TO_TURN;
    on.pin().is_none() && few && split(on, e.turned(), &a.transpose(), true).is_some()
}

/// How a product of f32 is made out of decomposed operands, if it is. `c_in_rows`: rows of the result lie so that tensor maps
/// take them.
pub(super) fn split_of(on: &impl Launch, e: GemmShape, b: &Operand<f32>, c_in_rows: bool, tf32: bool) -> Option<Split> {
    // One row is read once, in f32 as fast as in tf32.
    (!tf32 || e.m == 1).then(|| split(on, e, b, c_in_rows)).flatten()
}

// --- f32 to its accuracy ---

/// Less is not worth two launches more: the product of all extents, and rows and columns that use an operand again.
const LEAST_APART: usize = 1 << 27;
const LEAST_REUSE: usize = 128;
/// Less is not worth one launch more, unless B is as large as this, for then it is read faster.
const LEAST_MIXED: usize = 1 << 25;
const LEAST_B_OF_MIXED: usize = 1 << 20;
/// B of rows that no tensor map takes is copied first, which is worth it for as many rows, and no less than this.
const COPIED_FOR: core::ops::RangeInclusive<usize> = 17..=256;
const LEAST_COPIED: usize = 1 << 28;
/// Of more rows it is better that programs find B taken apart. (A, of few rows, is written twice, its rows padded.)
const MOST_ROWS_OF_MIXED: usize = 1536;
/// A shorter depth is not worth taking an operand apart for, be it all or a program's part.
const LEAST_DEPTH: usize = 128;
/// Tiles stand side by side along an axis of the grid, and are as narrow as this.
const MOST_COLUMNS: usize = 65535 * 64;
const MOST_COLUMNS_OF_A_ROW: usize = 65535 * split::ROW_COLUMNS[1];
/// More sums than this are not worth writing and reading again.
const MOST_SUMS: usize = 1 << 26;
/// Of programs of a pinned kernel, whose last part is not as long as the others, of most depths.
const PINNED_PARTS: usize = 3;

/// How a product of f32 is faster so, if it is, and if the kernels for it run here.
fn split(on: &impl Launch, e: GemmShape, b: &Operand<f32>, c_in_rows: bool) -> Option<Split> {
    let mixed = split::mixed_desc(b.transposed);
    if let Some((kernel, _)) = on.pin() {
        return match kernel {
            _ if ["matmul_f32_parts", "split", "split_transposed"].contains(&kernel.name) => Some(Split::Apart),
            _ if core::ptr::eq(kernel, split::row_desc(b.transposed)) => Some(Split::Row(PINNED_PARTS)),
            _ => (core::ptr::eq(kernel, mixed) && b.tma_compatible()).then_some(Split::Mixed(PINNED_PARTS)),
        };
    }
    if e.m == 1 && e.n <= MOST_COLUMNS_OF_A_ROW {
        return Some(Split::Row(parts_of_row(on.num_sms(), e, b.transposed)));
    }
    let product = e.product();
    let few = e.m <= MOST_ROWS_OF_MIXED && e.n <= MOST_COLUMNS;
    let taken = b.tma_compatible() || COPIED_FOR.contains(&e.m) && product >= LEAST_COPIED;
    let pays = product >= LEAST_MIXED || e.n.saturating_mul(e.k) >= LEAST_B_OF_MIXED;
    if few && taken && c_in_rows && pays && on.runtime().0.takes_maps(mixed) {
        let parts = parts(on.num_sms(), e);
        if parts.saturating_mul(e.m).saturating_mul(e.n) <= MOST_SUMS {
            return Some(Split::Mixed(parts));
        }
    }
    let large = product >= LEAST_APART && e.m.min(e.n) >= LEAST_REUSE;
    (large && on.runtime().0.takes_maps(matmul_f32_parts::DESCS[0])).then_some(Split::Apart)
}

/// Whether a batch of products of f32 is faster with A taken apart. B stands as one matrix.
pub(super) fn batch_in_parts(on: &impl Launch, e: GemmShape, batch: usize, b: &Operand<f32>) -> bool {
    let desc = batched_matmul_f32_mixed::DESCS[0];
    if let Some((kernel, _)) = on.pin() {
        return core::ptr::eq(kernel, desc) && b.tma_compatible();
    }
    let least = if b.tma_compatible() { LEAST_MIXED } else { LEAST_COPIED };
    e.product().saturating_mul(batch) >= least && e.k >= LEAST_DEPTH && on.runtime().0.takes_maps(desc)
}

/// How many programs should share the columns of one: until there are two for each multiprocessor, or the depth of each gets short.
fn parts_of_row(num_sms: usize, e: GemmShape, b_transposed: bool) -> usize {
    const LEAST_DEPTH: usize = 1024;
    let programs = e.n.div_ceil(split::ROW_COLUMNS[usize::from(b_transposed)]).max(1);
    (2 * num_sms / programs).clamp(1, (e.k / LEAST_DEPTH).max(1))
}

/// How many programs should share a tile: so many that they come in full waves, each with some of the depth.
fn parts(num_sms: usize, e: GemmShape) -> usize {
    const MOST: usize = 32;
    // On an H200: 4 µs for each part of 2^20 sums, 0.035 µs for a step.
    const SUMS_PER_STEP: usize = 1 << 13;
    let most = (e.k / LEAST_DEPTH).clamp(1, MOST);
    let tiles = |size: usize| e.m.div_ceil(size).saturating_mul(e.n.div_ceil(size)).max(1);
    // Two programs with small tiles fit on a multiprocessor, one with large ones.
    let small = e.m <= 64 || tiles(128).saturating_mul(most) < num_sms;
    let (tiles, at_once) = if small { (tiles(64), 2 * num_sms) } else { (tiles(128), num_sms) };
    // Of the time of a step of depth: waves times the depth of one, and what each part costs to be written and added up.
    let sums = e.m.saturating_mul(e.n) / SUMS_PER_STEP;
    let cost = |parts: usize| {
        (tiles.saturating_mul(parts).div_ceil(at_once).saturating_mul(e.k) / parts)
            .saturating_add(sums.saturating_mul(parts))
    };
    (1..=most).min_by_key(|&parts| cost(parts)).unwrap_or(1)
}

// --- few rows of 8 bits ---

/// More rows are worth a turned copy of B, and a smaller B, or one of short rows, is soon turned; not so soon where its columns are summed up.
const MOST_ROWS_OF_WIDE: usize = 128;
const LEAST_B_OF_WIDE: usize = 1 << 23;
const LEAST_SUMMED_UP: usize = 1 << 20;
const LEAST_COLUMNS_OF_WIDE: usize = 256;

/// The kernel that takes a B that is MN-major, where it runs here and is faster for a product with `ones` rows of ones
/// below A.
pub(super) fn wide<T: Multiply>(
    on: &impl Launch,
    e: GemmShape,
    ones: usize,
    b: &Operand<T>,
    c_in_rows: bool,
) -> Option<WideKernel<T>> {
    let least = if ones > 0 { LEAST_SUMMED_UP } else { LEAST_B_OF_WIDE };
    let kernel = T::wide()?;
    let desc = kernel.desc;
    let taken = !b.transposed && b.tma_compatible() && c_in_rows && on.runtime().0.takes_maps(desc);
    let faster = match on.pin() {
        Some((pinned, _)) if pinned.name == "widen" => taken || on.runtime().kind() == BackendKind::Cpu,
        Some((pinned, _)) => core::ptr::eq(pinned, desc),
        None => {
            taken && e.m <= MOST_ROWS_OF_WIDE - ones && e.n >= LEAST_COLUMNS_OF_WIDE && e.n.saturating_mul(e.k) >= least
        }
    };
    faster.then_some(kernel)
}

// --- tile by tile: the order of the operands ---

/// Rows that are copied, where they lie across, in less time than tiles of more rows cost, if the other operand is as large as this.
const SOON_COPIED: usize = 64;
const LEAST_OTHER: usize = 1 << 23;
/// The same in tf32, where what lies across goes by way of registers.
const SOON_TURNED: usize = 512;

/// Whether A, where it lies across, is soon copied as rows.
fn soon_copied(e: GemmShape) -> bool {
    e.m <= SOON_COPIED && e.n.saturating_mul(e.k) >= LEAST_OTHER
}

/// The same in tf32, of an A that is no larger than B.
fn soon_turned(e: GemmShape) -> bool {
    e.m <= SOON_TURNED.min(e.n) && e.n.saturating_mul(e.k) >= LEAST_OTHER
}

/// Whether there is a kernel for this order that may be taken. The pinned one that takes A as rows and B as columns is taken whatever the rows are, for strides
/// say what is transposed.
pub(super) fn has_order<T: Multiply>(on: &impl Launch, way: Way) -> bool {
    let pinned = || {
        on.pin().is_some_and(|(kernel, _)| core::ptr::eq(kernel, T::desc(Way { transpose: Transpose::OF_B, ..way })))
    };
    way.transpose == Transpose::OF_B || (T::has(way) && !pinned())
}

/// The order in which kernels are faster by operands, copied where they are not in it, than by those that are given.
pub(super) fn wanted_order<T: Multiply>(
    on: &impl Launch,
    e: GemmShape,
    a: &Operand<T>,
    b: &Operand<T>,
    tf32: bool,
) -> Transpose {
    let given = a.order(b);
    let usual = if T::has(Way { transpose: given, tf32 }) { given } else { Transpose::OF_B };
    // A pinned kernel's own.
    if let Some((kernel, _)) = on.pin() {
        let is_pinned = |&transpose: &Transpose| {
            let way = Way { transpose, tf32 };
            T::has(way) && core::ptr::eq(kernel, T::desc(way))
        };
        let orders =
            [Transpose::OF_B, Transpose::NONE, Transpose { a: true, b: false }, Transpose { a: true, b: true }];
        return orders.into_iter().find(is_pinned).unwrap_or(usual);
    }
    if tf32 {
        // What lies across goes by way of registers, one operand at most, unless it is copied anyway or soon: then it is turned, too.
        let (a_across, b_across) = (given.a && a.tma_compatible() && !soon_turned(e), !given.b && b.tma_compatible());
        let turns_b = a_across && e.n < e.m;
        return Transpose { a: a_across && (turns_b || !b_across), b: turns_b || !b_across };
    }
    // Few rows are soon copied where programs share tiles of rows alone.
    let rows = Transpose { a: false, ..given };
    let stream_k = |transpose: Transpose| T::has_stream_k(Way { transpose, tf32 });
    if given.a && soon_copied(e) && stream_k(rows) && !(stream_k(given) && a.tma_compatible()) {
        return rows;
    }
    usual
}

// --- tile by tile: copies of operands ---

/// Copying operands is a matter of microseconds, and wins nothing for less than this: the product of all extents, and the
/// extent along which a copied operand is used again and again.
#[derive(Clone, Copy)]
pub(super) struct Least {
    pub product: usize,
    pub reuse: usize,
}

pub(super) const LEAST: Least = Least { product: 1 << 24, reuse: 1 };
/// Of 8 bits, and where tensor cores do not take the order of the operands.
pub(super) const LEAST_TO_TURN: Least = Least { product: 1 << 18, reuse: 1 };
/// Of matrices of a batch.
pub(super) const LEAST_OF_BATCHES: Least = Least { product: 1 << 30, reuse: 512 };

/// Of each operand, whether it is copied into rows that tensor maps take first, and if so whether the copy is transposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Copies {
    pub a: Option<bool>,
    pub b: Option<bool>,
}

/// Copies of those that tensor maps do not take, or that are not transposed as is wanted, where the device has tensor maps and the product is large enough to win by it.
pub(super) fn copies<T: Element>(
    least: Least,
    on: &impl Launch,
    e: GemmShape,
    (a, b): (&Operand<T>, &Operand<T>),
    wanted: Transpose,
    desc: impl Fn(Transpose) -> &'static KernelDesc,
) -> Copies {
    let given = a.order(b);
    let a = (given.a != wanted.a || !a.tma_compatible()).then_some(wanted.a);
    let b = (given.b != wanted.b || !b.tma_compatible()).then_some(wanted.b);
    let pays =
        e.product() >= least.product && (a.is_none() || e.n >= least.reuse) && (b.is_none() || e.m >= least.reuse);
    let pinned = || on.pin().is_some_and(|(k, _)| given != wanted && core::ptr::eq(k, desc(given)));
    let copied = (a.is_some() || b.is_some()) && pays && !pinned() && on.runtime().0.takes_maps(desc(wanted));
    if copied { Copies { a, b } } else { Copies::default() }
}

/// Of the operands of a plain product.
pub(super) fn copies_of_product<T: Multiply>(
    on: &impl Launch,
    e: GemmShape,
    (a, b): (&Operand<T>, &Operand<T>),
    tf32: bool,
) -> Copies {
    // Tensor maps take f32 as it is for products in tf32 only.
    if is_f32::<T>() && !tf32 {
        return Copies::default();
    }
    // Where tensor cores do not take every order of operands small ones are turned, too.
    let taken = has_order::<T>(on, Way { transpose: a.order(b), tf32 }) && size_of::<T>() > 1;
    let least = if taken { LEAST } else { LEAST_TO_TURN };
    copies(least, on, e, (a, b), wanted_order(on, e, a, b, tf32), |transpose| T::desc(Way { transpose, tf32 }))
}

// --- tile by tile: the tile scheduler ---

/// The tile scheduler of a product (`stream_k.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    DataParallel,
    StreamK,
    /// The faster one is not clear. The one that this names is taken where nothing was measured.
    Measured {
        stream_k: bool,
    },
}

/// Rows for which there are tiles of fewer rows than other kernels have.
const FEW_ROWS: usize = 32;
/// With more waves than this the last one matters little, and smaller products are done before others have begun to share.
const MOST_WAVES: usize = 4;
const LEAST_SHARED: usize = 1 << 24;

/// Of `desc`; `after` is a kernel that is launched under stream-K alone. `taken`: tensor maps take the operands and the result.
pub(super) fn schedule(
    on: &impl Launch,
    e: GemmShape,
    desc: &'static KernelDesc,
    after: Option<&'static KernelDesc>,
    taken: bool,
) -> Schedule {
    let taken = taken && on.runtime().0.takes_maps(desc);
    let tiles = e.m.div_ceil(stream_k::TILE[0]).saturating_mul(e.n.div_ceil(stream_k::TILE[1]));
    let stream_k_if = |yes: bool| if yes { Schedule::StreamK } else { Schedule::DataParallel };
    match on.pin() {
        Some((kernel, _)) if after.is_some_and(|d| core::ptr::eq(kernel, d)) => {
            stream_k_if(taken || on.runtime().kind() == BackendKind::Cpu)
        }
        Some((kernel, config)) => stream_k_if(core::ptr::eq(kernel, desc) && stream_k::is_stream_k(config)),
        None if !taken => Schedule::DataParallel,
        None if e.m <= FEW_ROWS => Schedule::StreamK,
        None if tiles > MOST_WAVES * on.num_sms() || e.product() < LEAST_SHARED => Schedule::DataParallel,
        None => Schedule::Measured { stream_k: likely(tiles, on.num_sms(), e.k) },
    }
}

/// Whether half of the device would have no tile of its own, and the depth is long enough to be shared.
fn likely(tiles: usize, num_sms: usize, depth: usize) -> bool {
    const LEAST_DEPTH: usize = 1024;
    2 * tiles <= num_sms && depth >= LEAST_DEPTH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Runtime};

    /// The order, as in `NT`, that a product in tf32 is made in, of operands whose rows are `odd` or not.
    fn order(given: &str, [m, n, k]: [usize; 3], odd: bool) -> String {
        let rt = Runtime::emulator(0);
        let data = Buffer::<f32>::zeros(&rt, 32).unwrap();
        // Only its rows count.
        let operand = |transposed| {
            Operand::new(data.slice(..).unwrap().strided([2, 2], [if odd { 17 } else { 16 }, 1]).unwrap(), transposed)
        };
        let (a, b) = (operand(given.starts_with('T')), operand(given.ends_with('T')));
        let found = wanted_order(&rt, GemmShape { m, n, k }, &a, &b, true);
        [found.a, found.b].map(|t| if t { 'T' } else { 'N' }).iter().collect()
    }

    #[test]
    fn in_tf32_one_operand_may_lie_across() {
        let (large, wide, tall) = ([4096, 4096, 4096], [64, 4096, 4096], [8192, 64, 4096]);
        for (given, dims, wanted) in [
            ("NN", large, "NN"),
            ("NT", large, "NT"),
            ("TT", large, "TT"),
            ("TN", large, "NN"),
            ("TN", tall, "TT"),
            ("TN", wide, "NN"),
            ("TT", wide, "NT"),
            ("TT", [64, 64, 4096], "TT"),
            ("TN", [512, 64, 131072], "TT"),
            ("TT", [512, 64, 131072], "TT"),
        ] {
            assert_eq!(order(given, dims, false), wanted, "{given} {dims:?}");
            assert_eq!(order(given, dims, true), "NT", "what is copied is turned: {given} {dims:?}");
        }
    }

    #[test]
    fn few_rows_are_copied_where_much_is_read_beside_them() {
        let of = |m, n, k| soon_copied(GemmShape { m, n, k });
        assert!(of(64, 4096, 4096) && of(2, 14336, 4096));
        assert!(!of(64, 1024, 4096) && !of(65, 4096, 4096) && !of(64, 64, 65536));
        assert!(of(1, usize::MAX, usize::MAX), "nothing overflows");
    }

    #[test]
    fn what_is_likely() {
        assert!(likely(1, 132, 65536));
        assert!(!likely(1, 132, 256), "a short depth is done before anybody could help");
        assert!(!likely(128, 132, 4096), "one wave");
    }

    #[test]
    fn programs_share_the_columns_of_a_row_where_there_are_few() {
        let of = |n, k, transposed| parts_of_row(132, GemmShape { m: 1, n, k }, transposed);
        assert_eq!(
            [
                of(4096, 4096, false),
                of(1024, 8192, false),
                of(1024, 4096, true),
                of(1, 1 << 20, true),
                of(1, 100, false)
            ],
            [2, 8, 1, 264, 1]
        );
        assert!(of(usize::MAX, usize::MAX, false) == 1, "nothing overflows");
    }

    #[test]
    fn programs_share_tiles_in_full_waves() {
        let of = |m, n, k| parts(132, GemmShape { m, n, k });
        // Of 128 x 128 one on a multiprocessor.
        assert_eq!([of(512, 4096, 4096), of(256, 4096, 4096), of(128, 4096, 4096), of(768, 4096, 4096)], [1, 2, 4, 2]);
        assert_eq!([of(1024, 1024, 1024), of(768, 768, 768), of(256, 1024, 8192)], [2, 3, 8]);
        // Of 64 x 64 two, for few rows, and where the depth is too short for more parts.
        assert_eq!([of(64, 4096, 4096), of(1, 4096, 4096), of(64, 1024, 16384), of(512, 512, 512)], [4, 4, 16, 4]);
        assert_eq!([of(1, 1, 0), of(1, 64, 1 << 20)], [1, 32]);
        assert!(of(usize::MAX, usize::MAX, usize::MAX) >= 1, "nothing overflows");
    }

    #[test]
    fn operands_are_copied_where_it_pays() {
        let (emulator, all, none) =
            (Runtime::emulator(0), Least { product: 0, reuse: 0 }, Least { product: 0, reuse: 33 });
        // Of rows of so many elements, neither of which is given transposed.
        let copied = |rt: &Runtime, pitch: usize, wanted: Transpose, least: Least| {
            let data = Buffer::<tilewright_core::f16>::zeros(rt, 32 * pitch).unwrap();
            let operand = || Operand::new(data.slice(..).unwrap().strided([32, 32], [pitch, 1]).unwrap(), false);
            let found = copies(least, rt, GemmShape { m: 32, n: 32, k: 32 }, (&operand(), &operand()), wanted, |_| {
                tilewright_kernels::gemm::scaled::gemm::DESCS[0]
            });
            (found.a, found.b)
        };
        let as_given = Transpose::NONE;
        assert_eq!(copied(&emulator, 40, as_given, all), (None, None));
        assert_eq!(copied(&emulator, 37, as_given, all), (Some(false), Some(false)));
        assert_eq!(copied(&emulator, 37, as_given, none), (None, None));
        assert_eq!(copied(&emulator, 37, as_given, LEAST), (None, None));
        assert_eq!(copied(&emulator, 40, Transpose::OF_B, all), (None, Some(true)));
        assert_eq!(copied(&Runtime::cpu(), 37, as_given, all), (None, None), "the CPU has no tensor maps");
    }
}
