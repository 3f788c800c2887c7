//! Accesses of threads to tiles in memory: the layout of each tile, the elements of one access, and their guards.

use crate::analysis::axis_info::{AxisAnalysis, WORD_BYTES};
use crate::analysis::launch_guards::may_add_vectors;
use crate::ir::walk::{uses, walk};
use crate::ir::{Address, Base, Func, Op, Stmt, StmtId, StmtKind, Value};
use crate::layout::assign::{LayoutAssignment, fastest, preferred};
use crate::layout::linear::Layout;
use crate::plan::staged_store::{StagedStores, matrix};
use crate::plan::warp_specialized::{FusedStore, Pipeline, sorted};
use std::collections::HashMap;
use std::fmt;

/// The most accesses of a thread that are guarded one by one: a predicate for each of them costs less than a second
/// copy of the accesses without predicates.
const MAX_PREDICATES: usize = 8;

/// A load, store or atomic of a tile: its value, or the statement that stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessId {
    Value(Value),
    Store(StmtId),
}

impl fmt::Display for AccessId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            AccessId::Value(v) => write!(f, "{v:?}"),
            AccessId::Store(s) => write!(f, "store {s:?}"),
        }
    }
}

/// How the threads access a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileAccess {
    /// The layout of the tile in registers.
    pub layout: Layout,
    pub vector: Vector,
    pub guard: AccessGuard,
    /// Whether one of the threads that hold copies of an element makes the access for all of them.
    pub once: bool,
    /// Whether the tile is in a shared array.
    pub is_shared: bool,
    /// Whether the code tests the alignment of the address, which the kernel computes, and accesses the elements one by
    /// one where it is too low.
    pub tests_alignment: bool,
}

/// The elements that a thread accesses at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    pub elements: usize,
    /// Whether their addresses descend.
    pub descending: bool,
    /// Whether each access is known to be allowed as a whole or not at all.
    pub undivided: bool,
}

impl Vector {
    /// Element by element.
    const ONE: Vector = Vector { elements: 1, descending: false, undivided: false };

    /// The elements that a thread accesses at once in shared memory: one where addresses descend.
    pub fn in_shared_memory(&self) -> usize {
        if self.descending { 1 } else { self.elements }
    }
}

/// How the code keeps threads from elements that they must not access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessGuard {
    /// Each access has a predicate.
    Each,
    /// A thread that may make all of its accesses makes them without predicates. The code of any other thread has a
    /// predicate for each access.
    AllOrEach,
}

impl TileAccess {
    /// Whether each copy of `vec` elements is allowed as a whole or not at all.
    pub fn is_copied_whole(&self, vec: usize) -> bool {
        self.vector.undivided && vec <= self.vector.elements
    }
}

impl fmt::Display for TileAccess {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Vector { elements, descending, undivided } = self.vector;
        match elements {
            1 => write!(f, "element by element")?,
            _ => write!(f, "{elements} elements at once")?,
        }
        let of = [
            (descending, "descending"),
            (descending && self.is_shared, "one by one in shared memory"),
            (undivided, "allowed as a whole or not at all"),
            (self.guard == AccessGuard::Each && elements > 1, "a predicate for each"),
            (self.tests_alignment, "if the address is aligned"),
        ];
        of.into_iter().filter(|(is, _)| *is).try_for_each(|(_, what)| write!(f, ", {what}"))?;
        write!(f, ", in {:?}", self.layout)
    }
}

/// The accesses of threads to tiles.
#[derive(Debug, Default)]
pub struct TileAccesses(HashMap<AccessId, TileAccess>);

impl TileAccesses {
    pub fn of_value(&self, v: Value) -> &TileAccess {
        &self.0[&AccessId::Value(v)]
    }

    /// A planned access; none for scalars, and for tiles that threads do not access.
    pub fn get(&self, id: AccessId) -> Option<&TileAccess> {
        self.0.get(&id)
    }

    pub fn of_store(&self, s: StmtId) -> &TileAccess {
        &self.0[&AccessId::Store(s)]
    }

    /// Whether any access to global memory is wider than an element.
    pub fn has_vectors(&self) -> bool {
        self.0.values().any(|a| a.vector.elements > 1 && !a.is_shared)
    }
}

impl fmt::Display for TileAccesses {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        sorted(&self.0).into_iter().try_for_each(|(id, access)| writeln!(f, "{id}: {access}"))
    }
}

/// A function, its facts, and its layouts.
pub struct Given<'a> {
    pub f: &'a Func,
    pub axis_info: &'a AxisAnalysis,
    pub layouts: &'a LayoutAssignment,
    /// Whether `wgmma` computes the products of the function.
    pub by_wgmma: bool,
}

