//! Contiguity, divisibility and constancy of integer tiles, and constancy of masks, by dimension.
//!
//! The width of memory accesses and the order of a layout's dimensions follow from it. The analysis runs once for each
//! of the variants of an instance. `aligned` assumes that addresses are multiples of 16 bytes, and that the sizes in an
//! index are multiples of a 16-byte vector. `aligned_8` and `aligned_4` assume the same of 8 and of 4 bytes. The
//! launcher checks that. `general` assumes nothing.

use crate::ir::{Address, Base, Binary, Func, Guard, Op, Stmt, StmtKind, Test, Unary, Value};
use std::collections::BTreeMap;
use tilewright_types::{DType, Width};

/// Bytes of the widest access of a thread.
pub(crate) const VECTOR_BYTES: usize = Width::Vectors.bytes();
/// Bytes of the narrowest asynchronous copy.
pub(crate) const WORD_BYTES: usize = Width::Words.bytes();

/// A value is `rem` modulo `modulus`, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congruence {
    /// A power of two: 1 if nothing is known, 2^62 if the value is known.
    pub modulus: u64,
    /// The remainder, below the modulus.
    pub rem: u64,
}

/// The modulus of a number that is known.
const MAX_MODULUS: u64 = 1 << 62;

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
            let modulus = a.modulus.saturating_mul(k.divisor()).min(MAX_MODULUS);
            Self::new(modulus, a.rem.wrapping_mul(k.rem))
        };
        match (self.modulus, o.modulus) {
            (_, MAX_MODULUS) => scaled(self, o),
            (MAX_MODULUS, _) => scaled(o, self),
            _ => Self::new(self.divisor().saturating_mul(o.divisor()).min(MAX_MODULUS), 0),
        }
    }

    /// By a power of two.
    fn quotient(self, k: u64) -> Self {
        match self.rem.is_multiple_of(k) && self.modulus > k {
            true => Self::new(self.modulus / k, self.rem / k),
            false => Self::UNKNOWN,
        }
    }

    fn meet(self, o: Self) -> Self {
        let difference = self.rem ^ o.rem;
        let agree = if difference == 0 || planted!("axis-info-keeps-the-first-remainder") {
            MAX_MODULUS
        } else {
            1 << difference.trailing_zeros()
        };
        Self::new(self.modulus.min(o.modulus).min(agree), self.rem)
    }

    fn coarser(self, modulus: u64) -> Self {
        Self::new(self.modulus.min(modulus), self.rem)
    }
}

/// The facts of one dimension, as in Triton's `AxisInfo`. Contiguity and constancy are sizes of aligned groups of
/// elements, powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimInfo {
    /// In each group every element is one more than the one before.
    pub contiguity: u64,
    /// In each group every element is one less than the one before. Triton has no such number.
    pub reverse_contiguity: u64,
    /// In each group all elements are equal.
    pub constancy: u64,
    /// The lowest element of each contiguous group; every element if there is no such group. Triton's divisibility is
    /// the [`divisor`](Congruence::divisor) of this.
    pub divisibility: Congruence,
}

impl DimInfo {
    fn unknown() -> Self {
        DimInfo { contiguity: 1, reverse_contiguity: 1, constancy: 1, divisibility: Congruence::UNKNOWN }
    }

    /// Each single element.
    fn element(self) -> Congruence {
        if self.contiguity > 1 || self.reverse_contiguity > 1 { Congruence::UNKNOWN } else { self.divisibility }
    }

    /// The lowest of each group of `n`, a part of a contiguous group.
    fn divisibility_of(self, n: u64) -> Congruence {
        match self.contiguity.max(self.reverse_contiguity) {
            1 => self.divisibility,
            run if run == n => self.divisibility,
            _ => self.divisibility.coarser(n),
        }
    }
}

/// The axis information of an integer tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisInfo {
    /// The facts of each dimension; empty for a scalar.
    pub dims: Vec<DimInfo>,
    /// Each single element.
    pub element: Congruence,
}

impl AxisInfo {
    fn unknown(rank: usize) -> Self {
        AxisInfo { dims: vec![DimInfo::unknown(); rank], element: Congruence::UNKNOWN }
    }

