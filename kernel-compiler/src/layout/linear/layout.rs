use std::collections::VecDeque;

use super::matrix::{Echelon, Matrix, combine};

/// Lanes are five bits of a thread's number, on every target.
pub const LANE_BITS: usize = 5;

/// Which element of a tile each register of each thread holds: a linear map over F2 from the bits of
/// (register, lane, warp) to the bits of the tile's *flat index*.
///
/// The flat index is row-major over the padded extents: the last dimension has the lowest bits. A zero basis is a
/// replicated bit: both values of it hold the same elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    dims: Vec<u32>,
    regs: Vec<u32>,
    lanes: [u32; LANE_BITS],
    warps: Vec<u32>,
}

/// The bits of a layout that say nothing new: the elements are all held where these bits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// Mask of register bits.
    pub regs: u32,
    /// Mask of the bits of the thread's number, lanes first.
    pub threads: u32,
}

impl Layout {
    /// A layout from its bases. Extents are powers of two.
    pub(crate) fn new(shape: &[usize], regs: Vec<u32>, lanes: [u32; LANE_BITS], warps: Vec<u32>) -> Self {
        let layout = Layout { dims: dim_bits(shape), regs, lanes, warps };
        assert!(layout.inputs().all(|b| u64::from(b) >> layout.bits() == 0), "a basis lies outside of {shape:?}");
        layout
    }

    /// Consecutive elements to the registers of a thread (`vec` of them), then to its lanes, then to its warps, then
    /// to more registers, always along `order`, the fastest dimension first.
    ///
    /// Threads are used before vectors are. If the tile has fewer elements than there are threads, the highest bits of
    /// the thread's number are replicated. The bits of a vector are the lowest register bits.
    pub(crate) fn blocked(shape: &[usize], order: &[usize], vec: usize, warps: usize) -> Self {
        Layout::blocked_within_warps(shape, order, vec, warps, |_| false)
    }

    /// [`Layout::blocked`], but warps take index bits of `whole` dimensions last. If other dimensions have enough bits
    /// left, a reduction along a `whole` one stays within a warp.
    pub(crate) fn blocked_within_warps(
        shape: &[usize],
        order: &[usize],
        vec: usize,
        warps: usize,
        whole: impl Fn(usize) -> bool,
    ) -> Self {
        let dims = dim_bits(shape);
        let bits = dims.iter().sum::<u32>() as usize;
        let (warp_bits, vec_bits) = (log2(warps) as usize, log2(vec) as usize);
        assert_eq!(order.len(), dims.len());
        let mut unused: VecDeque<(usize, u32)> = order
            .iter()
            .flat_map(|&d| (0..dims[d]).map(move |i| (d, i)))
            .map(|(d, i)| (d, 1 << (shift(&dims, d) + i)))
            .collect();

        let fastest = order.first().map_or(0, |&d| dims[d] as usize);
        let vec_bits = vec_bits.min(fastest).min(bits.saturating_sub(LANE_BITS + warp_bits));
        let mut regs: Vec<u32> = unused.drain(..vec_bits).map(|(_, b)| b).collect();
        let lanes = std::array::from_fn(|_| unused.pop_front().map_or(0, |(_, b)| b));
        let mut warp_basis = || {
            let next = unused.iter().position(|&(d, _)| !whole(d)).unwrap_or(0);
            unused.remove(next).map_or(0, |(_, b)| b)
        };
        let warps = (0..warp_bits).map(|_| warp_basis()).collect();
        regs.extend(unused.iter().map(|&(_, b)| b));
        Layout { dims, regs, lanes, warps }
    }

    /// Consecutive elements of a tile of rank 1 to the lanes of a warp, then to its registers, then to the warps, so
    /// that the elements of a warp come before those of the next one. If there are fewer elements than threads, the
    /// highest bits of the thread's number are replicated.
    pub(crate) fn in_order(shape: &[usize], warps: usize) -> Self {
        let dims = dim_bits(shape);
        let bits = dims.iter().sum::<u32>() as usize;
        let of_lanes = bits.min(LANE_BITS);
        let of_warps = (log2(warps) as usize).min(bits - of_lanes);
        let lanes = std::array::from_fn(|i| if i < of_lanes { 1 << i } else { 0 });
        let first_of_warps = bits - of_warps;
        let warps =
            (0..log2(warps) as usize).map(|i| if i < of_warps { 1 << (first_of_warps + i) } else { 0 }).collect();
        Layout { dims, regs: (of_lanes..first_of_warps).map(|i| 1 << i).collect(), lanes, warps }
    }

