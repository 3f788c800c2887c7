//! Options, which follow an operation as methods: `load(x, i).mask(m).other(v)`, `dot(a, b, acc).tf32()`.

use crate::diag::{Code, Result, Span};
use crate::front::ast::Expr;
use crate::front::infer::{Infer, Val};
use crate::ir::Hint;
use proc_macro2::Ident;

#[derive(Default)]
pub(super) struct Options {
    /// By name, in the order in which they follow, the last one first.
    said: Vec<(&'static str, Family, Span)>,
    pub mask: Option<(Val, Span)>,
    pub other: Option<(Val, Span)>,
    pub hint: Hint,
    pub relaxed: bool,
    /// The kernel vouches for the bounds.
    pub unchecked: bool,
    pub precision: Option<(DotPrecision, Span)>,
    /// Of a scan.
    pub reverse: bool,
    /// The initial value, before the first element.
    pub exclusive: Option<(Val, Span)>,
    pub descending: bool,
    /// Of a histogram.
    pub weights: Option<(Val, Span)>,
    /// The span of the option.
    pub propagate_nan: Option<Span>,
}

/// The precision of a `dot` of f32.
#[derive(Clone, Copy)]
pub(super) enum DotPrecision {
    Tf32,
    Tf32x3,
    /// Two bf16 for each, and three products.
    Bf16x3,
    /// Three bf16 for each, and six products.
    Bf16x6,
}

impl DotPrecision {
    fn parse(option: &str) -> Option<DotPrecision> {
        Some(match option {
            "tf32" => DotPrecision::Tf32,
            "tf32x3" => DotPrecision::Tf32x3,
            "bf16x3" => DotPrecision::Bf16x3,
            "bf16x6" => DotPrecision::Bf16x6,
            _ => return None,
        })
    }
}

impl Options {
    /// The place of an option that this operation does not have, and the operations that it belongs to. Without an
    /// operation any option is misplaced.
    pub fn misplaced(&self, operation: Option<&str>) -> Option<(Span, &'static str)> {
        let of = operation.and_then(Family::of_operation);
        // Counts have a mask, too.
        let is_count = of == Some(Family::Histogram) || operation == Some("cumcount");
        let is_of = |(name, family, _): &&(&str, Family, Span)| Some(*family) == of || *name == "mask" && is_count;
        let found = self.said.iter().rev().find(|said| !is_of(said));
        found.map(|(_, family, at)| (*at, family.follow()))
    }
}

/// Options by name, and the operations that they follow.
const FAMILIES: [(&str, Family); 16] = [
    ("mask", Family::Access),
    ("other", Family::Access),
    ("evict_first", Family::Access),
    ("evict_last", Family::Access),
    ("no_l1", Family::Access),
    ("relaxed", Family::Access),
    ("unchecked", Family::Access),
    ("tf32", Family::Dot),
    ("tf32x3", Family::Dot),
    ("bf16x3", Family::Dot),
    ("bf16x6", Family::Dot),
    ("reverse", Family::Scan),
    ("exclusive", Family::Scan),
    ("descending", Family::Sort),
    ("weights", Family::Histogram),
    ("propagate_nan", Family::Extremum),
];

/// The names of all options.
pub const OPTIONS: [&str; FAMILIES.len()] = {
    let mut names = [""; FAMILIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = FAMILIES[i].0;
        i += 1;
    }
    names
};

/// Operations that take the same options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Access,
    Dot,
    Scan,
    Sort,
    Histogram,
    /// A greatest or a least number.
    Extremum,
}

impl Family {
    fn of_operation(name: &str) -> Option<Family> {
        match name {
            n if is_access(n) => Some(Family::Access),
            "dot" => Some(Family::Dot),
            n if is_scan(n) => Some(Family::Scan),
            "sort" => Some(Family::Sort),
            "histogram" => Some(Family::Histogram),
            "maximum" | "minimum" | "max" | "min" | "clamp" => Some(Family::Extremum),
            _ => None,
        }
    }

