//! Types, expressions and statements.

use super::function::{Effect, Function};
use super::name::Name;
use crate::dtype::DType;
use crate::ir::{Atomic, Precision};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    Scalar(DType),
    /// The type of elements of tables of register numbers.
    Usize,
    Array(Box<Ty>, usize),
    Tuple(Vec<Ty>),
    /// On the CPU: a whole tile.
    Tile(DType),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    Name(Name),
    Literal(Literal),
    /// The number of the register, in an expression for any register of a tile.
    Register,
    /// Where a scratch buffer begins.
    Scratch(Scratch),
    Not(Box<Expr>),
    /// `&x`.
    Ref(Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Cast(Box<Expr>, Ty),
    Index(Box<Expr>, Box<Expr>),
    Field(Box<Expr>, usize),
    Method(Method, Box<Expr>, Vec<Expr>),
    Call(Call),
    Closure(Closure),
    /// A closure that is called where it stands.
    Apply(Closure, Vec<Expr>),
    If {
        cond: Box<Expr>,
        then: Body,
        other: Option<Body>,
    },
    Block(Body),
    Asm(Box<Asm>),
    Group(Box<Expr>),
    Tuple(Vec<Expr>),
    Array(Vec<Expr>),
    /// How a product follows the one before it.
    Chain {
        first: bool,
        last: bool,
        wait: bool,
    },
    /// The matrix descriptor of an operand of `wgmma` in shared memory.
    Matrix {
        leading: usize,
        stride: usize,
        swizzle: usize,
    },
}

/// Shared memory through which threads exchange data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scratch {
    /// Before [`schedule`](crate::codegen::barriers::schedule) gives it a place.
    Unplaced,
    Placed {
        offset: usize,
        bytes: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    Int {
        value: i128,
        /// Its suffix.
        dtype: Option<DType>,
    },
    /// An integer that another configuration of the kernel may have another value of, on the CPU. Without a type it is
    /// a `usize`.
    Configured {
        value: i128,
        dtype: Option<DType>,
    },
    Float {
        bits: u64,
        dtype: DType,
    },
    Bool(bool),
    /// The zero of a type.
    Zero(DType),
    /// `u32::MAX`.
    MaxU32,
    /// A message, for the device as a C string.
    CText(String),
    Text(String),
    Precision(Precision),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Xor,
    Or,
    Eq,
    Lt,
    Gt,
    Ge,
    /// `&&` and `||`, which skip the right operand where they can.
    AndThen,
    OrElse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    WrappingAdd,
    WrappingSub,
    WrappingMul,
    SaturatingAdd,
    SaturatingMul,
    /// The element of a tile.
    At,
    Clone,
    /// Whether all elements of a tile are true.
    AllTrue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    pub function: Function,
    pub generics: Vec<Generic>,
    pub args: Vec<Expr>,
}

impl Call {
    /// The effect of the call. An atomic loads, stores or updates, as its operation does.
    pub fn effect(&self) -> Effect {
        let Function::Device(device) = self.function else { return Effect::None };
        match (device.effect(), self.generics.get(2)) {
            (Effect::GlobalUpdate, Some(Generic::Number(n))) if *n == Atomic::Load as usize => Effect::GlobalRead,
            (Effect::GlobalUpdate, Some(Generic::Number(n))) if *n == Atomic::Store as usize => Effect::GlobalWrite,
            (Effect::SharedUpdate, Some(Generic::Number(n))) if *n == Atomic::Load as usize => Effect::SharedRead,
            (Effect::SharedUpdate, Some(Generic::Number(n))) if *n == Atomic::Store as usize => Effect::SharedWrite,
            (effect, _) => effect,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Generic {
    Type(Ty),
    Number(usize),
    Flag(bool),
    Expr(Expr),
    /// `_`.
    Inferred,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closure {
    pub params: Vec<Name>,
    /// The type of the parameters and of the result, if it is said.
    pub ty: Option<Ty>,
    pub body: Box<Expr>,
}

/// Inline assembly; where no PTX runs, its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asm {
    pub text: String,
    /// The types of all results, and which one is taken.
    pub results: Vec<DType>,
    pub index: usize,
    /// The operands, with their names in the meaning.
    pub operands: Vec<(Name, DType, Expr)>,
    pub meaning: Body,
}

/// Statements, and the value that they lead to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    pub stmts: Vec<Stmt>,
    pub value: Box<Expr>,
}

/// A statement without control flow of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    Let {
        name: Name,
        mutable: bool,
        ty: Option<Ty>,
        value: Option<Expr>,
    },
    LetPair([Name; 2], Box<[Expr; 2]>),
    Assign(Name, Expr),
    /// `x += 1`.
    Update(BinaryOp, Name, Expr),
    Expr(Expr),
    If {
        cond: Expr,
        then: Vec<Stmt>,
    },
    While {
        cond: Expr,
        body: Vec<Stmt>,
    },
}
