//! The part of a kernel that has no adjoint.

use proc_macro2::Span;

/// An operation or a statement that the adjoint does not support.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The place in the source.
    pub span: Span,
    /// The reason, and the allowed forms.
    pub why: String,
}

impl Refused {
    /// A reason, which names the operation, and the cure.
    pub(super) fn new(span: Span, why: impl Into<String>) -> Refused {
        Refused { span, why: why.into() }
    }
}
