//! Indices as polynomials: a scalar or a tile of integers as a sum of products, modulo 2^64, as indices are computed.

use crate::dtype::DType;
use crate::ir::walk::{assigned, values};
use crate::ir::{Binary, Func, Number, Op, Stmt, StmtKind, Value, Var};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A factor that is not decomposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// The index of an element in a dimension of the tile: 0, 1, ..
    Lane(usize),
    Word(usize),
    Program(u32),
    Programs(u32),
    /// A scalar that the program computes.
    Scalar(Value),
    /// The first index of a tile of indices that wraps around at an extent: see [`Wrap`].
    Wrapped(Value),
}

impl Factor {
    pub fn lane(self) -> Option<usize> {
        if let Factor::Lane(d) = self { Some(d) } else { None }
    }

    pub fn word(self) -> Option<usize> {
        if let Factor::Word(w) = self { Some(w) } else { None }
    }

    pub fn wrapped(self) -> Option<Value> {
        if let Factor::Wrapped(tile) = self { Some(tile) } else { None }
    }
}

/// A tile of consecutive indices from a multiple of its length on, modulo an argument word. If the word is a multiple
/// of the length too, the remainders are consecutive as well.
#[derive(Clone, Debug)]
pub struct Wrap {
    pub begin: Polynomial,
    pub extent: usize,
    pub length: usize,
}

/// The terms: for each ordered list of factors a constant other than 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial(pub BTreeMap<Vec<Factor>, i128>);

/// The most terms. Longer sums are given up.
const MAX_TERMS: usize = 32;

impl Polynomial {
    pub fn constant(n: i128) -> Polynomial {
        Polynomial::default().plus([(vec![], n)])
    }

    pub fn factor(a: Factor) -> Polynomial {
        Polynomial::default().plus([(vec![a], 1)])
    }

    fn plus(mut self, terms: impl IntoIterator<Item = (Vec<Factor>, i128)>) -> Polynomial {
        for (t, n) in terms {
            let sum = self.0.entry(t.clone()).or_insert(0);
            *sum += n;
            if *sum == 0 {
                self.0.remove(&t);
            }
        }
        self
    }

    pub fn add(&self, o: &Polynomial) -> Polynomial {
        self.clone().plus(o.0.clone())
    }

    pub fn sub(&self, o: &Polynomial) -> Polynomial {
        self.clone().plus(o.0.iter().map(|(t, n)| (t.clone(), -n)))
    }

    /// None where the product has too many terms or too large constants.
    pub fn mul(&self, o: &Polynomial) -> Option<Polynomial> {
        let mut out = Polynomial::default();
        for (a, n) in &self.0 {
            for (b, m) in &o.0 {
                let mut t = [a.as_slice(), b].concat();
                t.sort_unstable();
                out = out.plus([(t, n.checked_mul(*m).filter(|n| n.abs() < 1 << 62)?)]);
            }
        }
        (out.0.len() <= MAX_TERMS).then_some(out)
    }

    /// Divides by a constant that divides all terms.
    fn divided(&self, by: i128) -> Option<Polynomial> {
        let is_whole = |n: i128| n % by == 0 || planted!("polynomial-divided-with-a-rest");
        let each = |(t, n): (&Vec<Factor>, &i128)| is_whole(*n).then(|| (t.clone(), n / by));
        Some(Polynomial(self.0.iter().map(each).collect::<Option<_>>()?))
    }

    /// Renames the dimensions of lanes.
    pub fn at_lanes(&self, dims: &[usize]) -> Polynomial {
        self.mapped(|a| if let Factor::Lane(d) = a { Factor::Lane(dims[d]) } else { a })
    }

    /// Replaces each factor.
    fn mapped(&self, of: impl Fn(Factor) -> Factor) -> Polynomial {
        let each = |(t, n): (&Vec<Factor>, &i128)| {
            let mut t: Vec<Factor> = t.iter().map(|&a| of(a)).collect();
            t.sort_unstable();
            (t, *n)
        };
        Polynomial::default().plus(self.0.iter().map(each))
    }

    /// The polynomial if this argument word is 1.
    pub fn with_one(&self, word: usize) -> Polynomial {
        let each =
            |(t, n): (&Vec<Factor>, &i128)| (t.iter().copied().filter(|&a| a != Factor::Word(word)).collect(), *n);
        Polynomial::default().plus(self.0.iter().map(each))
    }

    pub fn factors(&self) -> impl Iterator<Item = Factor> {
        self.0.keys().flatten().copied()
    }

    pub fn as_constant(&self) -> Option<i128> {
        match self.0.iter().next() {
            None => Some(0),
            Some((t, n)) => (self.0.len() == 1 && t.is_empty()).then_some(*n),
        }
    }

