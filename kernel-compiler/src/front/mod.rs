//! The front end: source to typed IR. Every rule of the language is checked here, and nowhere later.

pub mod ast;
pub mod breakpoints;
pub mod constants;
pub mod infer;
pub mod instance;
pub mod library;
pub mod map;
pub mod module;
pub mod names;
pub mod parse;
pub mod print;
pub mod registry;
pub mod source;
pub mod standard;
pub mod suggest;