    /// The sentence that names the options and their operations, for messages.
    fn follow(self) -> &'static str {
        match self {
            Family::Access => "options like `.mask(m)` follow `load`, `store`, `.tile` or an atomic",
            Family::Dot => "`.tf32()`, `.tf32x3()`, `.bf16x3()` and `.bf16x6()` follow `dot(a, b, acc)`",
            Family::Scan => "`.reverse()` and `.exclusive(v)` follow a scan, as in `cumsum(t, 0).reverse()`",
            Family::Sort => "`.descending()` follows `sort(t, axis)`",
            Family::Histogram => "`.weights(w)` follows `histogram(t, BINS)`",
            Family::Extremum => {
                "`.propagate_nan()` follows `maximum(a, b)`, `minimum(a, b)`, `clamp(x, lo, hi)`, `max(t, axis)` or `min(t, axis)`"
            }
        }
    }
}

pub(super) fn is_option(name: &str) -> bool {
    OPTIONS.contains(&name)
}

pub(super) fn is_access(name: &str) -> bool {
    matches!(name, "load" | "store" | "tile") || name.starts_with("atomic_")
}

pub(super) fn is_scan(name: &str) -> bool {
    matches!(name, "cumsum" | "cumprod" | "scan")
}

impl Infer<'_> {
    /// Notes an option of an operation.
    pub(super) fn option(&mut self, o: &mut Options, name: &Ident, args: &[Expr]) -> Result<()> {
        let n = name.to_string();
        let again = o.said.iter().any(|(before, ..)| *before == n);
        let known = FAMILIES.iter().find(|(option, _)| *option == n);
        o.said.extend(known.map(|&(option, family)| (option, family, name.span().into())));
        let wanted = usize::from(matches!(n.as_str(), "mask" | "other" | "exclusive" | "weights"));
        if args.len() != wanted {
            return self.error(
                Code::ArgumentCount,
                name.span(),
                format!("`.{n}` takes {wanted} argument{}", if wanted == 1 { "" } else { "s" }),
            );
        }
        let duplicate = format!("`.{n}({})` is given twice: remove one", if wanted == 0 { "" } else { ".." });
        // Later options of the chain have been seen already.
        let twice = match (n.as_str(), &o.mask, &o.other) {
            ("mask", Some((_, later)), _) => Some((*later, "an access has one `.mask(..)`: join conditions with `&`")),
            ("other", _, Some((_, later))) => {
                Some((*later, "a load has one `.other(..)`: the value of all masked elements"))
            }
            (precision, ..) if DotPrecision::parse(precision).is_some() && o.precision.is_some() => Some((
                name.span().into(),
                "a `dot` has one precision: `.tf32()`, `.tf32x3()`, `.bf16x3()` or `.bf16x6()`",
            )),
            _ if again => Some((name.span().into(), duplicate.as_str())),
            _ => None,
        };
        if let Some((at, message)) = twice {
            return self.error(Code::OptionTwice, at, message);
        }
        match n.as_str() {
            "mask" => o.mask = Some((self.expr(&args[0])?, args[0].span)),
            "other" => o.other = Some((self.expr(&args[0])?, args[0].span)),
            "evict_first" => o.hint = Hint::EvictFirst,
            "evict_last" => o.hint = Hint::EvictLast,
            "no_l1" => o.hint = Hint::NoL1,
            "unchecked" if !self.kernel.is_unsafe => {
                return self.error(
                    Code::NeedsUnsafe,
                    name.span(),
                    "`.unchecked()` can reach any memory: make the kernel an `unsafe fn`",
                );
            }
            "unchecked" => o.unchecked = true,
            "reverse" => o.reverse = true,
            "exclusive" => o.exclusive = Some((self.expr(&args[0])?, args[0].span)),
            "descending" => o.descending = true,
            "weights" => o.weights = Some((self.expr(&args[0])?, args[0].span)),
            "propagate_nan" => o.propagate_nan = Some(name.span().into()),
            "relaxed" => o.relaxed = true,
            precision => o.precision = DotPrecision::parse(precision).map(|p| (p, name.span().into())),
        }
        Ok(())
    }
}
