//! The cost of a layout for tiles that no memory access anchors: the instructions of a thread.
//!
//! An elementwise operation costs one for each register. A shuffle costs four, and so does a wavefront of shared
//! memory, as in conversions. An operation in a loop counts [`ITERATIONS`] times.

use crate::ir::{Func, Op, Stmt, StmtKind, Value};
use crate::layout::linear::{self, Layout};
use crate::layout::padded;

/// Iterations of a loop: their number is rarely known.
const ITERATIONS: usize = 8;
/// The cost of a shuffle.
const SHUFFLE: usize = 4;

/// A value, with the number of loops around it.
pub struct Nested {
    pub value: Value,
    pub loops: u32,
}

/// The values of the statements, in order.
pub fn nested(body: &[Stmt]) -> Vec<Nested> {
    fn add(body: &[Stmt], loops: u32, out: &mut Vec<Nested>) {
        for s in body {
            if let StmtKind::Let(value) = s.kind {
                out.push(Nested { value, loops });
            }
            let inner = loops + u32::from(!matches!(s.kind, StmtKind::If { .. }));
            s.blocks().into_iter().for_each(|block| add(block, inner, out));
        }
    }
    let mut out = vec![];
    add(body, 0, &mut out);
    out
}

/// The tiles of one component, and the operations that read them.
#[derive(Default)]
pub struct Component<'a> {
    pub tiles: Vec<&'a Nested>,
    /// Reductions of these tiles, and shape operations on them.
    pub readers: Vec<&'a Nested>,
    /// Whether a tile is of an operation whose cost is not counted here: a scan of it, a sort, an atomic.
    pub is_for_others: bool,
}

/// The layouts around a component.
pub trait Surroundings {
    /// That of a tile outside it, where it has one already.
    fn known(&self, v: Value) -> Option<&Layout>;
    /// That which a tile of the component has without a conversion, by its operands.
    fn derived(&self, v: Value) -> Option<Layout>;
}

impl Component<'_> {
    /// The first of the cheapest layouts. `given` is that of the first tile without a conversion. Since costs are
    /// estimates, another one has to save an eighth.
    pub fn cheapest(
        &self,
        f: &Func,
        given: Option<Layout>,
        others: impl Iterator<Item = Layout>,
        around: &impl Surroundings,
    ) -> Layout {
        let with_cost = |l: Layout| (self.cost(f, &l, around), l);
        let best = others.map(with_cost).min_by_key(|(cost, _)| *cost).expect("a tile has a dimension");
        let given = given.map(with_cost).filter(|(cost, _)| best.0 >= *cost || 8 * best.0 > 7 * cost);
        given.unwrap_or(best).1
    }

    fn cost(&self, f: &Func, layout: &Layout, around: &impl Surroundings) -> usize {
        let of_tile = |n: &&Nested| weight(n) * tile(f, n.value, layout, around);
        let of_reader = |n: &&Nested| weight(n) * reader(f, n.value, layout, around);
        self.tiles.iter().map(of_tile).sum::<usize>() + self.readers.iter().map(of_reader).sum::<usize>()
    }
}

fn weight(n: &Nested) -> usize {
    ITERATIONS.pow(n.loops.min(3))
}

fn words(f: &Func, v: Value) -> usize {
    f.ty(v).dtype.size().div_ceil(4)
}

fn conversion(f: &Func, v: Value, from: &Layout, to: &Layout) -> usize {
    let bytes = f.ty(v).dtype.size();
    linear::plan(from, to, bytes).cost(bytes)
}

/// The operand of a shape operation, in the layout that makes the operation free.
fn source(f: &Func, v: Value, layout: &Layout) -> Option<(Value, Layout)> {
    Some(match f.op(v) {
        Op::Broadcast(x) => (*x, layout.broadcast_source(&padded(f.shape(*x))).layout),
        Op::Expand(x, axis) => (*x, layout.expand_source(*axis).layout),
        Op::Permute(x, perm) => (*x, layout.permute_source(perm).layout),
        Op::Reshape(x) => (*x, layout.reshape_source(&padded(f.shape(*x))).layout),
        _ => return None,
    })
}

/// A tile of the component, made in this layout.
fn tile(f: &Func, v: Value, layout: &Layout, around: &impl Surroundings) -> usize {
    if let Some((x, wanted)) = source(f, v, layout) {
        return around.known(x).map_or(0, |from| conversion(f, x, from, &wanted));
    }
    if f.op(v).is_elementwise() {
        return layout.regs() * words(f, v);
    }
    around.derived(v).map_or(0, |from| conversion(f, v, &from, layout))
}

/// An operation that reads a tile in this layout.
fn reader(f: &Func, v: Value, layout: &Layout, around: &impl Surroundings) -> usize {
    let result = around.known(v);
    if let Some((values, axis)) = f.op(v).reduced() {
        let (first, plan) = match layout.reduction(axis) {
            Ok(plan) => (0, plan),
            Err(other) => {
                let of_values = values.iter().map(|&x| conversion(f, x, layout, &other));
                (of_values.sum(), other.reduction(axis).expect("a blocked layout reduces"))
            }
        };
        let words: usize = values.iter().map(|&x| words(f, x)).sum();
        let registers: usize = plan.groups.iter().map(|group| group.len()).sum();
        let lanes = plan.lanes.len() * plan.result.regs() * (SHUFFLE + 1);
        let warps = plan.across.as_ref().map_or(0, |across| {
            let of_value = |&x: &Value| conversion(f, x, &across.partial, &across.gathered);
            values.iter().map(of_value).sum::<usize>() + across.gathered.regs() * words
        });
        return first + (registers + lanes) * words + warps + result.map_or(0, |r| conversion(f, v, &plan.result, r));
    }
    match result.and_then(|r| source(f, v, r)) {
        Some((x, wanted)) => conversion(f, x, layout, &wanted),
        None => 0,
    }
}
