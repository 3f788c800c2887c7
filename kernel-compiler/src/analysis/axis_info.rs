//! Phase 3, analyse: what is known of integer tiles: runs of consecutive values, alignment, constancy.
//!
//! From it follow the width of memory accesses and the order in which a tile is laid over threads. It is computed twice,
//! for the two variants of an instance: `aligned` assumes that addresses are multiples of 16 bytes and that the sizes
//! that reach an index are multiples of a 16-byte vector (the launcher checks both), `general` assumes nothing.

use crate::ir::{Binary, Func, Guard, Op, Stmt, StmtKind, Test, Unary, Value};

/// Bytes of the widest access of a thread.
pub const VECTOR_BYTES: usize = 16;

/// A value is `rem` modulo `modulus`, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congruence {
    pub modulus: u64,
    pub rem: u64,
}

const LARGEST: u64 = 1 << 62;

impl Congruence {
    const UNKNOWN: Congruence = Congruence { modulus: 1, rem: 0 };

    fn new(modulus: u64, rem: u64) -> Self {
        Congruence { modulus, rem: rem & (modulus - 1) }
    }

    /// The power of two known to divide the value.
    pub fn divisor(self) -> u64 {
        if self.rem == 0 { self.modulus } else { 1 << self.rem.trailing_zeros() }
    }

    fn add(self, o: Self) -> Self {
        Self::new(self.modulus.min(o.modulus), self.rem.wrapping_add(o.rem))
    }

    fn neg(self) -> Self {
        Self::new(self.modulus, self.rem.wrapping_neg())
    }

    fn mul(self, o: Self) -> Self {
        let scaled = |a: Self, k: Self| {
            let modulus = a.modulus.saturating_mul(k.divisor()).min(LARGEST);
            Self::new(modulus, a.rem.wrapping_mul(k.rem))
        };
        match (self.modulus, o.modulus) {
            (_, LARGEST) => scaled(self, o),
            (LARGEST, _) => scaled(o, self),
            _ => Self::new(self.divisor().saturating_mul(o.divisor()).min(LARGEST), 0),
        }
    }

    fn meet(self, o: Self) -> Self {
        let difference = self.rem ^ o.rem;
        let agree = if difference == 0 { LARGEST } else { 1 << difference.trailing_zeros() };
        Self::new(self.modulus.min(o.modulus).min(agree), self.rem)
    }

    fn coarser(self, modulus: u64) -> Self {
        Self::new(self.modulus.min(modulus), self.rem)
    }
}

/// What is known along one dimension: in every aligned group of so many (a power of two) elements, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// ... each is one more than the one before.
    pub ascending: u64,
    /// ... each is one less.
    pub descending: u64,
    /// ... all are equal.
    pub constant: u64,
    /// The lowest element of each ascending or descending group; every element if there is no such group.
    pub low: Congruence,
}

impl Along {
    fn unknown() -> Self {
        Along { ascending: 1, descending: 1, constant: 1, low: Congruence::UNKNOWN }
    }

    /// What every single element satisfies.
    fn every(self) -> Congruence {
        if self.ascending > 1 || self.descending > 1 { Congruence::UNKNOWN } else { self.low }
    }

