//! Layout assignment: the layout of every tile, i.e. which register of which lane and warp has which element.
//!
//! Values that elementwise operations connect have one layout. The memory accesses among them choose it: vectors of 16
//! bytes along the contiguous dimension, then consecutive lanes, then warps. Warps share the elements of a reduction
//! only where the tile has nothing else left to share. A reduction of a view, such as a transpose, does not count.
//! Index arithmetic on `arange` and constants is *cheap*: it has no layout, and is computed in the layout of each use.
//! Shape operations have no layout of their own either: their result follows from the layout of the operand. If a use
//! needs another layout, the plan converts ([`demands`](crate::plan::demands)).
//!
//! Where nothing anchors a component, the candidates are the layouts that its values have without a conversion, and
//! consecutive lanes along any dimension. The cheapest of them by [`cost`](crate::layout::cost) is taken.
//!
//! A tile that is broadcast to a larger one, or that a larger one is reduced to, has the larger one's layout without
//! the other elements, a *slice* of it, although it is loaded or stored itself: a number for each row of a matrix.
//! Threads then access the same elements, which costs less than a conversion as long as each has few.

use crate::analysis::axis_info::AxisAnalysis;
use crate::ir::walk::walk;
use crate::ir::{Address, Func, Op, Stmt, StmtKind, Value, Var};
use crate::layout::cost::{self, Component, Nested, Surroundings};
use crate::layout::linear::Layout;
use crate::layout::padded;
use crate::mma::mma_sync;
use crate::plan::one_warp::OneWarpLoops;
use crate::plan::product::{Operand, Product};
use std::collections::{HashMap, HashSet};

pub struct LayoutAssignment {
    cheap: Vec<bool>,
    /// By value, then by variable: the representative of its component.
    component: Vec<usize>,
    layouts: Vec<Option<Layout>>,
    accumulators: HashSet<usize>,
}

impl LayoutAssignment {
    /// Index arithmetic, which is computed at its uses.
    pub fn is_cheap(&self, v: Value) -> bool {
        self.cheap[v.0 as usize]
    }

    /// Whether the layout is that of a product's result.
    pub fn is_accumulator(&self, v: Value) -> bool {
        self.accumulators.contains(&self.component[v.0 as usize])
    }

    /// The layout of a tile that is not cheap.
    pub fn of(&self, v: Value) -> &Layout {
        self.layouts[self.component[v.0 as usize]].as_ref().expect("every component has a layout")
    }

    /// The layout of a tile. A cheap tile has none of its own, and gets one with consecutive lanes along its rows.
    pub fn any(&self, f: &Func, v: Value) -> Layout {
        if !self.is_cheap(v) {
            return self.of(v).clone();
        }
        let shape = f.shape(v);
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        Layout::blocked(&padded(shape), &order, 1, f.warps as usize)
    }

    pub fn of_var(&self, f: &Func, v: Var) -> &Layout {
        self.layouts[self.component[f.values.len() + v.0 as usize]].as_ref().expect("every component has a layout")
    }

    /// The loops whose tiles one warp has as a whole. A tile may have got its layout from an operation outside of the
    /// loop, and then other warps have elements of it.
    pub fn held_by_one_warp(&self, f: &Func, mut loops: OneWarpLoops) -> OneWarpLoops {
        let of_value = |v: Value| f.ty(v).is_scalar() || self.is_cheap(v) || self.of(v).is_repeated();
        let of_var = |var: Var| f.vars[var.0 as usize].ty.is_scalar() || self.of_var(f, var).is_repeated();
        let all_have = |s: &Stmt| match &s.kind {
            StmtKind::Let(v) => of_value(*v),
            StmtKind::Assign(var, _) => of_var(*var),
            _ => true,
        };
        for s in walk(&f.body) {
            let is_held = walk(std::slice::from_ref(s)).all(all_have) || planted!("one-warp-loop-of-all-warps");
            if loops.results.contains_key(&s.id) && !is_held {
                loops.results.remove(&s.id);
            }
        }
        loops
    }
}

/// The layout that suits an access with this index best.
pub fn preferred(f: &Func, a: &AxisAnalysis, ptr: &Address) -> Layout {
    let order = a.order(f, ptr.index);
    let vec = a.vector_at(f, ptr, order[0]).0;
    Layout::blocked(&padded(f.shape(ptr.index)), &order, vec, f.warps as usize)
}