    fn uniform(shape: &[usize], element: Congruence) -> Self {
        let dims = shape
            .iter()
            .map(|&e| DimInfo { constancy: e.next_power_of_two() as u64, divisibility: element, ..DimInfo::unknown() })
            .collect();
        AxisInfo { dims, element }
    }

    fn meet(&self, o: &AxisInfo) -> AxisInfo {
        let dims = self.dims.iter().zip(&o.dims).map(|(a, b)| {
            let (contiguity, reverse_contiguity) =
                (a.contiguity.min(b.contiguity), a.reverse_contiguity.min(b.reverse_contiguity));
            let n = contiguity.max(reverse_contiguity);
            let divisibility =
                if n > 1 { a.divisibility_of(n).meet(b.divisibility_of(n)) } else { a.element().meet(b.element()) };
            DimInfo { contiguity, reverse_contiguity, constancy: a.constancy.min(b.constancy), divisibility }
        });
        AxisInfo { dims: dims.collect(), element: self.element.meet(o.element) }
    }
}

/// The guards that the launcher checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assume {
    /// No guard.
    Nothing,
    /// The last stride of every view is 1.
    Rows,
    /// Also: addresses and sizes are multiples of the bytes of a width.
    Multiples(Width),
}

/// The axis info of all values of a function, under guards. Of values that are no integers only constancy is known.
#[derive(Debug)]
pub struct AxisAnalysis {
    info: Vec<Option<AxisInfo>>,
    /// Bytes of the widest access that addresses allow; 0 where nothing is known of them.
    widest: usize,
    /// The guards that the facts hold under. The launcher checks them.
    pub guards: Vec<Guard>,
}

impl AxisAnalysis {
    /// The facts of an integer tile, as the stages show them.
    pub fn note(&self, f: &Func, v: Value) -> String {
        if f.ty(v).dtype.is_int() && !f.ty(v).is_scalar() {
            format!("{:?}", self.info(f, v).dims)
        } else {
            String::new()
        }
    }

    /// The argument words that may have one value alone, with these values.
    pub(crate) fn known_words(&self) -> BTreeMap<usize, u64> {
        let mut known = BTreeMap::new();
        for guard in &self.guards {
            if let (Some(word), Test::Equal(n)) = (guard.of.as_word(), &guard.test) {
                known.entry(word).or_insert(*n);
            }
        }
        known
    }

    /// The facts of a value.
    pub fn info(&self, f: &Func, v: Value) -> AxisInfo {
        self.info[v.0 as usize].clone().unwrap_or_else(|| AxisInfo::unknown(f.shape(v).len()))
    }

    /// The dimensions of an index tile, those with the longest runs of consecutive addresses first.
    pub fn order(&self, f: &Func, index: Value) -> Vec<usize> {
        let info = self.info(f, index);
        let run = |d: usize| info.dims[d].contiguity.max(info.dims[d].reverse_contiguity);
        let mut order: Vec<usize> = (0..f.shape(index).len()).rev().collect();
        order.sort_by_key(|&d| std::cmp::Reverse(run(d)));
        order
    }

    /// The number of elements of `bytes` that one aligned access may have along `dim`, and whether their addresses
    /// descend.
    pub fn vector(&self, f: &Func, index: Value, dim: usize, bytes: usize) -> (usize, bool) {
        self.vector_of(f, index, dim, self.widest / bytes)
    }

    /// The same, limited to a number of elements.
    fn vector_of(&self, f: &Func, index: Value, dim: usize, most: usize) -> (usize, bool) {
        let a = self.info(f, index).dims[dim];
        let descending = a.reverse_contiguity > a.contiguity;
        let run = a.contiguity.max(a.reverse_contiguity);
        let mut n = most as u64;
        if n <= 1 || run == 1 {
            return (1, false);
        }
        while n > 1 && (run < n || a.divisibility.divisor() < n && !planted!("axis-info-ignores-alignment")) {
            n /= 2;
        }
        (n as usize, descending && n > 1)
    }