    /// The lowest of each group of `n`, a part of an ascending or descending group.
    fn low_of(self, n: u64) -> Congruence {
        match self.ascending.max(self.descending) {
            1 => self.low,
            run if run == n => self.low,
            _ => self.low.coarser(n),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub along: Vec<Along>,
    /// Every element.
    pub every: Congruence,
}

impl Info {
    fn unknown(rank: usize) -> Self {
        Info { along: vec![Along::unknown(); rank], every: Congruence::UNKNOWN }
    }

    fn uniform(shape: &[usize], every: Congruence) -> Self {
        let along = shape
            .iter()
            .map(|&e| Along { constant: e.next_power_of_two() as u64, low: every, ..Along::unknown() })
            .collect();
        Info { along, every }
    }

    fn meet(&self, o: &Info) -> Info {
        let along = self.along.iter().zip(&o.along).map(|(a, b)| {
            let (ascending, descending) = (a.ascending.min(b.ascending), a.descending.min(b.descending));
            let n = ascending.max(descending);
            let low = if n > 1 { a.low_of(n).meet(b.low_of(n)) } else { a.every().meet(b.every()) };
            Along { ascending, descending, constant: a.constant.min(b.constant), low }
        });
        Info { along: along.collect(), every: self.every.meet(o.every) }
    }
}

/// What the launcher vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assume {
    Nothing,
    /// The last stride of every view is 1.
    Rows,
    /// That, and addresses and sizes that make vectors.
    Vectors,
}

#[derive(Debug)]
pub struct AxisAnalysis {
    info: Vec<Option<Info>>,
    aligned: bool,
    pub guards: Vec<Guard>,
}

impl AxisAnalysis {
    /// The one value that a slot may have.
    pub fn known(&self, slot: usize) -> Option<u64> {
        self.guards
            .iter()
            .find_map(|r| if let Test::Equal(n) = r.test { (r.of.as_slot() == Some(slot)).then_some(n) } else { None })
    }

    pub fn info(&self, f: &Func, v: Value) -> Info {
        self.info[v.0 as usize].clone().unwrap_or_else(|| Info::unknown(f.shape(v).len()))
    }

    /// The dimensions of an index tile, those with the longest runs of consecutive addresses first.
    pub fn order(&self, f: &Func, index: Value) -> Vec<usize> {
        let info = self.info(f, index);
        let run = |d: usize| info.along[d].ascending.max(info.along[d].descending);
        let mut order: Vec<usize> = (0..f.shape(index).len()).rev().collect();
        order.sort_by_key(|&d| std::cmp::Reverse(run(d)));
        order
    }

    /// Elements of `bytes` that one aligned access may move along `dim`, and whether their addresses descend.
    pub fn vector(&self, f: &Func, index: Value, dim: usize, bytes: usize) -> (usize, bool) {
        let a = self.info(f, index).along[dim];
        let descending = a.descending > a.ascending;
        let run = a.ascending.max(a.descending);
        if !self.aligned || run == 1 {
            return (1, false);
        }
        let mut n = (VECTOR_BYTES / bytes) as u64;
        while n > 1 && (run < n || a.low.divisor() < n && !planted!("axis-info-ignores-alignment")) {
            n /= 2;
        }
        (n as usize, descending && n > 1)
    }

    /// How many elements along the last dimension are known to be consecutive: for the CPU's block copies.
    pub fn run(&self, f: &Func, index: Value) -> usize {
        let (shape, info) = (f.shape(index), self.info(f, index));
        let (Some(&extent), Some(a)) = (shape.last(), info.along.last()) else { return 1 };
        if a.ascending as usize >= extent { extent } else { 1 }
    }
}

/// What follows from requirements.
pub fn learn(f: &Func, guards: Vec<Guard>, aligned: bool) -> AxisAnalysis {
    let mut cx = Context { f, guards: &guards, info: vec![None; f.values.len()], vars: vec![None; f.vars.len()] };
    // Variables in loops: again until nothing is learnt. Every round loses a factor of two somewhere.
    for _ in 0..64 {
        let before = cx.vars.clone();
        cx.block(&f.body);
        if cx.vars == before {
            break;
        }
    }
    let info = cx.info;
    AxisAnalysis { info, aligned, guards }
}

struct Context<'a> {
    f: &'a Func,
    guards: &'a [Guard],
    info: Vec<Option<Info>>,
    vars: Vec<Option<Info>>,
}

