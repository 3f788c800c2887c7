//! The phases of the compiler from outside: text in, facts and text out.

mod analyse;
mod announced_stores;
mod common;
mod early;
mod expansion;
mod lowered_code;
mod masks;
mod ranges;
mod rotate;
mod schedule;
mod snapshots;
mod windows;
