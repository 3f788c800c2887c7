//! Products with their operands swapped: `C = (Bᵀ Aᵀ)ᵀ`, which CUTLASS calls swap A/B. An instruction of `wgmma` takes
//! 64 rows of its left operand and 8 or more columns of the right one, and only the left one may be in registers. So
//! the transpose of a product is computed where the product has fewer rows, where its right operand is MN-major and
//! has 4-byte elements, and where its right operand is computed.
//!
//! Products that share accumulators are swapped together. The sums stay transposed through elementwise work, variables
//! and reductions. Everything else, stores among it, reads them through an [`Op::Permute`].

use crate::ir::walk::{assigned, dots, loaded, walk};
use crate::ir::{Func, Op, Stmt, StmtKind, Type, Value, Var};
use crate::missed::{Changed, Missed};
use crate::passes::dce;
use std::collections::{HashMap, HashSet};

/// For each product the cost of writing its right operand to shared memory, which is 0 where the operand is copied, or
/// the reason why `wgmma` cannot compute the product.
pub type Products = HashMap<Value, Result<usize, Missed>>;

/// The most 32-bit registers of a thread for the sums and a computed left operand. With more, registers spill.
const MAX_REGISTERS: usize = 176;

/// Swaps the operands of the products for which `judge` prefers the swapped function. It is an error if `wgmma` cannot
/// compute a product as it is written, and its swapped form has a computed operand that goes through shared memory:
/// then nothing is swapped.
pub fn run(f: &mut Func, judge: impl Fn(&Func) -> Products) -> Result<Changed, Missed> {
    let mut judged = judge(f);
    let mut out = f.clone();
    let (mut changed, mut seen) = (Changed::No, HashSet::new());
    for dot in dots(f, &f.body) {
        if seen.contains(&dot) || matches!(judged[&dot], Ok(0)) {
            continue;
        }
        let sums = Sums::of(&out, dot);
        seen.extend(sums.dots.iter().copied());
        let possible = sums.dots.iter().all(|d| judged[d].is_ok());
        if possible && !sums.gain(&out) {
            continue;
        }
        match swapped(&out, &sums, &judged, &judge) {
            Ok(Some(better)) => ((out, judged), changed) = (better, Changed::Yes),
            _ if possible => {}
            Ok(None) => return Ok(Changed::No),
            Err(missed) => return Err(missed),
        }
    }
    if changed == Changed::Yes {
        dce::run(&mut out);
        *f = out;
    }
    Ok(changed)
}

/// The function with these products swapped, and the judgment of it, if `wgmma` can compute the swapped products.
fn swapped(
    f: &Func,
    sums: &Sums,
    before: &Products,
    judge: &impl Fn(&Func) -> Products,
) -> Result<Option<(Func, Products)>, Missed> {
    if sums.dots.iter().any(|&d| !is_tile(f, d)) {
        return Ok(None);
    }
    let (out, new) = Swap::new(f, sums).run();
    let judged = judge(&out);
    if new.values().any(|d| judged[d].is_err()) {
        return Ok(None);
    }
    // If both operands are computed, one of them is written in either form.
    let loses = |old: Value, new: Value| match (&before[&old], &judged[&new]) {
        (_, Ok(0) | Err(_)) => false,
        (Ok(before), Ok(after)) => after >= before,
        (Err(_), Ok(_)) => matches!(*f.op(old), Op::Dot { b, .. } if loaded(f, b).is_some()),
    };
    if let Some(d) = new.iter().filter(|(old, new)| loses(**old, **new)).map(|(_, new)| *new).min() {
        let why = why!(
            "its left operand is computed, and as the right one it would go through shared memory: load it as it is \
             multiplied"
        );
        return Err(Missed::new("multiplied with its operands swapped", why).at(out.span(d)));
    }
    Ok(Some((out, judged)))
}

fn is_tile(f: &Func, v: Value) -> bool {
    f.shape(v).len() == 2
}

/// Whether the transpose of a tile has the same type, so that a planted defect is no type error.
fn is_square(f: &Func, v: Value) -> bool {
    is_tile(f, v) && f.shape(v)[0] == f.shape(v)[1]
}

fn is_transposition(op: &Op) -> Option<Value> {
    if let Op::Permute(x, perm) = op { (perm[..] == [1, 0]).then_some(*x) } else { None }
}

