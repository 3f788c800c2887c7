//! Whether results depend on the order in which programs run, or on how many there are: the promise of a kernel that is
//! `deterministic`.
//!
//! Sums of a tile have an order of their own, which layouts fix. The rest are accesses of several programs to one
//! place, and the number of programs itself. A loop from `program_id(d) * n` in steps of `num_programs(d) * n` only
//! says which program does an iteration, as long as iterations hand nothing on.

use crate::diag::Code;
use crate::ir::walk::{assigned, assigned_vars, made_of, values, walk, written_in};
use crate::ir::{Address, Array, Atomic, Binary, Func, Op, Stmt, StmtKind, Value, Var};
use crate::missed::Why;
use proc_macro2::Span;
use std::collections::{HashMap, HashSet};

/// Why results depend on the order, and the place in the kernel.
pub struct OrderDependence {
    pub code: Code,
    pub why: Why,
    pub span: Span,
}

/// The first access of a function whose result depends on the order or on the number of programs.
pub fn order_dependence(f: &Func) -> Result<(), OrderDependence> {
    atomics(f)?;
    histograms(f)?;
    assembly(f)?;
    let programs = NumPrograms::new(f);
    programs.stores(&f.body, None)?;
    programs.memory(&f.body)
}

fn found<T>(why: Why, span: Span) -> Result<T, OrderDependence> {
    Err(OrderDependence { code: Code::OrderOfPrograms, why, span })
}

/// Atomics that commute, whose old values nobody asks for, on arrays that are not read otherwise.
fn atomics(f: &Func) -> Result<(), OrderDependence> {
    let taken: HashSet<Value> = walk(&f.body).flat_map(|s| f.used_by(s)).collect();
    let mut updated: HashSet<Array> = HashSet::new();
    for v in values(&f.body) {
        let Op::Atomic { op, ptr, .. } = f.op(v) else { continue };
        let (t, span) = (f.dtype_at(ptr), f.span(v));
        match op {
            Atomic::Add if t.is_float() => {
                let why = why!(
                    "a sum of floats rounds in the order in which programs add to it: store a partial sum of each \
                     program and add them up in a second launch, or add integers"
                );
                return found(why, span);
            }
            Atomic::Xchg | Atomic::Store | Atomic::Cas => {
                return found(why!("the last program to arrive decides what atomic_{} leaves", op.name()), span);
            }
            Atomic::Load => return found(why!("an atomic load sees what other programs have done by then"), span),
            _ if taken.contains(&v) => {
                return found(why!("the old value tells which programs came before: use none of it"), span);
            }
            Atomic::Add | Atomic::Max | Atomic::Min | Atomic::And | Atomic::Or | Atomic::Xor => {}
        }
        updated.insert(ptr.array());
    }
    // The barriers of a program order the accesses of its threads to shared memory.
    let reads = |v: &Value| match f.op(*v) {
        Op::Load { ptr, .. } => updated.contains(&ptr.array()) && !matches!(ptr.array(), Array::Shared(_)),
        _ => false,
    };
    let read = values(&f.body).find(reads);
    match read {
        Some(v) => found(why!("other programs change this array by atomics: load it in a second launch"), f.span(v)),
        None => Ok(()),
    }
}

/// Weights are summed by atomics on shared memory, in the order of the warps.
fn histograms(f: &Func) -> Result<(), OrderDependence> {
    let rounds = |v: &Value| match f.op(*v) {
        Op::Histogram { weights: Some(w), .. } => f.ty(*w).dtype.is_float(),
        _ => false,
    };
    match values(&f.body).find(rounds) {
        Some(v) => {
            found(why!("weights that are floats are summed in the order in which warps run: use integers"), f.span(v))
        }
        None => Ok(()),
    }
}

/// Clocks, and numbers of multiprocessors and warps.
fn assembly(f: &Func) -> Result<(), OrderDependence> {
    let reads_register = |v: &Value| matches!(f.op(*v), Op::Asm { text, .. } if text.contains('%'));
    match values(&f.body).find(reads_register) {
        Some(v) => {
            found(why!("this assembly reads a special register, which differs from launch to launch"), f.span(v))
        }
        None => Ok(()),
    }
}

/// Values and variables that depend on the number of programs.
struct NumPrograms<'a> {
    f: &'a Func,
    values: HashSet<Value>,
    vars: HashSet<Var>,
}

impl<'a> NumPrograms<'a> {
    fn new(f: &'a Func) -> Self {
        let mut found = NumPrograms { f, values: HashSet::new(), vars: HashSet::new() };
        // A variable of a loop may be read before it is assigned.
        loop {
            let known = found.values.len() + found.vars.len();
            found.block(&f.body, false);
            if found.values.len() + found.vars.len() == known {
                return found;
            }
        }
    }

