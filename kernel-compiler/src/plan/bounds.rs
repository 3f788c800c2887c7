//! The bounds of accesses: how the code knows which elements of a tile are allowed.

use crate::analysis::no_wrap::counts_up;
use crate::ir::{Address, Value};
use crate::layout::table::LayoutId;
use crate::plan::accesses::{TileAccess, Vector};
use crate::plan::comparisons::Comparisons;
use crate::plan::index_sums::IndexSum;
use std::fmt;

/// How the code knows which elements of an access are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// It compares the constants of registers with limits, in 32 bits.
    Constants,
    /// It has a tile of indices or of conditions.
    Elements,
}

/// The conditions of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// That the index is below the number of elements; none where the memory has no end.
    pub end: Option<Tested>,
    /// That the mask is true.
    pub mask: Option<Tested>,
    /// Whether both are one comparison, with the lower limit.
    pub joined: bool,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let tested = |by: Tested| match by {
            Tested::Constants => "constants",
            Tested::Elements => "elements",
        };
        match (self.end.map(tested), self.mask.map(tested)) {
            (Some(end), None) => write!(f, "the end tested by {end}"),
            (None, Some(mask)) => write!(f, "the mask tested by {mask}"),
            (Some(end), Some(_)) if self.joined => write!(f, "the end and the mask tested at once by {end}"),
            (Some(end), Some(mask)) => write!(f, "the end tested by {end}, the mask by {mask}"),
            (None, None) => write!(f, "no end and no mask"),
        }
    }
}

impl Bounds {
    /// The conditions of an access to a tile in a layout.
    pub fn plan(
        comparisons: &mut Comparisons,
        ptr: &Address,
        mask: Option<Value>,
        access: &TileAccess,
        l: LayoutId,
    ) -> Bounds {
        let (f, index) = (comparisons.sums.f, ptr.index);
        let of_mask = mask.map(|mask| match comparisons.mask(mask, l) {
            Some(_) => Tested::Constants,
            None => Tested::Elements,
        });
        let sum = comparisons.sums.of(index, l).cloned();
        let counts_up = counts_up(f, index) || planted!("bounds-of-an-index-below-zero");
        let is_counted = sum.as_ref().is_some_and(IndexSum::is_near) && counts_up;
        let end = ptr.base.is_bounded().then_some(match is_counted {
            true => Tested::Constants,
            false => Tested::Elements,
        });
        // The mask joins the bounds if its value for the farthest element of an access holds for all elements of it.
        let Vector { elements: vec, descending, .. } = access.vector;
        let ascends = |a: &IndexSum| vec == 1 || !descending && a.consts.chunks(vec).all(|c| c.is_sorted());
        let joins = |mask: Value| {
            let (Some(a), Some(limited)) = (&sum, comparisons.single_limit(mask, l)) else { return false };
            let same = || a.consts.iter().map(|&c| c as u32).eq(limited.iter().copied());
            let planted = planted!("bounds-joined-with-a-limit-of-rows");
            let zeros = || (planted || a.consts.iter().all(|&c| c == 0)) && limited.iter().all(|&c| c == 0);
            ascends(a) && (same() || zeros())
        };
        let joined = end == Some(Tested::Constants) && mask.is_some_and(joins);
        Bounds { end, mask: of_mask, joined }
    }
}