impl Context<'_> {
    fn block(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            match &s.kind {
                StmtKind::Let(v) => self.info[v.0 as usize] = Some(self.value(*v)),
                StmtKind::Assign(var, v) => {
                    let new = self.get(*v);
                    let slot = &mut self.vars[var.0 as usize];
                    *slot = Some(match slot {
                        None => new,
                        Some(old) if planted!("axis-info-first-assignment-only") => old.clone(),
                        Some(old) => old.meet(&new),
                    });
                }
                StmtKind::If { then, other, .. } => {
                    self.block(then);
                    self.block(other);
                }
                StmtKind::For { iv, lo, step, body, .. } => {
                    let (lo, step) = (self.get(*lo).every, self.get(*step).every);
                    self.info[iv.0 as usize] = Some(Info {
                        along: vec![],
                        every: if planted!("axis-info-forgets-the-step") { lo } else { lo.coarser(step.divisor()) },
                    });
                    self.block(body);
                }
                StmtKind::Loop { body } => self.block(body),
                _ => {}
            }
        }
    }

    fn get(&self, v: Value) -> Info {
        self.info[v.0 as usize].clone().unwrap_or_else(|| Info::unknown(self.f.shape(v).len()))
    }

    fn value(&self, v: Value) -> Info {
        let shape = self.f.shape(v);
        let rank = shape.len();
        let constancy = |ops: &[Value]| {
            let mut i = Info::unknown(rank);
            for (d, a) in i.along.iter_mut().enumerate() {
                a.constant = ops.iter().map(|&o| self.get(o).along[d].constant).min().unwrap_or(1);
            }
            i
        };
        if !self.f.ty(v).dtype.is_int() {
            return match self.f.op(v) {
                op if op.is_elementwise() => constancy(&op.operands()),
                Op::Splat(_) => Info::uniform(shape, Congruence::UNKNOWN),
                _ => Info::unknown(rank),
            };
        }
        match self.f.op(v) {
            Op::Int(n) => Info::uniform(shape, Congruence::new(LARGEST, *n as u64)),
            Op::Slot { slot } => {
                let of = |r: &Guard| match r.test {
                    Test::Multiple(by) if by.is_power_of_two() => Congruence::new(by, 0),
                    Test::Equal(n) => Congruence::new(LARGEST, n),
                    _ => Congruence::UNKNOWN,
                };
                let known = self.guards.iter().filter(|r| r.of.as_slot() == Some(*slot)).map(of);
                Info::uniform(shape, known.max_by_key(|c| c.modulus).unwrap_or(Congruence::UNKNOWN))
            }
            Op::Arange { start } => {
                let n = shape[0].next_power_of_two() as u64;
                let low = Congruence::new(if n == 1 { LARGEST } else { n }, *start as u64);
                let every = if n == 1 { low } else { Congruence::UNKNOWN };
                Info { along: vec![Along { ascending: n, descending: 1, constant: 1, low }], every }
            }
            Op::Splat(s) => Info::uniform(shape, self.get(*s).every),
            Op::ReadVar(var) => self.vars[var.0 as usize].clone().unwrap_or_else(|| Info::unknown(rank)),
            Op::Cast(x) if self.f.ty(*x).dtype.is_int() => self.get(*x),
            Op::Unary(Unary::Neg, x) => {
                self.subtract(&Info::uniform(shape, Congruence::new(LARGEST, 0)), &self.get(*x))
            }
            Op::Binary(Binary::Add, a, b) => self.add(&self.get(*a), &self.get(*b)),
            Op::Binary(Binary::Sub, a, b) => self.subtract(&self.get(*a), &self.get(*b)),
            Op::Binary(Binary::Mul, a, b) => self.multiply(&self.get(*a), &self.get(*b)),
            Op::Binary(Binary::Shl, a, b) => match self.constant(*b) {
                Some(k) if k < 62 && (k as usize) < 8 * self.f.ty(v).dtype.size() => {
                    self.multiply(&self.get(*a), &Info::uniform(shape, Congruence::new(LARGEST, 1 << k)))
                }
                _ => constancy(&[*a, *b]),
            },
            // Those of negative numbers turn around at zero.
            Op::Binary(Binary::Div | Binary::Rem, a, b) if self.f.ty(v).dtype.is_signed() => constancy(&[*a, *b]),
            Op::Binary(op @ (Binary::Div | Binary::Rem), a, b) => match self.constant(*b) {
                Some(k) if k.is_power_of_two() => self.by_power_of_two(*op, &self.get(*a), k),
                // A multiple of a power of two, to which the index wraps around.
                None if *op == Binary::Rem && self.get(*b).every.divisor() > 1 => {
                    self.by_power_of_two(*op, &self.get(*a), self.get(*b).every.divisor())
                }
                _ => constancy(&[*a, *b]),
            },
            Op::Expand(x, axis) => {
                let mut i = self.get(*x);
                i.along.insert(*axis, Along { low: i.every, ..Along::unknown() });
                i
            }
            Op::Broadcast(x) => {
                let mut i = self.get(*x);
                for (d, a) in i.along.iter_mut().enumerate().filter(|&(d, _)| self.f.shape(*x)[d] != shape[d]) {
                    a.constant = shape[d].next_power_of_two() as u64;
                }
                i
            }
            Op::Permute(x, perm) => {
                let i = self.get(*x);
                Info { along: perm.iter().map(|&p| i.along[p]).collect(), every: i.every }
            }
            Op::Reshape(x) => Info { every: self.get(*x).every, ..Info::unknown(rank) },
            op if op.is_elementwise() => {
                constancy(&op.operands().into_iter().filter(|o| self.f.shape(*o).len() == rank).collect::<Vec<_>>())
            }
            _ => Info::unknown(rank),
        }
    }

    fn constant(&self, v: Value) -> Option<u64> {
        let c = self.get(v).every;
        (c.modulus == LARGEST).then_some(c.rem)
    }

    fn add(&self, a: &Info, b: &Info) -> Info {
        let along = a.along.iter().zip(&b.along).map(|(a, b)| {
            let up = (a.ascending.min(b.constant)).max(a.constant.min(b.ascending));
            let down = (a.descending.min(b.constant)).max(a.constant.min(b.descending));
            let constant = a.constant.min(b.constant);
            let n = up.max(down);
            let low = if n > 1 { a.low_of(n).add(b.low_of(n)) } else { a.every().add(b.every()) };
            Along { ascending: if up == n { up } else { 1 }, descending: if up == n { 1 } else { down }, constant, low }
        });
        Info { along: along.collect(), every: a.every.add(b.every) }
    }

    fn subtract(&self, a: &Info, b: &Info) -> Info {
        // Turned around: what ascends descends, and its lowest element is the one that was highest.
        let along = b.along.iter().map(|b| {
            let n = b.ascending.max(b.descending);
            let highest =
                b.low.add(Congruence::new(LARGEST, if planted!("axis-info-lowest-of-descending") { 0 } else { n - 1 }));
            Along { ascending: b.descending, descending: b.ascending, constant: b.constant, low: highest.neg() }
        });
        self.add(a, &Info { along: along.collect(), every: b.every.neg() })
    }

    fn multiply(&self, a: &Info, b: &Info) -> Info {
        let one = Congruence::new(LARGEST, 1);
        if b.every == one {
            return a.clone();
        }
        if a.every == one {
            return b.clone();
        }
        let along = a.along.iter().zip(&b.along).map(|(a, b)| Along {
            constant: a.constant.min(b.constant),
            low: a.every().mul(b.every()),
            ..Along::unknown()
        });
        Info { along: along.collect(), every: a.every.mul(b.every) }
    }

    fn by_power_of_two(&self, op: Binary, a: &Info, k: u64) -> Info {
        let along = a.along.iter().map(|a| {
            // Only groups that start at a multiple of k stay whole.
            let whole = if a.low.rem == 0 || planted!("axis-info-rem-of-shifted") {
                a.ascending.min(k).min(a.low.modulus)
            } else {
                1
            };
            match op {
                Binary::Rem => Along {
                    ascending: whole,
                    constant: a.constant,
                    low: if whole > 1 { a.low_of(whole).coarser(k) } else { a.every().coarser(k) },
                    descending: 1,
                },
                _ => Along { constant: a.constant.max(whole), ..Along::unknown() },
            }
        });
        let every = if op == Binary::Rem { a.every.coarser(k) } else { Congruence::UNKNOWN };
        Info { along: along.collect(), every }
    }
}
