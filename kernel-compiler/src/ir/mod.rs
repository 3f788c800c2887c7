//! The typed tile IR of one instance: what `infer` makes, what every later phase reads.
//!
//! Invariants. A [`Value`] is defined once, before its uses, in a block that encloses them. A [`Var`] is a mutable
//! cell with one type. Operands of an elementwise op have the shape of its result. Scalars (shape `[]`) are uniform:
//! every thread holds the same one. Control flow depends on scalars alone, so all threads of a program take it together.

pub mod parse;
pub mod print;
pub mod verify;
pub mod walk;

use crate::dtype::DType;
use proc_macro2::Span;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}
impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

/// Statements that run one after another.
pub type Block = Vec<Stmt>;

/// Extents of a tile; empty for a scalar.
pub type Shape = Vec<usize>;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Type {
    pub dtype: DType,
    pub shape: Shape,
}

impl Type {
    pub fn scalar(dtype: DType) -> Type {
        Type { dtype, shape: Vec::new() }
    }

    pub fn tile(dtype: DType, shape: impl Into<Shape>) -> Type {
        Type { dtype, shape: shape.into() }
    }

    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.is_scalar() { write!(f, "{}", self.dtype) } else { write!(f, "{}{:?}", self.dtype, self.shape) }
    }
}
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One instance of a kernel.
#[derive(Clone, Debug)]
pub struct Func {
    pub params: Vec<Param>,
    pub values: Vec<ValueInfo>,
    pub vars: Vec<VarInfo>,
    pub body: Vec<Stmt>,
    pub warps: u32,
    pub blocks_per_sm: u32,
    /// Buffers of a loop that copies ahead; 0 lets the compiler choose.
    pub stages: u32,
    /// Thread blocks that a program is spread over; see [`cluster`](crate::passes::cluster).
    pub ctas: u32,
    /// Parameters that may be read before the launch before has ended; none where the kernel begins after it.
    pub early: Option<Vec<usize>>,
    /// Without which it does not mean what the kernel says: see [`block_pointers`](crate::passes::block_pointers).
    pub requires: Vec<Guard>,
}

impl Func {
    pub fn ty(&self, v: Value) -> &Type {
        &self.values[v.0 as usize].ty
    }

    pub fn op(&self, v: Value) -> &Op {
        &self.values[v.0 as usize].op
    }

    pub fn shape(&self, v: Value) -> &[usize] {
        &self.ty(v).shape
    }

    /// The values that a statement takes itself, not those that statements in it take; those of a closure are among them.
    pub fn taken_by(&self, s: &Stmt) -> Vec<Value> {
        match &s.kind {
            StmtKind::Let(v) => {
                let mut taken = self.op(*v).operands();
                if let Op::Reduce { combine: Combine::Closure { body, result, .. }, .. } = self.op(*v) {
                    taken.extend(body.iter().flat_map(|&inner| self.op(inner).operands()).chain([*result]));
                }
                taken
            }
            StmtKind::Assign(_, v)
            | StmtKind::If { cond: v, .. }
            | StmtKind::Assert { cond: v, .. }
            | StmtKind::Print { value: v, .. } => vec![*v],
            StmtKind::Store { place, value, mask, .. } => [place.index(), *value].into_iter().chain(*mask).collect(),
            StmtKind::For { lo, hi, step, .. } => vec![*lo, *hi, *step],
            _ => vec![],
        }
    }

    /// The place of a value in the kernel's source.
    pub fn span(&self, v: Value) -> Span {
        self.values[v.0 as usize].span
    }

    /// A new value, defined behind these statements.
    pub fn push(&mut self, op: Op, ty: Type, span: Span, out: &mut Vec<Stmt>) -> Value {
        let v = Value(self.values.len() as u32);
        self.values.push(ValueInfo { ty, op, span });
        out.push(StmtKind::Let(v).into());
        v
    }

    /// Numbers the statements in the order of the function, outer before inner. A pass that adds statements ends with it.
    pub fn number(&mut self) {
        fn block(stmts: &mut [Stmt], next: &mut u32) {
            for s in stmts {
                s.id = StmtId(*next);
                *next += 1;
                s.blocks_mut().into_iter().for_each(|b| block(b, next));
            }
        }
        block(&mut self.body, &mut 0);
    }