/// Products that are swapped together, and the values and variables with their sums, which are computed transposed.
struct Sums {
    dots: HashSet<Value>,
    values: HashSet<Value>,
    vars: HashSet<Var>,
}

impl Sums {
    fn of(f: &Func, dot: Value) -> Sums {
        let mut sums = Sums { dots: HashSet::from([dot]), values: HashSet::new(), vars: HashSet::new() };
        while sums.grow(f) {}
        let accumulators: HashSet<Var> = sums.dots.iter().filter_map(|&d| sums.accumulator(f, d)).collect();
        while sums.shrink(f, &accumulators) {}
        sums
    }

    /// The variable that a product adds to.
    fn accumulator(&self, f: &Func, dot: Value) -> Option<Var> {
        let Op::Dot { acc, .. } = *f.op(dot) else { unreachable!("a dot") };
        if let Op::ReadVar(var) = f.op(acc) { Some(*var) } else { None }
    }

    /// Adds the values that are computed elementwise from sums, and the products on the same accumulators. Returns
    /// whether there was any.
    fn grow(&mut self, f: &Func) -> bool {
        let before = (self.dots.len(), self.values.len(), self.vars.len());
        for s in walk(&f.body) {
            match &s.kind {
                StmtKind::Let(v) if is_tile(f, *v) => {
                    let op = f.op(*v);
                    match op {
                        Op::Dot { acc, .. } => {
                            if self.values.contains(acc) {
                                self.dots.insert(*v);
                            }
                            if self.dots.contains(v) {
                                self.values.insert(*v);
                                self.vars.extend(self.accumulator(f, *v));
                            }
                        }
                        Op::ReadVar(var) if self.vars.contains(var) => self.values.extend([*v]),
                        _ if op.is_elementwise() && op.operands().iter().any(|o| self.values.contains(o)) => {
                            self.values.insert(*v);
                            op.operands().into_iter().for_each(|o| self.join(f, o));
                        }
                        _ => {}
                    }
                }
                StmtKind::Assign(var, v) => {
                    if self.values.contains(v) {
                        self.vars.insert(*var);
                    }
                    if self.vars.contains(var) {
                        self.join(f, *v);
                    }
                }
                _ => {}
            }
        }
        before != (self.dots.len(), self.values.len(), self.vars.len())
    }

    /// The products that a value is computed from elementwise.
    fn join(&mut self, f: &Func, v: Value) {
        if self.values.contains(&v) || !is_tile(f, v) {
            return;
        }
        match f.op(v) {
            Op::Dot { .. } => self.dots.extend([v]),
            op if op.is_elementwise() => op.operands().into_iter().for_each(|o| self.join(f, o)),
            _ => {}
        }
    }

    /// Removes the values that are computed from a tile which would have to be transposed for them. The variables in
    /// `accumulators` stay. Returns whether there was any.
    fn shrink(&mut self, f: &Func, accumulators: &HashSet<Var>) -> bool {
        let mut cheap = HashMap::new();
        let fits = |sums: &Sums, v: &Value, cheap: &mut _| sums.values.contains(v) || is_cheap(f, *v, cheap);
        let out: HashSet<Value> = self
            .values
            .iter()
            .copied()
            .filter(|v| match f.op(*v) {
                Op::Dot { .. } => false,
                Op::ReadVar(var) => !self.vars.contains(var),
                op => !op.operands().iter().all(|o| fits(self, o, &mut cheap)),
            })
            .collect();
        let vars: HashSet<Var> = self
            .vars
            .iter()
            .copied()
            .filter(|var| !accumulators.contains(var))
            .filter(|var| !assigned(&f.body, *var).iter().all(|v| fits(self, v, &mut cheap)))
            .collect();
        self.values.retain(|v| !out.contains(v));
        self.vars.retain(|var| !vars.contains(var));
        !out.is_empty() || !vars.is_empty()
    }

    /// Whether products that `wgmma` can compute in both forms are better swapped: the registers hold the sums and the
    /// computed operand, and no loop has to transpose sums.
    fn gain(&self, f: &Func) -> bool {
        self.dots.iter().all(|&d| self.registers(f, d) <= MAX_REGISTERS && !self.leave_in_a_loop(f, &f.body, d))
    }

