//! The thread-level program of one instance, as typed nodes. [`codegen`](crate::codegen) builds them; only
//! [`mod@print`] makes text of them, and no pass reads that text.
//!
//! A [`ThreadIr`] is a step with control flow, an access to global memory or a scratch buffer. Its statements
//! ([`Stmt`]) and expressions ([`Expr`]) are those of Rust, and [`Function`] has the effects of calls. [`verify`]
//! states the invariants.

/// Conversions of one type into another: `x: From => Into = value;`.
macro_rules! from {
    ($($x:ident: $from:ty => $into:ty = $value:expr;)*) => { $(
        impl From<$from> for $into {
            fn from($x: $from) -> Self {
                $value
            }
        }
    )* };
}

mod build;
pub(crate) mod dump;
pub(crate) mod expr;
pub(crate) mod function;
pub(crate) mod name;
pub(crate) mod node;
pub(crate) mod print;
pub(crate) mod trace;
pub mod verify;
pub(crate) mod walk;

pub use crate::plan::access_order::{Access, AccessKind, Elements};
pub(crate) use build::{call, closure, next_number};
pub use expr::{Asm, BinaryOp, Body, Call, Closure, Expr, Generic, Literal, Method, Scratch, Stmt, Ty};
pub use function::{Counted, Cpu, Device, Effect, Function};
pub use name::{BufferPart, Local, Name};
pub use node::{Const, ConstValue, Lowered, ThreadIr};
pub use trace::TraceEvent;
