//! The thread-level program of one instance, as typed nodes. [`codegen`](crate::codegen) builds them; only [`print`]
//! makes text of them, and no pass reads that text.
//!
//! A [`Node`] is a step with control flow, an access to global memory or an exchange. Its statements ([`Stmt`]) and
//! expressions ([`Expr`]) are those of Rust, and [`Function`] says what a call does. [`verify`] states the invariants.

mod build;
pub mod dump;
pub mod expr;
pub mod function;
pub mod name;
pub mod node;
pub mod print;
pub mod verify;
pub mod walk;

pub(crate) use build::{call, closure};
pub use expr::{BinaryOp, Body, Call, Closure, Exchange, Expr, Generic, Literal, Method, Stmt, Ty};
pub use function::{Counted, Cpu, Device, Effect, Function};
pub use name::{Local, Name, Ring};
pub use node::{Access, AccessKind, Const, ConstValue, Lowered, Node};
