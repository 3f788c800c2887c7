//! The forms of tiles: how the code gets the registers of a tile in a layout.

use crate::analysis::axis_info::{AxisAnalysis, VECTOR_BYTES};
use crate::ir::{Func, Op, Value};
use crate::layout::assign::LayoutAssignment;
use crate::layout::padded;
use crate::layout::table::{InLayout, LayoutId};
use crate::plan::comparisons::Comparisons;
use crate::plan::conversions::TileConversion;
use crate::plan::elementwise::Elementwise;
use crate::plan::index_sums::{IndexSums, ShapeSource};
use crate::plan::memo::Memo;
use crate::plan::warp_specialized::Pipeline;

/// How the code gets the registers of a tile in a layout, where it does not have them yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a sum of a base and constants ([`index_sums`](super::index_sums)).
    IndexSum,
    /// As comparisons with constants ([`comparisons`](super::comparisons)). For each register, the first one that is
    /// known to have the same result.
    Comparison { first: Vec<usize> },
    /// A scalar in all registers.
    Scalar(Value),
    /// A number and the flat index.
    Range { start: i128 },
    /// The registers of the operand of a shape operation.
    OfSource(ShapeSource),
    /// Element by element from its operands in the same layout, or `in_pairs`.
    Elementwise { in_pairs: bool },
    /// A `where_` by a branch: without selects where the mask is true for all elements of the thread.
    Branch,
    /// From the buffer that TMA copies it to, by loads of `vec` elements.
    Buffer { vec: usize },
    /// From its registers in another layout.
    Converted { from: LayoutId, by: TileConversion },
}

/// The facts that forms follow from.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub f: &'a Func,
    pub axis_info: &'a AxisAnalysis,
    pub assignment: &'a LayoutAssignment,
    pub elementwise: &'a Elementwise,
    pub pipeline: Option<&'a Pipeline>,
}

/// The forms of the tiles of a function, as far as they are asked for.
pub struct TileForms<'a> {
    facts: Facts<'a>,
    pub comparisons: Comparisons<'a>,
    pub forms: Memo<Form>,
}

impl<'a> TileForms<'a> {
    pub fn new(facts: Facts<'a>) -> TileForms<'a> {
        let sums = IndexSums::new(facts.f, facts.assignment);
        TileForms { facts, comparisons: Comparisons::new(sums), forms: Memo::default() }
    }

    /// The form of a tile in a layout.
    pub fn of(&mut self, v: Value, l: LayoutId) -> &Form {
        Memo::entry(self, |cx| &mut cx.forms, (v, l), Self::make)
    }

    /// A tile in one layout is converted from another one, where it was defined.
    pub fn convert(&mut self, v: Value, from: LayoutId, to: LayoutId) -> &Form {
        let layouts = &self.comparisons.sums.layouts;
        let by = TileConversion::plan(&layouts[from], &layouts[to], self.facts.f.ty(v).dtype);
        self.forms.or_insert((v, to), Form::Converted { from, by })
    }

    fn make(&mut self, v: Value, l: LayoutId) -> Form {
        let Facts { f, assignment, elementwise, pipeline, .. } = self.facts;
        let layouts = &self.comparisons.sums.layouts;
        debug_assert_eq!(layouts[l].shape(), padded(f.shape(v)), "a layout of another tile for {v:?} {:?}", f.op(v));
        let (is_cheap, regs) = (assignment.is_cheap(v), layouts[l].regs());
        if self.comparisons.sums.of(v, l).is_some() {
            return Form::IndexSum;
        }
        if is_cheap && self.comparisons.of(v, l).is_some() {
            return Form::Comparison { first: self.first_of_groups(v, l) };
        }
        if let Some(source) = self.comparisons.sums.shape_source(v, l) {
            return Form::OfSource(source);
        }
        let layouts = &self.comparisons.sums.layouts;
        match f.op(v) {
            Op::Splat(s) => Form::Scalar(*s),
            Op::Arange { start } => Form::Range { start: *start },
            op if op.is_elementwise() && (is_cheap || *assignment.of(v) == layouts[l]) => match *op {
                Op::Select(mask, ..)
                    if elementwise.branches.contains(&v) && self.comparisons.mask(mask, l).is_some() =>
                {
                    Form::Branch
                }
                _ => Form::Elementwise { in_pairs: regs % 2 == 0 && elementwise.paired_casts.contains(&v) },
            },
            Op::Load { .. } if pipeline.is_some_and(|p| p.loads.contains_key(&v)) => {
                let along = if planted!("buffer-loads-along-rows") { 0 } else { layouts[l].rank() - 1 };
                let twice = usize::from(planted!("buffer-loads-of-twice-the-run"));
                Form::Buffer { vec: (layouts[l].contiguous(along) << twice).min(VECTOR_BYTES / f.ty(v).dtype.size()) }
            }
            op => {
                let own = assignment.of(v);
                // Elsewhere only if the value was never defined, which `infer` excludes.
                assert!(*own != layouts[l], "{v:?} = {op:?} is defined before it is used");
                let by = TileConversion::plan(own, &layouts[l], f.ty(v).dtype);
                Form::Converted { from: self.comparisons.sums.layouts.add(own), by }
            }
        }
    }

    /// For each register, the first one of the group in which a mask is known to be the same.
    fn first_of_groups(&self, mask: Value, l: LayoutId) -> Vec<usize> {
        let l = &self.comparisons.sums.layouts[l];
        let dims = self.facts.axis_info.info(self.facts.f, mask).dims;
        let within = |basis: u32| {
            let most = |d: usize| dims[d].constancy + u64::from(planted!("mask-of-a-register-too-many"));
            let inside = |d: usize| u64::from(l.coord(basis, d)) < most(d);
            let moved = (0..dims.len()).filter(|&d| l.coord(basis, d) != 0).collect::<Vec<_>>();
            moved.len() <= 1 && moved.into_iter().all(inside)
        };
        let same = l.reg_bases().iter().enumerate().filter(|(_, b)| within(**b)).fold(0, |mask, (i, _)| mask | 1 << i);
        (0..l.regs()).map(|r| r & !same).collect()
    }

    /// The tiles whose registers a form takes.
    pub fn inputs(&self, v: Value, l: LayoutId) -> Vec<InLayout> {
        let op = self.facts.f.op(v);
        match &self.forms[&(v, l)] {
            Form::IndexSum | Form::Scalar(_) | Form::Range { .. } | Form::Buffer { .. } => vec![],
            Form::Comparison { .. } => self.comparisons.inputs(v, l),
            Form::OfSource(source) => vec![source.of],
            Form::Elementwise { .. } => op.operands().into_iter().map(|o| (o, l)).collect(),
            Form::Branch => {
                let Op::Select(mask, chosen, other) = *op else { unreachable!("a `where_`") };
                self.comparisons.mask_inputs(mask, l).into_iter().chain([(chosen, l), (other, l)]).collect()
            }
            Form::Converted { from, .. } => vec![(v, *from)],
        }
    }
}
