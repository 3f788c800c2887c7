//! The plan of a CPU function: which tiles are made, which are computed in the loops of their users, how memory is
//! accessed, and which tiles give their memory up.

mod axes;
mod elements;

use crate::analysis::axis_info::AxisAnalysis;
use crate::ir::{Address, Func, Op, Stmt, StmtId, StmtKind, Value, Var, walk};
pub(crate) use axes::{Axis, of_all_elements};
use elements::Element;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Not at all: only accesses by axes ask for it, and they take its terms.
    LeftOut,
    /// By its element's expression, of so many nodes, in the loop of each user. Of a variable that is read: its memory.
    InUsers { nodes: usize },
    /// By the elements of its operand, under another shape.
    SameElements,
    /// As a tile of its own.
    Tile,
}

/// How a load or a store reaches memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// By axes: offsets and conditions are computed for each index of an axis. The last one is the axis of vectors.
    ByAxes(Vec<Axis>),
    /// By element. Each `run` neighbors along the last axis have consecutive indices, and are copied as vectors where
    /// all of them are allowed. `clipped`: the end of the array alone limits them, so that the ends of a run decide.
    ByElement { run: usize, clipped: bool },
}

/// All decisions about the CPU function of an instance. [`emit`](crate::emit) carries them out.
#[derive(Debug, Default, PartialEq)]
pub struct CpuPlan {
    forms: BTreeMap<Value, Form>,
    /// The loads and stores.
    accesses: BTreeMap<StmtId, Access>,
    /// Tiles that a statement takes, and that are made before it: in the loops of other users they are not.
    made: BTreeMap<StmtId, Vec<Value>>,
    /// Products and assignments that take the memory of their accumulator or their tile.
    moves: BTreeSet<StmtId>,
}

impl CpuPlan {
    /// The form of a value that a statement defines. A scalar that is not left out has a name.
    pub(crate) fn form(&self, v: Value) -> Form {
        self.forms.get(&v).copied().unwrap_or(Form::Tile)
    }

    /// How a load or a store reaches memory.
    pub(crate) fn access(&self, s: StmtId) -> &Access {
        &self.accesses[&s]
    }

    /// The tiles that are made before a statement, in their order.
    pub(crate) fn made_before(&self, s: StmtId) -> &[Value] {
        self.made.get(&s).map_or(&[], |made| made)
    }

    /// Whether a product takes the memory of its accumulator, or an assignment that of its tile.
    pub(crate) fn moves(&self, s: StmtId) -> bool {
        self.moves.contains(&s)
    }
}

impl fmt::Display for CpuPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut of_form = |what: &str, is: fn(&Form) -> bool| {
            let values: Vec<Value> = self.forms.iter().filter(|(_, form)| is(form)).map(|(v, _)| *v).collect();
            if values.is_empty() { Ok(()) } else { writeln!(f, "{what}: {values:?}") }
        };
        of_form("left out", |form| matches!(form, Form::LeftOut))?;
        of_form("in the loops of their users", |form| matches!(form, Form::InUsers { .. }))?;
        of_form("the elements of their operands", |form| matches!(form, Form::SameElements))?;
        of_form("tiles", |form| matches!(form, Form::Tile))?;
        for (s, access) in &self.accesses {
            match access {
                Access::ByAxes(axes) => {
                    let axes: Vec<String> = axes.iter().map(Axis::to_string).collect();
                    writeln!(f, "access {s:?}: by axes [{}]", axes.join(", "))?;
                }
                Access::ByElement { run: 1, .. } => writeln!(f, "access {s:?}: by element")?,
                Access::ByElement { run, clipped } => {
                    let limit = if *clipped { "by the end of the array" } else { "by element" };
                    writeln!(f, "access {s:?}: in runs of {run} elements, limited {limit}")?;
                }
            }
        }
        self.made.iter().try_for_each(|(s, made)| writeln!(f, "before {s:?}: tiles of {made:?}"))?;
        self.moves.iter().try_for_each(|s| writeln!(f, "{s:?} takes the memory of its operand"))
    }
}

/// Plans the CPU function of an instance, whose axis info is known under no guards.
pub(crate) fn plan(f: &Func, axis_info: &AxisAnalysis) -> CpuPlan {
    let mut planner = Planner {
        f,
        axis_info,
        uses: axes::uses(f),
        available: HashMap::new(),
        made_here: HashSet::new(),
        plan: CpuPlan::default(),
    };
    planner.block(&f.body);
    planner.plan
}