    /// The layout of one warp in each of several.
    pub(crate) fn repeated(mut self, warps: usize) -> Layout {
        assert!(self.warps.is_empty(), "a layout of one warp");
        self.warps = vec![0; log2(warps) as usize];
        self
    }

    /// The padded extents.
    pub fn shape(&self) -> Vec<usize> {
        self.dims.iter().map(|&b| 1 << b).collect()
    }

    /// The number of index bits of each dimension.
    pub(crate) fn dims(&self) -> &[u32] {
        &self.dims
    }

    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of bits of a flat index.
    pub(crate) fn bits(&self) -> u32 {
        self.dims.iter().sum()
    }

    /// Registers of a thread.
    pub fn regs(&self) -> usize {
        1 << self.regs.len()
    }

    /// The number of warps, a power of two.
    pub fn warps(&self) -> usize {
        1 << self.warps.len()
    }

    pub(crate) fn reg_bases(&self) -> &[u32] {
        &self.regs
    }

    pub(crate) fn lane_bases(&self) -> &[u32; LANE_BITS] {
        &self.lanes
    }

    pub(crate) fn warp_bases(&self) -> &[u32] {
        &self.warps
    }

    /// The bases of the bits of the thread's number: lanes, then warps.
    pub(crate) fn thread_bases(&self) -> Vec<u32> {
        self.lanes.iter().chain(&self.warps).copied().collect()
    }

    fn inputs(&self) -> impl Iterator<Item = u32> {
        self.regs.iter().chain(&self.lanes).chain(&self.warps).copied()
    }

    /// The flat index of the element in a register.
    pub fn apply(&self, reg: usize, lane: usize, warp: usize) -> u32 {
        self.reg_index(reg) ^ combine(&self.lanes, lane as u32) ^ combine(&self.warps, warp as u32)
    }

    /// The bits that a register adds (by xor) to the flat index of its thread.
    pub(crate) fn reg_index(&self, reg: usize) -> u32 {
        combine(&self.regs, reg as u32)
    }

    /// The coordinate of a flat index, or of a basis, along one dimension.
    pub(crate) fn coord(&self, flat: u32, dim: usize) -> u32 {
        flat >> shift(&self.dims, dim) & ((1 << self.dims[dim]) - 1)
    }

    /// The flat index of coordinates.
    pub(crate) fn flat(&self, coords: &[usize]) -> u32 {
        assert_eq!(coords.len(), self.rank());
        coords.iter().enumerate().map(|(d, &c)| (c as u32) << shift(&self.dims, d)).sum()
    }

    /// Columns are the bases of registers, then lanes, then warps.
    pub(crate) fn matrix(&self) -> Matrix {
        Matrix::new(self.bits(), self.inputs().collect())
    }

    /// Every warp holds the same elements.
    pub(crate) fn is_repeated(&self) -> bool {
        self.warps.iter().all(|&b| b == 0)
    }

    /// Every element is held somewhere.
    pub(crate) fn is_surjective(&self) -> bool {
        self.matrix().rank() == self.bits() as usize
    }

    /// The replicated bits. Stores and atomics are for the threads and registers in which these bits are 0.
    pub(crate) fn free_mask(&self) -> Free {
        let mut e = Echelon::default();
        // Threads are kept before registers: a register that is left out is work saved, an idle thread is not.
        let mut dependent = |bases: &[u32]| {
            bases.iter().enumerate().filter(|&(_, &b)| !e.insert(b, 0)).fold(0, |mask, (i, _)| mask | 1 << i)
        };
        let threads = dependent(&self.thread_bases());
        Free { threads, regs: dependent(&self.regs) }
    }

