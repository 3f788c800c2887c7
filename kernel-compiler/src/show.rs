//! The driver stopped after a stage, as text.

use crate::diag::Diagnostics;
use crate::driver::{Observer, Stage, lower, observed_instance};
use crate::emit::{config_id, cpu, types_id};
use crate::front::instance::Instance;
use crate::front::library::Libraries;
use crate::front::module::{self, Found};
use crate::front::parse;
use crate::front::source::Source;
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

/// Shows a kernel of a file, which uses libraries of the package: of the instance with these types (`f16`; none: the first) and
/// configuration (its id; none: the default), in one of its variants.
pub fn show<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variant: Variant,
    stage: Stage,
) -> Result<String, String> {
    let named = |f: &Found| parse::names(f.attr.clone(), &f.item).iter().any(|(name, _)| name == kernel);
    let source = source.into();
    let none = || [vec![format!("no kernel `{kernel}` here")], libraries.missing(source)].concat().join("\n");
    let found = module::file(source, libraries).into_iter().find(named).ok_or_else(none)?;
    let d = Diagnostics::default();
    let failed = |d: &Diagnostics| d.take().into_iter().map(|e| e.message).collect::<Vec<_>>().join("\n");
    let k =
        found.parse(&d).map_err(|_| failed(&d))?.into_iter().find(|k| k.name == kernel).expect("it is among the names");
    let wanted =
        |i: &Instance| types.is_none_or(|t| types_id(&i.types) == t) && config.is_none_or(|c| config_id(i.config) == c);
    let instances = k.instances();
    let i = instances.iter().find(|i| wanted(i)).ok_or_else(|| {
        let all: Vec<String> =
            instances.iter().map(|i| format!("{} {}", types_id(&i.types), config_id(i.config))).collect();
        format!("no such instance; there are:\n  {}", all.join("\n  "))
    })?;
    let mut capture = Capture { stage, text: None };
    let f = observed_instance(&k, &i.types, i.config, &d, &mut capture).map_err(|_| failed(&d))?;
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
