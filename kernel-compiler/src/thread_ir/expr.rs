//! Types, expressions and statements.

use super::function::{Device, Effect, Function};
use super::name::Name;
use crate::dtype::DType;
use crate::ir::{Atomic, AtomicEffect, Precision};

/// A type of generated code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// An element type, spelled by [`rust_type`](crate::dtype::rust_type).
    Scalar(DType),
    /// The type of elements of tables of register numbers.
    Usize,
    /// The registers of a tile in one thread: that many items of a type.
    Array(Box<Ty>, usize),
    /// A tuple, also of one type; `()` of none.
    Tuple(Vec<Ty>),
    /// On the CPU: a whole tile.
    Tile(DType),
}

impl Ty {
    /// Whether any element type in it is as wanted.
    fn elements(&self, wanted: &dyn Fn(DType) -> bool) -> bool {
        match self {
            Ty::Scalar(t) | Ty::Tile(t) => wanted(*t),
            Ty::Usize => false,
            Ty::Array(of, _) => of.elements(wanted),
            Ty::Tuple(all) => all.iter().any(|ty| ty.elements(wanted)),
        }
    }
}

/// An expression. [`print`](super::print) adds the parentheses that an operand needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A variable, a constant or a parameter.
    Name(Name),
    /// A constant in the text.
    Literal(Literal),
    /// The number of the register, in an expression for any register of a tile.
    Register,
    /// The offset of a scratch buffer.
    Scratch(Scratch),
    /// `!x`.
    Not(Box<Expr>),
    /// `&x`.
    Ref(Box<Expr>),
    /// An operator of Rust, on numbers of the code. Arithmetic of the kernel is calls of [`Function::Binary`].
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x as ty`.
    Cast(Box<Expr>, Ty),
    /// `x[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `x.0`, of a tuple.
    Field(Box<Expr>, usize),
    /// `x.method(args)`.
    Method(Method, Box<Expr>, Vec<Expr>),
    /// A call of a function of `tilewright_core`.
    Call(Call),
    /// A closure as an argument.
    Closure(Closure),
    /// A closure that is called where it stands.
    Apply(Closure, Vec<Expr>),
    /// `if cond { then } else { other }`.
    If {
        /// A `bool`.
        cond: Box<Expr>,
        /// The value for true.
        then: Body,
        /// The value for false; none where the value is `()`.
        other: Option<Body>,
    },
    /// `{ statements; value }`.
    Block(Body),
    /// One result of inline assembly.
    Asm(Box<Asm>),
    /// `(x)`: parentheses that no operator needs.
    Group(Box<Expr>),
    /// `(x, y,)`.
    Tuple(Vec<Expr>),
    /// `[x, y]`.
    Array(Vec<Expr>),
    /// The position of a `wgmma` product among those that follow each other on the same accumulators.
    Chain {
        /// Whether it is the first on its accumulators.
        first: bool,
        /// Whether it is the last on its accumulators.
        last: bool,
        /// Whether the thread waits for the last product at once, not later.
        wait: bool,
    },
    /// The matrix descriptor of an operand of `wgmma` in shared memory.
    Matrix {
        /// Bytes from one block of the contiguous dimension to the next.
        leading: usize,
        /// Bytes from eight rows to the next eight.
        stride: usize,
        /// Bytes of a swizzled row: 32, 64 or 128.
        swizzle: usize,
    },
}

/// Shared memory through which threads exchange data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scratch {
    /// Before [`insert`](crate::codegen::barriers::insert) gives it a place.
    Unplaced,
    /// At its place in shared memory.
    Placed {
        /// Bytes from the beginning of shared memory.
        offset: usize,
        /// Its size, which the verifier checks accesses against.
        bytes: usize,
    },
}

/// A constant in the text of generated code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// An integer.
    Int {
        /// The number, which the type holds.
        value: i128,
        /// Its suffix.
        dtype: Option<DType>,
    },
    /// An integer that another configuration of the kernel may have another value of, on the CPU. Without a type it is
    /// a `usize`.
    Configured {
        /// The number of the configuration that is lowered.
        value: i128,
        /// Its suffix.
        dtype: Option<DType>,
    },
    /// A number of type `f32` or `f64`.
    Float {
        /// The bits as those of an `f64`.
        bits: u64,
        /// The type that the number is rounded to.
        dtype: DType,
    },
    /// `true` or `false`.
    Bool(bool),
    /// The zero of a type.
    Zero(DType),
    /// `u32::MAX`.
    MaxU32,
    /// A message, for the device, as a C string.
    CText(String),
    /// A message, for the CPU as a `&str`.
    Text(String),
    /// The precision of a product, as an argument of [`Cpu::Dot`](super::Cpu::Dot).
    Precision(Precision),
}

/// An operator of Rust with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `%`.
    Rem,
    /// `<<`.
    Shl,
    /// `>>`.
    Shr,
    /// `&`.
    And,
    /// `^`.
    Xor,
    /// `|`.
    Or,
    /// `==`.
    Eq,
    /// `<`.
    Lt,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `&&`, which skips the right operand where the left one is false.
    AndThen,
    /// `||`, which skips the right operand where the left one is true.
    OrElse,
}

