//! The parameters of a backward kernel.

use crate::ir::{Param, ParamKind};

/// The content of a parameter of a backward kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The argument of the forward kernel.
    Values,
    /// The gradient with respect to an input, to which the kernel adds.
    Sum,
    /// The gradient with respect to an output, which the kernel loads.
    Given,
}

/// A parameter of a backward kernel.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The parameter, with its argument words.
    pub param: Param,
    /// The parameter of the forward function that it belongs to, if this has it.
    pub of: Option<usize>,
    /// Its content.
    pub holds: Holds,
}

/// The parameters that a backward kernel has for one of the forward kernel. `is_float`: its elements are floats of 16
/// bits or more. `is_wanted`: the kernel adds to a gradient with respect to it, if it is read.
pub fn derived(kind: ParamKind, is_float: bool, is_wanted: bool) -> Vec<(Holds, ParamKind)> {
    match (kind.is_array() && is_float, kind.is_mut()) {
        (true, true) => vec![(Holds::Given, with(kind, false))],
        (true, false) if is_wanted => vec![(Holds::Values, kind), (Holds::Sum, with(kind, true))],
        _ => vec![(Holds::Values, with(kind, false))],
    }
}

/// The name of the gradient with respect to a parameter.
pub fn gradient_name(of: &str) -> String {
    format!("{of}_grad")
}

/// The kind of an array that is written, or only read.
fn with(kind: ParamKind, mutable: bool) -> ParamKind {
    match kind {
        ParamKind::Slice { .. } => ParamKind::Slice { mutable },
        ParamKind::View { rank, .. } => ParamKind::View { rank, mutable },
        ParamKind::Ptr { .. } => ParamKind::Ptr { mutable },
        ParamKind::Scalar => ParamKind::Scalar,
    }
}

/// The parameters for those of a function, where every array of floats that it reads has a gradient.
pub fn of_all(params: &[Param]) -> Vec<Derived> {
    let (mut out, mut first_word) = (vec![], 0);
    for (i, p) in params.iter().enumerate() {
        for (holds, kind) in derived(p.kind, p.dtype.is_float() && !p.dtype.is_float8(), true) {
            let name = if holds == Holds::Values { p.name.clone() } else { gradient_name(&p.name) };
            out.push(Derived { param: Param { name, kind, dtype: p.dtype, first_word }, of: Some(i), holds });
            first_word += kind.words();
        }
    }
    out
}
