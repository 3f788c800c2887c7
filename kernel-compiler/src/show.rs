//! The driver stopped after a stage, as text.

use crate::diag::Diagnostics;
use crate::driver::{self, Observer, Stage, lower, observed_instance};
use crate::emit::{config_id, cpu, entry_name, types_id};
use crate::front::library::Libraries;
use crate::front::source::Source;
use crate::select;
use crate::thread_ir::print;
use crate::variant::Variant;

/// Keeps the text of one stage: the last one, if the driver comes by it again.
struct Capture {
    stage: Stage,
    text: Option<String>,
}

impl Observer for Capture {
    fn stage(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        if stage == self.stage {
            self.text = Some(text());
        }
    }
}

/// The types (`f16`) and the id of the configuration of the first instance that has these, if any are given.
pub fn first_instance<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
) -> Result<(String, String), String> {
    let k = select::kernel(source, libraries, kernel)?;
    select::instance(&k, types, config).map(|i| (types_id(&i.types), config_id(i.config)))
}

/// The entries of an instance with their variants, the ones that ask most of their arguments first. Types and
/// configuration are as for [`show`].
pub fn entries<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
) -> Result<Vec<(String, Variant)>, String> {
    let k = select::kernel(source, libraries, kernel)?;
    let i = select::instance(&k, types, config)?;
    let d = Diagnostics::default();
    let f = driver::instance(&k, &i.types, i.config, &d).map_err(|_| select::messages(&d))?;
    let name = |v: Variant| entry_name(&k.name, &i.types, i.config, v);
    Ok(driver::variants(&f, i.config, false).into_iter().map(|(v, _)| (name(v), v)).collect())
}

/// Shows a kernel of a file, which uses libraries of the package: of the instance with these types (`f16`; none: the
/// first) and configuration (its id; none: the default), in one of its variants.
pub fn show<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variant: Variant,
    stage: Stage,
) -> Result<String, String> {
    let k = select::kernel(source, libraries, kernel)?;
    let i = select::instance(&k, types, config)?;
    let (d, mut capture) = (Diagnostics::default(), Capture { stage, text: None });
    let f = observed_instance(&k, &i.types, i.config, &d, &mut capture).map_err(|_| select::messages(&d))?;
    if let Some(text) = capture.text {
        return Ok(text);
    }
    if stage == Stage::Cpu {
        return Ok(print::body(&cpu::body(&f)));
    }
    match (lower(&f, variant, false, &mut capture), capture.text) {
        (_, Some(text)) => Ok(text),
        (Err(missed), None) => Err(format!("the kernel has no variant `{}`: {missed}", variant.name())),
        (Ok(_), None) => Err(format!("the variant `{}` has no stage `{}`", variant.name(), stage.name())),
    }
}