    /// Whether it is a constant of zeros.
    pub fn is_zeros(&self, v: Value) -> bool {
        match self.op(v) {
            Op::Splat(x) => self.is_zeros(*x),
            Op::Float(x) => x.to_bits() == 0,
            Op::Int(n) => *n == 0,
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub kind: crate::front::ast::ParamKind,
    pub dtype: DType,
    /// Its first slot.
    pub slot: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Slice { mutable: bool },
    View { rank: usize, mutable: bool },
    Ptr { mutable: bool },
    Scalar,
}

impl ParamKind {
    pub fn slots(self) -> usize {
        match self {
            ParamKind::Slice { .. } => 2,
            ParamKind::View { rank, .. } => 1 + 2 * rank,
            ParamKind::Ptr { .. } | ParamKind::Scalar => 1,
        }
    }

    pub fn is_mut(self) -> bool {
        matches!(
            self,
            ParamKind::Slice { mutable: true }
                | ParamKind::View { mutable: true, .. }
                | ParamKind::Ptr { mutable: true }
        )
    }
}

#[derive(Clone, Debug)]
pub struct ValueInfo {
    pub ty: Type,
    pub op: Op,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct VarInfo {
    pub name: String,
    pub ty: Type,
}

/// A statement's place in the order of its function. Plans of later phases are keyed by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

impl StmtId {
    /// A statement of a function that is being changed: [`Func::number`] gives it an id.
    pub const NONE: StmtId = StmtId(u32::MAX);
}

impl fmt::Debug for StmtId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub id: StmtId,
    pub kind: StmtKind,
}

impl From<StmtKind> for Stmt {
    fn from(kind: StmtKind) -> Stmt {
        Stmt { id: StmtId::NONE, kind }
    }
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Compute a value here.
    Let(Value),
    Assign(Var, Value),
    /// `window` as in [`Op::Load`].
    Store {
        place: Address,
        value: Value,
        mask: Option<Value>,
        hint: Hint,
        window: Option<Window>,
        span: Span,
    },
    If {
        cond: Value,
        then: Vec<Stmt>,
        other: Vec<Stmt>,
    },
    For {
        iv: Value,
        lo: Value,
        hi: Value,
        step: Value,
        body: Vec<Stmt>,
        options: LoopOptions,
    },
    Loop {
        body: Vec<Stmt>,
    },
    Break,
    Continue,
    Return,
    Assert {
        cond: Value,
        message: String,
        span: Span,
    },
    Print {
        message: String,
        value: Value,
        span: Span,
    },
}

/// How a loop is to be carried out, by its source; it means the same without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LoopOptions {
    /// Buffers of its copies ahead; 0 leaves it to [`Func::stages`].
    pub stages: u32,
    /// Iterations laid out in a row; 0 lets the compiler choose.
    pub unroll: u32,
    /// One pipeline through this loop and the ones inside it.
    pub flatten: bool,
    /// Whether some warps copy while others compute; `None` lets the compiler choose.
    pub warp_specialise: Option<bool>,
}

impl Stmt {
    /// The statements inside it, by block.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match &self.kind {
            StmtKind::If { then, other, .. } => vec![then, other],
            StmtKind::For { body, .. } | StmtKind::Loop { body } => vec![body],
            _ => vec![],
        }
    }

    /// The same, to be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match &mut self.kind {
            StmtKind::If { then, other, .. } => vec![then, other],
            StmtKind::For { body, .. } | StmtKind::Loop { body } => vec![body],
            _ => vec![],
        }
    }

    /// The values that a statement uses itself, not through those inside it; to be replaced.
    pub fn uses_mut(&mut self) -> Vec<&mut Value> {
        match &mut self.kind {
            StmtKind::Assign(_, v)
            | StmtKind::If { cond: v, .. }
            | StmtKind::Assert { cond: v, .. }
            | StmtKind::Print { value: v, .. } => vec![v],
            StmtKind::Store { place, value, mask, window, .. } => [Some(place.index_mut()), Some(value), mask.as_mut()]
                .into_iter()
                .flatten()
                .chain(window.iter_mut().flat_map(|w| &mut w.at))
                .collect(),
            StmtKind::For { lo, hi, step, .. } => vec![lo, hi, step],
            StmtKind::Let(_) | StmtKind::Loop { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Return => {
                vec![]
            }
        }
    }
}

