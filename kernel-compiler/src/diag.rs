//! Errors, collected: every phase reports all it finds, each once, at the user's own token.

use proc_macro2::{Span, TokenStream};
use std::cell::RefCell;

/// A mistake in a kernel's source.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub span: Span,
    /// What is wrong, then what is allowed.
    pub message: String,
}

/// Collects diagnostics. Instances of one kernel repeat each other's mistakes: an error is kept once per place.
#[derive(Default, Debug)]
pub struct Diagnostics {
    found: RefCell<Vec<Diagnostic>>,
}

/// Says that an error has been reported; carries nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Reported;

pub type Result<T> = std::result::Result<T, Reported>;

impl Diagnostics {
    pub fn error(&self, span: Span, message: impl Into<String>) -> Reported {
        let message = message.into();
        let place = |s: Span| (s.file(), s.start().line, s.start().column, s.end().line, s.end().column);
        let mut found = self.found.borrow_mut();
        if !found.iter().any(|d| place(d.span) == place(span)) {
            found.push(Diagnostic { span, message });
        }
        Reported
    }

    pub fn syn(&self, e: syn::Error) -> Reported {
        self.error(e.span(), e.to_string())
    }

    pub fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    pub fn take(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.found.borrow_mut())
    }
}

impl Diagnostic {
    /// As a `compile_error!` at its place.
    pub fn to_tokens(&self) -> TokenStream {
        syn::Error::new(self.span, &self.message).to_compile_error()
    }
}
