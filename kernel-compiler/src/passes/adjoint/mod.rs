//! Reverse mode: the function of a backward kernel, derived from that of the forward kernel.
//!
//! A backward kernel adds the gradient with respect to each input to an array, and loads the gradients with respect to
//! the outputs. `y = f(x)` becomes `x_grad += y_grad · df/dx`, of the same program on the same elements.
//!
//! - **Values.** The forward values are computed again. A store of an output becomes a load of its gradient, with the
//!   index and the mask of the store. The statements are then walked backwards, and each value hands its adjoint to its
//!   operands. A load of an input ends the walk: its adjoint is added to memory by a relaxed atomic.
//! - **Variables.** Each variable of floats has an adjoint variable. A read adds to it. An assignment takes its content
//!   and leaves zero.
//! - **Blocks.** The adjoint of an `if` or a loop computes the values of its blocks again, on copies of the variables
//!   that begin with their contents at the start of the block. Adjoints of values that are defined outside are summed
//!   in variables.
//! - **Loops.** The adjoint of a loop runs from its last iteration to its first. The carried variables of an iteration
//!   are computed again from the start of the loop, which takes time in the square of the number of iterations.
//! - **The rest is dead.** This work is written for every block, and [`prune`] keeps what an effect depends on. A loop
//!   of sums or products, whose adjoint needs no carried variable, keeps no inner loop.

mod activity;
mod control;
mod elementwise;
mod expressions;
mod forward;
mod memory;
mod operations;
mod params;
mod prune;
mod refused;
mod stores;

use crate::dtype::DType;
use crate::ir::{Func, Op, ParamKind, Stmt, StmtKind, Type, Value, Var};
use activity::{Active, check};
pub use params::{Derived, Holds, derived, gradient_name, of_all};
use proc_macro2::Span;
pub use refused::Refused;
use std::collections::HashMap;

/// The function of the backward kernel with these parameters.
pub fn run(f: &Func, params: &[Derived]) -> Result<Func, Refused> {
    check(f)?;
    stores::check(f)?;
    let places = Places::new(f, params);
    let has_gradient: Vec<bool> = places.sums.iter().map(|s| s.is_some()).collect();
    let g = Func {
        params: params.iter().map(|p| p.param.clone()).collect(),
        values: vec![],
        vars: vec![],
        shared: vec![],
        body: vec![],
        pdl: None,
        aliases: vec![],
        deterministic: false,
        ..f.clone()
    };
    let mut cx = Adjoint {
        f,
        g,
        places,
        active: Active::new(f, &has_gradient),
        adjoints: HashMap::new(),
        outer: HashMap::new(),
        of_vars: HashMap::new(),
        known: HashMap::new(),
        out: vec![],
        span: Span::call_site(),
    };
    cx.function()?;
    let mut g = cx.g;
    g.body = cx.out;
    prune::run(&mut g);
    Ok(g)
}

/// The parameters of the backward kernel for those of the forward one.
struct Places {
    /// With the same argument, or for an output the gradient, whose words stand for those of the output.
    same: Vec<usize>,
    /// The gradients that are added to.
    sums: Vec<Option<usize>>,
    /// The gradients that are loaded.
    given: Vec<Option<usize>>,
    /// The argument words, as `same` has the parameters.
    words: Vec<usize>,
}

impl Places {
    fn new(f: &Func, params: &[Derived]) -> Places {
        let find = |i: usize, holds: Holds| params.iter().position(|p| p.of == Some(i) && p.holds == holds);
        let each = |holds: Holds| (0..f.params.len()).map(|i| find(i, holds)).collect::<Vec<_>>();
        let (values, sums, given) = (each(Holds::Values), each(Holds::Sum), each(Holds::Given));
        let same = values.iter().zip(&given).map(|(v, g)| v.or(*g).expect("each parameter has one"));
        let same: Vec<usize> = same.collect();
        let words = f.params.iter().zip(&same).flat_map(|(p, &to)| {
            let first = params[to].param.first_word;
            (0..p.kind.words()).map(move |i| first + i)
        });
        Places { words: words.collect(), same, sums, given }
    }

    /// The argument words of a view by those of its gradient; none for other arrays, whose elements have no strides.
    fn words_of_sum(&self, f: &Func, g: &Func, param: usize) -> HashMap<usize, usize> {
        match (f.params[param].kind, self.sums[param]) {
            (kind @ ParamKind::View { .. }, Some(sum)) => {
                let (from, to) = (f.params[param].first_word, g.params[sum].first_word);
                (0..kind.words()).map(|i| (from + i, to + i)).collect()
            }
            _ => HashMap::new(),
        }
    }
}

/// The values and variables of the backward function for those of the forward one, in a block.
#[derive(Clone, Default)]
struct Scope {
    values: HashMap<Value, Value>,
    vars: HashMap<Var, Var>,
}

impl Scope {
    fn value(&self, v: Value) -> Value {
        self.values[&v]
    }

    fn var(&self, v: Var) -> Var {
        self.vars[&v]
    }
}

