//! Checks the results of sweeps without timing them.

use crate::case::{Case, Failure, Skip, Verdict};
use crate::error::Result;
use crate::measure::declared_well;
use crate::report::Point;
use crate::sweep::Sweep;
use std::fmt;
use tilewright_runtime::Runtime;

/// The result of one line at one size. [`check`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The name of the sweep.
    pub sweep: String,
    /// The name of the line.
    pub line: String,
    /// The size at the point, as in `512x1000`.
    pub size: String,
    /// The result of the check.
    pub found: Found,
}

/// The result of a check. [`check`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The result is right.
    Right,
    /// It is not, and why.
    Wrong(String),
    /// The line has no value at this size, and why.
    Skipped(String),
}

impl fmt::Display for Checked {
    /// One line without its end.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (word, why) = match &self.found {
            Found::Right => ("ok     ", None),
            Found::Wrong(why) => ("FAILED ", Some(why)),
            Found::Skipped(why) => ("skipped", Some(why)),
        };
        write!(f, "{word} {}, {} at {}", self.sweep, self.line, self.size)?;
        why.map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

/// Launches each line of each sweep once at each of its sizes, and compares the result with the reference that the case
/// has. The sizes are those of [`Sweep::check_at`], else those of the axis. It runs on every backend, the emulated SM
/// too. `each` sees the results as they come.
///
/// Errors: [`Error::Sweep`](crate::Error::Sweep) for a declaration that cannot be measured, before anything is
/// launched.
///
/// # Examples
/// ```
/// use tilewright_bench::{Axis, Case, Found, Sweep, Verdict, check};
///
/// let sweep = Sweep::new("doubled", Axis::log("n", [1 << 20]))
///     .line("host", |_, n| {
///         let launch = |_: &_, y: &mut u64| Ok(*y *= 2);
///         Ok(Case::new(n, launch, move |y| Ok(Verdict::equal(&[*y], &[2 * n]))))
///     })
///     .check_at([1, 1000]);
/// let results = check(&tilewright::Runtime::cpu(), &[sweep], &mut |_| {})?;
/// assert_eq!(results.len(), 2);
/// assert!(results.iter().all(|c| c.found == Found::Right));
/// # Ok::<(), tilewright_bench::Error>(())
/// ```
pub fn check(rt: &Runtime, sweeps: &[Sweep], each: &mut dyn FnMut(&Checked)) -> Result<Vec<Checked>> {
    declared_well(sweeps)?;
    let mut all = vec![];
    for sweep in sweeps {
        for &x in sweep.checked.as_ref().unwrap_or(&sweep.axis.values) {
            let size = Point::label_of(x, &sweep.extents_at(x));
            for line in &sweep.lines {
                let found = of_case(rt, (line.prepare)(rt, x));
                let checked = Checked { sweep: sweep.name.clone(), line: line.name.clone(), size: size.clone(), found };
                each(&checked);
                all.push(checked);
            }
        }
    }
    Ok(all)
}

fn of_case(rt: &Runtime, case: std::result::Result<Case, Failure>) -> Found {
    let verdict = case.and_then(|mut case| {
        case.launch(rt)?;
        rt.synchronize()?;
        case.check()
    });
    match verdict {
        Ok(Verdict::Right) => Found::Right,
        Ok(Verdict::Wrong(why)) => Found::Wrong(why),
        Err(e) => match e.downcast::<Skip>() {
            Ok(skip) => Found::Skipped(skip.0),
            Err(e) => Found::Wrong(e.to_string()),
        },
    }
}