/// Where a memory operation goes.
#[derive(Clone, Debug)]
pub enum Address {
    /// Element `index` of a slice: outside it nothing is touched.
    Slice { param: usize, index: Value },
    /// Element `index` from a raw pointer.
    Raw { param: usize, index: Value },
}

impl Address {
    pub fn param(&self) -> usize {
        match self {
            Address::Slice { param, .. } | Address::Raw { param, .. } => *param,
        }
    }

    pub fn index(&self) -> Value {
        match self {
            Address::Slice { index, .. } | Address::Raw { index, .. } => *index,
        }
    }

    fn index_mut(&mut self) -> &mut Value {
        match self {
            Address::Slice { index, .. } | Address::Raw { index, .. } => index,
        }
    }
}

/// A part of an array in memory as it stands: of what lies outside, zeros are loaded, and nothing is stored. Its last dimensions are those
/// of the tile; in dimensions of the array before them it is at one index.
#[derive(Clone, Debug)]
pub struct Window {
    pub dims: Vec<Dim>,
    /// Where it begins, in each of them.
    pub at: Vec<Value>,
}

/// Of an array in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Dim {
    pub extent: Number,
    /// In elements; of the last dimension it is 1.
    pub stride: Number,
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}/{:?}", self.extent, self.stride)
    }
}

/// What the launcher knows: a constant times some slots.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    pub times: u64,
    pub slots: Vec<usize>,
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let constant = (self.times != 1 || self.slots.is_empty()).then(|| self.times.to_string());
        let factors: Vec<String> = constant.into_iter().chain(self.slots.iter().map(|s| format!("s{s}"))).collect();
        f.write_str(&factors.join("·"))
    }
}

impl Number {
    pub fn slot(slot: usize) -> Number {
        Number { times: 1, slots: vec![slot] }
    }

    pub fn constant(n: u64) -> Number {
        Number { times: n, slots: vec![] }
    }

    /// None where the constant overflows.
    pub fn times(&self, o: &Number) -> Option<Number> {
        let mut slots = [self.slots.as_slice(), &o.slots].concat();
        slots.sort_unstable();
        Some(Number { times: self.times.checked_mul(o.times)?, slots })
    }

    /// The slot that it is.
    pub fn as_slot(&self) -> Option<usize> {
        if let (1, &[slot]) = (self.times, &self.slots[..]) { Some(slot) } else { None }
    }
}

/// The launcher's check of a number before it takes a variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard {
    pub of: Number,
    pub test: Test,
}

impl Guard {
    pub fn slot(slot: usize, test: Test) -> Guard {
        Guard { of: Number::slot(slot), test }
    }
}

/// As `kernel_core::Test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    Multiple(u64),
    Equal(u64),
    Within(u64, u64),
    /// At most what is in a slot.
    AtMost(usize),
}

/// Cache hint; the numbers are the device library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hint {
    #[default]
    None = 0,
    Streaming = 1,
    Keep = 2,
    NoL1 = 3,
}

#[derive(Clone, Debug)]
pub enum Op {
    Int(i128),
    Float(f64),
    Bool(bool),
    /// Bits of a scalar parameter, length of a slice, extent or stride of a view: one slot.
    Slot {
        slot: usize,
    },
    ProgramId(u32),
    NumPrograms(u32),
    /// Number of the thread block in its cluster, of a program that is spread over one.
    Rank,
    /// The loop variable of the `For` that defines it.
    LoopVar,
    ReadVar(Var),
    /// `start, start + 1, ..` of rank 1.
    Arange {
        start: i128,
    },
    /// A scalar in every element.
    Splat(Value),
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    Fma(Value, Value, Value),
    Select(Value, Value, Value),
    Cast(Value),
    Bitcast(Value),
    /// Insert an extent of 1 at the axis.
    Expand(Value, usize),
    /// Spread extents of 1.
    Broadcast(Value),
    Reshape(Value),
    /// Dimension d of the result is dimension perm[d] of the operand.
    Permute(Value, Vec<usize>),
    Reduce {
        value: Value,
        axis: usize,
        combine: Combine,
    },
    /// Index of the first largest or smallest along the axis.
    ArgReduce {
        value: Value,
        axis: usize,
        largest: bool,
    },
    /// `window`, if this is a part of an array as it stands, zero outside: `place` and `mask` say the same by element.
    Load {
        place: Address,
        mask: Option<Value>,
        other: Option<Value>,
        hint: Hint,
        window: Option<Window>,
    },
    /// `acc + a·b` of `[M, K]`, `[K, N]` and `[M, N]`, or so for each index of a dimension before these.
    Dot {
        a: Value,
        b: Value,
        acc: Value,
        precision: Precision,
    },
    /// `values` as [`Atomic::values`] says; what it gives is the old value.
    Atomic {
        op: Atomic,
        place: Address,
        values: Vec<Value>,
        mask: Option<Value>,
        relaxed: bool,
    },
}