    /// The same for an access. The elements of a tile of pointers have unrelated addresses. If the alignment of an
    /// address is not known, the code tests it.
    pub(crate) fn vector_at(&self, f: &Func, ptr: &Address, dim: usize) -> (usize, bool) {
        let size = f.dtype_at(ptr).size();
        // A shared array begins aligned in every variant.
        let widest = if let Base::Shared(_) = ptr.base { VECTOR_BYTES } else { self.widest };
        let (vec, descending) = self.vector_of(f, ptr.index, dim, widest / size);
        match ptr.base {
            Base::Pointer { address, .. } if !f.ty(address).is_scalar() => (1, false),
            Base::Pointer { address, .. } => {
                let most = self.alignment(f, address).map_or(vec, |by| (by / size).max(1));
                (vec.min(most), descending && most > 1)
            }
            _ => (vec, descending),
        }
    }

    /// Whether a mask allows each aligned group of `n` elements along `dim` as a whole or not at all.
    pub(crate) fn is_undivided(&self, f: &Func, mask: Value, dim: usize, n: usize) -> bool {
        self.info(f, mask).dims[dim].constancy >= n as u64
    }

    /// Whether the mask, the padding of the tile and the end of the array divide no access of `n` elements along `dim`.
    pub(crate) fn is_whole(&self, f: &Func, ptr: &Address, mask: Option<Value>, dim: usize, n: usize) -> bool {
        let extent = f.shape(ptr.index)[dim];
        let end = match ptr.base {
            Base::Slice(_) if planted!("undivided-beyond-the-slice") => n as u64,
            Base::Slice(param) => of_word(&self.guards, f.params[param].first_word + 1).divisor(),
            Base::Raw(_) | Base::Pointer { .. } => n as u64,
            Base::Shared(_) => 1,
        };
        let is_padded = !extent.is_power_of_two() && !extent.is_multiple_of(n);
        !is_padded && end >= n as u64 && mask.is_none_or(|m| self.is_undivided(f, m, dim, n))
    }

    /// The bytes, 4 at least, of which an address is known to be a multiple. The kernel computes it.
    pub(crate) fn alignment(&self, f: &Func, address: Value) -> Option<usize> {
        let by = self.info(f, address).element.divisor();
        (by >= 4).then(|| by.min(VECTOR_BYTES as u64) as usize)
    }

    /// How many elements along the last dimension are known to be consecutive: for the CPU's block copies.
    pub fn run(&self, f: &Func, index: Value) -> usize {
        let (shape, info) = (f.shape(index), self.info(f, index));
        let (Some(&extent), Some(a)) = (shape.last(), info.dims.last()) else { return 1 };
        if a.contiguity as usize >= extent { extent } else { 1 }
    }
}

/// The facts that follow from guards. `widest`: the bytes of the widest access that they allow.
pub(crate) fn learn(f: &Func, guards: Vec<Guard>, widest: usize) -> AxisAnalysis {
    let mut cx = Context { f, guards: &guards, info: vec![None; f.values.len()], vars: vec![None; f.vars.len()] };
    // Variables of loops need a fixed point. Every round but the last one lowers some fact by a factor of two.
    loop {
        let before = cx.vars.clone();
        cx.block(&f.body);
        if cx.vars == before || planted!("axis-info-one-round") {
            break;
        }
    }
    let info = cx.info;
    AxisAnalysis { info, widest, guards }
}

/// The congruence of an argument word that guards check.
fn of_word(guards: &[Guard], word: usize) -> Congruence {
    let of = |r: &Guard| match r.test {
        Test::Multiple(by) if by.is_power_of_two() => Congruence::new(by, 0),
        Test::Equal(n) => Congruence::new(MAX_MODULUS, n),
        _ => Congruence::UNKNOWN,
    };
    let known = guards.iter().filter(|r| r.of.as_word() == Some(word)).map(of);
    known.max_by_key(|c| c.modulus).unwrap_or(Congruence::UNKNOWN)
}

/// How long a run of consecutive numbers is at most that begins at a multiple of its length and does not wrap around in
/// a type of integers.
fn longest_run(dtype: DType) -> u64 {
    1 << (8 * dtype.size() as u32 - u32::from(dtype.is_signed())).min(62)
}

