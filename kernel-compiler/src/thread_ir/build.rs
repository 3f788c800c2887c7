//! How codegen writes nodes: `(x + 1) * Name::Tid`, `Expr::from(table).element(i)`, `call!(Device::Pair; [dtype]; low,
//! high)`, `Stmt::define(name, ty, value)`. Where an operand needs parentheses the printer sets them; a
//! [group](super::expr::Expr::Group) is for those that no operator needs.

use super::expr::{BinaryOp, Body, Closure, Expr, Generic, Literal, Method, Stmt, Ty};
use super::name::{Local, Name};
use crate::dtype::DType;
use crate::ir::{Binary, Func, Value};

/// `call!(function; [generics]; arguments)`.
macro_rules! call {
    ($function:expr; [$($generic:expr),* $(,)?]; $($arg:expr),* $(,)?) => {
        $crate::thread_ir::Expr::Call($crate::thread_ir::Call {
            function: $function.into(),
            generics: vec![$($crate::thread_ir::Generic::from($generic)),*],
            args: vec![$($crate::thread_ir::Expr::from($arg)),*],
        })
    };
    ($function:expr; $($arg:expr),* $(,)?) => { $crate::thread_ir::call!($function; []; $($arg),*) };
}
pub(crate) use call;

/// The number that follows `i` in a loop. Where it may lie beyond the greatest number of the type, that number, with
/// which every loop ends.
pub(crate) fn next_number(f: &Func, i: Name, hi: Value, step: Value) -> Expr {
    match f.may_step_beyond(hi, step) {
        true => Expr::from(i).method(Method::SaturatingAdd, step),
        false => call!(Binary::Add; i, step),
    }
}

/// `|params| body`.
pub(crate) fn closure<const N: usize>(params: [impl Into<Name>; N], body: impl Into<Expr>) -> Expr {
    Expr::Closure(Closure { params: params.map(Into::into).to_vec(), ty: None, body: Box::new(body.into()) })
}

impl Body {
    pub(crate) fn of(value: impl Into<Expr>) -> Body {
        Body { stmts: vec![], value: Box::new(value.into()) }
    }

    pub(crate) fn after(stmts: Vec<Stmt>, value: impl Into<Expr>) -> Body {
        Body { stmts, value: Box::new(value.into()) }
    }
}

impl Expr {
    pub(crate) fn typed(value: impl Into<i128>, dtype: DType) -> Expr {
        Expr::Literal(Literal::Int { value: value.into(), dtype: Some(dtype) })
    }

    pub(crate) fn zero(dtype: DType) -> Expr {
        Expr::Literal(Literal::Zero(dtype))
    }

    pub(crate) fn group(self) -> Expr {
        Expr::Group(Box::new(self))
    }

    pub(crate) fn cast(self, to: impl Into<Ty>) -> Expr {
        Expr::Cast(Box::new(self), to.into())
    }

    pub(crate) fn field(self, index: usize) -> Expr {
        Expr::Field(Box::new(self), index)
    }

    /// The element at an index.
    pub fn element(self, index: impl Into<Expr>) -> Expr {
        Expr::Index(Box::new(self), Box::new(index.into()))
    }

    pub(crate) fn method(self, method: Method, arg: impl Into<Expr>) -> Expr {
        Expr::Method(method, Box::new(self), vec![arg.into()])
    }

    /// The element of a tile on the CPU.
    pub(crate) fn at_index(self, index: impl Into<Expr>) -> Expr {
        self.method(Method::At, index)
    }

    pub(crate) fn by_ref(self) -> Expr {
        Expr::Ref(Box::new(self))
    }

    pub(crate) fn wrapping_add(self, other: impl Into<Expr>) -> Expr {
        self.method(Method::WrappingAdd, other)
    }

    pub(crate) fn wrapping_mul(self, other: impl Into<Expr>) -> Expr {
        self.method(Method::WrappingMul, other)
    }

    pub(crate) fn binary(self, op: BinaryOp, other: impl Into<Expr>) -> Expr {
        Expr::Binary(op, Box::new(self), Box::new(other.into()))
    }

    pub(crate) fn equals(self, other: impl Into<Expr>) -> Expr {
        self.binary(BinaryOp::Eq, other)
    }