/// The dimension of consecutive registers, or of consecutive lanes.
pub fn fastest(l: &Layout) -> Option<usize> {
    let first = l.lane_bases().iter().chain(l.reg_bases()).copied().find(|&b| b != 0)?;
    (0..l.rank()).find(|&d| l.coord(first, d) != 0)
}

/// `products` are computed by `wgmma`.
pub fn assign(
    f: &Func,
    a: &AxisAnalysis,
    products: &HashMap<Value, Product>,
    one_warp: &OneWarpLoops,
) -> LayoutAssignment {
    let mut cx = Assign {
        f,
        a,
        cheap: vec![false; f.values.len()],
        parent: (0..f.values.len() + f.vars.len()).collect(),
        anchors: vec![],
        dots: vec![],
        reductions: vec![],
        reduced: HashSet::new(),
        in_one_warp: HashSet::new(),
    };
    for s in walk(&f.body) {
        cx.statement(s);
    }
    let component: Vec<usize> = (0..cx.parent.len()).map(|i| cx.root(i)).collect();
    cx.reduced = cx.reductions.iter().map(|&(i, axis)| (component[i], axis)).collect();
    let values = one_warp.values.iter().filter(|v| !cx.cheap[v.0 as usize]).map(|v| v.0 as usize);
    let vars = one_warp.vars.iter().map(|v| f.values.len() + v.0 as usize);
    cx.in_one_warp = values.chain(vars).map(|i| component[i]).collect();
    let mut assignment = LayoutAssignment {
        cheap: cx.cheap.clone(),
        layouts: vec![None; component.len()],
        component,
        accumulators: HashSet::new(),
    };
    // Accumulators have the layout of their instructions, and so have all values of their component.
    for &d in &cx.dots {
        let c = assignment.component[d.0 as usize];
        assignment.accumulators.insert(c);
        let by_wgmma = products.get(&d).map(|p| p.tiling.accumulator(f.shape(d)));
        assignment.layouts[c].get_or_insert_with(|| by_wgmma.unwrap_or_else(|| mma_sync::warps(f, d).1.acc));
    }
    // Computed left operands have the layout that the instructions take, unless they are products themselves.
    for &d in &cx.dots {
        let Op::Dot { a, .. } = *f.op(d) else { unreachable!("a dot") };
        if let Some(p) = products.get(&d)
            && matches!(p.a, Operand::Registers)
        {
            assignment.layouts[assignment.component[a.0 as usize]]
                .get_or_insert_with(|| p.tiling.left(f.shape(a), f.ty(a).dtype.size()));
        }
    }
    let slices = cx.slices(&assignment);
    cx.anchored(&mut assignment, |component| slices.iter().all(|s| s.component != component));
    cx.sliced(&slices, &mut assignment);
    cx.anchored(&mut assignment, |_| true);
    cx.unanchored(&mut assignment);
    // Components without a layout: variables that only hold constants and index arithmetic.
    for (i, var) in f.vars.iter().enumerate() {
        let c = assignment.component[f.values.len() + i];
        if !var.ty.is_scalar() && assignment.layouts[c].is_none() {
            assignment.layouts[c] = Some(cx.plain(c, &var.ty.shape));
        }
    }
    for (i, v) in f.values.iter().enumerate() {
        let c = assignment.component[i];
        if !v.ty.is_scalar() && !assignment.cheap[i] && assignment.layouts[c].is_none() {
            assignment.layouts[c] = Some(cx.plain(c, &v.ty.shape));
        }
    }
    assignment
}

/// A memory access that may choose the layout of a component.
struct Anchor {
    component: usize,
    order: Vec<usize>,
    vec: usize,
    is_load: bool,
}

/// Elements that a thread may have of a tile that others have, too.
const FEW: usize = 4;

/// A tile whose layout may be a slice of another one's.
struct Slice {
    component: usize,
    of: usize,
    steps: Vec<Step>,
    shape: Vec<usize>,
}

/// From a layout to one of fewer elements.
#[derive(Clone)]
enum Step {
    Reduced(usize),
    /// The operand of a broadcast, of this shape.
    BroadcastFrom(Vec<usize>),
    /// The operand of an expansion, without this dimension.
    ExpandedFrom(usize),
}

impl Slice {
    fn layout(&self, of: &Layout) -> Layout {
        self.steps.iter().fold(of.clone(), |l, step| match step {
            Step::Reduced(axis) => l.reduce(*axis).layout,
            Step::BroadcastFrom(shape) => l.broadcast_source(shape).layout,
            Step::ExpandedFrom(axis) => l.expand_source(*axis).layout,
        })
    }
}