    fn depends(&self, s: &Stmt) -> bool {
        self.f.used_by(s).iter().any(|v| self.values.contains(v))
    }

    /// `under`: whether the number of programs decides if, or how often, the statements run.
    fn block(&mut self, body: &[Stmt], under: bool) {
        for s in body {
            match &s.kind {
                StmtKind::Let(v) => {
                    let from_var = matches!(self.f.op(*v), Op::ReadVar(var) if self.vars.contains(var));
                    if from_var || matches!(self.f.op(*v), Op::NumPrograms(_)) || self.depends(s) {
                        self.values.insert(*v);
                    }
                }
                StmtKind::Assign(var, _) if under || self.depends(s) => _ = self.vars.insert(*var),
                StmtKind::If { cond, then, other } => {
                    let under = under || self.values.contains(cond);
                    self.block(then, under);
                    self.block(other, under);
                }
                StmtKind::For { iv, hi, body, .. } if self.is_grid_stride(s) => {
                    if self.values.contains(hi) {
                        self.values.insert(*iv);
                    }
                    self.vars.extend(self.carried(body));
                    self.block(body, under);
                }
                StmtKind::For { iv, body, .. } => {
                    let by_bounds = self.depends(s);
                    if by_bounds {
                        self.values.insert(*iv);
                    }
                    self.block(body, under || by_bounds);
                }
                StmtKind::Loop { body } => self.block(body, under),
                _ => {}
            }
        }
    }

    /// From `program_id(d)` in steps of `num_programs(d)`, or from and in a multiple of it.
    fn is_grid_stride(&self, s: &Stmt) -> bool {
        let StmtKind::For { lo, step, .. } = s.kind else { return false };
        let f = self.f;
        let same = |a: Value, b: Value| match (f.op(a), f.op(b)) {
            (Op::Int(a), Op::Int(b)) => a == b,
            (Op::Word { word: a }, Op::Word { word: b }) => a == b,
            _ => a == b && !self.values.contains(&a),
        };
        let axes = |id: Value, count: Value| matches!((f.op(id), f.op(count)), (Op::ProgramId(a), Op::NumPrograms(b)) if a == b);
        match (f.op(lo), f.op(step)) {
            (Op::Binary(Binary::Mul, a, b), Op::Binary(Binary::Mul, c, d)) => [(*a, *b), (*b, *a)]
                .iter()
                .any(|&(id, n)| [(*c, *d), (*d, *c)].iter().any(|&(count, m)| axes(id, count) && same(n, m))),
            _ => axes(lo, step),
        }
    }

    /// Variables that live on from one iteration to the next.
    fn carried(&self, body: &[Stmt]) -> Vec<Var> {
        let is_older = |v: &Var| assigned(&self.f.body, *v).len() > assigned(body, *v).len();
        assigned_vars(body).filter(is_older).collect()
    }

    /// No iteration of a grid-stride loop reads memory that another iteration wrote: another program may do that one.
    fn memory(&self, body: &[Stmt]) -> Result<(), OrderDependence> {
        for s in walk(body) {
            if let StmtKind::For { iv, body: iteration, .. } = &s.kind
                && self.is_grid_stride(s)
            {
                let mut of_loop = Iteration::new(self.f, *iv, iteration);
                of_loop.check(iteration, &mut HashSet::new())?;
                let inside: HashSet<Value> = values(iteration).collect();
                let behind = |v: &Value| match self.f.op(*v) {
                    Op::Load { ptr, .. } => of_loop.written.contains(&ptr.array()) && !inside.contains(v),
                    _ => false,
                };
                if let Some(v) = values(body).find(behind) {
                    return state_in_memory(self.f.span(v));
                }
            }
        }
        Ok(())
    }

