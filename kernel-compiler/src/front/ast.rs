//! The language's own syntax tree, which `parse` makes of a kernel. Every node keeps the span of the user's tokens.

use crate::diag::Span;
use crate::dtype::DType;
use crate::front::operators::{BinaryOp, UnaryOp};
pub use crate::ir::ParamKind;
use crate::passes::adjoint::Holds;
use proc_macro2::Ident;
use std::fmt;
use std::rc::Rc;

/// A kernel before its type parameters and constants are chosen.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub item: syn::ItemFn,
    pub name: Ident,
    pub params: Vec<Param>,
    pub type_params: Vec<TypeParam>,
    pub consts: Vec<ConstParam>,
    pub configs: Vec<Config>,
    /// One to three expressions; over parameters and constants.
    pub grid: Vec<Expr>,
    /// Conditions on arguments, over parameters and constants.
    pub requires: Vec<Expr>,
    /// Every configuration is emulated, not a few that have all features of the code.
    pub emulate_all: bool,
    /// The crate that the expansion names, `::tilewright` without `crate = path`.
    pub facade: syn::Path,
    /// Parameters that may be read before the launch before has ended; none where nothing may happen before.
    pub pdl: Option<Vec<Ident>>,
    /// An array that is read, and one that is written and may be the same memory.
    pub aliases: Vec<[Ident; 2]>,
    /// Equal arguments give results of equal bits; see [`determinism`](crate::analysis::determinism).
    pub deterministic: bool,
    pub is_unsafe: bool,
    pub body: Block,
    /// The parameters of the function that the attribute gives a value: the kernel's own text alone sees them.
    pub given: Given,
    pub scope: Rc<Scope>,
    /// Of a backward kernel: the kernel that it is derived from.
    pub adjoint: Option<Rc<Adjoint>>,
}

/// The kernel that a backward kernel is derived from.
#[derive(Clone, Debug)]
pub struct Adjoint {
    pub forward: Kernel,
    /// For each parameter of the backward kernel the index of the parameter of `forward` that it belongs to, and its
    /// content.
    pub roles: Vec<(usize, Holds)>,
}

/// The type and const parameters that `kernel(..)` gives a value.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// Each with a dtype, an alias of the module, or another type parameter.
    pub types: Vec<(String, TypeName)>,
    pub consts: Vec<(String, Const)>,
}

impl Given {
    /// The type that a name stands for in the kernel's own text, where `bound` are the types of its parameters.
    pub fn dtype(&self, t: &TypeName, bound: &[(String, DType)], scope: &Scope) -> Option<DType> {
        let of = self.types.iter().find(|(name, _)| *name == t.name).map_or(t, |(_, of)| of);
        scope.dtype(of, bound)
    }
}

#[derive(Clone, Debug)]
pub struct TypeParam {
    pub name: Ident,
    pub types: Vec<DType>,
}

/// `const NAME: ty`, of a kernel or a helper.
#[derive(Clone, Debug)]
pub struct ConstParam {
    pub name: Ident,
    pub ty: ConstType,
    /// The type of an integer.
    pub int: DType,
    /// Of a kernel's parameter: its value where a `tune(..)` gives none.
    pub default: Option<Const>,
}

/// The type of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstType {
    /// Any integer type: a kernel's is `usize`.
    Int,
    Bool,
    Enum(Rc<Enum>),
}

/// An enum of unit variants: a type of constants.
#[derive(Debug, PartialEq, Eq)]
pub struct Enum {
    /// The name of the type.
    pub name: Ident,
    /// The variants, whose positions are their numbers.
    pub variants: Vec<Ident>,
}

/// A struct with named fields: several values under one name.
#[derive(Debug)]
pub struct Struct {
    pub name: Ident,
    /// Each field with its declared type.
    pub fields: Vec<(Ident, Said)>,
}

/// The value of a const parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Const {
    /// An integer, of type `usize` in a kernel.
    Int(i128),
    /// A `bool`.
    Bool(bool),
    /// An enum and the index of one of its variants.
    Variant(Rc<Enum>, usize),
}

