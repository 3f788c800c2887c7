//! Who sees the compiler's work, and attempts whose work may be abandoned.

use crate::ir::Func;
use crate::missed::Missed;
use crate::plan::Plan;
use crate::stage::Stage;

/// Sees the compiler's work after each stage.
pub trait Observer {
    /// A stage is done, and the closure prints its result. Of a stage that is done several times the last one counts.
    fn stage(&mut self, _: Stage, _: &dyn Fn() -> String) {}

    /// Every plan that is made; the last one is carried out.
    fn planned(&mut self, _: &Func, _: &Plan) {}

    /// Something that could not be done well, in a variant that is made all the same.
    fn missed(&mut self, _: Missed) {}
}

/// Looks at nothing.
impl Observer for () {}

/// The reasons of an attempt count if the attempt is taken.
pub(crate) fn attempt<T>(
    observer: &mut dyn Observer,
    make: impl FnOnce(&mut dyn Observer) -> Result<T, Missed>,
) -> Result<T, Missed> {
    let mut attempt = Attempt { observer, missed: vec![] };
    let lowered = make(&mut attempt)?;
    let Attempt { observer, missed } = attempt;
    missed.into_iter().for_each(|m| observer.missed(m));
    Ok(lowered)
}

/// An attempt that fails, as what it would have been.
pub(crate) fn abandoned(what: &'static str, m: Missed) -> Missed {
    Missed { what, why: why!("it would not be {}: {}", m.what, m.why), span: m.span }
}

/// Keeps what an attempt misses until it is known whether the attempt is taken.
struct Attempt<'o> {
    observer: &'o mut dyn Observer,
    missed: Vec<Missed>,
}

impl Observer for Attempt<'_> {
    fn stage(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        self.observer.stage(stage, text);
    }

    fn planned(&mut self, f: &Func, plan: &Plan) {
        self.observer.planned(f, plan);
    }

    fn missed(&mut self, m: Missed) {
        self.missed.push(m);
    }
}

/// Keeps what is missed.
#[derive(Default)]
pub(crate) struct Collected(pub Vec<Missed>);

impl Observer for Collected {
    fn missed(&mut self, m: Missed) {
        self.0.push(m);
    }
}

#[cfg(test)]
mod tests {
    use super::{Collected, Missed, abandoned, attempt};

    /// Of an attempt that is abandoned only the reason counts.
    #[test]
    fn an_abandoned_attempt_leaves_its_reason() {
        let said = || Missed::new("stored by TMA", why!("it is transposed"));
        let mut seen = Collected::default();
        let failed = attempt(&mut seen, |o| {
            o.missed(said());
            Err::<(), _>(Missed::new("copied by TMA", why!("its buffers take too much")))
        });
        let why = abandoned("pipelined", failed.expect_err("it fails"));
        assert_eq!(why.to_string(), "not pipelined: it would not be copied by TMA: its buffers take too much");
        assert!(seen.0.is_empty());
        let taken = attempt(&mut seen, |o| {
            o.missed(said());
            Ok(())
        });
        assert!(taken.is_ok() && seen.0.iter().any(|m| m.same(&said())));
    }
}
