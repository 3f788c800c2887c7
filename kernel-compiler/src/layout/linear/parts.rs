//! The layouts of tiles that are joined, and of parts of tiles.

use super::layout::{LANE_BITS, Layout, shift};
use super::matrix::{Echelon, deposit_bits};
use super::shape::{Derived, move_dims};

/// A layout to convert a tile to, of which a thread then has the parts that it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convert {
    pub first: Layout,
    /// The result of [`Layout::slice`].
    pub sliced: Derived,
}

impl Layout {
    /// Of two tiles of this layout side by side in a new last dimension: register `2 r + i` is register `r` of tile
    /// `i`.
    pub(crate) fn join(&self) -> Layout {
        let mut dims = self.dims().to_vec();
        dims.push(1);
        let layout = self.map_bases(dims, |b| b << 1);
        let regs = [1].into_iter().chain(layout.reg_bases().iter().copied()).collect();
        layout.with_regs(regs)
    }

    /// Of the part of `extent` elements from `start` on along an axis, where the bits of the index that tell parts
    /// apart are bits of registers. Else a layout to convert to first.
    pub(crate) fn slice(&self, axis: usize, extent: usize, start: usize) -> Result<Derived, Box<Convert>> {
        let (kept, low) = (extent.trailing_zeros(), shift(self.dims(), axis));
        let wanted: Vec<u32> = (kept..self.dims()[axis]).map(|i| 1 << (low + i)).collect();
        let parts: u32 = wanted.iter().sum();
        let places: Vec<usize> = wanted.iter().filter_map(|w| self.reg_bases().iter().position(|b| b == w)).collect();
        let others = self.matrix().columns().iter().filter(|&&b| b & parts != 0).count();
        if places.len() == wanted.len() && others == wanted.len() {
            return Ok(self.part(axis, kept, &places, start >> kept));
        }
        let mut shape = self.shape();
        shape[axis] = extent;
        let order: Vec<usize> = (0..self.rank()).rev().collect();
        let part = Layout::blocked(&shape, &order, 1, self.warps());
        let whole = part.map_bases(self.dims().to_vec(), |b| move_dims(b, part.dims(), self.dims()));
        let regs = whole.reg_bases().iter().copied().chain(wanted).collect();
        let first = whole.with_regs(regs);
        let sliced = first.slice(axis, extent, start).expect("the parts are registers");
        Err(Box::new(Convert { first, sliced }))
    }

    /// `places` are the register bits that tell parts apart, of which `index` is taken.
    fn part(&self, axis: usize, kept: u32, places: &[usize], index: usize) -> Derived {
        let mut dims = self.dims().to_vec();
        dims[axis] = kept;
        let others: Vec<usize> = (0..self.reg_bases().len()).filter(|i| !places.contains(i)).collect();
        let bases = others.iter().map(|&i| self.reg_bases()[i]).collect();
        let layout = self.clone().with_regs(bases).map_bases(dims.clone(), |b| move_dims(b, self.dims(), &dims));
        let place = deposit_bits(index, places);
        Derived { regs: (0..layout.regs()).map(|r| deposit_bits(r, &others) | place).collect(), layout }
    }

    /// The layout of the first elements along an axis. Every thread that had an element which differs from one of them
    /// in higher bits alone holds it.
    pub(crate) fn first(&self, axis: usize, extent: usize) -> Layout {
        let mut dims = self.dims().to_vec();
        dims[axis] = extent.trailing_zeros();
        let higher = ((1u32 << self.dims()[axis]) - (1 << dims[axis])) << shift(self.dims(), axis);
        let regs = self.reg_bases().iter().copied().filter(|b| b & higher == 0).collect();
        self.clone().with_regs(regs).map_bases(dims.clone(), |b| move_dims(b & !higher, self.dims(), &dims))
    }

    /// The thread's and the registers' parts of the flat index over other padded extents, without an axis.
    pub(crate) fn across(&self, axis: usize, shape: &[usize]) -> Layout {
        let mask = ((1u32 << self.dims()[axis]) - 1) << shift(self.dims(), axis);
        self.map_bases(self.dims().to_vec(), |b| b & !mask).within(shape)
    }

    /// The thread's and the registers' parts of the flat index over other padded extents.
    pub(crate) fn within(&self, shape: &[usize]) -> Layout {
        let dims: Vec<u32> = shape.iter().map(|n| n.trailing_zeros()).collect();
        self.map_bases(dims.clone(), |b| move_dims(b, self.dims(), &dims))
    }

    /// The lane and the register of each element, if every warp has all elements.
    pub(crate) fn holders(&self) -> Option<Holders> {
        if !self.is_repeated() {
            return None;
        }
        let mut places = Echelon::default();
        for (i, &b) in self.lane_bases().iter().chain(self.reg_bases()).enumerate() {
            places.insert(b, 1 << i);
        }
        let of = |bit: u32| places.image(1 << bit).expect("every element is held");
        let images: Vec<u32> = (0..self.bits()).map(of).collect();
        let used = images.iter().fold(0, |all, i| all | i) >> LANE_BITS;
        let bits: Vec<usize> = (0..self.reg_bases().len()).filter(|&i| used >> i & 1 == 1).collect();
        let choice = |bit: &usize| images.iter().map(|i| i >> LANE_BITS >> bit & 1).collect();
        Some(Holders {
            lanes: images.iter().map(|i| i & ((1 << LANE_BITS) - 1)).collect(),
            registers: (0..1 << bits.len()).map(|k| deposit_bits(k, &bits)).collect(),
            choices: bits.iter().map(choice).collect(),
        })
    }
}

/// The lanes and registers of a warp that hold the elements of a tile, by linear functions of the flat index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holders {
    /// The lane.
    pub lanes: Vec<u32>,
    /// The registers that have elements.
    pub registers: Vec<usize>,
    /// The number of an element's register among these, bit by bit, the lowest first.
    pub choices: Vec<Vec<u32>>,
}