    /// The registers of a swapped product: its sums, and its left operand.
    fn registers(&self, f: &Func, dot: Value) -> usize {
        let Op::Dot { b, .. } = *f.op(dot) else { unreachable!("a dot") };
        let of = |v: Value| f.shape(v).iter().product::<usize>() * f.ty(v).dtype.size() / 4;
        (of(dot) + of(b)) / (f.warps as usize * 32)
    }

    /// Whether the innermost loop around a product uses the sums other than elementwise.
    fn leave_in_a_loop(&self, f: &Func, stmts: &[Stmt], dot: Value) -> bool {
        let around = |s: &&Stmt| walk(std::slice::from_ref(s)).any(|s| matches!(s.kind, StmtKind::Let(v) if v == dot));
        let Some(s) = stmts.iter().find(around) else { return false };
        let inner = s.blocks().into_iter().any(|b| self.leave_in_a_loop(f, b, dot));
        let is_loop = matches!(s.kind, StmtKind::For { .. } | StmtKind::Loop { .. });
        inner || is_loop && !holds_a_loop_around(s, dot) && walk(std::slice::from_ref(s)).any(|s| self.leave(f, s))
    }

    /// Whether a statement uses sums, and its result is no elementwise function of them.
    fn leave(&self, f: &Func, s: &Stmt) -> bool {
        let keeps = match &s.kind {
            StmtKind::Let(v) => self.values.contains(v),
            StmtKind::Assign(var, _) => self.vars.contains(var),
            _ => false,
        };
        !keeps && f.used_by(s).iter().any(|v| self.values.contains(v))
    }
}

/// Whether a loop within a statement contains the product.
fn holds_a_loop_around(s: &Stmt, dot: Value) -> bool {
    let has = |s: &Stmt| walk(std::slice::from_ref(s)).any(|s| matches!(s.kind, StmtKind::Let(v) if v == dot));
    let is_loop = |s: &&Stmt| matches!(s.kind, StmtKind::For { .. } | StmtKind::Loop { .. });
    s.blocks().into_iter().flat_map(|b| walk(b)).filter(is_loop).any(has)
}

/// Whether the transpose of a tile takes no more work than the tile: index arithmetic, constants, broadcast rows
/// and columns.
fn is_cheap(f: &Func, v: Value, known: &mut HashMap<Value, bool>) -> bool {
    if let Some(&is) = known.get(&v) {
        return is;
    }
    let op = f.op(v);
    let is = match op {
        Op::Splat(_) | Op::Broadcast(_) | Op::Expand(..) => true,
        op if is_transposition(op).is_some() => true,
        op if op.is_elementwise() => op.operands().into_iter().all(|o| is_cheap(f, o, known)),
        _ => false,
    };
    known.insert(v, is);
    is
}

/// How a value that is computed from no sums is transposed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// It is the transpose of this value.
    Of(Value),
    /// It is computed from transposed operands.
    Computed,
    Permuted,
}

fn form(f: &Func, v: Value) -> Form {
    match f.op(v) {
        op if let Some(x) = is_transposition(op) => Form::Of(x),
        Op::Splat(_) => Form::Computed,
        Op::Broadcast(_) if planted!("swap-ab-broadcast-is-its-transpose") && is_square(f, v) => Form::Of(v),
        op if op.is_elementwise() => Form::Computed,
        _ => Form::Permuted,
    }
}

/// Writes a function with swapped products.
struct Swap<'a> {
    f: Func,
    sums: &'a Sums,
    /// The values without sums whose transposes are used.
    asked: HashSet<Value>,
    transposed: HashMap<Value, Value>,
    /// The replacements of values that are transposes of sums.
    alias: HashMap<Value, Value>,
}

