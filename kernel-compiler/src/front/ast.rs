//! What `parse` makes of a kernel: the language's own syntax tree. Every node keeps the span of the user's tokens.

use crate::dtype::DType;
pub use crate::ir::ParamKind;
use proc_macro2::{Ident, Span};
use std::rc::Rc;

/// A kernel before its type parameters and constants are chosen.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub item: syn::ItemFn,
    pub name: Ident,
    pub params: Vec<Param>,
    pub type_params: Vec<TypeParam>,
    pub consts: Vec<Ident>,
    pub configs: Vec<Config>,
    /// One to three expressions; over parameters and constants.
    pub grid: Vec<Expr>,
    /// Every configuration is emulated, not a few that have all features of the code.
    pub emulate_all: bool,
    /// Parameters that may be read before the launch before has ended; none where nothing may happen before.
    pub early: Option<Vec<Ident>>,
    pub is_unsafe: bool,
    pub body: Block,
    pub scope: Rc<Scope>,
}

#[derive(Clone, Debug)]
pub struct TypeParam {
    pub name: Ident,
    pub types: Vec<DType>,
}

/// One point of the tuning space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub consts: Vec<(String, i128)>,
    pub warps: u32,
    pub blocks_per_sm: u32,
    /// Buffers of a loop that copies ahead; 0 lets the compiler choose.
    pub stages: u32,
    /// Thread blocks, of one cluster, that a program is spread over.
    pub ctas: u32,
    /// Built for devices of this compute capability only; 0 for all.
    pub arch: u32,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: Ident,
    pub kind: ParamKind,
    pub elem: TypeName,
}

/// A dtype or the name of a type parameter or alias.
#[derive(Clone, Debug)]
pub struct TypeName {
    pub name: String,
    pub span: Span,
}

/// What a `#[tile_module]` defines for its kernels.
#[derive(Clone, Default, Debug)]
pub struct Scope {
    pub helpers: Vec<Rc<Helper>>,
    pub consts: Vec<(String, Expr)>,
    pub aliases: Vec<(String, TypeName)>,
}

/// A plain function of a `#[tile_module]`, inlined where it is called.
#[derive(Debug)]
pub struct Helper {
    pub name: Ident,
    pub type_params: Vec<String>,
    pub consts: Vec<String>,
    pub params: Vec<HelperParam>,
    /// What it says that it returns, if it does.
    pub returns: Option<Said>,
    pub body: Block,
}

/// What a type says of a value: of `f32`, `&[T]`, `Tile<T>` the element type, of a tuple that of its parts. The rest is inferred.
#[derive(Clone, Debug)]
pub enum Said {
    Nothing,
    Elem(TypeName),
    Parts(Vec<Said>),
}

#[derive(Debug)]
pub struct HelperParam {
    pub pattern: Pattern,
    /// The element type it fixes, if it names one: `f32`, `&[T]`, `Tile<T>`.
    pub elem: Option<TypeName>,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    /// Value of the block.
    pub value: Option<Box<Expr>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Let { pattern: Pattern, ty: Said, init: Option<Expr>, span: Span },
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub enum Pattern {
    Name { name: Ident, mutable: bool },
    Tuple(Vec<Pattern>),
    Ignore,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Int(i128, Option<DType>),
    Float(f64, Option<DType>),
    Bool(bool),
    Str(String),
    /// A variable, constant or parameter.
    Name(String),
    /// `f32::INFINITY`, `T::MAX`.
    Assoc(TypeName, String),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Cast(Box<Expr>, TypeName),
    /// A call; a method call has its receiver as first argument.
    Call {
        name: Ident,
        generics: Vec<Generic>,
        args: Vec<Expr>,
        method: bool,
    },
    Tuple(Vec<Expr>),
    Field(Box<Expr>, usize),
    Array(Vec<Expr>),
    Repeat(Box<Expr>, Box<Expr>),
    Range(Box<Expr>, Box<Expr>),
    Closure {
        params: Vec<Pattern>,
        body: Box<Expr>,
    },
    Block(Block),
    If {
        cond: Box<Expr>,
        then: Block,
        other: Option<Box<Expr>>,
    },
    For {
        pattern: Pattern,
        over: Box<Expr>,
        body: Block,
    },
    While {
        cond: Box<Expr>,
        body: Block,
    },
    Loop {
        body: Block,
    },
    Assign(Box<Expr>, Box<Expr>),
    AssignOp(BinaryOp, Box<Expr>, Box<Expr>),
    Break,
    Continue,
    Return,
}

#[derive(Clone, Debug)]
pub enum Generic {
    Type(TypeName),
    Const(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
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

impl BinaryOp {
    pub fn is_compare(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    pub fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            Rem => "%",
            And => "&",
            Or => "|",
            Xor => "^",
            Shl => "<<",
            Shr => ">>",
            Eq => "==",
            Ne => "!=",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
        }
    }
}