/// One point of the tuning space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The value of each const parameter of the kernel, by its name.
    pub consts: Vec<(String, Const)>,
    /// The constants among them that have their default value. Names of configurations leave them out.
    pub defaults: Vec<String>,
    /// Warps of each thread block.
    pub warps: u32,
    /// Least number of thread blocks that a multiprocessor holds at once; 0 for no limit of the registers.
    pub blocks_per_sm: u32,
    /// Buffers of a loop that copies ahead; 0 lets the compiler choose.
    pub stages: u32,
    /// Thread blocks (CTAs) of the cluster that runs a program.
    pub ctas: u32,
    /// The devices that it is for.
    pub arch: Arch,
}

/// The devices that a configuration is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arch {
    /// All.
    #[default]
    Any,
    /// All. On a GPU it has the instructions of this compute capability, 75, 80 or 90, and needs that or a later one.
    Capability(u32),
    /// The CPU backend.
    Cpu,
}

impl Arch {
    /// Whether a GPU with `wgmma` and TMA may run it by these.
    pub(crate) fn has_wgmma(self) -> bool {
        matches!(self, Arch::Any | Arch::Capability(90))
    }

    /// The value in an attribute and in the name of a configuration; none where the attribute has no `arch`.
    pub(crate) fn name(self) -> Option<String> {
        match self {
            Arch::Any => None,
            Arch::Capability(n) => Some(n.to_string()),
            Arch::Cpu => Some("cpu".into()),
        }
    }
}

/// The choice that a descriptor is for: a type for each type parameter, and which optional parameters have an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The type for each type parameter, by its name.
    pub types: Vec<(String, DType)>,
    /// Whether each optional parameter has an argument, in order.
    pub present: Vec<(String, bool)>,
}

impl Choice {
    /// Whether a call has an argument for a parameter.
    pub(crate) fn has(&self, p: &Param) -> bool {
        self.present.iter().all(|(name, is_present)| *is_present || p.name != name)
    }
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: Ident,
    pub kind: ParamKind,
    pub elem: TypeName,
    /// `Option<..>`: a call may leave it out, and has no argument words for it then.
    pub is_optional: bool,
}

/// A dtype or the name of a type parameter or alias.
#[derive(Clone, Debug)]
pub struct TypeName {
    pub name: String,
    pub span: Span,
}

/// The definitions of a `#[tile_module]` for its kernels.
#[derive(Clone, Default, Debug)]
pub struct Scope {
    pub enums: Vec<Rc<Enum>>,
    pub structs: Vec<Rc<Struct>>,
    pub helpers: Vec<Rc<Helper>>,
    pub consts: Vec<(String, Expr)>,
    pub aliases: Vec<(String, TypeName)>,
}

/// A plain function of a `#[tile_module]`, inlined where it is called.
#[derive(Clone, Debug)]
pub struct Helper {
    pub name: Ident,
    /// Of a library of the language: no place in it is in the user's files.
    pub is_standard: bool,
    pub type_params: Vec<String>,
    pub consts: Vec<ConstParam>,
    pub params: Vec<HelperParam>,
    /// The declared return type, if there is one.
    pub returns: Option<Said>,
    pub body: Block,
}

/// The part of a value's type that its declaration fixes: the element type of `f32`, `&[T]` and `Tile<T>`, and for a
/// tuple that of each part. The rest is inferred.
#[derive(Clone, Debug)]
pub enum Said {
    Nothing,
    Elem(TypeName),
    Tuple(Vec<Said>),
    /// `Option<..>`
    Option(Box<Said>),
    /// `[T; N]`: that of each element.
    Array(Box<Said>),
}

#[derive(Clone, Debug)]
pub struct HelperParam {
    pub pattern: Pattern,
    pub ty: ParamType,
}

/// The declared type of a helper's parameter.
#[derive(Clone, Debug)]
pub enum ParamType {
    Value(Said),
    /// `impl Fn(A, B) -> R`
    Closure(ClosureType),
}

/// The types of a closure's arguments and of its result, if it has one.
#[derive(Clone, Debug)]
pub struct ClosureType {
    pub args: Vec<Said>,
    pub returns: Option<Said>,
}