/// Where the elements of a tile are.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// In the tile of a value.
    Tile(Value),
    /// In the tile of a variable.
    Variable(Var),
    /// Nowhere: they are computed.
    Computed(Element),
}

impl Source {
    fn element(self) -> Element {
        match self {
            Source::Computed(e) => e,
            Source::Tile(_) | Source::Variable(_) => Element::of_tile(),
        }
    }
}

struct Planner<'a> {
    f: &'a Func,
    axis_info: &'a AxisAnalysis,
    /// As [`axes::uses`] counts them.
    uses: Vec<Option<u32>>,
    available: HashMap<Value, Source>,
    /// The tiles that this block makes.
    made_here: HashSet<Value>,
    plan: CpuPlan,
}

impl Planner<'_> {
    fn is_scalar(&self, v: Value) -> bool {
        self.f.ty(v).is_scalar()
    }

    fn is_left_out(&self, s: &Stmt) -> bool {
        matches!(s.kind, StmtKind::Let(v) if self.uses[v.0 as usize].is_none())
    }

    fn is_taken_once(&self, v: Value) -> bool {
        self.uses[v.0 as usize] == Some(1)
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for (i, s) in stmts.iter().enumerate() {
            self.stmt(s, &stmts[i + 1..]);
        }
    }

    fn nested(&mut self, stmts: &[Stmt]) {
        let outer = (self.available.clone(), std::mem::take(&mut self.made_here));
        self.block(stmts);
        (self.available, self.made_here) = outer;
    }

    fn stmt(&mut self, s: &Stmt, rest: &[Stmt]) {
        match &s.kind {
            StmtKind::Let(v) if self.is_left_out(s) => drop(self.plan.forms.insert(*v, Form::LeftOut)),
            StmtKind::Let(v) => self.define(s, *v, rest),
            StmtKind::Assign(_, v) if !self.is_scalar(*v) && self.gives_memory_up(*v) => {
                self.plan.moves.insert(s.id);
            }
            StmtKind::Store { ptr, mask, .. } => self.access(s, ptr, mask.is_some()),
            StmtKind::If { then, other, .. } => {
                self.nested(then);
                self.nested(other);
            }
            StmtKind::For { body, .. } | StmtKind::Loop { body } => self.nested(body),
            StmtKind::Assert { cond: v, .. } | StmtKind::Print { value: v, .. } if !self.is_scalar(*v) => {
                self.tile(s, *v);
            }
            _ => {}
        }
    }

    fn access(&mut self, s: &Stmt, ptr: &Address, masked: bool) {
        let by_element = || {
            let run = self.axis_info.run(self.f, ptr.index);
            Access::ByElement { run, clipped: !masked && run > 1 }
        };
        let access = axes::of(self.f, s).map_or_else(by_element, Access::ByAxes);
        self.plan.accesses.insert(s.id, access);
    }

    /// The elements of a value in memory, for statement `s`, which takes them there.
    fn tile(&mut self, s: &Stmt, v: Value) -> Source {
        if let Source::Computed(_) = self.available[&v] {
            self.plan.made.entry(s.id).or_default().push(v);
            self.make(v);
        }
        self.available[&v]
    }

    fn make(&mut self, v: Value) {
        self.available.insert(v, Source::Tile(v));
        self.made_here.insert(v);
    }

    /// A tile of its own. A scalar has a name.
    fn own(&mut self, v: Value) {
        if !self.is_scalar(v) {
            self.make(v);
            self.plan.forms.insert(v, Form::Tile);
        }
    }

    fn in_users(&mut self, v: Value, source: Source) {
        self.available.insert(v, source);
        self.plan.forms.insert(v, Form::InUsers { nodes: source.element().size() });
    }

    fn define(&mut self, s: &Stmt, v: Value, rest: &[Stmt]) {
        let f = self.f;
        match f.op(v) {
            Op::Load { ptr, mask, .. } => {
                self.access(s, ptr, mask.is_some());
                self.own(v);
            }
            Op::Reduce { values, .. } | Op::Scan { values, .. } | Op::Sort { values, .. } => {
                // Several are put together, element by element.
                if let [one] = values[..] {
                    self.tile(s, one);
                }
                self.own(v);
            }
            Op::ArgReduce { value: x, .. } | Op::Gather { value: x, .. } | Op::Permute(x, _) => {
                self.tile(s, *x);
                self.own(v);
            }
            Op::Dot { a, b, acc, .. } => {
                let operands = [*a, *b].map(|x| self.tile(s, x));
                let next = rest.iter().find(|s| !self.is_left_out(s));
                let acc = match self.variable_that_is_assigned_next(*acc, v, next) {
                    Some(variable) => Some(variable),
                    None => {
                        let tile = self.tile(s, *acc);
                        self.gives_memory_up(*acc).then_some(tile)
                    }
                };
                if acc.is_some_and(|acc| !operands.contains(&acc)) {
                    self.plan.moves.insert(s.id);
                }
                self.own(v);
            }
            _ if f.ty(v).is_scalar() => {}
            Op::Atomic { .. } | Op::Histogram { .. } | Op::Cumcount { .. } | Op::Result(..) => self.own(v),
            Op::Join(..) | Op::Slice { .. } => self.own(v),
            Op::ReadVar(var) => {
                let stays = rest.iter().all(|s| !assigns(s, *var));
                if stays || self.fuses(v, rest) || planted!("cpu-variable-read-late") {
                    self.in_users(v, Source::Variable(*var));
                } else {
                    self.own(v);
                }
            }
            Op::Splat(_) => self.in_users(v, Source::Computed(Element::of_scalar())),
            Op::Arange { .. } => self.in_users(v, Source::Computed(Element::of_arange())),
            // Dense and row-major: another shape of the same elements.
            Op::Expand(x, _) | Op::Reshape(x) => {
                self.available.insert(v, self.available[x]);
                self.plan.forms.insert(v, Form::SameElements);
            }
            // Also of arithmetic: it would be done again for each element, with divisions.
            Op::Broadcast(x) => match self.available[x].element() {
                e if e.computes() => {
                    self.tile(s, *x);
                    self.own(v);
                }
                e => self.in_users(v, Source::Computed(e.broadcast(f.shape(*x)))),
            },
            op => {
                let of_operand = |o: Value| match f.ty(o).is_scalar() {
                    true => Element::of_scalar(),
                    false => self.available[&o].element(),
                };
                let e = Element::of_operation(f, op, &op.operands().into_iter().map(of_operand).collect::<Vec<_>>());
                if e.is_cheap_index() || self.fuses(v, rest) && e.is_small() {
                    self.in_users(v, Source::Computed(e));
                } else {
                    self.own(v);
                }
            }
        }
    }

    /// Whether a value may be written into the loop of its only user instead of one of its own: the user comes in the
    /// same block, and no variable it may read changes before.
    fn fuses(&self, v: Value, rest: &[Stmt]) -> bool {
        if !self.is_taken_once(v) {
            return false;
        }
        for s in rest {
            let (ends, is_view) = match &s.kind {
                StmtKind::Let(_) if self.is_left_out(s) => continue,
                StmtKind::Let(u) => (false, self.f.op(*u).is_view()),
                StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::Loop { .. } => return false,
                _ => (true, false),
            };
            if axes::used_by(self.f, s).contains(&v) {
                // A shape operation may be used more often than its operand.
                return !is_view;
            }
            if ends {
                return false;
            }
        }
        false
    }

    /// Whether a tile, made in this block, is taken once: it can be moved there.
    fn gives_memory_up(&self, v: Value) -> bool {
        self.available[&v] == Source::Tile(v) && self.made_here.contains(&v) && self.is_taken_once(v)
    }

    /// The accumulator of a product as the memory of a variable that is assigned the product next.
    fn variable_that_is_assigned_next(&self, acc: Value, product: Value, next: Option<&Stmt>) -> Option<Source> {
        let (Op::ReadVar(var), Some(StmtKind::Assign(to, v))) = (self.f.op(acc), next.map(|s| &s.kind)) else {
            return None;
        };
        let variable = Source::Variable(*var);
        let is_next = (to, v) == (var, &product);
        (is_next && self.available[&acc] == variable && self.is_taken_once(acc)).then_some(variable)
    }
}

fn assigns(s: &Stmt, var: Var) -> bool {
    walk::walk(std::slice::from_ref(s)).any(|s| matches!(&s.kind, StmtKind::Assign(to, _) if *to == var))
}