/// The axis information of integers of the type `from` after their conversion to `to`. A wider type shows where a run
/// of the narrower one has wrapped around.
fn converted(mut of: AxisInfo, from: DType, to: DType) -> AxisInfo {
    let within = if planted!("axis-info-narrow-runs-never-wrap") { u64::MAX } else { longest_run(to) };
    let widens = to.size() > from.size() && !planted!("axis-info-runs-wrap-in-wider-types");
    let longest = if widens { longest_run(from).min(within) } else { within };
    for a in of.dims.iter_mut() {
        let run = a.contiguity.max(a.reverse_contiguity);
        if run <= longest && (!widens || run <= a.divisibility.divisor()) {
            continue;
        }
        let run = longest.min(a.divisibility.divisor());
        a.divisibility = a.divisibility_of(run);
        a.contiguity = a.contiguity.min(run);
        a.reverse_contiguity = a.reverse_contiguity.min(run);
    }
    of
}

/// Operands `(low, high)` such that the comparison is `low < high` or its negation.
fn ordered(op: Binary, a: Value, b: Value) -> Option<(Value, Value)> {
    match op {
        Binary::Lt | Binary::Ge => Some((a, b)),
        Binary::Gt | Binary::Le => Some((b, a)),
        _ => None,
    }
}

struct Context<'a> {
    f: &'a Func,
    guards: &'a [Guard],
    info: Vec<Option<AxisInfo>>,
    vars: Vec<Option<AxisInfo>>,
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
                    let (lo, step) = (self.get(*lo).element, self.get(*step).element);
                    self.info[iv.0 as usize] = Some(AxisInfo {
                        dims: vec![],
                        element: if planted!("axis-info-forgets-the-step") { lo } else { lo.coarser(step.divisor()) },
                    });
                    self.block(body);
                }
                StmtKind::Loop { body } => self.block(body),
                _ => {}
            }
        }
    }

    fn get(&self, v: Value) -> AxisInfo {
        self.info[v.0 as usize].clone().unwrap_or_else(|| AxisInfo::unknown(self.f.shape(v).len()))
    }

    fn value(&self, v: Value) -> AxisInfo {
        let shape = self.f.shape(v);
        let rank = shape.len();
        let constancy = |ops: &[Value]| {
            let mut i = AxisInfo::unknown(rank);
            for (d, a) in i.dims.iter_mut().enumerate() {
                a.constancy = ops.iter().map(|&o| self.get(o).dims[d].constancy).min().unwrap_or(1);
            }
            i
        };
        let is_int = self.f.ty(v).dtype.is_int();
        match self.f.op(v) {
            // Of other types constancy alone is known.
            Op::Binary(op, a, b) if !is_int && let Some((low, high)) = ordered(*op, *a, *b) => self.less(low, high),
            op if !is_int && op.is_elementwise() => constancy(&op.operands()),
            Op::Splat(_) if !is_int => AxisInfo::uniform(shape, Congruence::UNKNOWN),
            Op::Int(n) => AxisInfo::uniform(shape, Congruence::new(MAX_MODULUS, *n as u64)),
            Op::Word { word } => AxisInfo::uniform(shape, of_word(self.guards, *word)),
            Op::Arange { start } => {
                let n = shape[0].next_power_of_two() as u64;
                let divisibility = Congruence::new(if n == 1 { MAX_MODULUS } else { n }, *start as u64);
                let element = if n == 1 { divisibility } else { Congruence::UNKNOWN };
                AxisInfo {
                    dims: vec![DimInfo { contiguity: n, reverse_contiguity: 1, constancy: 1, divisibility }],
                    element,
                }
            }
            Op::Splat(s) => AxisInfo::uniform(shape, self.get(*s).element),
            Op::ReadVar(var) => self.vars[var.0 as usize].clone().unwrap_or_else(|| AxisInfo::unknown(rank)),
            Op::Cast(x) if self.f.ty(*x).dtype.is_int() => {
                converted(self.get(*x), self.f.ty(*x).dtype, self.f.ty(v).dtype)
            }
            Op::Unary(Unary::Neg, x) => {
                self.subtract(&AxisInfo::uniform(shape, Congruence::new(MAX_MODULUS, 0)), &self.get(*x))
            }
            Op::Binary(Binary::Add, a, b) => self.add(&self.get(*a), &self.get(*b)),
            Op::Binary(Binary::Sub, a, b) => self.subtract(&self.get(*a), &self.get(*b)),
            Op::Binary(Binary::Mul, a, b) => self.multiply(&self.get(*a), &self.get(*b)),
            Op::Binary(Binary::Shl, a, b) => match self.constant(*b) {
                Some(k) if k < 62 && (k as usize) < 8 * self.f.ty(v).dtype.size() => {
                    let k = if planted!("axis-info-shift-by-a-bit-less") { k.saturating_sub(1) } else { k };
                    self.multiply(&self.get(*a), &AxisInfo::uniform(shape, Congruence::new(MAX_MODULUS, 1 << k)))
                }
                _ => constancy(&[*a, *b]),
            },
            // The order of quotients of negative numbers changes at zero.
            Op::Binary(Binary::Div | Binary::Rem, a, b) if self.f.ty(v).dtype.is_signed() => constancy(&[*a, *b]),
            Op::Binary(op @ (Binary::Div | Binary::Rem), a, b) => match self.constant(*b) {
                Some(k) if k.is_power_of_two() => self.by_power_of_two(*op, &self.get(*a), &self.get(*b), k),
                // A multiple of a power of two, to which the index wraps around. The rest of a division by 0 is 0.
                _ if *op == Binary::Rem && self.get(*b).element.divisor() > 1 && self.is_positive(*b) => {
                    self.by_power_of_two(*op, &self.get(*a), &self.get(*b), self.get(*b).element.divisor())
                }
                _ => constancy(&[*a, *b]),
            },
            Op::Expand(x, axis) => {
                let mut i = self.get(*x);
                i.dims.insert(*axis, DimInfo { divisibility: i.element, ..DimInfo::unknown() });
                i
            }
            Op::Broadcast(x) => {
                let mut i = self.get(*x);
                for (d, a) in i.dims.iter_mut().enumerate().filter(|&(d, _)| self.f.shape(*x)[d] != shape[d]) {
                    a.constancy = shape[d].next_power_of_two() as u64;
                }
                i
            }
            Op::Permute(x, perm) => {
                let i = self.get(*x);
                AxisInfo { dims: perm.iter().map(|&p| i.dims[p]).collect(), element: i.element }
            }
            Op::Reshape(x) => AxisInfo { element: self.get(*x).element, ..AxisInfo::unknown(rank) },
            op if op.is_elementwise() => {
                constancy(&op.operands().into_iter().filter(|o| self.f.shape(*o).len() == rank).collect::<Vec<_>>())
            }
            _ => AxisInfo::unknown(rank),
        }
    }

    /// The constancy of `low < high`, a comparison of tiles: a run of consecutive numbers from a multiple of its length
    /// on is below a multiple of that length as a whole or not at all.
    fn less(&self, low: Value, high: Value) -> AxisInfo {
        let within = longest_run(self.f.ty(low).dtype);
        let (low, high) = (self.get(low), self.get(high));
        let dims = low.dims.iter().zip(&high.dims).map(|(low, high)| {
            let multiple = if planted!("axis-info-mask-of-any-limit") { MAX_MODULUS } else { high.element().divisor() };
            let run = low.contiguity.max(low.reverse_contiguity);
            let same = if planted!("axis-info-limit-of-each-element") { MAX_MODULUS } else { high.constancy };
            let whole = run.min(within).min(low.divisibility.divisor()).min(same).min(multiple);
            DimInfo { constancy: low.constancy.min(high.constancy).max(whole), ..DimInfo::unknown() }
        });
        AxisInfo { dims: dims.collect(), element: Congruence::UNKNOWN }
    }

    fn constant(&self, v: Value) -> Option<u64> {
        self.range(v).filter(|(low, high)| low == high).map(|(low, _)| low)
    }

    fn is_positive(&self, v: Value) -> bool {
        self.range(v).is_some_and(|(low, _)| low > 0) || planted!("axis-info-rem-by-zero")
    }

    /// The least and the greatest number that any element can be, where no step on the way to it wraps around.
    fn range(&self, v: Value) -> Option<(u64, u64)> {
        let ty = self.f.ty(v).dtype;
        let most = || if ty.size() == 8 && !ty.is_signed() { u64::MAX } else { longest_run(ty) - 1 };
        let (low, high) = match *self.f.op(v) {
            _ if !ty.is_int() => return None,
            Op::Int(n) => u64::try_from(n).map(|n| (n, n)).ok()?,
            Op::Word { word } => {
                let of = |r: &Guard| match r.test {
                    Test::Equal(n) => Some((n, n)),
                    Test::Within(low, high) => Some((low, high)),
                    _ => None,
                };
                let all = self.guards.iter().filter(|r| r.of.as_word() == Some(word)).filter_map(of);
                all.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?
            }
            Op::Splat(x) | Op::Expand(x, _) | Op::Broadcast(x) | Op::Permute(x, _) | Op::Reshape(x) | Op::Cast(x) => {
                self.range(x)?
            }
            Op::Binary(op @ (Binary::Add | Binary::Mul), a, b) => {
                let ((a, b), (c, d)) = (self.range(a)?, self.range(b)?);
                match op {
                    Binary::Add => (a.checked_add(c)?, b.checked_add(d)?),
                    _ => (a.checked_mul(c)?, b.checked_mul(d)?),
                }
            }
            _ => return None,
        };
        (high <= most()).then_some((low, high))
    }

    fn add(&self, a: &AxisInfo, b: &AxisInfo) -> AxisInfo {
        let dims = a.dims.iter().zip(&b.dims).map(|(a, b)| {
            let up = (a.contiguity.min(b.constancy)).max(a.constancy.min(b.contiguity));
            let down = (a.reverse_contiguity.min(b.constancy)).max(a.constancy.min(b.reverse_contiguity));
            let constancy = a.constancy.min(b.constancy);
            let n = up.max(down);
            let divisibility =
                if n > 1 { a.divisibility_of(n).add(b.divisibility_of(n)) } else { a.element().add(b.element()) };
            DimInfo {
                contiguity: if up == n { up } else { 1 },
                reverse_contiguity: if up == n { 1 } else { down },
                constancy,
                divisibility,
            }
        });
        AxisInfo { dims: dims.collect(), element: a.element.add(b.element) }
    }

    fn subtract(&self, a: &AxisInfo, b: &AxisInfo) -> AxisInfo {
        // Negation reverses a run: its highest element becomes the lowest.
        let dims = b.dims.iter().map(|b| {
            let n = b.contiguity.max(b.reverse_contiguity);
            let highest = b
                .divisibility
                .add(Congruence::new(MAX_MODULUS, if planted!("axis-info-lowest-of-descending") { 0 } else { n - 1 }));
            DimInfo {
                contiguity: b.reverse_contiguity,
                reverse_contiguity: b.contiguity,
                constancy: b.constancy,
                divisibility: highest.neg(),
            }
        });
        self.add(a, &AxisInfo { dims: dims.collect(), element: b.element.neg() })
    }

    fn multiply(&self, a: &AxisInfo, b: &AxisInfo) -> AxisInfo {
        let one = Congruence::new(MAX_MODULUS, 1);
        if b.element == one {
            return a.clone();
        }
        if a.element == one {
            return b.clone();
        }
        let dims = a.dims.iter().zip(&b.dims).map(|(a, b)| DimInfo {
            constancy: a.constancy.min(b.constancy),
            divisibility: a.element().mul(b.element()),
            ..DimInfo::unknown()
        });
        AxisInfo { dims: dims.collect(), element: a.element.mul(b.element) }
    }

    /// `a` divided by `b`, whose elements are positive multiples of `k`.
    fn by_power_of_two(&self, op: Binary, a: &AxisInfo, b: &AxisInfo, k: u64) -> AxisInfo {
        let dims = a.dims.iter().zip(&b.dims).map(|(a, b)| {
            let same = if planted!("axis-info-rem-by-several") { MAX_MODULUS } else { b.constancy };
            // Only groups that start at a multiple of k stay whole.
            let whole = if a.divisibility.rem == 0 || planted!("axis-info-rem-of-shifted") {
                a.contiguity.min(k).min(a.divisibility.modulus).min(same)
            } else {
                1
            };
            match op {
                Binary::Rem => DimInfo {
                    contiguity: whole,
                    constancy: a.constancy.min(same),
                    divisibility: if whole > 1 { a.divisibility_of(whole).coarser(k) } else { a.element().coarser(k) },
                    reverse_contiguity: 1,
                },
                _ => DimInfo { constancy: a.constancy.min(same).max(whole), ..DimInfo::unknown() },
            }
        });
        let element = if op == Binary::Rem { a.element.coarser(k) } else { a.element.quotient(k) };
        AxisInfo { dims: dims.collect(), element }
    }
}
