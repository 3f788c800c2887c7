//! The device side of a kernel: one `no_std` crate with an entry function per instance and variant.

use super::entry_name;
use crate::diag::{Diagnostics, Result};
use crate::instance::Kernel;
use crate::lower::{Lowered, lower};

/// A crate to compile to PTX.
#[derive(Clone, Debug)]
pub struct DeviceUnit {
    pub kernel: String,
    pub fingerprint: String,
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
}

const PROLOGUE: &str = "#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]
#![allow(unused, unsafe_op_in_unsafe_fn, non_upper_case_globals)]
extern crate kernel_core;
use kernel_core::device as d;
use kernel_core::scalar::{self as s, BF16, F16};
kernel_core::device_prelude!();
";

/// The variants of an instance: with the launcher's checks on alignment if they buy anything, and without.
pub fn variants(func: &crate::ir::Func, sites: bool) -> Vec<(bool, Lowered)> {
    let aligned = lower(func, true, sites);
    let general = lower(func, false, sites);
    match aligned.vectors {
        true => vec![(true, aligned), (false, general)],
        false => vec![(false, general)],
    }
}

pub fn unit(k: &Kernel, d: &Diagnostics) -> Result<DeviceUnit> {
    let mut source = PROLOGUE.to_string();
    let mut entries = vec![];
    for i in k.instances() {
        let func = crate::infer::infer(&k.ast, &i.types, i.config, d)?;
        let slots: usize = func.params.iter().map(|p| p.kind.slots()).sum();
        let params = (0..slots).map(|i| format!("a{i}: u64")).collect::<Vec<_>>().join(", ");
        for (aligned, lowered) in variants(&func, false) {
            let name = entry_name(&k.name, &i.types, i.config, aligned);
            let body = lowered.text();
            source.push_str(&format!("\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn {name}({params}) {{\n    let tid: u32 = d::thread();\n{body}}}\n"));
            entries.push(EntryMeta { name, threads: i.config.warps * 32, shared_bytes: lowered.shared_bytes as u32, min_blocks: i.config.blocks_per_sm });
        }
    }
    Ok(DeviceUnit { kernel: k.name.clone(), fingerprint: k.fingerprint.clone(), source, entries })
}