/// The derivation. Adjoints are those of values and variables of the forward function `f`.
struct Adjoint<'a> {
    f: &'a Func,
    /// The function that is made.
    g: Func,
    places: Places,
    active: Active,
    /// The sums of the adjoints so far, of values that the present block defines.
    adjoints: HashMap<Value, Value>,
    /// The variables for the adjoints of values that a block around the present one defines.
    outer: HashMap<Value, Var>,
    /// The adjoint variables.
    of_vars: HashMap<Var, Var>,
    /// The contents of variables of `g` that are known here.
    known: HashMap<Var, Value>,
    /// The statements of the present block.
    out: Vec<Stmt>,
    /// The place of the forward operation.
    span: Span,
}

impl<'a> Adjoint<'a> {
    fn function(&mut self) -> Result<(), Refused> {
        let f = self.f;
        let mut scope = Scope::default();
        for (i, var) in f.vars.iter().enumerate() {
            scope.vars.insert(Var(i as u32), self.new_var(&var.name, var.ty.clone()));
        }
        let mut taken = vec![];
        for (i, var) in f.vars.iter().enumerate().filter(|(_, var)| var.ty.dtype.is_float()) {
            if self.active.var(Var(i as u32)) {
                let adjoint = self.new_var(&gradient_name(&var.name), var.ty.clone());
                self.of_vars.insert(Var(i as u32), adjoint);
                taken.push(adjoint);
            }
        }
        for var in taken {
            let zero = self.zero(&self.g.vars[var.0 as usize].ty.clone());
            self.assign(var, zero);
        }
        self.block(&f.body, &mut scope)
    }

    /// Computes the values of a block, and then their adjoints backwards.
    fn block(&mut self, stmts: &'a [Stmt], scope: &mut Scope) -> Result<(), Refused> {
        let mut before = vec![];
        for s in stmts {
            before.push(self.contents_before(s, scope));
            self.compute(s, scope);
        }
        for (s, before) in stmts.iter().zip(before).rev() {
            self.reverse(s, &before, scope)?;
        }
        Ok(())
    }

    /// The adjoint of a statement. `before`: the contents of variables that its blocks read, as they were before it.
    fn reverse(&mut self, s: &'a Stmt, before: &HashMap<Var, Value>, scope: &Scope) -> Result<(), Refused> {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) => {
                self.span = f.span(*v);
                match f.op(*v) {
                    Op::Atomic { ptr, values, mask, .. } => self.stored(ptr, values[0], *mask, None, scope),
                    _ => match self.adjoints.remove(v) {
                        Some(adjoint) => self.value(*v, adjoint, scope),
                        None => Ok(()),
                    },
                }
            }
            StmtKind::Assign(var, v) => {
                let Some(&adjoint) = self.of_vars.get(var) else {
                    return Ok(());
                };
                self.span = f.span(*v);
                let content = self.read(adjoint);
                let zero = self.zero(&f.vars[var.0 as usize].ty);
                if !planted!("adjoint-kept-by-an-assignment") {
                    self.assign(adjoint, zero);
                }
                self.give(*v, content)
            }
            StmtKind::Store { ptr, value, mask, block_pointer, span, .. } => {
                self.span = *span;
                self.stored(ptr, *value, *mask, block_pointer.as_ref(), scope)
            }
            StmtKind::If { cond, then, other } => self.branch(s, *cond, [then, other], before, scope),
            StmtKind::For { iv, lo, hi, step, body, .. } => self.repeat(s, *iv, [*lo, *hi, *step], body, before, scope),
            // Assertions and prints are those of the forward kernel; the others are refused.
            _ => Ok(()),
        }
    }

    /// Adds to the adjoint of a value. Values that depend on no array with a gradient have none.
    fn give(&mut self, v: Value, more: Value) -> Result<(), Refused> {
        if !self.active.value(v) || self.g.is_zeros(more) {
            return Ok(());
        }
        if !self.f.ty(v).dtype.is_float() {
            let why = "bits of a float with a gradient become a float again, as in a `sort`, which has no adjoint: compute with floats";
            return Err(Refused::new(self.span, why));
        }
        if self.f.ty(v).dtype.is_float8() {
            return self.refuse("a value becomes floats of 8 bits, which have no adjoint: convert to f16, bf16 or f32");
        }
        if let Some(&var) = self.outer.get(&v) {
            let sum = self.read(var);
            let sum = self.add(sum, more);
            self.assign(var, sum);
            return Ok(());
        }
        let sum = match self.adjoints.remove(&v) {
            Some(sum) if !planted!("adjoint-of-the-last-use-alone") => self.add(sum, more),
            _ => more,
        };
        self.adjoints.insert(v, sum);
        Ok(())
    }

    /// The operation of a value has no adjoint.
    fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Refused> {
        Err(Refused::new(self.span, why))
    }

    fn is_float(&self, v: Value) -> bool {
        self.f.ty(v).dtype.is_float()
    }

    fn dtype(&self, v: Value) -> DType {
        self.g.ty(v).dtype
    }

    fn ty(&self, v: Value) -> Type {
        self.g.ty(v).clone()
    }
}