    pub fn of(n: &Number) -> Polynomial {
        Polynomial([(n.words.iter().map(|&w| Factor::Word(w)).collect(), i128::from(n.times))].into())
    }

    /// The number that the launcher knows, if the polynomial is one.
    pub fn number(&self) -> Option<Number> {
        let (t, n) = self.0.iter().next().filter(|_| self.0.len() == 1)?;
        Some(Number { times: u64::try_from(*n).ok()?, words: t.iter().map(|a| a.word()).collect::<Option<_>>()? })
    }

    /// The dimension and the begin of an index that increases by 1 from lane to lane of one dimension.
    pub fn lane(&self) -> Option<(usize, Polynomial)> {
        let mut lanes = self.0.iter().filter(|(t, _)| t.iter().any(|a| a.lane().is_some()));
        let (Some((t, 1)), None) = (lanes.next(), lanes.next()) else { return None };
        let [Factor::Lane(d)] = t[..] else { return None };
        Some((d, self.sub(&Polynomial::factor(Factor::Lane(d)))))
    }

    /// Whether no term is subtracted. Factors may still be negative numbers that have wrapped around.
    pub fn counts_up(&self) -> bool {
        self.0.values().all(|&n| n > 0)
    }
}

/// A variable to which a loop adds once in each iteration.
struct Counter {
    before: Value,
    step: Value,
    iv: Value,
    /// The reads of the variable before the step of an iteration.
    reads: HashSet<Value>,
    /// The values that the loop computes.
    inside: HashSet<Value>,
}

#[derive(Clone, Copy)]
struct Loop {
    lo: Value,
    hi: Value,
    step: Value,
}

/// The polynomials of a function's values.
pub struct Polynomials<'a> {
    f: &'a Func,
    /// By variable.
    loops: HashMap<Value, Loop>,
    counters: HashMap<Var, Counter>,
    memo: RefCell<HashMap<Value, Option<Polynomial>>>,
    wraps: RefCell<HashMap<Value, Wrap>>,
}

