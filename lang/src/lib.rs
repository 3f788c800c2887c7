//! The operations of the tile language as typed functions with documentation.
//!
//! An editor type-checks the body of a kernel over these: under rust-analyzer `#[tile_kernel]` expands to the user's
//! own body, which sees this crate, so that hover, completion and go-to-definition work. A compiled program calls none
//! of them: the kernel compiler knows the operations by their names.
//!
//! A tile's shape is no part of its type here. The documentation of an operation says which shapes it takes, and the
//! kernel compiler checks them.
//!
//! Every operation may be written as a method of its first argument: `exp(x)` is `x.exp()`.
//!
//! # Examples
//! Each operation has one: a kernel, a launch on the CPU, and the result.
//! ```
//! use tilewright::{Runtime, tile_kernel};
//!
//! #[tile_kernel(grid = [cdiv(y.len(), 4)])]
//! fn axpy(a: f32, x: &[f32], y: &mut [f32]) {
//!     let i = program_id(0) * 4 + arange(4);
//!     store(y, i, a * load(x, i) + load(y, i));
//! }
//!
//! let mut y = [10.0, 20.0, 30.0, 40.0, 50.0];
//! Runtime::cpu().launch(axpy(2.0, &[1.0, 2.0, 3.0, 4.0, 5.0], &mut y))?;
//! assert_eq!(y, [12.0, 24.0, 36.0, 48.0, 60.0]);
//! # Ok::<(), tilewright::Error>(())
//! ```
#![warn(missing_docs)]

mod asm;
mod atomics;
mod debug;
mod element_type;
mod elementary;
mod histogram;
mod kinds;
mod make;
mod math;
mod memory;
mod options;
mod pairs;
mod parts;
mod pointer;
mod product;
mod programs;
mod ranges;
mod reduce;
mod scaled;
mod scan;
mod shape;
mod shared;
mod sort;
mod value;

pub use asm::asm;
pub use atomics::{
    atomic_add, atomic_and, atomic_cas, atomic_load, atomic_max, atomic_min, atomic_or, atomic_store, atomic_xchg,
    atomic_xor,
};
pub use element_type::{DType, Typed, dtype};
pub use elementary::{
    Elementary, acos, acosh, asin, asinh, atan, atanh, cbrt, cosh, erfc, erfinv, exp10, expm1, lgamma, log1p, log10,
    rint, round, sinh, tan, tgamma, trunc,
};
pub use histogram::{HistogramOptions, cumcount, histogram};
pub use kinds::{Kinds, clz, ffs, isfinite, isinf, isnan, popc};
pub use make::{arange, full, zeros};
pub use math::{
    Math, abs, bitcast, brev, ceil, clamp, cos, erf, exp, exp2, floor, fma, log, log2, maximum, minimum, recip, rsqrt,
    sigmoid, sin, sqrt, tanh, to, where_,
};
pub use memory::{View, ViewMut, load, store};
pub use options::{Options, Stored};
pub use pairs::{Pairs, atan2, copysign, hypot, ldexp, mulhi, nextafter, pow};
pub use parts::{Parts, cat, flip, gather, insert, interleave, join, slice, split};
pub use pointer::{Pointer, Ptr, PtrMut, view};
pub use product::dot;
pub use programs::{cdiv, next_power_of_two, num_programs, program_id, swizzle2d};
pub use ranges::{Schedule, Steps, range, static_range};
pub use reduce::{Reductions, argmax, argmin, max, min, reduce, sum};
pub use scaled::{Formats, Scale, dot_scaled, from_e8m0, pack_e2m1, to_e8m0, unpack_e2m1};
pub use scan::{ScanOptions, Scans, cumprod, cumsum, scan};
pub use shape::{Shapes, broadcast, expand, permute, reshape, trans};
pub use shared::shared_array;
pub use sort::{SortOptions, sort, topk};
pub use tilewright_core::{bf16, f8e4m3, f8e5m2, f16};
pub use value::{Condition, Element, Float, Int, Meaning, Meets, Num, Of, Shape, SumOf, Tile, Tiles, Value};

/// Operations with another number of arguments: reductions along an axis, accesses through pointers, ranges of step 1.
/// A kernel calls them without `overloads::`.
pub mod overloads {
    pub use crate::atomics::overloads::*;
    pub use crate::element_type::overloads::*;
    pub use crate::make::overloads::*;
    pub use crate::pointer::overloads::*;
    pub use crate::ranges::overloads::*;
    pub use crate::reduce::overloads::*;
}

/// Functions that replace operators in the expansion for an editor: `a < b` of tiles is a tile in a kernel.
#[doc(hidden)]
pub mod operators {
    pub use crate::pointer::to_pointer;
    pub use crate::value::{cast, compare};
}

/// The function that the expression of a grid may call beside `cdiv`, `min` and `max`.
pub mod grid {
    pub use crate::programs::num_sms;
}

/// A kernel of this crate's documentation: itself, to be launched, and its function over the operations of this crate,
/// as an editor type-checks it.
#[doc(hidden)]
#[macro_export]
macro_rules! __example {
    (#[tile_kernel($($attribute:tt)*)] $($function:tt)*) => {
        mod typed {
            use $crate::*;
            $($function)*
        }
        #[tile_kernel($($attribute)*)]
        $($function)*
    };
}

/// The result of an operation, which only a kernel has.
#[track_caller]
fn stub<T>() -> T {
    panic!("an operation of the tile language: only a function under #[tile_kernel] can call it")
}
