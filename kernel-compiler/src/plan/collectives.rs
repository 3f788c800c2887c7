//! Reductions, scans, sorts, gathers, joins, histograms and counts of equal elements: the layouts that they work in,
//! and the way in which threads exchange elements.

use crate::dtype::DType;
use crate::ir::walk::values;
use crate::ir::{Binary, Combine, Func, Op, Value};
use crate::layout::assign::LayoutAssignment;
use crate::layout::linear::{self, Across, Conversion, Convert, Derived, Holders, Layout, Level, Reduction};
use crate::layout::linear::{Scan, Shared};
use crate::layout::padded;
use crate::plan::conversions::{SharedTiles, TileConversion};
use crate::plan::sort_network::{SortStep, network};
use std::collections::HashMap;
use std::fmt;

/// The most totals of warps that a thread has in registers.
const MAX_GATHERED: usize = 64;
/// The most shuffles of a thread that cost no more than an exchange through shared memory.
const MAX_SHUFFLES: usize = 16;

/// The plan of an operation. Its operands are computed in the layout `given`, and each is `converted` to `layout`.
#[derive(Debug)]
pub enum Collective {
    /// With the exchange of the results of warps, where these share elements of the axis. `from_first`: each lane
    /// combines its own element first, and all take the result of the first lane. Lanes could disagree in a branch on
    /// results of their own.
    Reduce {
        given: Layout,
        converted: Vec<TileConversion>,
        layout: Layout,
        reduction: Box<Reduction>,
        gathered: Option<Gathered>,
        from_first: bool,
    },
    /// With the exchange of totals for each level of warps. `first_is_padding`: each item has a flag, which is false
    /// for padding.
    Scan {
        given: Layout,
        converted: Vec<TileConversion>,
        layout: Layout,
        scan: Scan,
        gathered: Vec<Gathered>,
        first_is_padding: bool,
    },
    /// With the steps of its network, and the layout of the elements that it keeps.
    Sort { given: Layout, converted: Vec<TileConversion>, layout: Layout, network: Vec<SortStep>, result: Layout },
    /// Elements of `source` at the indices in `layout`.
    Gather { source: Layout, layout: Layout, way: GatherWay },
    /// Of two tiles in one layout.
    Join { layout: Layout, result: Layout },
    /// A part of a tile.
    Slice { layout: Layout, way: Slice },
    /// With the number of counters in shared memory, a power of two, and their bytes. The counters are loaded in the
    /// layout of the result.
    Histogram { layout: Layout, counters: usize, bytes: usize, result: Layout },
    /// In a layout in which the elements of a warp come before those of the next one. With the number of counters of a
    /// warp in shared memory, a power of two, and the bytes of all.
    Cumcount { layout: Layout, counters: usize, bytes: usize },
}

/// How threads get the elements of a gather.
#[derive(Debug)]
pub enum GatherWay {
    /// From the registers of other lanes, by shuffles.
    Shuffles(Holders),
    /// Through so many bytes of shared memory.
    Shared { bytes: usize },
}

/// The bytes that a warp has for each counter of equal elements: the number in the warp, and that before it.
pub const CUMCOUNT_BYTES: usize = 8;

/// How threads get the elements of a part of a tile.
#[derive(Debug)]
pub enum Slice {
    /// They hold them.
    Registers(Derived),
    /// The tile is converted first, so that they hold them.
    Converted(Box<Convert>, TileConversion),
    /// They load them in this layout from shared memory, of so many bytes.
    Shared { result: Layout, bytes: usize },
}

/// How all threads get the items of several warps: a conversion of each tile of items to one with more registers.
#[derive(Debug, PartialEq, Eq)]
pub enum Gathered {
    /// All tiles through one scratch buffer.
    Together(Box<Shared>, SharedTiles),
    /// One tile after another.
    Each(Vec<TileConversion>),
}

impl Gathered {
    fn plan(across: &Across, types: &[DType]) -> Gathered {
        let (partial, gathered) = (&across.partial, &across.gathered);
        let same_size = types.iter().all(|t| t.size() == types[0].size());
        match linear::plan(partial, gathered, types[0].size()) {
            Conversion::Shared(s) if same_size => {
                let tiles = SharedTiles::new(&s, types.len());
                Gathered::Together(s, tiles)
            }
            _ => Gathered::Each(types.iter().map(|&t| TileConversion::plan(partial, gathered, t)).collect()),
        }
    }

    fn is_through_shared(&self) -> bool {
        match self {
            Gathered::Together(..) => true,
            Gathered::Each(of_tiles) => of_tiles.iter().any(TileConversion::is_through_shared),
        }
    }
}

impl Collective {
    /// The layout of the result.
    pub fn result(&self) -> &Layout {
        match self {
            Collective::Reduce { reduction, .. } => &reduction.result,
            Collective::Slice { way: Slice::Registers(sliced), .. } => &sliced.layout,
            Collective::Slice { way: Slice::Converted(c, _), .. } => &c.sliced.layout,
            Collective::Slice { way: Slice::Shared { result, .. }, .. }
            | Collective::Sort { result, .. }
            | Collective::Join { result, .. }
            | Collective::Histogram { result, .. } => result,
            Collective::Scan { layout, .. }
            | Collective::Gather { layout, .. }
            | Collective::Cumcount { layout, .. } => layout,
        }
    }

