//! Errors, collected: every phase reports all it finds, each once, at the user's own tokens.

mod code;

pub use code::Code;

use proc_macro2::{Punct, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use std::cell::RefCell;
use std::fmt;

/// The first and the last of the tokens that a message is about. A macro on stable Rust cannot join them.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first token.
    pub first: proc_macro2::Span,
    /// The last token, which may be the first one.
    pub last: proc_macro2::Span,
}

impl From<proc_macro2::Span> for Span {
    fn from(one: proc_macro2::Span) -> Span {
        Span { first: one, last: one }
    }
}

impl Span {
    /// All tokens of a piece of syntax.
    pub fn of(syntax: &impl ToTokens) -> Span {
        let mut tokens = syntax.to_token_stream().into_iter().map(|t| t.span());
        let first = tokens.next().unwrap_or_else(proc_macro2::Span::call_site);
        Span { first, last: tokens.last().unwrap_or(first) }
    }
}

/// A mistake in a kernel's source.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule that the mistake breaks.
    pub code: Code,
    /// The user's own tokens that break it.
    pub span: Span,
    /// The mistake, then the allowed forms.
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

/// The result of a phase that reports its errors to [`Diagnostics`].
pub type Result<T> = std::result::Result<T, Reported>;

impl Diagnostics {
    pub(crate) fn error(&self, code: Code, span: impl Into<Span>, message: impl Into<String>) -> Reported {
        self.add(Diagnostic::new(code, span, message));
        Reported
    }

    fn add(&self, d: Diagnostic) {
        let place = |s: Span| {
            let (first, last) = (s.first, s.last);
            (first.file(), first.start().line, first.start().column, last.end().line, last.end().column)
        };
        let mut found = self.found.borrow_mut();
        if !found.iter().any(|known| place(known.span) == place(d.span)) {
            found.push(d);
        }
    }

    /// Adds the errors of a part.
    pub(crate) fn extend(&self, part: Diagnostics) {
        part.found.into_inner().into_iter().for_each(|d| self.add(d));
    }

    pub(crate) fn syn(&self, e: syn::Error) -> Reported {
        self.add(Diagnostic::of_syn(&e));
        Reported
    }

    /// Whether no error is reported.
    pub fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.found.borrow().len()
    }

    /// Forgets all errors but the first `len`.
    pub(crate) fn truncate(&self, len: usize) {
        self.found.borrow_mut().truncate(len);
    }

    /// All errors, in the order of the source.
    pub fn take(&self) -> Vec<Diagnostic> {
        let mut all = std::mem::take(&mut *self.found.borrow_mut());
        all.sort_by_key(|d| (d.span.first.file(), d.span.first.start().line, d.span.first.start().column));
        all
    }
}

/// An error of ours for a parser of syn. syn's errors carry no more than a text, so the code is marked in it.
pub(crate) fn syn_error(code: Code, span: proc_macro2::Span, message: impl AsRef<str>) -> syn::Error {
    syn::Error::new(span, code.mark(message.as_ref()))
}

/// An error of a parser of syn as `compile_error!`.
pub(crate) fn syn_error_to_tokens(e: syn::Error) -> TokenStream {
    e.into_iter().map(|e| Diagnostic::of_syn(&e).to_tokens()).collect()
}

impl Diagnostic {
    pub(crate) fn new(code: Code, span: impl Into<Span>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, span: span.into(), message: message.into() }
    }

    /// syn's own errors have one code.
    fn of_syn(e: &syn::Error) -> Diagnostic {
        let text = e.to_string();
        let (message, code) = Code::split(&text).unwrap_or((&text, Code::Syntax));
        Diagnostic::new(code, e.span(), message)
    }

    /// As a `compile_error!` at its place.
    pub(crate) fn to_tokens(&self) -> TokenStream {
        let end = |span| {
            let mut end = Punct::new(';', Spacing::Alone);
            end.set_span(span);
            TokenTree::from(end)
        };
        let ends = TokenStream::from_iter([self.span.first, self.span.last].map(end));
        syn::Error::new_spanned(ends, self.to_string()).to_compile_error()
    }
}

/// The message as users see it: with its code.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.code.mark(&self.message))
    }
}
