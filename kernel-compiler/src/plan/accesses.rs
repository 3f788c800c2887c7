//! Accesses of threads to memory: the layout of each stored tile, and the elements of one access.

use crate::analysis::axis_info::{AxisAnalysis, WORD_BYTES};
use crate::ir::walk::walk;
use crate::ir::{Address, Base, Func, Op, Stmt, StmtId, StmtKind, Value};
use crate::layout::assign::{LayoutAssignment, fastest, preferred};
use crate::layout::linear::Layout;
use crate::plan::staged_store::StagedStores;
use std::collections::HashMap;

/// The elements that a thread accesses at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    pub elements: usize,
    /// Whether their addresses descend.
    pub descending: bool,
    /// Whether each access is known to be allowed as a whole or not at all.
    pub undivided: bool,
}

/// The widest access along the dimension that consecutive registers of a layout follow.
pub fn vector(f: &Func, a: &AxisAnalysis, place: &Address, mask: Option<Value>, layout: &Layout) -> Vector {
    let one = Vector { elements: 1, descending: false, undivided: false };
    let Some(&first) = layout.reg_bases().first() else { return one };
    let Some(dim) = (0..layout.rank()).find(|&d| layout.coord(first, d) == 1) else { return one };
    let (widest, down) = a.vector_at(f, place, dim);
    let elements = widest.min(layout.contiguous(dim)).min(layout.regs());
    let undivided = elements > 1 && is_undivided(f, a, place, mask, dim, elements);
    Vector { elements, descending: down && elements > 1, undivided }
}

/// Whether the mask, the padding of the tile and the end of the array divide no access of `n` elements along `dim`.
fn is_undivided(f: &Func, a: &AxisAnalysis, place: &Address, mask: Option<Value>, dim: usize, n: usize) -> bool {
    let extent = f.shape(place.index)[dim];
    let end = match place.base {
        Base::Slice(_) if planted!("undivided-beyond-the-slice") => n as u64,
        Base::Slice(param) => a.divisor(f.params[param].first_word + 1),
        Base::Raw(_) | Base::Pointer { .. } => n as u64,
        Base::Shared(_) => 1,
    };
    let is_whole = extent.is_power_of_two() || extent.is_multiple_of(n);
    is_whole && end >= n as u64 && mask.is_none_or(|m| a.is_undivided(f, m, dim, n))
}

/// The layouts of the tiles that threads store from their registers, not by way of shared memory. `by_wgmma` says
/// whether `wgmma` computes the products of the function.
pub fn stores(
    f: &Func,
    a: &AxisAnalysis,
    layouts: &LayoutAssignment,
    by_wgmma: bool,
    staged: &StagedStores,
) -> HashMap<StmtId, Layout> {
    let of = |s: &Stmt| {
        let StmtKind::Store { place, value, .. } = &s.kind else { return None };
        let from_registers = !f.ty(*value).is_scalar() && !staged.0.contains_key(&s.id);
        from_registers.then(|| (s.id, of_store(f, a, layouts, by_wgmma, place, *value)))
    };
    walk(&f.body).filter_map(of).collect()
}

/// The value's layout if it suits memory as well, else the layout that memory prefers.
fn of_store(
    f: &Func,
    a: &AxisAnalysis,
    layouts: &LayoutAssignment,
    by_wgmma: bool,
    place: &Address,
    value: Value,
) -> Layout {
    let index = place.index;
    if !layouts.is_cheap(index) {
        return layouts.of(index).clone();
    }
    let best = preferred(f, a, place);
    if layouts.is_cheap(value) {
        return best;
    }
    // A shape operation has no layout preference of its own: the layout of its operand decides.
    let layout_of_value = layouts.of(value).clone();
    let order = a.order(f, index);
    let run = |l: &Layout| l.contiguous(order[0]);
    let size = f.dtype_at(place).size();
    let wanted = a.vector_at(f, place, order[0]).0;
    if layouts.is_accumulator(value)
        && let vec = wanted.min(1 << layout_of_value.dims()[order[0]])
        && let Some(widened) = layout_of_value.widened(order[0], vec)
    {
        // A few shuffles convert the layout of the instructions to one with vectors. Stores of single elements or words
        // would take more shuffles, too many for the accumulators of `wgmma`.
        let narrow = vec == 1 || vec * size <= WORD_BYTES;
        return if narrow && !by_wgmma { widened.coalesced(order[0], vec) } else { widened };
    }
    if let Op::Permute(x, perm) = f.op(value)
        && layouts.is_accumulator(*x)
    {
        // Transposed accumulators: consecutive lanes are along a row of memory and fill its sectors.
        let transposed = layouts.of(*x).permute(perm).layout;
        if whole_sectors(&transposed, order[0], f.ty(value).dtype.size()) {
            return transposed;
        }
    }
    let suits =
        fastest(&layout_of_value).is_none_or(|d| d == order[0]) && run(&layout_of_value) >= wanted.min(run(&best));
    if suits { layout_of_value } else { best }
}

/// Whether the lanes of a warp fill whole sectors of 32 bytes along a dimension.
fn whole_sectors(l: &Layout, dim: usize, size: usize) -> bool {
    let low: u32 = l.dims()[dim + 1..].iter().sum();
    (0..(32 / size).trailing_zeros()).all(|bit| l.lane_bases().contains(&(1 << (low + bit))))
}