    /// Whether threads exchange data through shared memory.
    pub fn is_through_shared(&self) -> bool {
        let any = |converted: &[TileConversion]| converted.iter().any(TileConversion::is_through_shared);
        match self {
            Collective::Reduce { converted, gathered, .. } => {
                any(converted) || gathered.as_ref().is_some_and(Gathered::is_through_shared)
            }
            Collective::Scan { converted, gathered, .. } => {
                any(converted) || gathered.iter().any(Gathered::is_through_shared)
            }
            Collective::Sort { converted, network, .. } => {
                any(converted) || network.iter().any(|step| !step.exchanges.is_empty())
            }
            Collective::Gather { way, .. } => matches!(way, GatherWay::Shared { .. }),
            Collective::Slice { way, .. } => match way {
                Slice::Registers(_) => false,
                Slice::Converted(_, by) => by.is_through_shared(),
                Slice::Shared { .. } => true,
            },
            Collective::Join { .. } => false,
            Collective::Histogram { .. } | Collective::Cumcount { .. } => true,
        }
    }
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
            let (layout, reduction) = match given.reduction(axis) {
                Ok(reduction) => (given.clone(), reduction),
                Err(layout) => {
                    let reduction = layout.reduction(axis).expect("a blocked layout reduces");
                    (layout, reduction)
                }
            };
            let index = matches!(op, Op::ArgReduce { .. }).then_some(DType::I32);
            let items: Vec<DType> = types(f, values).into_iter().chain(index).collect();
            let gathered = reduction.across.as_ref().map(|across| Gathered::plan(across, &items));
            let converted = converted(f, values, &given, &layout);
            // Across warps all threads combine in one order.
            let from_first = !in_any_order(f, op) && !reduction.lanes.is_empty() && gathered.is_none();
            Collective::Reduce { given, converted, layout, reduction: Box::new(reduction), gathered, from_first }
        }
        Op::Scan { values, axis, reverse, .. } => {
            let given = any(values[0]);
            let along = given.along(*axis);
            let blocked = along.scan(*axis).expect("a blocked layout can be scanned");
            // Another layout, where the totals of all warps would not fit in registers.
            let fits = |scan: &Scan| scan.gathered() <= MAX_GATHERED.max(blocked.gathered());
            let (layout, scan) = match given.scan(*axis).filter(fits) {
                Some(scan) => (given.clone(), scan),
                None => (along, blocked),
            };
            // Padding comes after all elements, and before them in reverse.
            let first_is_padding = *reverse && !f.shape(v)[*axis].is_power_of_two() && !planted!("scan-counts-padding");
            let flag = first_is_padding.then_some(DType::Bool);
            let items: Vec<DType> = types(f, values).into_iter().chain(flag).collect();
            let of_level = |level: &Level| match level {
                Level::Warps { across, .. } => Some(Gathered::plan(across, &items)),
                _ => None,
            };
            let gathered = scan.levels.iter().filter_map(of_level).collect();
            let converted = converted(f, values, &given, &layout);
            Collective::Scan { given, converted, layout, scan, gathered, first_is_padding }
        }
        Op::Sort { values, axis, .. } => {
            let given = any(values[0]);
            let layout = given.along(*axis);
            let bits = layout.axis_bits(*axis).expect("a blocked layout has single bits");
            let converted = converted(f, values, &given, &layout);
            let extent = f.shape(v)[*axis];
            let kept = extent.trailing_zeros() as usize;
            let network = network(&bits, layout.regs(), kept, &types(f, values), f.warps as usize * 32);
            let result = layout.first(*axis, extent);
            Collective::Sort { given, converted, layout, network, result }
        }
        &Op::Gather { value, index, .. } => {
            let (source, layout) = (any(value), any(index));
            let holders = source.holders().filter(|h| h.registers.len() * layout.regs() <= MAX_SHUFFLES);
            let bytes = row_major_bytes(&source, f.ty(value).dtype);
            let way = holders.map_or(GatherWay::Shared { bytes }, GatherWay::Shuffles);
            Collective::Gather { source, layout, way }
        }
        &Op::Join(a, b) => {
            let layout = any(if layouts.is_cheap(a) { b } else { a });
            Collective::Join { result: layout.join(), layout }
        }
        &Op::Slice { value, axis, start } => {
            let (layout, extent) = (any(value), f.shape(v)[axis]);
            let way = match layout.slice(axis, extent, start) {
                Ok(sliced) => Slice::Registers(sliced),
                // With more than two parts a thread loads its elements of one part, instead of converting all parts.
                Err(c) if layout.shape()[axis] > 2 * extent => {
                    Slice::Shared { result: c.sliced.layout, bytes: row_major_bytes(&layout, f.ty(value).dtype) }
                }
                Err(c) => {
                    let by = TileConversion::plan(&layout, &c.first, f.ty(value).dtype);
                    Slice::Converted(c, by)
                }
            };
            Collective::Slice { layout, way }
        }
        &Op::Cumcount { value, bins, .. } => {
            let layout = Layout::in_order(&padded(f.shape(value)), f.warps as usize);
            let counters = bins.next_power_of_two();
            Collective::Cumcount { layout, counters, bytes: f.warps as usize * counters * CUMCOUNT_BYTES }
        }
        &Op::Histogram { value, weights, mask } => {
            let operands = [Some(value), weights, mask].into_iter().flatten();
            let of = operands.into_iter().find(|&x| !layouts.is_cheap(x)).unwrap_or(value);
            let counters = f.shape(v)[0].next_power_of_two();
            let (bytes, result) = (counters * f.ty(v).dtype.size(), layouts.of(v).clone());
            Collective::Histogram { layout: any(of), counters, bytes, result }
        }
        _ => return None,
    })
}