    /// How many consecutive registers, from any multiple of that number on, are consecutive along `dim`.
    pub(crate) fn contiguous(&self, dim: usize) -> usize {
        let unit = shift(&self.dims, dim);
        let run = self.regs.iter().zip(0..self.dims[dim]).take_while(|&(&b, i)| b == 1 << (unit + i)).count();
        // No other bit may reach into the run, else it would not start at a multiple of its length.
        let reach = self.inputs().enumerate().filter(|&(i, b)| i >= run && self.coord(b, dim) != 0);
        let lowest = reach.map(|(_, b)| self.coord(b, dim).trailing_zeros() as usize).min();
        1 << run.min(lowest.unwrap_or(run))
    }

    /// The same warps with the elements of a warp dealt anew, so that `vec` registers are consecutive along `dim`:
    /// lanes take other registers' elements along `dim` in exchange. None where the elements are not in one warp.
    pub(crate) fn widened(&self, dim: usize, vec: usize) -> Option<Layout> {
        let wanted: Vec<u32> = (0..log2(vec)).map(|i| 1 << (shift(&self.dims, dim) + i)).collect();
        let mut out = self.clone();
        for &b in wanted.iter().filter(|b| !self.regs.contains(b)) {
            let lane = out.lanes.iter().position(|&l| l == b)?;
            let spare = |r: u32| r != 0 && !wanted.contains(&r) && r == self.coord(r, dim) << shift(&self.dims, dim);
            let reg = (0..out.regs.len()).filter(|&i| spare(out.regs[i])).min_by_key(|&i| out.regs[i])?;
            std::mem::swap(&mut out.lanes[lane], &mut out.regs[reg]);
        }
        out.regs.sort_by_key(|r| wanted.iter().position(|w| w == r).unwrap_or(usize::MAX));
        Some(out)
    }

    /// The same warps with the elements of a warp dealt anew, so that neighboring lanes have neighbors along `dim`,
    /// as many as a warp has: each store of `vec` elements fills whole units of memory. A thread keeps its `vec`
    /// neighbors.
    pub(crate) fn coalesced(&self, dim: usize, vec: usize) -> Layout {
        let (mut out, kept) = (self.clone(), log2(vec));
        for lane in 0..LANE_BITS.min((self.dims[dim] - kept) as usize) {
            let wanted = 1 << (shift(&self.dims, dim) + kept + lane as u32);
            if let Some(at) = out.lanes.iter().position(|&b| b == wanted) {
                out.lanes.swap(lane, at);
            } else if let Some(at) = out.regs.iter().position(|&b| b == wanted) {
                std::mem::swap(&mut out.lanes[lane], &mut out.regs[at]);
            } else {
                break;
            }
        }
        out
    }

    /// The layout of pairs of elements, where registers are pairs of neighbors along the last dimension that has two.
    pub(crate) fn pairs(&self) -> Option<Layout> {
        let paired = self.regs.first() == Some(&1) && self.inputs().skip(1).all(|b| b & 1 == 0);
        paired.then(|| {
            let mut dims = self.dims.clone();
            *dims.iter_mut().rfind(|d| **d > 0).expect("a dimension has the pairs") -= 1;
            let half = self.map_bases(dims, |b| b >> 1);
            let regs = half.regs[1..].to_vec();
            half.with_regs(regs)
        })
    }

    /// The same registers and threads over other indices: every basis through the linear map `f`.
    pub(super) fn map_bases(&self, dims: Vec<u32>, f: impl Fn(u32) -> u32) -> Layout {
        Layout {
            dims,
            regs: self.regs.iter().map(|&b| f(b)).collect(),
            lanes: self.lanes.map(&f),
            warps: self.warps.iter().map(|&b| f(b)).collect(),
        }
    }

    pub(super) fn with_regs(mut self, regs: Vec<u32>) -> Layout {
        self.regs = regs;
        self
    }
}

/// The lowest bit of dimension `dim` in a flat index.
pub(super) fn shift(dims: &[u32], dim: usize) -> u32 {
    dims[dim + 1..].iter().sum()
}

pub(super) fn dim_bits(shape: &[usize]) -> Vec<u32> {
    let dims: Vec<u32> = shape.iter().map(|&n| log2(n)).collect();
    assert!(dims.iter().sum::<u32>() < 28, "a tile of {shape:?} is too large");
    dims
}

fn log2(n: usize) -> u32 {
    assert!(n.is_power_of_two(), "{n} is not a power of two");
    n.trailing_zeros()
}
