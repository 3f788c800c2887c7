//! The layouts of the operations that move no data: shape operations and, up to its own steps, a reduction.
//!
//! Each comes forwards (the result's layout from the operand's) and, as `_source`, backwards (the operand's layout
//! that makes the operation free for a demanded layout of the result).

use super::layout::{Layout, dim_bits, shift};
use super::matrix::{Echelon, deposit_bits, gather};

/// The layout on the other side of an operation, and where its registers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    pub layout: Layout,
    /// For each register of the operation's result, the operand's register with its value, in the same thread.
    pub regs: Vec<usize>,
}

/// How to reduce along an axis. See [`Layout::reduction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The result; threads that differ along the axis end with copies.
    pub result: Layout,
    /// For each register of the result, the operand's registers to combine first, by increasing index along the axis
    /// (where the bases are single bits; else only thread 0's are in order).
    pub groups: Vec<Vec<usize>>,
    /// Then combine with the lanes at these xor masks, one after another.
    pub lanes: Vec<u32>,
    /// Then, if the axis spans warps, combine across these.
    pub across: Option<Across>,
}

/// Combining across warps is a conversion into more registers: convert `partial` to `gathered`, then combine, for each
/// result register `r`, the gathered registers `r + k * result.regs()` for all `k < warps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Across {
    /// The warps' results side by side, in the layout after `lanes`. The new, leading dimension is the warp's number.
    pub partial: Layout,
    pub gathered: Layout,
    pub warps: usize,
}

impl Layout {
    /// The layout of a reduction's result: without `axis`, replicated over the threads along it.
    pub(crate) fn reduce(&self, axis: usize) -> Derived {
        let mut dims = self.dims().to_vec();
        dims.remove(axis);
        let low = shift(self.dims(), axis);
        let high = low + self.dims()[axis];
        let (layout, kept) = self.map_bases(dims, |b| (b >> high << low) | (b & ((1 << low) - 1))).without_zero_regs();
        Derived { regs: (0..layout.regs()).map(|r| deposit_bits(r, &kept)).collect(), layout }
    }

    /// A new dimension of extent 1 before dimension `axis`.
    pub(crate) fn expand(&self, axis: usize) -> Derived {
        let mut dims = self.dims().to_vec();
        dims.insert(axis, 0);
        self.map_bases(dims, |b| b).unmoved()
    }

    pub(crate) fn expand_source(&self, axis: usize) -> Derived {
        let mut dims = self.dims().to_vec();
        assert_eq!(dims.remove(axis), 0, "not a dimension of extent 1");
        self.map_bases(dims, |b| b).unmoved()
    }

    /// Dimensions of extent 1 broadcast to those of `shape`, over new, highest register bits.
    pub(crate) fn broadcast(&self, shape: &[usize]) -> Derived {
        let dims = dim_bits(shape);
        assert!(self.dims().iter().zip(&dims).all(|(a, b)| a == b || *a == 0), "{:?} to {shape:?}", self.shape());
        let layout = self.map_bases(dims.clone(), |b| move_dims(b, self.dims(), &dims));
        // The fastest dimension first, as everywhere.
        let new = (0..dims.len()).rev().filter(|&d| dims[d] != self.dims()[d]);
        let new = new.flat_map(|d| (0..dims[d]).map(move |i| (d, i))).map(|(d, i)| 1 << (shift(&dims, d) + i));
        let layout =
            layout.with_regs(self.reg_bases().iter().map(|&b| move_dims(b, self.dims(), &dims)).chain(new).collect());
        let regs = (0..layout.regs()).map(|r| r % self.regs()).collect();
        Derived { layout, regs }
    }

    /// `shape` is the operand's.
    pub(crate) fn broadcast_source(&self, shape: &[usize]) -> Derived {
        let dims = dim_bits(shape);
        assert!(self.dims().iter().zip(&dims).all(|(a, b)| a == b || *b == 0), "{shape:?} to {:?}", self.shape());
        let (layout, kept) = self.map_bases(dims.clone(), |b| move_dims(b, self.dims(), &dims)).without_zero_regs();
        Derived { layout, regs: (0..self.regs()).map(|r| gather(r, &kept)).collect() }
    }

    /// Dimension `k` of the result is dimension `perm[k]` of the operand.
    pub(crate) fn permute(&self, perm: &[usize]) -> Derived {
        let dims: Vec<u32> = perm.iter().map(|&d| self.dims()[d]).collect();
        assert_eq!(dims.len(), self.rank());
        let index = |b| perm.iter().enumerate().map(|(k, &d)| self.coord(b, d) << shift(&dims, k)).sum();
        self.map_bases(dims.clone(), index).unmoved()
    }

