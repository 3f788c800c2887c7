//! The device side of a kernel: one `no_std` crate with an entry function per instance and variant.

use super::entry_name;
use crate::analyse::{dots, loaded};
use crate::ast::Config;
use crate::diag::{Diagnostics, Result};
use crate::instance::Kernel;
use crate::ir::{Func, Op, Value};
use crate::lower::{Lowered, Variant, Way, lower};
use crate::windows::Transposed;

/// A crate to compile to PTX.
#[derive(Clone, Debug)]
pub struct DeviceUnit {
    pub kernel: String,
    pub fingerprint: String,
    /// The only target it is for; otherwise all.
    pub only: Option<&'static str>,
    pub source: String,
    pub entries: Vec<EntryMeta>,
}

/// What a launch must know of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryMeta {
    pub name: String,
    pub threads: u32,
    pub shared_bytes: u32,
    /// Programs that must fit on a multiprocessor at once; 0 leaves it to the compiler.
    pub min_blocks: u32,
    /// Thread blocks of a program: one, or a cluster of them.
    pub ctas: u32,
    /// Tensor maps after the slots: parameters `<name>_map_<i>` of 128 bytes, which are to be added to the PTX.
    pub maps: u32,
}

/// Whose instructions copy by tensor maps and multiply by warpgroups.
pub const TMA_TARGET: &str = "sm_90a";

/// The bodies of entries are `unsafe` as a whole: their contract is that of `kernel_core::KernelDesc::new`, and what they
/// call is the device library, whose contract is in `kernel_core::device::hw`.
const PROLOGUE: &str = "#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]
#![allow(unused, unsafe_op_in_unsafe_fn, non_upper_case_globals)]
extern crate kernel_core;
use kernel_core::device as d;
use kernel_core::scalar::{self as s, BF16, F8E4M3, F8E5M2, F16};
kernel_core::device_prelude!();
";

/// The only target that a variant is for.
pub fn only(v: Variant) -> Option<&'static str> {
    (v.way != Way::Warps).then_some(TMA_TARGET)
}

/// The variants of an instance, the best first: by warpgroups, where all products can have their operands as these take them, and
/// by warps; each with the launcher's checks on alignment if they buy anything, and without.
pub fn variants(func: &Func, config: &Config, sites: bool) -> Vec<(Variant, Lowered)> {
    let lowered = |way: Way, aligned: bool| {
        let v = Variant { aligned, way };
        lower(func, v, sites).map(|l| (v, l)).filter(|(_, l)| !aligned || l.vectors || l.maps.iter().any(|m| m.stores))
    };
    let pair = |way: Way| [true, false].into_iter().filter_map(move |aligned| lowered(way, aligned));
    let mut out = vec![];
    if matches!(config.arch, 0 | 90) && dots(func, &func.body).next().is_some() {
        let [as_written, transposed @ ..] = Transposed::ALL.map(Way::Maps);
        out.extend(pair(as_written));
        out.extend(transposed.into_iter().filter_map(|way| lowered(way, true)));
        // Nor may a result's.
        let asks_no_more = as_written.seen(func).is_none_or(|seen| seen.requires.len() == func.requires.len());
        // Whether products take views' tiles alone, of which those that tensor maps do not take are for other configurations: windows that are found in
        // index arithmetic may ask for more than arguments have.
        let of_views = !out.is_empty()
            && asks_no_more
            && dots(func, &func.body)
                .all(|d| operands_of(func, d).all(|l| matches!(func.op(l), Op::Load { window: Some(_), .. })));
        if !of_views {
            out.extend(pair(Way::Groups));
        }
    }
    if config.arch != 90 || out.is_empty() {
        out.extend(pair(Way::Warps));
    }
    out
}

/// The loads that a product's operands are, or are made of.
fn operands_of(f: &Func, d: Value) -> impl Iterator<Item = Value> {
    let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
    [a, b].into_iter().flat_map(|v| loaded(f, v))
}

/// The lowered code of all instances: that for every target, and that for one.
pub fn units(k: &Kernel, d: &Diagnostics) -> Result<Vec<DeviceUnit>> {
    let unit = |only: Option<&'static str>| DeviceUnit {
        kernel: k.name.clone(),
        fingerprint: k.fingerprint.clone(),
        only,
        source: PROLOGUE.to_string(),
        entries: vec![],
    };
    let mut out = [unit(None), unit(Some(TMA_TARGET))];
    for i in k.instances() {
        let func = super::instance(k, &i.types, i.config, d)?;
        let slots: usize = func.params.iter().map(|p| p.kind.slots()).sum();
        let params = (0..slots).map(|i| format!("a{i}: u64")).collect::<Vec<_>>().join(", ");
        for (variant, lowered) in variants(&func, i.config, false) {
            let by_groups = only(variant).is_some();
            let unit = &mut out[usize::from(by_groups)];
            let name = entry_name(&k.name, &i.types, i.config, variant);
            let maps: String = (0..lowered.maps.len())
                .map(|m| format!("    let map{m}: u64 = kernel_core::tensor_map!(\"{name}_map_{m}\");\n"))
                .collect();
            let body = lowered.text();
            unit.source.push_str(&format!("\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn {name}({params}) {{\n    let tid: u32 = d::thread();\n{maps}{body}}}\n"));
            let min_blocks = if by_groups { i.config.blocks_per_sm.max(1) } else { i.config.blocks_per_sm };
            unit.entries.push(EntryMeta {
                name,
                threads: lowered.threads,
                shared_bytes: lowered.shared_bytes as u32,
                min_blocks,
                ctas: i.config.ctas,
                maps: lowered.maps.len() as u32,
            });
        }
    }
    Ok(out.into_iter().filter(|u| !u.entries.is_empty()).collect())
}
