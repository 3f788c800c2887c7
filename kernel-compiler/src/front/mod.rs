//! The front end: source to typed IR. Every rule of the language is checked here, and nowhere later.

pub(crate) mod ast;
pub(crate) mod backward;
pub(crate) mod breakpoints;
pub mod cfg;
pub(crate) mod constants;
pub(crate) mod infer;
pub mod instance;
pub mod library;
pub(crate) mod map;
pub mod module;
pub(crate) mod names;
pub(crate) mod operators;
pub(crate) mod parse;
pub(crate) mod print;
pub mod registry;
pub mod source;
pub(crate) mod standard;
pub(crate) mod suggest;

pub use ast::{Choice, Config, Const, Enum};
