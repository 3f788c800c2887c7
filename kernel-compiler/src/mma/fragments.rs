//! How the threads of a warp load an operand of a product from shared memory, fragment by fragment.

use super::mma_sync::{Unit, Warps};
use crate::layout::linear::Layout;

/// The K of a chunk of operands of multiply-adds.
const CHUNK: usize = 4;
/// The consecutive elements of a thread along M or N.
const ACROSS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchPath {
    /// Four matrices of 8 rows of 16 bytes by `ldmatrix`. A row is one of memory, which is a column of the operand if
    /// `transposed`.
    Matrix { transposed: bool },
    /// Vectors of `vec` elements.
    Elements { vec: usize },
}

/// The loads of an operand. A *slot* is an access of a fragment, or an element of it. Flat indices are those of the
/// operand `[M, K]` or `[K, N]`, or of a batch of operands. The index of a slot is the xor of the thread's part and the
/// slot's part.
#[derive(Clone, Debug)]
pub struct Fetch {
    pub path: FetchPath,
    /// The thread's part, as bases of the bits of the thread's number.
    pub threads: Vec<u32>,
    /// The slots' parts, ordered by the product of a batch, then by the fragment.
    pub slots: Vec<u32>,
    /// The number of slots of a fragment.
    pub per: usize,
    /// Whether elements along K are consecutive in a fragment.
    pub k_major: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}

/// The K of a chunk of multiply-adds.
pub fn chunk(w: &Warps) -> usize {
    w.steps.min(CHUNK)
}

impl Fetch {
    /// The loads of an operand of elements of `size` bytes that is K-major or MN-major.
    pub fn new(unit: Unit, w: &Warps, side: Side, size: usize, k_major: bool) -> Fetch {
        let one = match unit {
            Unit::Fma => Fetch::fma(w, side, size, k_major),
            _ if k_major || size == 2 => Fetch::matrices(w, side, size, k_major),
            _ => Fetch::elements(w, side, size),
        };
        // The same loads for each product of a batch.
        let operand = if side == Side::A { &w.a } else { &w.b };
        let first = |p: usize| operand.reg_index(p * (operand.regs() / w.products));
        Fetch { slots: (0..w.products).flat_map(|p| one.slots.iter().map(move |s| s ^ first(p))).collect(), ..one }
    }

    /// The lowest bits of the coordinates along M or N and along K in the flat index, and the threads' part.
    fn sides(w: &Warps, side: Side) -> (u32, u32, Vec<u32>, usize) {
        let low = |l: &Layout| *l.dims().last().expect("a matrix");
        match side {
            Side::A => (low(&w.a), 0, w.a.thread_bases(), w.row_blocks),
            Side::B => (0, low(&w.b), w.b.thread_bases(), w.col_blocks),
        }
    }

    fn matrices(w: &Warps, side: Side, size: usize, k_major: bool) -> Fetch {
        let (across, k_bit, mut threads, blocks) = Fetch::sides(w, side);
        let (wide, deep) = (|i: u32| 1u32 << (across + i), |i: u32| 1u32 << (k_bit + i));
        // The second half of K, and the other eight rows or columns.
        let half = deep((16 / size).trailing_zeros());
        let other = if side == Side::A || blocks > 1 { wide(3) } else { 0 };
        let rows: [u32; 3] = std::array::from_fn(|i| if k_major { wide(i as u32) } else { deep(i as u32) });
        let halves = if side == Side::A { [other, half] } else { [half, other] };
        threads[..5].copy_from_slice(&[rows[0], rows[1], rows[2], halves[0], halves[1]]);
        let (fragments, step) = (if side == Side::A { blocks } else { blocks.div_ceil(2) }, 32 / size as u32);
        let place = |f: usize, k: usize| (f as u32 * 16) << across | (k as u32 * step) << k_bit;
        let slots = (0..fragments).flat_map(|f| (0..w.steps).map(move |k| place(f, k))).collect();
        Fetch { path: FetchPath::Matrix { transposed: !k_major }, threads, slots, per: 1, k_major }
    }

    /// The same fragments, element by element.
    fn elements(w: &Warps, side: Side, size: usize) -> Fetch {
        let (.., threads, blocks) = Fetch::sides(w, side);
        let (per_word, steps) = (4 / size, w.steps);
        let slots = match side {
            Side::A => (0..w.a.regs() / w.products).map(|r| w.a.reg_index(r)).collect(),
            Side::B => {
                let block = |n: usize, k: usize| (0..2 * per_word).map(move |i| ((n * steps + k) * 2 * per_word) + i);
                let pair = |p: usize, k: usize| block(2 * p, k).chain(block((2 * p + 1).min(blocks - 1), k));
                (0..blocks.div_ceil(2))
                    .flat_map(|p| (0..steps).flat_map(move |k| pair(p, k)))
                    .map(|r| w.b.reg_index(r))
                    .collect()
            }
        };
        Fetch { path: FetchPath::Elements { vec: 1 }, threads, slots, per: 4 * per_word, k_major: false }
    }

    /// Chunks for multiply-adds. Elements that are consecutive in memory are consecutive in a chunk.
    fn fma(w: &Warps, side: Side, size: usize, k_major: bool) -> Fetch {
        let (.., threads, blocks) = Fetch::sides(w, side);
        let deep = chunk(w);
        let place = |i: usize, k: usize| match side {
            Side::A => w.a.reg_index(i * w.steps + k),
            Side::B => w.b.reg_index(k * blocks + i),
        };
        let of_chunk = |c: usize| {
            (0..blocks * deep).map(move |s| {
                let (i, k) = if k_major { (s / deep, s % deep) } else { (s % blocks, s / blocks) };
                place(i, c * deep + k)
            })
        };
        let slots = (0..w.steps / deep).flat_map(of_chunk).collect();
        let across = if planted!("fma-vectors-of-columns-apart") { blocks } else { blocks.min(ACROSS) };
        let vec = if k_major { deep } else { across }.min(16 / size);
        Fetch { path: FetchPath::Elements { vec }, threads, slots, per: blocks * deep, k_major }
    }

    /// The bytes of one access.
    pub fn bytes(&self, size: usize) -> usize {
        match self.path {
            FetchPath::Matrix { .. } => 16,
            FetchPath::Elements { vec } => vec * size,
        }
    }
}
