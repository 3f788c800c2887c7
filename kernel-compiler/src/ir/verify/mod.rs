//! The verifier: the invariants of the IR, checked after every pass in debug builds and tests.
//!
//! - A value is defined once, before its uses, in a block that encloses them.
//! - A variable is assigned on every way to a read of it.
//! - A variable keeps one type: all values assigned to it and read from it have that type.
//! - Operands of an elementwise op have the shape of its result, and the dtype that the op asks for. 8-bit floats are
//!   loaded, stored, converted and multiplied by `dot`, and nothing else.
//! - Control flow depends on scalars of type `bool`. Loop bounds are integers of the type of the loop's
//!   variable.
//! - `break` and `continue` stand in a loop.
//! - Shape operations, products, reductions and accesses have their declared shapes, and tiles have one to five
//!   dimensions. A reshape keeps the padding.
//! - Products of f16 are summed in f32, except in a function as it is inferred.
//! - A closure of a reduction computes a scalar of the reduced type from two of them, and reads nothing.
//! - Accesses go to arrays: stores and atomics go to writable ones, and only accesses to slices check bounds.
//! - A block pointer has as many offsets as dimensions, at least as many as its tile. They are scalars of type `u64`,
//!   and outside of the array there are zeros.
//! - Argument words are those of the parameters, in guards and block pointers too.
//! - The rank of a thread block in its cluster is asked for in a cluster alone.
//! - Statements are numbered in the order of the function.

mod op;

use super::{
    Address, Base, Block, BlockPointer, Func, Number, Op, ParamKind, Stmt, StmtId, StmtKind, Test, Type, Value, Var,
};
use crate::dtype::DType;
use std::fmt;
use tilewright_types::limits::{MAX_RANK, MAX_TENSOR_MAP_RANK};

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The innermost statement that breaks it; none for the part before the statements.
    pub stmt: Option<StmtId>,
    /// The reason in words.
    pub why: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.stmt {
            Some(id) => write!(f, "{id:?}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Invalid {}

/// The first invariant that does not hold.
pub fn verify(f: &Func) -> Result<(), Invalid> {
    verified(f, false)
}

/// The same of a function as it is inferred: `wide_sums` has not widened the sums of its products.
pub fn verify_inferred(f: &Func) -> Result<(), Invalid> {
    verified(f, true)
}

fn verified(f: &Func, has_narrow_sums: bool) -> Result<(), Invalid> {
    let nothing = vec![false; f.vars.len()];
    let mut v = Verifier {
        f,
        has_narrow_sums,
        words: f.params.iter().map(|p| p.kind.words()).sum(),
        ever: vec![false; f.values.len()],
        defined: vec![false; f.values.len()],
        assigned: Some(nothing),
        breaks: vec![],
        next: 0,
    };
    v.head().map_err(|why| Invalid { stmt: None, why })?;
    v.block(&f.body)
}

/// The variables that are assigned on every way to a statement; none where no way leads.
type Assigned = Option<Vec<bool>>;

/// The variables assigned on both of two joining paths.
fn join(a: Assigned, b: Assigned) -> Assigned {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.into_iter().zip(b).map(|(a, b)| a && b).collect()),
        (a, b) => a.or(b),
    }
}

struct Verifier<'a> {
    f: &'a Func,
    /// Whether products of f16 may be summed in f16.
    has_narrow_sums: bool,
    /// How many there are.
    words: usize,
    /// Values that some statement defines.
    ever: Vec<bool>,
    /// Values that are in reach.
    defined: Vec<bool>,
    assigned: Assigned,
    /// The variables assigned behind each loop around the statement, by its `break`s so far.
    breaks: Vec<Assigned>,
    /// The id of the next statement.
    next: u32,
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