struct Assign<'a> {
    f: &'a Func,
    a: &'a AxisAnalysis,
    cheap: Vec<bool>,
    parent: Vec<usize>,
    anchors: Vec<Anchor>,
    dots: Vec<Value>,
    /// Values that are reduced, and the dimension.
    reductions: Vec<(usize, usize)>,
    /// Their components.
    reduced: HashSet<(usize, usize)>,
    /// The components of loops that one warp runs: every warp has all of their elements.
    in_one_warp: HashSet<usize>,
}

/// The layouts around a component without one.
struct Around<'a> {
    cx: &'a Assign<'a>,
    assignment: &'a LayoutAssignment,
    component: usize,
}

impl Surroundings for Around<'_> {
    fn known(&self, v: Value) -> Option<&Layout> {
        let of = self.assignment.component[v.0 as usize];
        let is_outside = of != self.component && self.cx.has_layout(v);
        self.assignment.layouts[of].as_ref().filter(|_| is_outside)
    }

    fn derived(&self, v: Value) -> Option<Layout> {
        self.cx.derived(v, self.assignment).flatten()
    }
}

impl Assign<'_> {
    fn root(&mut self, i: usize) -> usize {
        let mut r = i;
        while self.parent[r] != r {
            r = self.parent[r];
        }
        self.parent[i] = r;
        r
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    /// Whether it is a tile with a layout.
    fn has_layout(&self, v: Value) -> bool {
        !self.f.ty(v).is_scalar() && !self.cheap[v.0 as usize]
    }

    fn join_values(&mut self, a: usize, others: &[Option<Value>]) {
        for &o in others.iter().flatten() {
            if self.has_layout(o) {
                self.join(a, o.0 as usize);
            }
        }
    }

    fn anchor(&mut self, component: usize, ptr: &Address, is_load: bool) {
        let index = ptr.index;
        let order = self.a.order(self.f, index);
        let vec = self.a.vector_at(self.f, ptr, order[0]).0;
        self.anchors.push(Anchor { component, order, vec, is_load });
    }

    fn statement(&mut self, s: &Stmt) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) if !f.ty(*v).is_scalar() => self.value(*v),
            StmtKind::Assign(var, v) if !f.ty(*v).is_scalar() => {
                self.join_values(f.values.len() + var.0 as usize, &[Some(*v)])
            }
            StmtKind::Store { ptr, value, mask, .. } if !f.ty(*value).is_scalar() => {
                let index = ptr.index;
                if self.has_layout(index) {
                    self.join_values(index.0 as usize, &[Some(*value), *mask]);
                } else if self.has_layout(*value) {
                    self.anchor(value.0 as usize, ptr, false);
                }
            }
            _ => {}
        }
    }

    fn value(&mut self, v: Value) {
        let f = self.f;
        let i = v.0 as usize;
        let op = f.op(v);
        let transparent = matches!(op, Op::Int(_) | Op::Float(_) | Op::Bool(_) | Op::Arange { .. } | Op::Splat(_));
        self.cheap[i] = transparent
            || ((op.is_elementwise() || op.is_view()) && op.operands().iter().all(|&o| !self.has_layout(o)));
        if self.cheap[i] {
            return;
        }
        if let Some((values, axis)) = op.reduced() {
            let tiles = values.iter().filter(|v| !f.ty(**v).is_scalar() && !self.cheap[v.0 as usize]);
            self.reductions.extend(tiles.map(|v| (v.0 as usize, axis)));
        }
        match op {
            Op::Dot { acc, .. } => {
                self.join_values(i, &[Some(*acc)]);
                self.dots.push(v);
            }
            Op::ReadVar(var) => self.join(i, f.values.len() + var.0 as usize),
            Op::Load { ptr, mask, other, .. } => {
                self.join_values(i, &[Some(ptr.index), ptr.base.address(), *mask, *other]);
                if !self.has_layout(ptr.index) {
                    self.anchor(i, ptr, true);
                }
            }
            // The operands have the same layout, and the result has the layout that its uses want.
            Op::Histogram { .. } | Op::Cumcount { .. } => {
                let operands: Vec<Value> = op.operands().into_iter().filter(|&o| self.has_layout(o)).collect();
                for pair in operands.windows(2) {
                    self.join(pair[0].0 as usize, pair[1].0 as usize);
                }
            }
            op if op.is_elementwise() || op.has_effect() => {
                self.join_values(i, &op.operands().into_iter().map(Some).collect::<Vec<_>>())
            }
            _ => {}
        }
    }

    fn plain(&self, component: usize, shape: &[usize]) -> Layout {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        self.blocked(component, shape, &order, 1)
    }

    fn blocked(&self, component: usize, shape: &[usize], order: &[usize], vec: usize) -> Layout {
        let warps = self.f.warps as usize;
        if self.in_one_warp.contains(&component) {
            Layout::blocked(&padded(shape), order, vec, 1).repeated(warps)
        } else {
            let reduced = |dim| self.reduced.contains(&(component, dim));
            Layout::blocked_within_warps(&padded(shape), order, vec, warps, reduced)
        }
    }

    /// The tiles with memory accesses that are slices of others.
    fn slices(&self, assignment: &LayoutAssignment) -> Vec<Slice> {
        let f = self.f;
        let of_value = |v: Value| assignment.component[v.0 as usize];
        let mut slices = vec![];
        let mut add = |v: Value, of_tile: Value, steps: &[Step]| {
            let (component, of) = (of_value(v), of_value(of_tile));
            // If threads load rows of batches themselves, LLVM repeats loops with the exchanges of their reductions.
            let is_of_matrix = f.shape(of_tile).len() <= 2;
            if component != of && is_of_matrix && self.has_layout(v) && !self.in_one_warp.contains(&component) {
                slices.push(Slice { component, of, steps: steps.to_vec(), shape: f.shape(v).to_vec() });
            }
        };
        let accessed: HashSet<usize> = self.anchors.iter().map(|a| assignment.component[a.component]).collect();
        let mut atomic = HashSet::new();
        for s in walk(&f.body) {
            let StmtKind::Let(v) = s.kind else { continue };
            if f.op(v).has_effect() {
                atomic.insert(of_value(v));
            }
            match f.op(v) {
                op if let Some((values, axis)) = op.reduced()
                    && self.has_layout(values[0]) =>
                {
                    add(v, values[0], &[Step::Reduced(axis)]);
                }
                &Op::Broadcast(mut x) if self.has_layout(v) => {
                    let mut steps = vec![Step::BroadcastFrom(padded(f.shape(x)))];
                    add(x, v, &steps);
                    while let &Op::Expand(y, axis) = f.op(x) {
                        steps.push(Step::ExpandedFrom(axis));
                        add(y, v, &steps);
                        x = y;
                    }
                }
                _ => {}
            }
        }
        slices.retain(|s| accessed.contains(&s.component) && !atomic.contains(&s.component));
        slices
    }

    /// Gives tiles the slices of the largest tiles that have a layout.
    fn sliced(&self, slices: &[Slice], assignment: &mut LayoutAssignment) {
        let mut slices: Vec<(Layout, &Slice)> =
            slices.iter().filter_map(|s| Some((assignment.layouts[s.of].clone()?, s))).collect();
        slices.sort_by_key(|(of, _)| std::cmp::Reverse(of.bits()));
        for (of, s) in slices {
            let layout = s.layout(&of);
            let alone = self.plain(s.component, &s.shape);
            if assignment.layouts[s.component].is_none() && layout.regs() <= alone.regs().max(FEW) {
                assignment.layouts[s.component] = Some(layout);
            }
        }
    }

    /// Components with memory accesses: loads choose the order, and the widest access in that order chooses the vector.
    fn anchored(&self, assignment: &mut LayoutAssignment, is_meant: impl Fn(usize) -> bool) {
        let anchors = &self.anchors;
        let shape_of = |c: usize| match c < self.f.values.len() {
            true => self.f.values[c].ty.shape.clone(),
            false => self.f.vars[c - self.f.values.len()].ty.shape.clone(),
        };
        for anchor in anchors {
            let c = assignment.component[anchor.component];
            if assignment.layouts[c].is_some() || !is_meant(c) {
                continue;
            }
            let mine: Vec<&Anchor> = anchors.iter().filter(|a| assignment.component[a.component] == c).collect();
            let lead = mine.iter().max_by_key(|a| (a.is_load, a.vec)).expect("this one");
            // The first of the widest accesses, not the last.
            let lead = mine.iter().find(|a| (a.is_load, a.vec) == (lead.is_load, lead.vec)).expect("the lead");
            let vec = mine.iter().filter(|a| a.order == lead.order).map(|a| a.vec).max().expect("the lead");
            assignment.layouts[c] = Some(self.blocked(c, &shape_of(anchor.component), &lead.order, vec));
        }
    }

    /// Components without accesses get the cheapest layout, in the order of their first values.
    fn unanchored(&self, assignment: &mut LayoutAssignment) {
        let f = self.f;
        let nested = cost::nested(&f.body);
        let components = self.components(&nested, assignment);
        for n in nested.iter().filter(|n| self.has_layout(n.value)) {
            let component = assignment.component[n.value.0 as usize];
            if assignment.layouts[component].is_some() {
                continue;
            }
            let around = Around { cx: self, assignment, component };
            let Some(first) = self.derived(n.value, assignment) else { continue };
            let (of, shape) = (&components[&component], f.shape(n.value));
            let by_rows = self.plain(component, shape);
            let best = if of.is_for_others {
                first.unwrap_or(by_rows)
            } else {
                let others = of.tiles.iter().filter_map(|t| around.derived(t.value));
                let along = |fastest: usize| {
                    let slower = (0..shape.len()).rev().filter(|&d| d != fastest);
                    self.blocked(component, shape, &std::iter::once(fastest).chain(slower).collect::<Vec<_>>(), 1)
                };
                let candidates = others.chain((0..shape.len()).rev().map(along));
                of.cheapest(f, first, candidates, &around)
            };
            assignment.layouts[component] = Some(best);
        }
    }

    /// The components of these values.
    fn components<'n>(&self, nested: &'n [Nested], assignment: &LayoutAssignment) -> HashMap<usize, Component<'n>> {
        let f = self.f;
        let of = |v: Value| assignment.component[v.0 as usize];
        let mut components: HashMap<usize, Component> = HashMap::new();
        for n in nested {
            let op = f.op(n.value);
            if self.has_layout(n.value) {
                let own = components.entry(of(n.value)).or_default();
                own.tiles.push(n);
                own.is_for_others |= op.has_effect();
            }
            for x in op.operands().into_iter().filter(|&x| self.has_layout(x)) {
                let read = components.entry(of(x)).or_default();
                if op.reduced().is_some() || op.is_view() {
                    // Once, if a reduction is of several tiles.
                    if read.readers.last().is_none_or(|last| last.value != n.value) {
                        read.readers.push(n);
                    }
                } else if op.crosses_threads() {
                    read.is_for_others = true;
                }
            }
        }
        components
    }

    /// The layout that a value has without a conversion: None if another value of its component decides, and
    /// `Some(None)` if there is no such layout.
    fn derived(&self, v: Value, assignment: &LayoutAssignment) -> Option<Option<Layout>> {
        let operand = |o: Value| assignment.layouts[assignment.component[o.0 as usize]].clone();
        let shape = padded(self.f.shape(v));
        Some(match self.f.op(v) {
            op if let Some((values, axis)) = op.reduced()
                && !assignment.is_cheap(values[0]) =>
            {
                operand(values[0]).map(|l| l.reduce(axis).layout)
            }
            Op::Scan { values, .. } if !assignment.is_cheap(values[0]) => operand(values[0]),
            Op::Sort { values, axis, .. } if !assignment.is_cheap(values[0]) => {
                operand(values[0]).map(|l| l.along(*axis).first(*axis, self.f.shape(v)[*axis]))
            }
            Op::Result(of, _) => operand(*of),
            Op::Join(a, _) if !assignment.is_cheap(*a) => operand(*a).map(|l| l.join()),
            Op::Slice { value, axis, start } if !assignment.is_cheap(*value) => operand(*value)
                .map(|l| l.slice(*axis, self.f.shape(v)[*axis], *start).unwrap_or_else(|c| c.sliced).layout),
            Op::Gather { index, .. } => operand(*index),
            Op::ClusterGather { value, .. } if self.has_layout(*value) => {
                operand(*value).map(|l| l.expand(0).layout.broadcast(&shape).layout)
            }
            Op::Expand(x, axis) => operand(*x).map(|l| l.expand(*axis).layout),
            Op::Broadcast(x) => operand(*x).map(|l| l.broadcast(&shape).layout),
            Op::Permute(x, perm) => operand(*x).map(|l| l.permute(perm).layout),
            Op::Reshape(x) => operand(*x).map(|l| l.reshape(&shape).layout),
            Op::ReadVar(_) => return None,
            op if op.is_elementwise() => return None,
            _ => None,
        })
    }
}
