//! Phase 7, emit: Rust text. [`device`] for PTX, [`host`] for the crate the kernel is written in, [`cpu`] for its CPU meaning.

pub mod cpu;
pub mod device;
pub mod grid;
pub mod host;
pub mod numbers;

use crate::ast::Config;
use crate::diag::{Diagnostics, Result};
use crate::dtype::DType;
use crate::instance::Kernel;
use crate::ir::Func;
use crate::lower::{Variant, Way, pipeline};
use crate::spread::{Refused, spread};
use crate::windows::{Transposed, describe};

/// One instance, of which there is code: a program that a configuration spreads over thread blocks can be.
pub fn instance(k: &Kernel, types: &[(String, DType)], config: &Config, d: &Diagnostics) -> Result<Func> {
    let f = crate::infer::infer(&k.ast, types, config, d)?;
    if config.ctas > 1
        && let Err((why, at)) = spreads(&f)
    {
        let message = format!("`{}` cannot be spread over {} thread blocks (`ctas`): {why}", k.name, config.ctas);
        return Err(d.error(at.unwrap_or(k.ast.name.span()), message));
    }
    Ok(f)
}

fn spreads(f: &Func) -> std::result::Result<(), Refused> {
    let f = describe(f, Transposed::default()).expect("as it is written");
    let part = spread(&f)?;
    let fed = pipeline::plan(&part, &[]).is_some();
    if fed {
        Ok(())
    } else {
        Err((
            "its products are not those of warpgroups: of windows of matrices, of 64 rows at least for each block, copied by a producer",
            None,
        ))
    }
}

/// `BLOCK=1024,warps=4`: what tuning results and `--config` name a configuration by.
pub fn config_id(c: &Config) -> String {
    let mut parts: Vec<String> = c.consts.iter().map(|(n, v)| format!("{n}={v}")).collect();
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
    format!("{name}__{}__{}", config_id(config).replace('=', "").replace(',', "_"), variant_name(v))
}

fn variant_name(v: Variant) -> String {
    let (way, lies) = match v.way {
        Way::Warps if v.aligned => return "aligned".into(),
        Way::Warps => return "general".into(),
        Way::Groups => ("groups", ""),
        Way::Maps(Transposed { a: false, b: false }) => ("tma", ""),
        Way::Maps(Transposed { a: false, b: true }) => ("tma", "_nt"),
        Way::Maps(Transposed { a: true, b: false }) => ("tma", "_tn"),
        Way::Maps(Transposed { a: true, b: true }) => ("tma", "_tt"),
    };
    format!("{way}{lies}{}", if v.aligned { "" } else { "_general" })
}

/// The variant whose entry has this name.
pub fn named_variant(entry: &str) -> Option<Variant> {
    let name = entry.rsplit("__").next()?;
    let ways = [Way::Warps, Way::Groups].into_iter().chain(Transposed::ALL.map(Way::Maps));
    ways.flat_map(|way| [true, false].map(|aligned| Variant { aligned, way })).find(|&v| variant_name(v) == name)
}