impl Verifier<'_> {
    fn head(&self) -> Result<(), String> {
        let f = self.f;
        check(f.warps.is_power_of_two() && f.warps <= 32, || {
            format!("a program has 1, 2, 4, 8, 16 or 32 warps, not {}", f.warps)
        })?;
        check(f.ctas.is_power_of_two() && f.ctas <= 8, || {
            format!("a cluster has 1, 2, 4 or 8 thread blocks, not {}", f.ctas)
        })?;
        let mut first_word = 0;
        for p in &f.params {
            check(p.first_word == first_word, || {
                format!("parameter `{}` begins at argument word {}, not {first_word}", p.name, p.first_word)
            })?;
            first_word += p.kind.words();
            if let ParamKind::View { rank, .. } = p.kind {
                check((1..=MAX_RANK).contains(&rank), || format!("`{}` is a view of rank {rank}", p.name))?;
            }
        }
        let of_params = |pdl: &Vec<usize>| pdl.iter().all(|&i| i < f.params.len());
        check(f.pdl.as_ref().is_none_or(of_params), || "`pdl` names no parameter".into())?;
        for [x, y] in &f.aliases {
            let of = |i: &usize| f.params.get(*i).map(|p| (p.kind.is_array(), p.kind.is_mut(), p.dtype.size()));
            let [a, b] = [of(x), of(y)];
            check(matches!((a, b), (Some((true, false, a)), Some((true, true, b))) if a == b), || {
                "`alias` takes an array that is read and one with elements of its size that is written".into()
            })?;
        }
        for g in &f.guards {
            self.number(&g.of)?;
            match g.test {
                Test::Multiple(n) => check(n > 0, || "a guard asks for a multiple of 0".into())?,
                Test::Within(lo, hi) => check(lo <= hi, || format!("a guard asks for {lo} to {hi}"))?,
                Test::AtMost(word) => self.word(word)?,
                Test::Equal(_) => {}
            }
        }
        f.vars.iter().try_for_each(|v| self.is_type(&v.ty))
    }

    fn word(&self, word: usize) -> Result<(), String> {
        check(word < self.words, || format!("there is no argument word {word}: the parameters have {}", self.words))
    }

    /// A constant times argument words of the parameters, in order: equal numbers are then written the same.
    fn number(&self, n: &Number) -> Result<(), String> {
        n.words.iter().try_for_each(|&w| self.word(w))?;
        check(n.words.is_sorted(), || format!("the argument words of {n:?} are not in order"))?;
        check(n.times > 0, || format!("{n:?} is no extent and no stride"))
    }

    fn is_type(&self, ty: &Type) -> Result<(), String> {
        let fits = ty.shape.len() <= MAX_RANK && ty.shape.iter().all(|&e| e > 0);
        check(fits, || format!("no tile is {ty}: it has 1 to {MAX_RANK} dimensions of 1 element at least"))
    }

    fn ty(&self, v: Value) -> &Type {
        self.f.ty(v)
    }

    fn block(&mut self, stmts: &Block) -> Result<(), Invalid> {
        let mut mine = vec![];
        for s in stmts {
            let id = s.id;
            let at = |why: String| Invalid { stmt: Some(id), why };
            let in_order = || format!("the statement is number {} of the function", self.next);
            check(id.0 == self.next, in_order).map_err(at)?;
            self.next += 1;
            self.stmt(s, &mut mine).map_err(at)?;
            self.inner(s)?;
        }
        mine.into_iter().for_each(|v: Value| self.defined[v.0 as usize] = false);
        Ok(())
    }

    /// The blocks of a statement.
    fn inner(&mut self, s: &Stmt) -> Result<(), Invalid> {
        match &s.kind {
            StmtKind::If { then, other, .. } => {
                let before = self.assigned.clone();
                self.block(then)?;
                let after = std::mem::replace(&mut self.assigned, before);
                self.block(other)?;
                self.assigned = join(after, self.assigned.take());
            }
            StmtKind::For { iv, body, .. } => {
                // It may not run at all.
                let before = self.assigned.clone();
                self.breaks.push(None);
                self.block(body)?;
                self.breaks.pop();
                self.assigned = before;
                self.defined[iv.0 as usize] = false;
            }
            StmtKind::Loop { body } => {
                self.breaks.push(None);
                self.block(body)?;
                self.assigned = self.breaks.pop().flatten();
            }
            _ => {}
        }
        Ok(())
    }

    fn define(&mut self, v: Value, mine: &mut Vec<Value>) -> Result<(), String> {
        let i = v.0 as usize;
        check(!std::mem::replace(&mut self.ever[i], true), || format!("{v:?} is defined twice"))?;
        self.is_type(self.ty(v))?;
        self.defined[i] = true;
        mine.push(v);
        Ok(())
    }

    fn is_value(&self, v: Value) -> Result<(), String> {
        check((v.0 as usize) < self.f.values.len(), || format!("{v:?} is no value"))
    }

    fn uses(&self, values: impl IntoIterator<Item = Value>) -> Result<(), String> {
        for v in values {
            let known = self.defined.get(v.0 as usize).is_some_and(|&d| d);
            check(known, || format!("{v:?} is not defined here"))?;
        }
        Ok(())
    }

    fn scalar(&self, v: Value, dtype: Option<DType>) -> Result<(), String> {
        let ty = self.ty(v);
        check(ty.is_scalar() && dtype.is_none_or(|d| ty.dtype == d), || match dtype {
            Some(d) => format!("{v:?} is {ty}, not {d}"),
            None => format!("{v:?} is {ty}, not a scalar"),
        })
    }

    fn same(&self, v: Value, ty: &Type) -> Result<(), String> {
        check(self.ty(v) == ty, || format!("{v:?} is {}, not {ty}", self.ty(v)))
    }

    fn shape(&self, v: Value, shape: &[usize]) -> Result<(), String> {
        check(self.f.shape(v) == shape, || format!("{v:?} is {}, not of shape {shape:?}", self.ty(v)))
    }

    /// The statement without its blocks.
    fn stmt(&mut self, s: &Stmt, mine: &mut Vec<Value>) -> Result<(), String> {
        match &s.kind {
            StmtKind::Let(v) => {
                self.is_value(*v)?;
                self.op(*v)?;
                self.define(*v, mine)
            }
            StmtKind::Assign(var, v) => {
                self.uses([*v])?;
                let ty = self.var(*var)?.clone();
                self.same(*v, &ty)?;
                if let Some(assigned) = &mut self.assigned {
                    assigned[var.0 as usize] = true;
                }
                Ok(())
            }
            StmtKind::Store { ptr, value, mask, block_pointer, .. } => {
                self.uses(ptr.operands().chain([value]).chain(mask).copied())?;
                let ty = self.ty(*value).clone();
                self.access(ptr, &ty, *mask, block_pointer.as_ref())?;
                self.writes(ptr)
            }
            StmtKind::If { cond, .. } => {
                self.uses([*cond])?;
                self.scalar(*cond, Some(DType::Bool))
            }
            StmtKind::For { iv, lo, hi, step, .. } => {
                self.uses([*lo, *hi, *step])?;
                self.is_value(*iv)?;
                let dtype = self.ty(*iv).dtype;
                check(dtype.is_int(), || format!("{iv:?} counts in {dtype}"))?;
                [*iv, *lo, *hi, *step].into_iter().try_for_each(|v| self.scalar(v, Some(dtype)))?;
                check(matches!(self.f.op(*iv), Op::LoopVar), || format!("{iv:?} is no loop variable"))?;
                // In reach of the body alone, which comes next.
                self.define(*iv, &mut vec![])
            }
            StmtKind::Loop { .. } => Ok(()),
            StmtKind::Break | StmtKind::Continue => {
                let Some(breaks) = self.breaks.last_mut() else { return Err("no loop to leave".into()) };
                let here = self.assigned.take();
                if matches!(s.kind, StmtKind::Break) {
                    *breaks = join(breaks.take(), here);
                }
                Ok(())
            }
            StmtKind::Return => {
                self.assigned = None;
                Ok(())
            }
            StmtKind::Assert { cond, .. } => {
                self.uses([*cond])?;
                check(self.ty(*cond).dtype == DType::Bool, || format!("{cond:?} is no condition"))
            }
            StmtKind::Print { value, .. } => self.uses([*value]),
            StmtKind::Clear { array, .. } => check(*array < self.f.shared.len(), || "no such shared array".into()),
        }
    }

    fn var(&self, var: Var) -> Result<&Type, String> {
        self.f.vars.get(var.0 as usize).map(|v| &v.ty).ok_or_else(|| format!("{var:?} is no variable"))
    }

    fn writes(&self, ptr: &Address) -> Result<(), String> {
        let param = match ptr.base {
            Base::Slice(param) | Base::Raw(param) => param,
            Base::Shared(_) => return Ok(()),
            Base::Pointer { mutable, .. } => return check(mutable, || "a `*const` may only be read".into()),
        };
        let p = &self.f.params[param];
        check(p.kind.is_mut(), || format!("`{}` may only be read", p.name))
    }

    /// Elements of a type at a place.
    fn access(
        &self,
        ptr: &Address,
        ty: &Type,
        mask: Option<Value>,
        block_pointer: Option<&BlockPointer>,
    ) -> Result<(), String> {
        let f = self.f;
        match ptr.base {
            Base::Slice(param) | Base::Raw(param) => {
                let Some(p) = f.params.get(param) else { return Err("no such parameter".into()) };
                check(p.kind != ParamKind::Scalar, || format!("`{}` is no array", p.name))?;
                check(ty.dtype == p.dtype, || format!("{ty} is no element of `{}`, which has {}", p.name, p.dtype))?;
                let sliced = matches!(p.kind, ParamKind::Slice { .. });
                let bounded = matches!(ptr.base, Base::Slice(_));
                check(sliced || !bounded, || format!("`{}` is no slice, of which bounds would be checked", p.name))?;
            }
            Base::Shared(array) => {
                let Some(a) = f.shared.get(array) else { return Err("no such shared array".into()) };
                check(ty.dtype == a.dtype, || format!("{ty} is no element of `{}`, which has {}", a.name, a.dtype))?;
                check(block_pointer.is_none(), || "a block pointer is in a parameter".into())?;
            }
            Base::Pointer { address, dtype, .. } => {
                check(ty.dtype == dtype, || format!("{ty} is no element behind a pointer to {dtype}"))?;
                let of = self.ty(address);
                let fits = of.dtype == DType::U64 && (of.is_scalar() || of.shape == ty.shape);
                check(fits, || format!("{address:?} is no address, nor addresses for a tile {:?}", ty.shape))?;
                check(block_pointer.is_none(), || "a block pointer is in a parameter".into())?;
            }
        }
        self.shape(ptr.index, &ty.shape)?;
        check(self.ty(ptr.index).dtype.is_int(), || format!("{:?} is no index", ptr.index))?;
        if let Some(m) = mask {
            self.shape(m, &ty.shape)?;
            check(self.ty(m).dtype == DType::Bool, || format!("{m:?} is no mask"))?;
        }
        block_pointer.map_or(Ok(()), |w| self.block_pointer(w, &ty.shape))
    }

    fn block_pointer(&self, w: &BlockPointer, shape: &[usize]) -> Result<(), String> {
        self.uses(w.at.iter().copied())?;
        w.at.iter().try_for_each(|&v| self.scalar(v, Some(DType::U64)))?;
        let fits = w.at.len() == w.dims.len() && (shape.len()..=MAX_TENSOR_MAP_RANK).contains(&w.dims.len());
        check(fits && !shape.is_empty(), || {
            format!("a block pointer of {} dimensions and {} offsets for a tile {shape:?}", w.dims.len(), w.at.len())
        })?;
        w.dims.iter().try_for_each(|d| self.number(&d.extent).and_then(|()| self.number(&d.stride)))?;
        let last = &w.dims[w.dims.len() - 1].stride;
        check(!last.words.is_empty() || last.times == 1, || {
            format!("the last dimension of a block pointer has the stride {last:?}, not 1")
        })
    }
}
