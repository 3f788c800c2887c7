//! Reductions, scans, sorts, gathers, joins, histograms and counts of equal elements: the layouts that they work in,
//! and the way in which threads exchange elements.

use crate::ir::walk::values;
use crate::ir::{Func, Op, Value};
use crate::layout::assign::LayoutAssignment;
use crate::layout::linear::{Bit, Convert, Derived, Holders, Layout, Reduction, Scan};
use crate::layout::padded;
use std::collections::HashMap;
use std::fmt;

/// The most totals of warps that a thread has in registers.
const MAX_GATHERED: usize = 64;
/// The most shuffles of a thread that cost no more than an exchange through shared memory.
const MAX_SHUFFLES: usize = 16;

/// The plan of an operation. Its operands are computed in the layout `given`, and converted to `layout` where that is
/// another one.
#[derive(Debug)]
pub enum Collective {
    Reduce {
        given: Layout,
        layout: Layout,
        reduction: Box<Reduction>,
    },
    Scan {
        given: Layout,
        layout: Layout,
        scan: Scan,
    },
    /// With the meaning of each bit of the index along the axis, the lowest first.
    Sort {
        given: Layout,
        layout: Layout,
        bits: Vec<Bit>,
    },
    /// Elements of `source` at the indices in `layout`: from the registers of other lanes, or through shared memory.
    Gather {
        source: Layout,
        layout: Layout,
        holders: Option<Holders>,
    },
    /// Of two tiles in one layout.
    Join {
        layout: Layout,
    },
    /// A part of a tile.
    Slice {
        layout: Layout,
        way: Slice,
    },
    Histogram {
        layout: Layout,
    },
    /// In a layout in which the elements of a warp come before those of the next one.
    Cumcount {
        layout: Layout,
    },
}

/// How threads get the elements of a part of a tile.
#[derive(Debug)]
pub enum Slice {
    /// They hold them.
    Registers(Derived),
    /// The tile is converted first, so that they hold them.
    Converted(Box<Convert>),
    /// They load them from shared memory, in this layout.
    Shared(Layout),
}

/// The plans of the operations of a function.
pub fn plan(f: &Func, layouts: &LayoutAssignment) -> HashMap<Value, Collective> {
    let of = |v: Value| Some((v, of_op(f, layouts, v)?));
    values(&f.body).filter_map(of).collect()
}

fn of_op(f: &Func, layouts: &LayoutAssignment, v: Value) -> Option<Collective> {
    let (op, any) = (f.op(v), |v: Value| layouts.any(f, v));
    Some(match op {
        Op::Reduce { .. } | Op::ArgReduce { .. } => {
            let (values, axis) = op.reduced()?;
            let given = any(values[0]);
            match given.reduction(axis) {
                Ok(reduction) => Collective::Reduce { layout: given.clone(), given, reduction: Box::new(reduction) },
                Err(layout) => {
                    let reduction = layout.reduction(axis).expect("a blocked layout reduces");
                    Collective::Reduce { given, layout, reduction: Box::new(reduction) }
                }
            }
        }
        Op::Scan { values, axis, .. } => {
            let given = any(values[0]);
            let along = given.along(*axis);
            let blocked = along.scan(*axis).expect("a blocked layout can be scanned");
            // Another layout, where the totals of all warps would not fit in registers.
            let fits = |scan: &Scan| scan.gathered() <= MAX_GATHERED.max(blocked.gathered());
            match given.scan(*axis).filter(fits) {
                Some(scan) => Collective::Scan { layout: given.clone(), given, scan },
                None => Collective::Scan { given, layout: along, scan: blocked },
            }
        }
        Op::Sort { values, axis, .. } => {
            let given = any(values[0]);
            let layout = given.along(*axis);
            let bits = layout.axis_bits(*axis).expect("a blocked layout has single bits");
            Collective::Sort { given, layout, bits }
        }
        &Op::Gather { value, index, .. } => {
            let (source, layout) = (any(value), any(index));
            let holders = source.holders().filter(|h| h.registers.len() * layout.regs() <= MAX_SHUFFLES);
            Collective::Gather { source, layout, holders }
        }
        &Op::Join(a, b) => Collective::Join { layout: any(if layouts.is_cheap(a) { b } else { a }) },
        &Op::Slice { value, axis, start } => {
            let (layout, extent) = (any(value), f.shape(v)[axis]);
            let way = match layout.slice(axis, extent, start) {
                Ok(sliced) => Slice::Registers(sliced),
                // With more than two parts a thread loads its elements of one part, instead of converting all parts.
                Err(c) if layout.shape()[axis] > 2 * extent => Slice::Shared(c.sliced.layout),
                Err(c) => Slice::Converted(c),
            };
            Collective::Slice { layout, way }
        }
        Op::Cumcount { value, .. } => {
            Collective::Cumcount { layout: Layout::in_order(&padded(f.shape(*value)), f.warps as usize) }
        }
        &Op::Histogram { value, weights, mask } => {
            let operands = [Some(value), weights, mask].into_iter().flatten();
            let of = operands.into_iter().find(|&x| !layouts.is_cheap(x)).unwrap_or(value);
            Collective::Histogram { layout: any(of) }
        }
        _ => return None,
    })
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let converted = |given: &Layout, layout: &Layout| if given == layout { "" } else { ", converted to it" };
        match self {
            Collective::Reduce { given, layout, .. } => {
                write!(f, "reduction in {layout:?}{}", converted(given, layout))
            }
            Collective::Scan { given, layout, .. } => write!(f, "scan in {layout:?}{}", converted(given, layout)),
            Collective::Sort { given, layout, .. } => write!(f, "sort in {layout:?}{}", converted(given, layout)),
            Collective::Gather { source, layout, holders } => {
                let way = if holders.is_some() { "by shuffles" } else { "through shared memory" };
                write!(f, "gather {way}, of {source:?} at indices in {layout:?}")
            }
            Collective::Join { layout } => write!(f, "join of tiles in {layout:?}"),
            Collective::Slice { layout, way } => {
                let way = match way {
                    Slice::Registers(_) => "from registers",
                    Slice::Converted(_) => "after a conversion",
                    Slice::Shared(_) => "through shared memory",
                };
                write!(f, "part of a tile in {layout:?}, {way}")
            }
            Collective::Histogram { layout } => write!(f, "histogram of a tile in {layout:?}"),
            Collective::Cumcount { layout } => write!(f, "counts of equal elements of a tile in {layout:?}"),
        }
    }
}