/// A method that generated code calls, of integers unless it says another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The sum, modulo the range of the type.
    WrappingAdd,
    /// The difference, modulo the range of the type.
    WrappingSub,
    /// The product, modulo the range of the type.
    WrappingMul,
    /// The sum, or the greatest number of the type.
    SaturatingAdd,
    /// The product, or the greatest number of the type.
    SaturatingMul,
    /// The element of a tile on the CPU, at an index in row-major order.
    At,
    /// A copy of a tile.
    Clone,
    /// Whether all elements of a tile are true, on the CPU.
    AllTrue,
}

/// A call of a function of `tilewright_core`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The function, whose path the printer knows.
    pub function: Function,
    /// Its generic arguments; empty where rustc infers all.
    pub generics: Vec<Generic>,
    /// Its arguments. The last one of many device functions is the site, a line of the kernel.
    pub args: Vec<Expr>,
}

impl Call {
    /// The effect of the call. An atomic loads, stores or updates, as its operation does.
    pub fn effect(&self) -> Effect {
        let Function::Device(device) = self.function else { return Effect::None };
        let atomic = match self.generics.get(2) {
            // Its generic arguments name no operation.
            _ if device == Device::AtomicAddVectors => None,
            Some(Generic::Number(n)) => Atomic::ALL.get(*n).map(|a| a.effect()),
            _ => None,
        };
        match (device.effect(), atomic) {
            (Effect::GlobalUpdate, Some(AtomicEffect::Load)) => Effect::GlobalRead,
            (Effect::GlobalUpdate, Some(AtomicEffect::Store)) => Effect::GlobalWrite,
            (Effect::SharedUpdate, Some(AtomicEffect::Load)) => Effect::SharedRead,
            (Effect::SharedUpdate, Some(AtomicEffect::Store)) => Effect::SharedWrite,
            (effect, _) => effect,
        }
    }

    /// Whether the device library has several forms of the function, each for some of the targets from sm_80 on:
    /// 8-bit floats have instructions of their own from sm_90 on, as atomic sums of bf16 and of neighbors have.
    pub fn is_by_target(&self) -> bool {
        let names = |wanted: &dyn Fn(DType) -> bool| {
            self.generics.iter().any(|g| matches!(g, Generic::Type(ty) if ty.elements(wanted)))
        };
        match self.function {
            Function::Device(Device::GridDependencyWait | Device::AtomicAddVectors) => true,
            Function::Device(Device::Atomic | Device::SharedAtomic) => names(&|t| t == DType::BF16),
            _ => names(&|t| t.is_float8()),
        }
    }
}

/// A generic argument of a call: a type, or a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Generic {
    /// A type, as in `::<f32>`.
    Type(Ty),
    /// A constant of an integer type.
    Number(usize),
    /// A constant of type `bool`.
    Flag(bool),
    /// A constant that is computed: `{ x }`.
    Expr(Expr),
    /// `_`.
    Inferred,
}

/// A closure, `|params| body`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closure {
    /// The names of its parameters.
    pub params: Vec<Name>,
    /// The type of the parameters and of the result, if it is said.
    pub ty: Option<Ty>,
    /// The value of a call.
    pub body: Box<Expr>,
}

/// Inline assembly. The emulated SM and the CPU compute its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asm {
    /// The PTX in the form of `asm!`.
    pub text: String,
    /// The types of all results.
    pub results: Vec<DType>,
    /// Which of the results is taken.
    pub index: usize,
    /// The operands, with their names in the meaning.
    pub operands: Vec<(Name, DType, Expr)>,
    /// The value of that result, computed in Rust.
    pub meaning: Body,
}

/// A block of statements with a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// The statements before the value, whose names are local.
    pub stmts: Vec<Stmt>,
    /// The value of the block.
    pub value: Box<Expr>,
}

/// A statement without control flow of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// `let mut name: ty = value;`.
    Let {
        /// The new name.
        name: Name,
        /// Whether the name can be assigned.
        mutable: bool,
        /// Its type; inferred without it.
        ty: Option<Ty>,
        /// Its value. Without it the statement declares a name that is assigned later.
        value: Option<Expr>,
    },
    /// `let (a, b) = (x, y);`.
    LetPair([Name; 2], Box<[Expr; 2]>),
    /// `name = value;`.
    Assign(Name, Expr),
    /// `x += 1`.
    Update(BinaryOp, Name, Expr),
    /// `x;`.
    Expr(Expr),
    /// `if cond { then }`.
    If {
        /// A `bool`.
        cond: Expr,
        /// The statements for true.
        then: Vec<Stmt>,
    },
    /// `while cond { body }`.
    While {
        /// A `bool`, before each iteration.
        cond: Expr,
        /// The statements of an iteration.
        body: Vec<Stmt>,
    },
}