impl<'a> Swap<'a> {
    fn new(f: &Func, sums: &'a Sums) -> Swap<'a> {
        let (transposed, alias) = (HashMap::new(), HashMap::new());
        let mut swap = Swap { f: f.clone(), sums, asked: HashSet::new(), transposed, alias };
        sums.values.iter().for_each(|&v| swap.ask_for_operands(v));
        for s in walk(&f.body) {
            if let StmtKind::Assign(var, v) = &s.kind
                && sums.vars.contains(var)
            {
                swap.ask(*v);
            }
        }
        swap
    }

    fn ask(&mut self, v: Value) {
        if !self.sums.values.contains(&v) && self.asked.insert(v) && form(&self.f, v) == Form::Computed {
            self.ask_for_operands(v);
        }
    }

    fn ask_for_operands(&mut self, v: Value) {
        let operands = self.f.op(v).operands();
        operands.into_iter().filter(|&o| is_tile(&self.f, o)).collect::<Vec<_>>().into_iter().for_each(|o| self.ask(o));
    }

    /// The function, and the new products by the old ones.
    fn run(mut self) -> (Func, HashMap<Value, Value>) {
        let body = std::mem::take(&mut self.f.body);
        self.f.body = self.block(body);
        for var in &self.sums.vars {
            self.f.vars[var.0 as usize].ty.shape.reverse();
        }
        let new = self.sums.dots.iter().map(|d| (*d, self.transposed[d])).collect();
        (self.f, new)
    }

    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for mut s in stmts {
            s.uses_mut().into_iter().for_each(|v| *v = *self.alias.get(v).unwrap_or(v));
            match &mut s.kind {
                StmtKind::Let(v) => {
                    let v = *v;
                    self.value(v, s, &mut out);
                    continue;
                }
                StmtKind::Assign(var, v) if self.sums.vars.contains(var) => *v = self.transposed[v],
                // The value is a transposition of sums: two transpositions cancel.
                StmtKind::Store { ptr, value, mask, block_pointer: None, .. }
                    if self.sums.values.contains(value)
                        && ptr.base.address().is_none_or(|a| self.f.ty(a).is_scalar())
                        && is_transposition(self.f.op(ptr.index)).is_some() =>
                {
                    ptr.index = is_transposition(self.f.op(ptr.index)).expect("it is one");
                    *mask = mask.map(|m| self.permuted(m, &mut out));
                    *value = self.transposed[value];
                }
                _ => {}
            }
            for b in s.blocks_mut() {
                *b = self.block(std::mem::take(b));
            }
            out.push(s);
        }
        out
    }

    fn value(&mut self, v: Value, s: Stmt, out: &mut Vec<Stmt>) {
        let of_square = |f: &Func| f.op(v).operands().first().is_some_and(|&x| is_square(f, x));
        let keeps_axis = planted!("swap-ab-reduces-the-other-axis") && of_square(&self.f);
        let alias = &self.alias;
        let op = &mut self.f.values[v.0 as usize].op;
        op.operands_mut().into_iter().for_each(|o| *o = *alias.get(o).unwrap_or(o));
        if let Some((values, axis)) = op.reduced_mut()
            && values.iter().all(|v| self.sums.values.contains(v))
        {
            values.iter_mut().for_each(|v| *v = self.transposed[v]);
            *axis = if keeps_axis { *axis } else { 1 - *axis };
        }
        if let Some(sums) = is_transposition(op).filter(|x| self.sums.values.contains(x)) {
            let new = self.transposed[&sums];
            self.alias.insert(v, new);
            self.transposed.insert(new, sums);
        }
        if self.sums.values.contains(&v) {
            self.computed(v, out);
            self.f.values[v.0 as usize].op = Op::Permute(self.transposed[&v], vec![1, 0]);
            out.push(s);
            return;
        }
        out.push(s);
        if self.asked.contains(&v) {
            match form(&self.f, v) {
                Form::Of(x) => self.transposed.extend([(v, x)]),
                Form::Computed => self.computed(v, out),
                Form::Permuted => {
                    let new = self.permuted(v, out);
                    self.transposed.insert(v, new);
                }
            }
        }
    }

    /// Computes the transpose of a value from the transposes of its operands.
    fn computed(&mut self, v: Value, out: &mut Vec<Stmt>) {
        let mut op = self.f.op(v).clone();
        op.operands_mut().into_iter().filter(|o| is_tile(&self.f, **o)).for_each(|o| *o = self.transposed[o]);
        if let Op::Dot { a, b, .. } = &mut op {
            std::mem::swap(a, b);
        }
        let new = self.push(op, v, out);
        self.transposed.insert(v, new);
    }

    fn permuted(&mut self, v: Value, out: &mut Vec<Stmt>) -> Value {
        self.push(Op::Permute(v, vec![1, 0]), v, out)
    }

    fn push(&mut self, op: Op, transpose_of: Value, out: &mut Vec<Stmt>) -> Value {
        let Type { dtype, mut shape } = self.f.ty(transpose_of).clone();
        shape.reverse();
        self.f.push(op, Type { dtype, shape }, self.f.span(transpose_of), out)
    }
}