    pub(crate) fn less(self, other: impl Into<Expr>) -> Expr {
        self.binary(BinaryOp::Lt, other)
    }

    pub(crate) fn greater(self, other: impl Into<Expr>) -> Expr {
        self.binary(BinaryOp::Gt, other)
    }

    pub(crate) fn not_less(self, other: impl Into<Expr>) -> Expr {
        self.binary(BinaryOp::Ge, other)
    }

    pub(crate) fn and_then(self, other: impl Into<Expr>) -> Expr {
        self.binary(BinaryOp::AndThen, other)
    }

    pub(crate) fn or_else(self, other: impl Into<Expr>) -> Expr {
        self.binary(BinaryOp::OrElse, other)
    }

    pub(crate) fn when(cond: impl Into<Expr>, then: impl Into<Expr>, other: impl Into<Expr>) -> Expr {
        Expr::If { cond: Box::new(cond.into()), then: Body::of(then), other: Some(Body::of(other)) }
    }
}

impl std::ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        Expr::Not(Box::new(self))
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $op:ident),* $(,)?) => { $(
        impl<T: Into<Expr>> std::ops::$operator<T> for Expr {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                self.binary(BinaryOp::$op, other)
            }
        }

        impl<T: Into<Expr>> std::ops::$operator<T> for Name {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                Expr::Name(self).binary(BinaryOp::$op, other)
            }
        }

        impl<T: Into<Expr>> std::ops::$operator<T> for Local {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                Expr::from(self).binary(BinaryOp::$op, other)
            }
        }
    )* };
}

operators! {
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, Shl shl Shl, Shr shr Shr,
    BitAnd bitand And, BitXor bitxor Xor, BitOr bitor Or,
}

from! {
    n: Name => Expr = Expr::Name(n);
    l: Local => Name = Name::Local(l);
    l: Local => Expr = Expr::Name(Name::Local(l));
    v: Value => Name = Name::Value(v);
    v: Value => Expr = Expr::Name(Name::Value(v));
    e: &Expr => Expr = e.clone();
    b: bool => Expr = Expr::Literal(Literal::Bool(b));
    c: Closure => Expr = Expr::Closure(c);
    b: Body => Expr = Expr::Block(b);
    t: DType => Generic = Generic::Type(Ty::Scalar(t));
    t: Ty => Generic = Generic::Type(t);
    t: &Ty => Generic = Generic::Type(t.clone());
    n: usize => Generic = Generic::Number(n);
    n: u32 => Generic = Generic::Number(n as usize);
    b: bool => Generic = Generic::Flag(b);
    t: DType => Ty = Ty::Scalar(t);
    e: Expr => Stmt = Stmt::Expr(e);
}

macro_rules! numbers {
    ($($t:ty)*) => { $(
        impl From<$t> for Expr {
            fn from(n: $t) -> Expr {
                Expr::Literal(Literal::Int { value: n as i128, dtype: None })
            }
        }
    )* };
}

numbers! { i32 u32 i64 i128 usize }

impl Ty {
    pub(crate) const U32: Ty = Ty::Scalar(DType::U32);
    pub(crate) const U64: Ty = Ty::Scalar(DType::U64);

    pub(crate) fn array(of: impl Into<Ty>, len: usize) -> Ty {
        Ty::Array(Box::new(of.into()), len)
    }
}

impl Stmt {
    /// `let name: ty = value;`
    pub(crate) fn define(name: impl Into<Name>, ty: Ty, value: impl Into<Expr>) -> Stmt {
        Stmt::Let { name: name.into(), mutable: false, ty: Some(ty), value: Some(value.into()) }
    }

    /// The same, of the type that the value has.
    pub fn bind(name: impl Into<Name>, value: impl Into<Expr>) -> Stmt {
        Stmt::Let { name: name.into(), mutable: false, ty: None, value: Some(value.into()) }
    }

    /// `let mut name: ty;`, with a value or without.
    pub(crate) fn variable(name: impl Into<Name>, ty: Option<Ty>, value: Option<Expr>) -> Stmt {
        Stmt::Let { name: name.into(), mutable: true, ty, value }
    }

    /// `name = value;`
    pub fn assign(name: impl Into<Name>, value: impl Into<Expr>) -> Stmt {
        Stmt::Assign(name.into(), value.into())
    }
}
