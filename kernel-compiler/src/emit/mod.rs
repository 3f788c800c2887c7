//! Phase 7, emit: Rust text. [`device`] for PTX, [`host`] for the crate the kernel is written in, [`cpu`] for its CPU
//! meaning.

pub(crate) mod built;
pub(crate) mod coverage;
pub(crate) mod cpu;
pub mod device;
pub mod grid;
pub mod host;
pub(crate) mod instances;
pub(crate) mod numbers;

use crate::front::ast::{Arch, Choice, Config};
use crate::variant::Variant;

/// `BLOCK=1024,warps=4`: the name of a configuration in tuning results and for `--config`.
pub fn config_id(c: &Config) -> String {
    let named = c.consts.iter().filter(|(n, _)| !c.defaults.contains(n));
    let mut parts: Vec<String> = named.map(|(n, v)| format!("{n}={v}")).collect();
    if c.arch != Arch::Cpu {
        parts.push(format!("warps={}", c.warps));
    }
    if c.blocks_per_sm > 0 {
        parts.push(format!("blocks_per_sm={}", c.blocks_per_sm));
    }
    if c.stages > 0 {
        parts.push(format!("stages={}", c.stages));
    }
    if c.ctas > 1 {
        parts.push(format!("ctas={}", c.ctas));
    }
    parts.extend(c.arch.name().map(|arch| format!("arch={arch}")));
    parts.join(",")
}

/// `f16,bias`: the types of a choice, and the optional parameters that have an argument.
pub fn choice_id(of: &Choice) -> String {
    let types = of.types.iter().map(|(_, t)| t.name());
    types.chain(of.present.iter().filter(|(_, is)| *is).map(|(name, _)| name.as_str())).collect::<Vec<_>>().join(",")
}

/// Name of an entry: `gelu__f16__BLOCK1024_warps4__aligned`. Of a kernel with optional parameters a digit for each says
/// whether it has an argument: `linear__f16__some01__BLOCK1024_warps4__aligned`.
pub(crate) fn entry_name(kernel: &str, choice: &Choice, config: &Config, v: Variant) -> String {
    let mut name = kernel.to_string();
    if !choice.types.is_empty() {
        name.push_str("__");
        name.push_str(&choice.types.iter().map(|(_, t)| t.name()).collect::<Vec<_>>().join("_"));
    }
    if !choice.present.is_empty() {
        name.push_str("__some");
        name.extend(choice.present.iter().map(|(_, is)| if *is { '1' } else { '0' }));
    }
    format!("{name}__{}__{}", config_id(config).replace('=', "").replace(',', "_"), v.name())
}