    /// Checks the stored values, and whether each store runs. `under`: a value that decides whether the statements run,
    /// and that depends on the number of programs.
    fn stores(&self, body: &[Stmt], under: Option<Value>) -> Result<(), OrderDependence> {
        let found = |span| {
            let why = why!(
                "results depend on the number of programs: only the loop `range(program_id(d) * n, end, \
                 num_programs(d) * n)` may ask for it, and nothing is carried from one of its iterations to the next"
            );
            Err(OrderDependence { code: Code::NumberOfPrograms, why, span })
        };
        let decides = |v: &Value| self.values.contains(v).then_some(*v);
        for s in body {
            match &s.kind {
                StmtKind::Store { span, .. } if under.is_some() || self.depends(s) => return found(*span),
                StmtKind::Let(v)
                    if matches!(self.f.op(*v), Op::Atomic { .. }) && (under.is_some() || self.depends(s)) =>
                {
                    return found(self.f.span(*v));
                }
                StmtKind::Return | StmtKind::Break | StmtKind::Continue => {
                    if let Some(v) = under {
                        return found(self.f.span(v));
                    }
                }
                StmtKind::If { cond, then, other } => {
                    let under = under.or(decides(cond));
                    self.stores(then, under)?;
                    self.stores(other, under)?;
                }
                StmtKind::For { lo, hi, step, body, .. } => {
                    let by_bounds = [lo, hi, step].into_iter().find_map(decides).filter(|_| !self.is_grid_stride(s));
                    self.stores(body, under.or(by_bounds))?;
                }
                StmtKind::Loop { body } => self.stores(body, under)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn state_in_memory<T>(span: Span) -> Result<T, OrderDependence> {
    let why = why!(
        "a load has elements that another iteration may store, and another program may do that iteration: store to an \
         array that is not loaded"
    );
    Err(OrderDependence { code: Code::NumberOfPrograms, why, span })
}

/// An iteration of a grid-stride loop, whose loads of arrays that it writes must be of its own elements.
struct Iteration<'a> {
    f: &'a Func,
    iv: Value,
    written: HashSet<Array>,
    /// The places that it stores to.
    stores: Vec<&'a Address>,
    /// Variables that the iteration assigns.
    assigned: HashSet<Var>,
    /// Equal numbers are equal values.
    numbers: HashMap<Value, usize>,
    number_of: HashMap<String, usize>,
}

impl<'a> Iteration<'a> {
    fn new(f: &'a Func, iv: Value, body: &'a [Stmt]) -> Self {
        let stored = |s: &'a Stmt| if let StmtKind::Store { ptr, .. } = &s.kind { Some(ptr) } else { None };
        Iteration {
            f,
            iv,
            written: written_in(f, body),
            stores: walk(body).filter_map(stored).collect(),
            assigned: assigned_vars(body).collect(),
            numbers: HashMap::new(),
            number_of: HashMap::new(),
        }
    }

    /// `known`: arrays and places, by the numbers of base and index, that every way to here has stored. A cleared array
    /// has no place.
    fn check(
        &mut self,
        body: &[Stmt],
        known: &mut HashSet<(Array, Option<[usize; 2]>)>,
    ) -> Result<(), OrderDependence> {
        let f = self.f;
        for s in body {
            if let StmtKind::Let(v) = s.kind
                && let Op::Load { ptr, .. } = f.op(v)
                && !self.is_own(ptr, known)
            {
                return state_in_memory(f.span(v));
            }
            match &s.kind {
                StmtKind::Clear { array, .. } => drop(known.insert((Array::Shared(*array), None))),
                StmtKind::Store { ptr, mask: None, .. } => drop(known.insert((ptr.array(), Some(self.place(ptr))))),
                _ => {}
            }
            for block in s.blocks() {
                self.check(block, &mut known.clone())?;
            }
        }
        Ok(())
    }

    /// Whether a load has elements that no other iteration writes, or that this one has written before.
    fn is_own(&mut self, ptr: &Address, known: &HashSet<(Array, Option<[usize; 2]>)>) -> bool {
        let (array, place) = (ptr.array(), self.place(ptr));
        if !self.written.contains(&array) || known.contains(&(array, None)) || known.contains(&(array, Some(place))) {
            return true;
        }
        // Atomics change none of the other arrays that are loaded.
        let stores: Vec<&Address> = self.stores.iter().copied().filter(|at| at.array() == array).collect();
        let moves = made_of(self.f, ptr.index, |_| true).contains(&self.iv);
        moves && !matches!(array, Array::Shared(_)) && stores.into_iter().all(|at| self.place(at) == place)
    }

    fn place(&mut self, at: &Address) -> [usize; 2] {
        // Zero for the start of an array.
        [at.base.address().map_or(0, |v| 1 + self.number(v)), self.number(at.index)]
    }

    /// Operations on equal operands are equal, if they read neither memory nor a variable that the iteration assigns.
    fn number(&mut self, v: Value) -> usize {
        if let Some(&n) = self.numbers.get(&v) {
            return n;
        }
        let mut op = self.f.op(v).clone();
        let is_pure = match &op {
            Op::ReadVar(var) => !self.assigned.contains(var),
            Op::Load { .. } | Op::Atomic { .. } | Op::Asm { .. } | Op::LoopVar | Op::ClusterGather { .. } => false,
            _ => true,
        };
        let key = if is_pure {
            let operands: Vec<usize> = op.operands().into_iter().map(|v| self.number(v)).collect();
            op.operands_mut().into_iter().zip(operands).for_each(|(v, n)| *v = Value(n as u32));
            format!("{op:?} {:?}", self.f.ty(v))
        } else {
            format!("{v:?}")
        };
        let next = self.number_of.len();
        let n = *self.number_of.entry(key).or_insert(next);
        self.numbers.insert(v, n);
        n
    }
}
