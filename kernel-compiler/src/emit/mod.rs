//! Phase 7, emit: Rust text. [`device`] for PTX, [`host`] for the crate the kernel is written in, [`cpu`] for its CPU
//! meaning.

pub mod cpu;
pub mod device;
pub mod grid;
pub mod host;
pub mod numbers;

use crate::dtype::DType;
use crate::front::ast::Config;
use crate::variant::Variant;

/// `BLOCK=1024,warps=4`: what tuning results and `--config` name a configuration by.
pub fn config_id(c: &Config) -> String {
    let named = c.consts.iter().filter(|(n, _)| !c.defaults.contains(n));
    let mut parts: Vec<String> = named.map(|(n, v)| format!("{n}={v}")).collect();
    parts.push(format!("warps={}", c.warps));
    if c.blocks_per_sm > 0 {
        parts.push(format!("blocks_per_sm={}", c.blocks_per_sm));
    }
    if c.stages > 0 {
        parts.push(format!("stages={}", c.stages));
    }
    if c.ctas > 1 {
        parts.push(format!("ctas={}", c.ctas));
    }
    if c.arch > 0 {
        parts.push(format!("arch={}", c.arch));
    }
    parts.join(",")
}

pub fn types_id(types: &[(String, DType)]) -> String {
    types.iter().map(|t| t.1.name()).collect::<Vec<_>>().join(",")
}

/// Name of an entry: `gelu__f16__BLOCK1024_warps4__aligned`.
pub fn entry_name(kernel: &str, types: &[(String, DType)], config: &Config, v: Variant) -> String {
    let mut name = kernel.to_string();
    if !types.is_empty() {
        name.push_str("__");
        name.push_str(&types_id(types).replace(',', "_"));
    }
    format!("{name}__{}__{}", config_id(config).replace('=', "").replace(',', "_"), v.name())
}
