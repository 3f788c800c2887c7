//! Finds a kernel of a file by its name, and its instances by their types and configuration.

use crate::diag::Diagnostics;
use crate::emit::{choice_id, config_id};
use crate::front::instance::{Instance, Kernel};
use crate::front::library::Libraries;
use crate::front::module::{self, Found};
use crate::front::parse;
use crate::front::source::Source;

/// The kernel of this name. The error is a message: there is none, or it has mistakes.
pub fn kernel<'a>(source: impl Into<Source<'a>>, libraries: &Libraries, name: &str) -> Result<Kernel, String> {
    let source = source.into();
    let named = |f: &Found| parse::names(f.attr.clone(), &f.item).iter().any(|n| n == name);
    let none = || [vec![format!("no kernel `{name}` here")], libraries.missing(source)].concat().join("\n");
    let found = module::file(source, libraries).into_iter().find(named).ok_or_else(none)?;
    let d = Diagnostics::default();
    let kernels = found.parse(&d).map_err(|_| match messages(&d) {
        none if none.is_empty() => format!("the module of `{name}` has mistakes, which the compiler reports"),
        some => some,
    })?;
    Ok(kernels.into_iter().find(|k| k.name == name).expect("it is among the names"))
}

/// The names of all kernels of a file.
pub fn names<'a>(source: impl Into<Source<'a>>, libraries: &Libraries) -> Vec<String> {
    module::file(source, libraries)
        .into_iter()
        .flat_map(|f| parse::names(f.attr.clone(), &f.item))
        .map(|n| n.to_string())
        .collect()
}

/// The first instance with these types and this configuration. The error is a message with all instances.
pub fn instance<'a>(k: &'a Kernel, types: Option<&str>, config: Option<&str>) -> Result<Instance<'a>, String> {
    let instances = k.instances();
    let of = |i: &Instance| format!("{} {}", choice_id(&i.choice), config_id(i.config)).trim_start().to_string();
    let none = format!("no such instance; there are:\n  {}", instances.iter().map(of).collect::<Vec<_>>().join("\n  "));
    instances.into_iter().find(|i| matches(i, types, config)).ok_or(none)
}

/// Whether an instance has these types (`f16`) and this configuration (its id); `None` is any.
pub fn matches(i: &Instance, types: Option<&str>, config: Option<&str>) -> bool {
    types.is_none_or(|t| choice_id(&i.choice) == t) && config.is_none_or(|c| config_id(i.config) == c)
}

/// All mistakes, a line each.
pub fn messages(d: &Diagnostics) -> String {
    d.take().into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join("\n")
}