#[derive(Debug)]
pub struct Closure {
    pub params: Vec<ClosureParam>,
    /// The declared return type, if there is one.
    pub returns: Said,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub struct ClosureParam {
    pub pattern: Pattern,
    pub ty: Said,
    pub span: Span,
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
    Let {
        pattern: Pattern,
        ty: Said,
        init: Option<Expr>,
        span: Span,
    },
    /// `const NAME: ty = value;`
    Const {
        name: Ident,
        ty: Said,
        value: Expr,
    },
    Expr(Expr),
    /// Shows variables, as a [breakpoint](crate::front::breakpoints) does: the chosen ones, or those of the line that
    /// have a value.
    Watch {
        names: Vec<String>,
        is_chosen: bool,
        span: Span,
    },
}

#[derive(Clone, Debug)]
pub enum Pattern {
    Name {
        name: Ident,
        mutable: bool,
    },
    Tuple(Vec<Pattern>),
    /// `Name { field, other: pattern, .. }`; whether it ends with `..`.
    Struct {
        name: TypeName,
        fields: Vec<(Ident, Pattern)>,
        is_open: bool,
    },
    Ignore,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// `*const T` or `*mut T`.
#[derive(Clone, Debug)]
pub struct PointerType {
    pub mutable: bool,
    pub elem: TypeName,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Int(i128, Option<DType>),
    Float(f64, Option<DType>),
    Bool(bool),
    Str(String),
    /// A variable, constant or parameter.
    Name(String),
    /// `f32::INFINITY`, `T::MAX`, `Scheduler::Grid`.
    Assoc(TypeName, String),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Cast(Box<Expr>, TypeName),
    /// `address as *const T`
    ToPointer(Box<Expr>, PointerType),
    /// A call; a method call has its receiver as first argument.
    Call {
        name: Ident,
        generics: Vec<Generic>,
        args: Vec<Expr>,
        method: bool,
    },
    Tuple(Vec<Expr>),
    /// `t.0`
    Field(Box<Expr>, usize),
    /// `s.name`
    Member(Box<Expr>, Ident),
    /// `list[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `Name { field: value, .. }`
    Struct {
        name: TypeName,
        fields: Vec<(Ident, Expr)>,
    },
    Array(Vec<Expr>),
    Repeat(Box<Expr>, Box<Expr>),
    /// `a..b`, or `a..=b`
    Range {
        lo: Box<Expr>,
        hi: Box<Expr>,
        is_closed: bool,
    },
    Closure(Rc<Closure>),
    Block(Block),
    If {
        cond: Box<Expr>,
        then: Block,
        other: Option<Box<Expr>>,
    },
    Match {
        value: Box<Expr>,
        arms: Vec<Arm>,
    },
    For {
        label: Option<Ident>,
        pattern: Pattern,
        over: Box<Expr>,
        body: Block,
    },
    While {
        label: Option<Ident>,
        cond: Box<Expr>,
        body: Block,
    },
    Loop {
        label: Option<Ident>,
        body: Block,
    },
    Assign(Box<Expr>, Box<Expr>),
    AssignOp(BinaryOp, Box<Expr>, Box<Expr>),
    /// With the label of the loop that it leaves, without its quote.
    Break(Option<Ident>),
    Continue(Option<Ident>),
    /// Of a kernel; one of a helper becomes its value: see [`returns`](crate::front::parse::returns).
    Return(Option<Box<Expr>>),
    /// A value of a declared type: the result of a helper with an early `return`.
    Typed(Box<Expr>, Said),
    /// A mistake that has been reported.
    Error,
}

/// `pattern => body`
#[derive(Clone, Debug)]
pub struct Arm {
    pub pattern: ArmPattern,
    /// Of the pattern.
    pub span: Span,
    pub body: Expr,
    /// Follows the body, whose value is [`Arm::VALUE`] here, and does not see the names of the pattern: the rest of a
    /// helper that other arms leave.
    pub rest: Option<Block>,
}

impl Arm {
    /// No name of a kernel is so.
    pub const VALUE: &str = "the arm's value";
}

/// The pattern of an arm.
#[derive(Clone, Debug)]
pub enum ArmPattern {
    /// `_`
    Any,
    /// `A | B`: one of these, which are constants.
    Constants(Vec<Expr>),
    /// `Some(pattern)`: an optional value that is there.
    Some(Pattern),
    /// `None`
    None,
}

#[derive(Clone, Debug)]
pub enum Generic {
    Type(TypeName),
    Const(Expr),
}

impl Kernel {
    /// The parameters that a call may leave out, in order.
    pub fn optional(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|p| p.is_optional)
    }