/// Whether two items of a reduction give the same whichever comes first.
fn in_any_order(f: &Func, op: &Op) -> bool {
    match op {
        // Of two NaNs the first one is taken.
        Op::Reduce { values, combine: Combine::Binary(op), .. } => {
            f.ty(values[0]).dtype != DType::F64 || !matches!(op, Binary::MaxNan | Binary::MinNan)
        }
        // A closure may tell its arguments apart.
        Op::Reduce { combine: Combine::Closure { .. }, .. } => planted!("reduce-of-each-lane-alone"),
        _ => true,
    }
}

/// The bytes of a tile in shared memory in row-major order.
fn row_major_bytes(layout: &Layout, dtype: DType) -> usize {
    dtype.size() << layout.bits()
}

fn types(f: &Func, values: &[Value]) -> Vec<DType> {
    values.iter().map(|&x| f.ty(x).dtype).collect()
}

/// The conversions of operands.
fn converted(f: &Func, values: &[Value], given: &Layout, layout: &Layout) -> Vec<TileConversion> {
    types(f, values).into_iter().map(|t| TileConversion::plan(given, layout, t)).collect()
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let list = |all: &[TileConversion]| all.iter().map(|c| c.to_string()).collect::<Vec<_>>().join("; ");
        let warps = |f: &mut fmt::Formatter, gathered: &Gathered| match gathered {
            Gathered::Together(s, SharedTiles { count, bytes, .. }) => {
                write!(f, ", of warps together {}", TileConversion::Elements(Conversion::Shared(s.clone())))?;
                if *count > 1 { write!(f, ", {bytes} bytes for {count} tiles") } else { Ok(()) }
            }
            Gathered::Each(of_tiles) => write!(f, ", of warps {}", list(of_tiles)),
        };
        let operands = |f: &mut fmt::Formatter, given: &Layout, layout: &Layout, converted: &[TileConversion]| {
            if given == layout { Ok(()) } else { write!(f, ", converted from {given:?} {}", list(converted)) }
        };
        match self {
            Collective::Reduce { given, converted, layout, gathered, from_first, .. } => {
                write!(f, "reduction in {layout:?}")?;
                operands(f, given, layout, converted)?;
                gathered.iter().try_for_each(|g| warps(f, g))?;
                f.write_str(if *from_first { ", the first lane's result for all" } else { "" })
            }
            Collective::Scan { given, converted, layout, gathered, .. } => {
                write!(f, "scan in {layout:?}")?;
                operands(f, given, layout, converted)?;
                gathered.iter().try_for_each(|g| warps(f, g))
            }
            Collective::Sort { given, converted, layout, network, .. } => {
                write!(f, "sort in {layout:?}, {} steps", network.len())?;
                let most = network.iter().flat_map(|step| &step.exchanges).max();
                most.iter().try_for_each(|bytes| write!(f, ", exchanges through {bytes} bytes at most"))?;
                operands(f, given, layout, converted)
            }
            Collective::Gather { source, layout, way } => {
                match way {
                    GatherWay::Shuffles(_) => write!(f, "gather by shuffles")?,
                    GatherWay::Shared { bytes } => write!(f, "gather through {bytes} bytes of shared memory")?,
                }
                write!(f, ", of {source:?} at indices in {layout:?}")
            }
            Collective::Join { layout, .. } => write!(f, "join of tiles in {layout:?}"),
            Collective::Slice { layout, way } => {
                write!(f, "part of a tile in {layout:?}, ")?;
                match way {
                    Slice::Registers(_) => write!(f, "from registers"),
                    Slice::Converted(c, by) => write!(f, "converted to {:?} {by}", c.first),
                    Slice::Shared { bytes, .. } => write!(f, "through {bytes} bytes of shared memory"),
                }
            }
            Collective::Histogram { layout, counters, bytes, .. } => {
                write!(f, "histogram of a tile in {layout:?}, {counters} counters in {bytes} bytes")
            }
            Collective::Cumcount { layout, counters, bytes } => {
                write!(f, "counts of equal elements of a tile in {layout:?}, ")?;
                write!(f, "{counters} counters for each warp in {bytes} bytes")
            }
        }
    }
}
