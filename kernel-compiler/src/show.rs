//! The driver stopped after a stage, as text.

use crate::diag::Diagnostics;
use crate::driver::{self, Observer, lower, observed_instance};
use crate::emit::{choice_id, config_id, entry_name};
use crate::front::library::Libraries;
use crate::front::source::Source;
use crate::select;
use crate::stage::Stage;
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

/// An instance of a kernel, by its names.
pub struct InstanceNames {
    /// As in `f16`; empty for a kernel without type parameters.
    pub types: String,
    /// The id of the configuration.
    pub config: String,
    /// The entries with their variants, those with the most guards first.
    pub entries: Vec<(String, Variant)>,
}

/// The names of an instance, which types and configuration choose as for [`show`].
pub fn instance<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
) -> Result<InstanceNames, String> {
    let k = select::kernel(source, libraries, kernel)?;
    let i = select::instance(&k, types, config)?;
    let d = Diagnostics::default();
    let f = driver::instance(&k, &i.choice, i.config, &d).map_err(|_| select::messages(&d))?;
    let variants = driver::variants(&f, i.config, false).into_iter();
    Ok(InstanceNames {
        types: choice_id(&i.choice),
        config: config_id(i.config),
        entries: variants.map(|(v, _)| (entry_name(&k.name, &i.choice, i.config, v), v)).collect(),
    })
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
    let f = observed_instance(&k, &i.choice, i.config, &d, &mut capture).map_err(|_| select::messages(&d))?;
    if let Some(text) = capture.text {
        return Ok(text);
    }
    if matches!(stage, Stage::CpuPlan | Stage::Cpu) {
        driver::cpu(&f, &mut capture);
        return Ok(capture.text.expect("the stages of the CPU function"));
    }
    lower(&f, variant, false, &mut capture)
        .map_err(|missed| format!("the kernel has no variant `{}`: {missed}", variant.name()))?;
    capture.text.ok_or_else(|| format!("the variant `{}` has no stage `{}`", variant.name(), stage.name()))
}