    pub(crate) fn permute_source(&self, perm: &[usize]) -> Derived {
        let mut inverse = vec![0; perm.len()];
        perm.iter().enumerate().for_each(|(k, &d)| inverse[d] = k);
        // Of other shapes it would be a layout of another tile.
        let is_cube = self.dims().iter().all(|d| *d == self.dims()[0]);
        self.permute(if is_cube && planted!("permuted-layout-not-inverted") { perm } else { &inverse })
    }

    /// The same flat indices under other padded extents. Inference refuses a reshape that moves padding.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Derived {
        let dims = dim_bits(shape);
        assert_eq!(dims.iter().sum::<u32>(), self.bits(), "{:?} to {shape:?}", self.shape());
        self.map_bases(dims, |b| b).unmoved()
    }

    /// `shape` is the operand's.
    pub(crate) fn reshape_source(&self, shape: &[usize]) -> Derived {
        self.reshape(shape)
    }

    /// How to reduce along `axis`; in the error case, the layout to convert the operand to first.
    ///
    /// The steps are right for an associative and commutative operation; no element is combined twice.
    pub(crate) fn reduction(&self, axis: usize) -> Result<Reduction, Layout> {
        let order: Vec<usize> = (0..self.rank()).rev().collect();
        let convert_first = || Layout::blocked(&self.shape(), &order, 1, self.warps());
        let axis_mask = ((1u32 << self.dims()[axis]) - 1) << shift(self.dims(), axis);
        let along = |b: u32| b & axis_mask != 0;
        let mut seen = Echelon::default();
        let bases = self.reg_bases().iter().chain(self.lane_bases()).chain(self.warp_bases());
        for &b in bases.filter(|&&b| along(b)) {
            if b & !axis_mask != 0 || !seen.insert(b, 0) {
                return Err(convert_first());
            }
        }

        let Derived { layout: result, regs } = self.reduce(axis);
        let bits = |bases: &[u32]| -> Vec<usize> { (0..bases.len()).filter(|&i| along(bases[i])).collect() };
        let reg_bits = bits(self.reg_bases());
        let group = |first: &usize| {
            let mut group: Vec<usize> = (0..1 << reg_bits.len()).map(|k| first | deposit_bits(k, &reg_bits)).collect();
            group.sort_by_key(|&r| self.reg_index(r) & axis_mask);
            group
        };
        let lanes = bits(self.lane_bases()).into_iter().map(|i| 1 << i).collect();
        let across = Across::new(&result, &bits(self.warp_bases()));
        Ok(Reduction { groups: regs.iter().map(group).collect(), lanes, across, result })
    }

    /// Every register is where it was.
    fn unmoved(self) -> Derived {
        let regs = (0..self.regs()).collect();
        Derived { layout: self, regs }
    }

    /// Without the register bits that are replicated; and which bits stay.
    fn without_zero_regs(self) -> (Layout, Vec<usize>) {
        let kept: Vec<usize> = (0..self.reg_bases().len()).filter(|&i| self.reg_bases()[i] != 0).collect();
        let regs = kept.iter().map(|&i| self.reg_bases()[i]).collect();
        (self.with_regs(regs), kept)
    }
}

impl Across {
    /// Of the warps that differ in these bits; nothing where there are none.
    pub(super) fn new(result: &Layout, warp_bits: &[usize]) -> Option<Across> {
        if warp_bits.is_empty() {
            return None;
        }
        let warps = 1 << warp_bits.len();
        let mut shape = result.shape();
        shape.insert(0, warps);
        let wide = Layout::new(&shape, result.reg_bases().to_vec(), *result.lane_bases(), result.warp_bases().to_vec());
        let slot = |i: usize| 1 << (result.bits() + i as u32);
        let mut by_warp = wide.warp_bases().to_vec();
        warp_bits.iter().enumerate().for_each(|(i, &bit)| by_warp[bit] = slot(i));
        let partial = Layout::new(&shape, wide.reg_bases().to_vec(), *wide.lane_bases(), by_warp);
        let regs = wide.reg_bases().iter().copied().chain((0..warp_bits.len()).map(slot)).collect();
        Some(Across { partial, gathered: wide.with_regs(regs), warps })
    }
}

/// Coordinates of a flat index over `from`, as a flat index over `to`; coordinates that `to` has no bits for are
/// dropped.
pub(super) fn move_dims(flat: u32, from: &[u32], to: &[u32]) -> u32 {
    (0..from.len()).map(|d| (flat >> shift(from, d) & ((1 << from[d].min(to[d])) - 1)) << shift(to, d)).sum()
}