impl<'a> Polynomials<'a> {
    pub fn new(f: &'a Func) -> Polynomials<'a> {
        let mut sums = Polynomials {
            f,
            loops: HashMap::new(),
            counters: HashMap::new(),
            memo: RefCell::default(),
            wraps: RefCell::default(),
        };
        sums.block(&f.body);
        sums
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for (i, s) in stmts.iter().enumerate() {
            match &s.kind {
                StmtKind::For { iv, lo, hi, step, body, .. } => {
                    self.loops.insert(*iv, Loop { lo: *lo, hi: *hi, step: *step });
                    if !body.iter().any(continues) || planted!("polynomial-counts-past-a-continue") {
                        self.counters(&stmts[..i], *iv, body);
                    }
                    self.block(body);
                }
                StmtKind::If { then, other, .. } => {
                    self.block(then);
                    self.block(other);
                }
                StmtKind::Loop { body } => self.block(body),
                _ => {}
            }
        }
    }

    /// The variables that have a value before a loop, and to which the loop adds a number.
    fn counters(&mut self, before: &[Stmt], iv: Value, body: &[Stmt]) {
        let f = self.f;
        for (j, s) in body.iter().enumerate() {
            let StmtKind::Assign(var, v) = &s.kind else { continue };
            let is_read = |v: Value| matches!(f.op(v), Op::ReadVar(of) if of == var);
            let step = match *f.op(*v) {
                Op::Binary(Binary::Add, a, b) if is_read(a) => b,
                Op::Binary(Binary::Add, a, b) if is_read(b) => a,
                _ => continue,
            };
            let first = before
                .iter()
                .rev()
                .find_map(|s| if let StmtKind::Assign(to, v) = &s.kind { (to == var).then_some(*v) } else { None });
            let times = assigned(&f.body, *var).len();
            let times = if planted!("polynomial-counter-of-two-loops") { times.min(2) } else { times };
            let (Some(before), 2) = (first, times) else { continue };
            let reads = values(&body[..j]).filter(|&v| is_read(v)).collect();
            self.counters.insert(*var, Counter { before, step, iv, reads, inside: values(body).collect() });
        }
    }

    /// How a tile wraps around, by its number in polynomials.
    pub fn wrap(&self, tile: Value) -> Wrap {
        self.wraps.borrow()[&tile].clone()
    }

    /// The end of the loop of a variable.
    pub fn end(&self, iv: Value) -> Option<Value> {
        self.loops.get(&iv).map(|l| l.hi)
    }

    /// The polynomial of an index; none where a value has none.
    pub fn of(&self, v: Value) -> Option<Polynomial> {
        if let Some(known) = self.memo.borrow().get(&v) {
            return known.clone();
        }
        // A value that depends on itself, by a variable, has none while it is being computed.
        self.memo.borrow_mut().insert(v, None);
        let scalar = self.f.ty(v).is_scalar() && self.f.ty(v).dtype == DType::U64;
        let sum = self
            .make(v)
            .filter(|s| s.0.len() <= MAX_TERMS)
            .or_else(|| scalar.then(|| Polynomial::factor(Factor::Scalar(v))));
        self.memo.borrow_mut().insert(v, sum.clone());
        sum
    }

    fn make(&self, v: Value) -> Option<Polynomial> {
        let f = self.f;
        if f.ty(v).dtype != DType::U64 {
            return None;
        }
        match *f.op(v) {
            // The constant is signed: an addition that wraps around is a subtraction.
            Op::Int(n) => Some(Polynomial::constant(i128::from(n as u64 as i64))),
            Op::Word { word } => Some(Polynomial::factor(Factor::Word(word))),
            Op::ProgramId(axis) => Some(Polynomial::factor(Factor::Program(axis))),
            Op::NumPrograms(axis) => Some(Polynomial::factor(Factor::Programs(axis))),
            Op::Arange { start } if f.shape(v)[0] == 1 => Some(Polynomial::constant(start)),
            Op::Arange { start } => Some(Polynomial::constant(start).add(&Polynomial::factor(Factor::Lane(0)))),
            Op::Splat(x) | Op::Broadcast(x) => self.of(x),
            Op::Expand(x, axis) => Some(
                self.of(x)?
                    .mapped(|a| if let Factor::Lane(d) = a { Factor::Lane(d + usize::from(d >= axis)) } else { a }),
            ),
            Op::Permute(x, ref perm) => Some(self.of(x)?.mapped(|a| {
                if let Factor::Lane(d) = a {
                    Factor::Lane(perm.iter().position(|&p| p == d).expect("a permutation"))
                } else {
                    a
                }
            })),
            // The argument must not be negative. Users of this form add a guard where it matters.
            Op::Cast(x) if matches!(f.op(x), Op::Word { .. }) && f.ty(x).dtype.is_int() => {
                if let Op::Word { word } = *f.op(x) { Some(Polynomial::factor(Factor::Word(word))) } else { None }
            }
            Op::Binary(Binary::Add, a, b) => Some(self.of(a)?.add(&self.of(b)?)),
            Op::Binary(Binary::Sub, a, b) => Some(if planted!("polynomial-sub-adds") {
                self.of(a)?.add(&self.of(b)?)
            } else {
                self.of(a)?.sub(&self.of(b)?)
            }),
            Op::Binary(Binary::Mul, a, b) => self.of(a)?.mul(&self.of(b)?),
            Op::Binary(Binary::Shl, a, b) => {
                let by = self.of(b)?.as_constant().filter(|n| (0..62).contains(n))?;
                self.of(a)?.mul(&Polynomial::constant(1 << by))
            }
            Op::Binary(Binary::Rem, a, b) if !f.ty(v).is_scalar() => self.wrapped(v, a, b),
            Op::ReadVar(var) => self.variable(v, var),
            _ => None,
        }
    }

    fn wrapped(&self, v: Value, index: Value, extent: Value) -> Option<Polynomial> {
        let (d, begin) = self.of(index)?.lane()?;
        let (extent, length) = (self.of(extent)?.number()?.as_word()?, self.f.shape(index)[d]);
        let from = planted!("polynomial-wraps-from-anywhere") || begin.0.values().all(|n| n % length as i128 == 0);
        if !length.is_power_of_two() || !from {
            return None;
        }
        self.wraps.borrow_mut().insert(v, Wrap { begin, extent, length });
        Some(Polynomial::factor(Factor::Lane(d)).add(&Polynomial::factor(Factor::Wrapped(v))))
    }

    fn variable(&self, read: Value, var: Var) -> Option<Polynomial> {
        if let [once] = assigned(&self.f.body, var)[..] {
            return self.of(once);
        }
        let c = self.counters.get(&var).filter(|c| c.reads.contains(&read))?;
        let Loop { lo, step: by, .. } = self.loops[&c.iv];
        let begin = if planted!("polynomial-counts-from-zero") { Polynomial::default() } else { self.of(lo)? };
        if self.f.ty(c.iv).dtype != DType::U64 {
            return None;
        }
        let step = self.of(c.step)?;
        if step
            .factors()
            .any(|a| matches!(a, Factor::Scalar(v) | Factor::Wrapped(v) if v == c.iv || c.inside.contains(&v)))
        {
            return None;
        }
        let each = step.divided(self.of(by)?.as_constant().filter(|&n| n > 0)?)?;
        Some(self.of(c.before)?.add(&each.mul(&Polynomial::factor(Factor::Scalar(c.iv)).sub(&begin))?))
    }
}

/// Whether a statement of a loop's body may begin its next iteration.
fn continues(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Continue => true,
        StmtKind::If { then, other, .. } => then.iter().chain(other).any(continues),
        _ => false,
    }
}