/// The extent of a batch, if there is one, and those of its matrices: of an operand or a result of [`Op::Dot`].
pub fn matrices(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// What a `dot` of f32 operands does to their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// Products and sums in f32.
    #[default]
    Ieee,
    /// Operands rounded to tf32.
    Tf32,
    /// Operands split in two tf32 numbers, and three products of them.
    Tf32x3,
}

/// How a reduction combines two elements.
#[derive(Clone, Debug)]
pub enum Combine {
    Binary(Binary),
    /// A user's closure: scalar values, defined by `body`, of two arguments.
    Closure {
        a: Value,
        b: Value,
        body: Vec<Value>,
        result: Value,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    Neg,
    Not,
    Abs,
    Floor,
    Ceil,
    Sqrt,
    Rsqrt,
    Recip,
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    Tanh,
    Erf,
    Sigmoid,
}

impl Unary {
    pub const ALL: [Unary; 17] = {
        use Unary::*;
        [Neg, Not, Abs, Floor, Ceil, Sqrt, Rsqrt, Recip, Exp, Exp2, Log, Log2, Sin, Cos, Tanh, Erf, Sigmoid]
    };

    /// Function of `kernel_core::scalar`.
    pub fn name(self) -> &'static str {
        use Unary::*;
        match self {
            Neg => "neg",
            Not => "not",
            Abs => "abs",
            Floor => "floor",
            Ceil => "ceil",
            Sqrt => "sqrt",
            Rsqrt => "rsqrt",
            Recip => "recip",
            Exp => "exp",
            Exp2 => "exp2",
            Log => "log",
            Log2 => "log2",
            Sin => "sin",
            Cos => "cos",
            Tanh => "tanh",
            Erf => "erf",
            Sigmoid => "sigmoid",
        }
    }

    /// The functions a kernel calls by name.
    pub fn parse(name: &str) -> Option<Unary> {
        Unary::ALL.into_iter().find(|u| u.name() == name && !matches!(u, Unary::Neg | Unary::Not))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Binary {
    pub const ALL: [Binary; 18] = {
        use Binary::*;
        [Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge]
    };

    /// Function of `kernel_core::scalar`.
    pub fn name(self) -> &'static str {
        use Binary::*;
        match self {
            Add => "add",
            Sub => "sub",
            Mul => "mul",
            Div => "div",
            Rem => "rem",
            Min => "min",
            Max => "max",
            And => "and",
            Or => "or",
            Xor => "xor",
            Shl => "shl",
            Shr => "shr",
            Eq => "eq",
            Ne => "ne",
            Lt => "lt",
            Le => "le",
            Gt => "gt",
            Ge => "ge",
        }
    }

    /// Whether it gives a `bool`.
    pub fn is_compare(self) -> bool {
        use Binary::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}

/// What one thread does to an element that others may be at. The numbers are those of `kernel_core::scalar::atomic_op`, which `Cas`, a
/// function of its own there, has none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add = 0,
    Max = 1,
    Min = 2,
    And = 3,
    Or = 4,
    Xor = 5,
    Xchg = 6,
    Load = 7,
    Store = 8,
    Cas = 9,
}

impl Atomic {
    pub const ALL: [Atomic; 10] = {
        use Atomic::*;
        [Add, Max, Min, And, Or, Xor, Xchg, Load, Store, Cas]
    };