    /// The parameter of a name. In a backward kernel the gradient of an output also has the output's name, which the
    /// grid of the forward kernel uses.
    pub fn param(&self, name: &str) -> Option<&Param> {
        let of_output = || {
            let adjoint = self.adjoint.as_ref()?;
            let of = adjoint.forward.params.iter().position(|p| p.name == name)?;
            let at = adjoint.roles.iter().position(|&role| role == (of, Holds::Given))?;
            self.params.get(at)
        };
        self.params.iter().find(|p| p.name == name).or_else(of_output)
    }
}

impl Struct {
    /// The index of a field.
    pub(crate) fn position(&self, field: &Ident) -> Option<usize> {
        self.fields.iter().position(|(name, _)| name == field)
    }

    /// Why a name is none of its fields.
    pub fn no_field(&self, name: &Ident) -> String {
        let fields = self.fields.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        format!("`{}` has no field `{name}`: it has {fields}", self.name)
    }
}

impl Enum {
    /// The index of a variant.
    pub(crate) fn position(&self, variant: &str) -> Option<usize> {
        self.variants.iter().position(|v| v == variant)
    }

    /// Why a name is none of its variants.
    pub(crate) fn no_variant(&self, name: &str) -> String {
        format!("`{}` has no variant `{name}`: it has {}", self.name, self.list())
    }

    /// Its variants, for messages: `Scheduler::Grid`, `Scheduler::Persistent`.
    pub(crate) fn list(&self) -> String {
        self.variants.iter().map(|v| format!("`{}::{v}`", self.name)).collect::<Vec<_>>().join(", ")
    }
}

impl Const {
    /// As a descriptor has it: an integer, 0 or 1, the index of a variant.
    pub(crate) fn number(&self) -> i128 {
        match self {
            Const::Int(n) => *n,
            Const::Bool(b) => i128::from(*b),
            Const::Variant(_, i) => *i as i128,
        }
    }

    /// The constant as an expression.
    pub fn expr(&self, span: Span) -> Expr {
        let kind = match self {
            Const::Int(n) => ExprKind::Int(*n, Some(DType::U64)),
            Const::Bool(b) => ExprKind::Bool(*b),
            Const::Variant(of, i) => {
                ExprKind::Assoc(TypeName { name: of.name.to_string(), span }, of.variants[*i].to_string())
            }
        };
        Expr { kind, span }
    }
}

/// As configurations are named: `128`, `true`, `Persistent`.
impl fmt::Display for Const {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Const::Int(n) => write!(f, "{n}"),
            Const::Bool(b) => write!(f, "{b}"),
            Const::Variant(of, i) => write!(f, "{}", of.variants[*i]),
        }
    }
}

impl fmt::Display for ConstType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ConstType::Int => f.write_str("an integer"),
            ConstType::Bool => f.write_str("a `bool`: `true`, `false`"),
            ConstType::Enum(of) => write!(f, "a `{}`: {}", of.name, of.list()),
        }
    }
}

impl Scope {
    /// Whether it is the name of an enum or a struct.
    pub fn names(&self, name: &str) -> bool {
        self.enumeration(name).is_some() || self.structure(name).is_some()
    }

    pub fn structure(&self, name: &str) -> Option<&Rc<Struct>> {
        self.structs.iter().find(|s| s.name == name)
    }

    pub fn enumeration(&self, name: &str) -> Option<&Rc<Enum>> {
        self.enums.iter().find(|e| e.name == name)
    }

    /// The type that a name stands for: one of the `bound` parameters, an alias, or a dtype.
    pub fn dtype(&self, t: &TypeName, bound: &[(String, DType)]) -> Option<DType> {
        if let Some((_, dtype)) = bound.iter().find(|(name, _)| *name == t.name) {
            return Some(*dtype);
        }
        let mut name = &t.name;
        // Aliases that lead to each other have no type.
        for _ in 0..=self.aliases.len() {
            match self.aliases.iter().find(|(from, to)| from == name && to.name != *name) {
                Some((_, to)) => name = &to.name,
                None => return DType::parse(name),
            }
        }
        None
    }
}
