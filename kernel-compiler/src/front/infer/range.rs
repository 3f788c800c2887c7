//! Ranges of loops and their options.

use crate::diag::{Code, Result};
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Range, Val, builtins, loops};
use crate::ir::LoopOptions;
use std::rc::Rc;

/// A schedule deeper than this holds no tile.
const MAX_STAGES: i128 = 16;

impl Infer<'_> {
    pub(super) fn range(&mut self, name: &str, c: &Call) -> Result<Val> {
        let range = |lo: &Val, hi: &Val, step: &Val, unrolled| Range {
            lo: lo.clone(),
            hi: hi.clone(),
            step: step.clone(),
            reversed: false,
            unrolled,
            options: LoopOptions::default(),
        };
        let (zero, one) = (Val::Int(0, None), Val::Int(1, None));
        let vals = self.exprs(c.args)?;
        let r = match (name, &vals[..]) {
            ("range", [lo, hi]) => range(lo, hi, &one, false),
            ("range", [lo, hi, step]) => range(lo, hi, step, false),
            ("range", _) => {
                return self.error(Code::ArgumentCount, c.span, "`range(a, b, step)` takes two or three arguments");
            }
            ("static_range", [Val::Range(r)]) => Range { reversed: r.reversed, ..range(&r.lo, &r.hi, &r.step, true) },
            ("static_range", [hi]) => range(&zero, hi, &one, true),
            ("static_range", [lo, hi]) => range(lo, hi, &one, true),
            ("static_range", [lo, hi, step]) => range(lo, hi, step, true),
            ("static_range", _) => return self.error(Code::Range, c.span, "`static_range(a..b)` takes a range"),
            ("rev", [Val::Range(r)]) => {
                let range = range(&r.lo, &r.hi, &r.step, r.unrolled);
                Range { reversed: !r.reversed, options: r.options, ..range }
            }
            ("rev", _) => return self.error(Code::Range, c.span, "`.rev()` follows a range: `(a..b).rev()`"),
            ("step_by", [Val::Range(r), _]) if r.reversed => {
                return self.error(Code::Range, c.span, "a step stands before `.rev()`: `(a..b).step_by(s).rev()`");
            }
            ("step_by", [Val::Range(r), _]) if !matches!(r.step, Val::Int(1, _)) => {
                return self.error(Code::Range, c.span, "the range has a step: multiply it by the other one");
            }
            ("step_by", [Val::Range(_), Val::Int(step, _)]) if *step < 1 => {
                let why = format!("a step of `.step_by` is 1 or more, found {step}: `range(a, b, -1)` counts down");
                return self.error(Code::Step, c.args[1].span, why);
            }
            (_, [Val::Range(r), step]) => Range { options: r.options, ..range(&r.lo, &r.hi, step, r.unrolled) },
            _ => return self.error(Code::Range, c.span, "`.step_by` follows a range: `(a..b).step_by(s)`"),
        };
        Ok(Val::Range(Rc::new(r)))
    }

    /// `.stages(n)`, `.unroll(n)`, `.flatten()`, `.warp_specialize(b)`: options of a loop's code, which do not change
    /// its meaning.
    pub(super) fn range_option(&mut self, name: &str, c: &Call) -> Result<Val> {
        let vals = self.exprs(c.args)?;
        let Some(Val::Range(r)) = vals.first() else {
            return self.error(
                Code::RangeOption,
                c.name.span(),
                format!(
                    "`.{name}` follows the range of a loop: `for k in range(0, n, BLOCK).{name}({})`",
                    if name == "flatten" { "" } else { ".." }
                ),
            );
        };
        if r.unrolled {
            return self.error(
                Code::RangeOption,
                c.name.span(),
                format!("`static_range` leaves no loop for `.{name}`: use `range(a, b, step)`"),
            );
        }
        let wanted = if name == "flatten" { 1 } else { 2 };
        if vals.len() != wanted {
            let usage = builtins::usage(name);
            return self.error(
                Code::RangeOption,
                c.name.span(),
                format!("{usage} takes {} argument{}", wanted - 1, if wanted == 2 { "" } else { "s" }),
            );
        }
        let mut options = r.options;
        match (name, vals.get(1)) {
            ("flatten", _) => options.flatten = true,
            ("warp_specialize", Some(Val::Bool(b))) => options.warp_specialize = Some(*b),
            ("warp_specialize", _) => {
                return self.error(Code::RangeOption, c.args[1].span, "`.warp_specialize` takes `true` or `false`");
            }
            (_, v) => {
                let at = c.args[1].span;
                let n = self.const_int(v.expect("counted"), at, &format!("the argument of `.{name}`"))?;
                let greatest = if name == "stages" { MAX_STAGES } else { loops::MAX_UNROLL };
                if !(1..=greatest).contains(&n) {
                    return self.error(Code::RangeOption, at, format!("{name} is 1 to {greatest}"));
                }
                *(if name == "stages" { &mut options.stages } else { &mut options.unroll }) = n as u32;
            }
        }
        let (lo, hi, step) = (r.lo.clone(), r.hi.clone(), r.step.clone());
        let r = Range { lo, hi, step, reversed: r.reversed, unrolled: false, options };
        Ok(Val::Range(Rc::new(r)))
    }
}