/// Plans the accesses of threads to tiles: all but loads by TMA and staged stores.
pub fn plan(given: &Given, fused: &[FusedStore], staged: &StagedStores, pipeline: Option<&Pipeline>) -> TileAccesses {
    let (f, uses) = (given.f, uses(given.f));
    // The layout of a tile whose elements are loaded as a store takes them.
    let of_piece = |v: Value| {
        let store = fused.iter().find(|x| x.loads.contains(&v))?;
        Some(staged.0.get(&store.store)?.tiling.accumulator(f.shape(matrix(f, store.value))))
    };
    let access = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) if !f.ty(*v).is_scalar() && !pipeline.is_some_and(|p| p.loads.contains_key(v)) => {
            let (ptr, mask) = match f.op(*v) {
                Op::Load { ptr, mask, .. } | Op::Atomic { ptr, mask, .. } => (ptr, *mask),
                _ => return None,
            };
            let layout = of_piece(*v).unwrap_or_else(|| given.layouts.of(*v).clone());
            let vector = vector(f, given.axis_info, ptr, mask, &layout);
            let is_atomic = matches!(f.op(*v), Op::Atomic { .. });
            let is_wide = !is_atomic || uses[v.0 as usize] == 0 && adds_vectors(f, *v, vector);
            let vector = if is_wide { vector } else { Vector::ONE };
            Some((AccessId::Value(*v), given.access(ptr, mask, layout, vector, is_atomic)))
        }
        StmtKind::Store { ptr, value, mask, .. } if !f.ty(*value).is_scalar() && !staged.0.contains_key(&s.id) => {
            let layout = given.layout_of_store(ptr, *value);
            let vector = vector(f, given.axis_info, ptr, *mask, &layout);
            Some((AccessId::Store(s.id), given.access(ptr, *mask, layout, vector, true)))
        }
        _ => None,
    };
    TileAccesses(walk(&f.body).filter_map(access).collect())
}

impl Given<'_> {
    /// An access in a layout. With `once`, one thread makes it for all that hold copies of an element.
    fn access(&self, ptr: &Address, mask: Option<Value>, layout: Layout, vector: Vector, once: bool) -> TileAccess {
        let (f, shape) = (self.f, self.f.shape(ptr.index));
        let free = layout.free_mask();
        let is_padded = shape.iter().any(|e| !e.is_power_of_two());
        let is_copied = once && (free.threads != 0 || free.regs != 0);
        let is_tested = ptr.base.is_bounded() || mask.is_some() || is_padded || is_copied;
        let few = vector.undivided && is_tested && layout.regs() / vector.elements <= MAX_PREDICATES;
        let guard = if vector.elements == 1 || few { AccessGuard::Each } else { AccessGuard::AllOrEach };
        let tests_alignment = match ptr.base {
            Base::Pointer { address, .. } => vector.elements > 1 && self.axis_info.alignment(f, address).is_none(),
            _ => false,
        };
        TileAccess { layout, vector, guard, once, is_shared: matches!(ptr.base, Base::Shared(_)), tests_alignment }
    }

    /// The value's layout if it suits memory as well, else the layout that memory prefers.
    fn layout_of_store(&self, ptr: &Address, value: Value) -> Layout {
        let (f, a, layouts, by_wgmma) = (self.f, self.axis_info, self.layouts, self.by_wgmma);
        let index = ptr.index;
        if !layouts.is_cheap(index) {
            return layouts.of(index).clone();
        }
        let best = preferred(f, a, ptr);
        if layouts.is_cheap(value) {
            return best;
        }
        // A shape operation has no layout preference of its own: the layout of its operand decides.
        let layout_of_value = layouts.of(value).clone();
        let order = a.order(f, index);
        let run = |l: &Layout| l.contiguous(order[0]);
        let size = f.dtype_at(ptr).size();
        let wanted = a.vector_at(f, ptr, order[0]).0;
        if layouts.is_accumulator(value)
            && let vec = wanted.min(1 << layout_of_value.dims()[order[0]])
            && let Some(widened) = layout_of_value.widened(order[0], vec)
        {
            // A few shuffles convert the layout of the instructions to one with vectors. Stores of single elements or
            // words would take more shuffles, too many for the accumulators of `wgmma`.
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
}

/// Whether an atomic whose old values nobody asks for may add several elements at once.
fn adds_vectors(f: &Func, v: Value, vector: Vector) -> bool {
    let descends = vector.descending && !planted!("atomic-add-of-descending-vectors");
    may_add_vectors(f, v) && !descends
}

/// The widest access along the dimension that consecutive registers of a layout follow.
fn vector(f: &Func, a: &AxisAnalysis, ptr: &Address, mask: Option<Value>, layout: &Layout) -> Vector {
    let Some(&first) = layout.reg_bases().first() else { return Vector::ONE };
    let Some(dim) = (0..layout.rank()).find(|&d| layout.coord(first, d) == 1) else { return Vector::ONE };
    let (widest, down) = a.vector_at(f, ptr, dim);
    let elements = widest.min(layout.contiguous(dim)).min(layout.regs());
    let undivided = elements > 1 && a.is_whole(f, ptr, mask, dim, elements);
    Vector { elements, descending: down && elements > 1, undivided }
}

/// Whether the lanes of a warp fill whole sectors of 32 bytes along a dimension.
fn whole_sectors(l: &Layout, dim: usize, size: usize) -> bool {
    let low: u32 = l.dims()[dim + 1..].iter().sum();
    (0..(32 / size).trailing_zeros()).all(|bit| l.lane_bases().contains(&(1 << (low + bit))))
}
