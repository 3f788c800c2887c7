//! The operations by name, and a call of one.

use crate::diag::Span;
use crate::front::ast::{Expr, Generic};
use crate::front::infer::Val;
use crate::ir::{Hint, Precision};
use proc_macro2::Ident;

pub(super) struct Call<'a> {
    pub name: &'a Ident,
    pub generics: &'a [Generic],
    pub args: &'a [Expr],
    pub span: Span,
    pub options: Options,
}

/// What follows an access: `.mask(m).other(v).streaming()`; or a `dot`: `.tf32()`.
#[derive(Default)]
pub(super) struct Options {
    /// The first one of an access.
    pub of_access: Option<(String, Span)>,
    pub precision: Option<(Precision, Span)>,
    pub mask: Option<(Val, Span)>,
    pub other: Option<(Val, Span)>,
    pub hint: Hint,
    pub relaxed: bool,
    /// The kernel vouches for the bounds.
    pub unchecked: bool,
}

/// Every operation with how it is called, for messages and for the check that the documents name them all.
pub const BUILTINS: &[(&str, &str)] = &[
    ("program_id", "program_id(axis)"),
    ("num_programs", "num_programs(axis)"),
    ("swizzle2d", "swizzle2d(t, (tm, tn), GROUP)"),
    ("cdiv", "cdiv(a, b)"),
    ("next_power_of_two", "next_power_of_two(N)"),
    ("arange", "arange(N) or arange(A, B) or arange(A..B)"),
    ("zeros", "zeros::<T>([M, N])"),
    ("full", "full([M, N], v)"),
    ("where_", "where_(c, a, b)"),
    ("maximum", "maximum(a, b)"),
    ("minimum", "minimum(a, b)"),
    ("clamp", "clamp(x, lo, hi)"),
    ("to", "x.to::<T>() or x.to(y.dtype())"),
    ("dtype", "x.dtype() or dtype::<T>()"),
    ("bitcast", "bitcast::<T>(x)"),
    ("abs", "abs(x)"),
    ("floor", "floor(x)"),
    ("ceil", "ceil(x)"),
    ("sqrt", "sqrt(x)"),
    ("rsqrt", "rsqrt(x)"),
    ("recip", "recip(x)"),
    ("exp", "exp(x)"),
    ("exp2", "exp2(x)"),
    ("log", "log(x)"),
    ("log2", "log2(x)"),
    ("sin", "sin(x)"),
    ("cos", "cos(x)"),
    ("tanh", "tanh(x)"),
    ("erf", "erf(x)"),
    ("sigmoid", "sigmoid(x)"),
    ("fma", "fma(a, b, c)"),
    ("expand", "expand(t, axis)"),
    ("broadcast", "broadcast(t, [M, N])"),
    ("reshape", "reshape(t, [M, N])"),
    ("trans", "trans(t)"),
    ("permute", "permute(t, [1, 0, 2])"),
    ("sum", "sum(t) or sum(t, axis)"),
    ("max", "max(t) or max(t, axis)"),
    ("min", "min(t) or min(t, axis)"),
    ("argmax", "argmax(t) or argmax(t, axis)"),
    ("argmin", "argmin(t) or argmin(t, axis)"),
    ("reduce", "reduce(t, axis, |a, b| ..)"),
    ("dot", "dot(a, b, acc)"),
    ("load", "load(x, i) or load(p.add(i))"),
    ("store", "store(y, i, v) or store(p.add(i), v) or view.store([i, j], t)"),
    ("tile", "view.tile([i, j], [M, N])"),
    ("atomic_add", "atomic_add(y, i, v)"),
    ("atomic_max", "atomic_max(y, i, v)"),
    ("atomic_min", "atomic_min(y, i, v)"),
    ("atomic_and", "atomic_and(y, i, v)"),
    ("atomic_or", "atomic_or(y, i, v)"),
    ("atomic_xor", "atomic_xor(y, i, v)"),
    ("atomic_xchg", "atomic_xchg(y, i, v)"),
    ("atomic_cas", "atomic_cas(y, i, expected, new)"),
    ("atomic_load", "atomic_load(y, i)"),
    ("atomic_store", "atomic_store(y, i, v)"),
    ("add", "p.add(i)"),
    ("len", "x.len()"),
    ("dim", "view.dim(axis) or tile.dim(axis)"),
    ("stride", "view.stride(axis)"),
    ("range", "range(a, b, step)"),
    ("static_range", "static_range(a..b)"),
    ("step_by", "(a..b).step_by(s)"),
    ("rev", "(a..b).rev()"),
    ("stages", "range(a, b, step).stages(n)"),
    ("unroll", "range(a, b, step).unroll(n)"),
    ("flatten", "range(a, b, step).flatten()"),
    ("warp_specialise", "range(a, b, step).warp_specialise(true)"),
    ("static_assert", "static_assert!(c, \"message\")"),
    ("device_assert", "device_assert!(c, \"message\")"),
    ("device_print", "device_print!(\"label\", v)"),
];

pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.iter().any(|(n, _)| *n == name)
}

/// How an operation is called, for messages: `` `sum(t)` or `sum(t, axis)` ``.
pub(super) fn usage(name: &str) -> String {
    BUILTINS.iter().find(|(n, _)| *n == name).map_or(String::new(), |(_, usage)| quoted(usage))
}

/// Each way of a usage in backticks.
pub(super) fn quoted(usage: &str) -> String {
    format!("`{}`", usage.replace(" or ", "` or `"))
}

/// What may follow an access, and then what may follow a `dot`.
pub const OPTIONS: [&str; 9] =
    ["mask", "other", "streaming", "keep", "no_l1", "relaxed", "unchecked", "tf32", "tf32x3"];

pub(super) fn is_option(name: &str) -> bool {
    OPTIONS.contains(&name)
}

pub(super) fn is_access(name: &str) -> bool {
    matches!(name, "load" | "store" | "tile") || name.starts_with("atomic_")
}

/// The options of a `dot`, as written after it.
pub(super) fn precision(name: &str) -> Option<Precision> {
    match name {
        "tf32" => Some(Precision::Tf32),
        "tf32x3" => Some(Precision::Tf32x3),
        _ => None,
    }
}