    pub fn name(self) -> &'static str {
        match self {
            Atomic::Add => "add",
            Atomic::Max => "max",
            Atomic::Min => "min",
            Atomic::And => "and",
            Atomic::Or => "or",
            Atomic::Xor => "xor",
            Atomic::Xchg => "xchg",
            Atomic::Load => "load",
            Atomic::Store => "store",
            Atomic::Cas => "cas",
        }
    }

    /// The values that it takes, as messages call them.
    pub fn values(self) -> &'static [&'static str] {
        match self {
            Atomic::Load => &[],
            Atomic::Cas => &["the expected value", "the new value"],
            _ => &["a value"],
        }
    }

    /// Whether, unless relaxed, it comes after what the program did before it.
    pub fn releases(self) -> bool {
        self != Atomic::Load
    }

    /// Whether, unless relaxed, what the program does next comes after it.
    pub fn acquires(self) -> bool {
        self != Atomic::Store
    }
}

impl Op {
    /// Operands, in order; a closure's inner values are not among them.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Op::Int(_)
            | Op::Float(_)
            | Op::Bool(_)
            | Op::Slot { .. }
            | Op::ProgramId(_)
            | Op::NumPrograms(_)
            | Op::Rank
            | Op::LoopVar
            | Op::ReadVar(_)
            | Op::Arange { .. } => vec![],
            Op::Splat(v)
            | Op::Unary(_, v)
            | Op::Cast(v)
            | Op::Bitcast(v)
            | Op::Expand(v, _)
            | Op::Broadcast(v)
            | Op::Reshape(v)
            | Op::Permute(v, _) => vec![*v],
            Op::Reduce { value, .. } | Op::ArgReduce { value, .. } => vec![*value],
            Op::Binary(_, a, b) => vec![*a, *b],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![*a, *b, *c],
            Op::Load { place, mask, other, window, .. } => [Some(place.index()), *mask, *other]
                .into_iter()
                .flatten()
                .chain(window.iter().flat_map(|w| w.at.iter().copied()))
                .collect(),
            Op::Dot { a, b, acc, .. } => vec![*a, *b, *acc],
            Op::Atomic { place, values, mask, .. } => {
                [place.index()].into_iter().chain(values.iter().copied()).chain(*mask).collect()
            }
        }
    }

    /// The same, to be replaced.
    pub fn operands_mut(&mut self) -> Vec<&mut Value> {
        match self {
            Op::Int(_)
            | Op::Float(_)
            | Op::Bool(_)
            | Op::Slot { .. }
            | Op::ProgramId(_)
            | Op::NumPrograms(_)
            | Op::Rank
            | Op::LoopVar
            | Op::ReadVar(_)
            | Op::Arange { .. } => vec![],
            Op::Splat(v)
            | Op::Unary(_, v)
            | Op::Cast(v)
            | Op::Bitcast(v)
            | Op::Expand(v, _)
            | Op::Broadcast(v)
            | Op::Reshape(v)
            | Op::Permute(v, _) => vec![v],
            Op::Reduce { value, .. } | Op::ArgReduce { value, .. } => vec![value],
            Op::Binary(_, a, b) => vec![a, b],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![a, b, c],
            Op::Load { place, mask, other, window, .. } => [Some(place.index_mut()), mask.as_mut(), other.as_mut()]
                .into_iter()
                .flatten()
                .chain(window.iter_mut().flat_map(|w| &mut w.at))
                .collect(),
            Op::Dot { a, b, acc, .. } => vec![a, b, acc],
            Op::Atomic { place, values, mask, .. } => {
                [place.index_mut()].into_iter().chain(values).chain(mask).collect()
            }
        }
    }

    /// Each element of the result depends on the same element of the operands.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Op::Unary(..) | Op::Binary(..) | Op::Fma(..) | Op::Select(..) | Op::Cast(..) | Op::Bitcast(..))
    }

    /// Only renames elements.
    pub fn is_view(&self) -> bool {
        matches!(self, Op::Expand(..) | Op::Broadcast(..) | Op::Reshape(..) | Op::Permute(..))
    }

    /// Must run where and as often as it is written.
    pub fn has_effect(&self) -> bool {
        matches!(self, Op::Atomic { .. })
    }
}
