//! Missed optimizations: the optimization, the reason, and the place in the kernel.

use proc_macro2::Span;
use std::borrow::Cow;
use std::fmt;

/// Why something is missed. The macro `why!` alone makes one, so that a test finds all texts in the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why(Cow<'static, str>);

/// The reason with this text, which is written as for `format!`.
macro_rules! why {
    ($($text:tt)*) => {
        $crate::missed::Why::written(format_args!($($text)*))
    };
}

impl Why {
    pub(crate) fn written(text: fmt::Arguments) -> Why {
        Why(text.as_str().map_or_else(|| text.to_string().into(), Cow::Borrowed))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something that a pass or a plan did not do.
#[derive(Clone, Debug)]
pub struct Missed {
    /// As in "multiplied by wgmma".
    pub what: &'static str,
    /// The cause, and the change of the source that removes it where there is one.
    pub why: Why,
    /// The place in the kernel that keeps it from being done, if there is one.
    pub span: Option<Span>,
}

impl Missed {
    pub(crate) fn new(what: &'static str, why: Why) -> Missed {
        Missed { what, why, span: None }
    }

    /// Whether both say the same of the same place.
    pub(crate) fn same(&self, o: &Missed) -> bool {
        let place = |m: &Missed| m.span.map(|s| (s.start().line, s.start().column));
        (self.what, &self.why, place(self)) == (o.what, &o.why, place(o))
    }

    pub(crate) fn at(self, span: Span) -> Missed {
        Missed { span: Some(span), ..self }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "not {}: {}", self.what, self.why)?;
        match self.span {
            Some(span) => write!(f, " (line {})", span.start().line),
            None => Ok(()),
        }
    }
}

/// Whether a pass has changed the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The pass has rewritten a part of it.
    Yes,
    /// The function is as it was before the pass.
    No,
}
