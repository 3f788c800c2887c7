//! The values of constants: variants by their names, comparison, and the arm of a `match`. Kernels and grids share it.

use crate::diag::{Code, Diagnostics, Result, Span};
use crate::front::ast::{Arm, ArmPattern, Const, ConstType, Expr, Scope, TypeName};
use crate::front::operators::BinaryOp;

/// `Scheduler::Grid`, where `Scheduler` is an enum of the scope.
pub fn variant(of: &TypeName, name: &str, span: Span, scope: &Scope, d: &Diagnostics) -> Option<Result<Const>> {
    let of = scope.enumeration(&of.name)?;
    Some(match of.position(name) {
        Some(i) => Ok(Const::Variant(of.clone(), i)),
        None => Err(d.error(Code::UnknownConstant, span, of.no_variant(name))),
    })
}

impl Const {
    pub(crate) fn ty(&self) -> ConstType {
        match self {
            Const::Int(_) => ConstType::Int,
            Const::Bool(_) => ConstType::Bool,
            Const::Variant(of, _) => ConstType::Enum(of.clone()),
        }
    }

    /// As messages call it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Const::Int(n) => format!("the integer {n}"),
            Const::Bool(b) => format!("`{b}`"),
            Const::Variant(of, i) => format!("`{}::{}`", of.name, of.variants[*i]),
        }
    }
}

/// `a op b`, where a variant is on one side at least: only `==` and `!=` of one enum.
pub fn compare(op: BinaryOp, a: Option<&Const>, b: Option<&Const>, span: Span, d: &Diagnostics) -> Result<bool> {
    let (of, other) = match (a, b) {
        (Some(a @ Const::Variant(..)), b) => (a, b),
        (_, Some(b)) => (b, a),
        (_, None) => unreachable!("a variant is on one side"),
    };
    if !matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
        return Err(d.error(
            Code::VariantComparison,
            span,
            format!("`{}` of {}: variants are compared by `==` and `!=`, or matched", op.symbol(), of.describe()),
        ));
    }
    match other {
        Some(other) if other.ty() == of.ty() => Ok((other == of) == (op == BinaryOp::Eq)),
        Some(other) => Err(d.error(
            Code::VariantComparison,
            span,
            format!(
                "{} and {} are of different types: a variant is compared with one of its enum",
                of.describe(),
                other.describe()
            ),
        )),
        None => Err(d.error(
            Code::VariantComparison,
            span,
            format!("{} is compared with a constant of its enum alone", of.describe()),
        )),
    }
}

/// The message for `Some` and `None` on other values.
pub const OPTIONAL: &str =
    "`Some(..)` and `None` are patterns of an optional value, as of a parameter `x: Option<&[T]>`";

/// The arm of a `match` that an optional value takes.
pub fn select_option<'a>(is_present: bool, arms: &'a [Arm], span: Span, d: &Diagnostics) -> Result<&'a Arm> {
    let (mut some, mut none) = (None, None);
    for arm in arms {
        match &arm.pattern {
            ArmPattern::Any => {
                some.get_or_insert(arm);
                none.get_or_insert(arm);
            }
            ArmPattern::Some(_) => drop(some.get_or_insert(arm)),
            ArmPattern::None => drop(none.get_or_insert(arm)),
            ArmPattern::Constants(_) => {
                return Err(d.error(
                    Code::OptionalValue,
                    arm.span,
                    "this `match` is on an optional value: its patterns are `Some(name)`, `None` and `_`",
                ));
            }
        }
    }
    match (some, none) {
        (None, _) => {
            Err(d.error(Code::MatchNotExhaustive, span, "this `match` has no arm for `Some(..)`: add one, or `_`"))
        }
        (_, None) => {
            Err(d.error(Code::MatchNotExhaustive, span, "this `match` has no arm for `None`: add one, or `_`"))
        }
        (Some(some), Some(none)) => Ok(if is_present { some } else { none }),
    }
}

/// The arm of a `match` that a constant takes. The arms together take all constants of the type.
pub fn select<'a>(
    value: &Const,
    arms: &'a [Arm],
    mut constant: impl FnMut(&Expr) -> Result<Option<Const>>,
    span: Span,
    d: &Diagnostics,
) -> Result<&'a Expr> {
    let ty = value.ty();
    let (mut taken, mut seen, mut is_complete) = (None, vec![], false);
    for arm in arms {
        let patterns = match &arm.pattern {
            ArmPattern::Any => &[][..],
            ArmPattern::Constants(list) => list,
            ArmPattern::Some(_) | ArmPattern::None => {
                return Err(d.error(Code::OptionalValue, arm.span, format!("{OPTIONAL}; this `match` is on {ty}")));
            }
        };
        let mut takes = matches!(arm.pattern, ArmPattern::Any);
        is_complete |= takes;
        for pattern in patterns {
            let of = constant(pattern)?;
            let Some(of) = of.as_ref().filter(|of| of.ty() == ty) else {
                let what = of.map_or("this".into(), |of| of.describe());
                return Err(d.error(
                    Code::MatchValue,
                    pattern.span,
                    format!("{what} is no value of this `match`, which is on {ty}"),
                ));
            };
            takes |= of == value;
            seen.push(of.clone());
        }
        if takes && taken.is_none() {
            taken = Some(&arm.body);
        }
    }
    let all: Vec<Const> = match &ty {
        ConstType::Int => vec![],
        ConstType::Bool => [true, false].map(Const::Bool).into(),
        ConstType::Enum(of) => (0..of.variants.len()).map(|i| Const::Variant(of.clone(), i)).collect(),
    };
    let missing: Vec<String> = all.iter().filter(|c| !seen.contains(c)).map(Const::describe).collect();
    match taken {
        Some(body) if is_complete || missing.is_empty() && !all.is_empty() => Ok(body),
        _ if all.is_empty() => {
            Err(d.error(Code::MatchNotExhaustive, span, "a `match` on an integer ends with an arm `_`"))
        }
        _ => Err(d.error(
            Code::MatchNotExhaustive,
            span,
            format!("this `match` has no arm for {}: add one, or `_`", missing.join(", ")),
        )),
    }
}
