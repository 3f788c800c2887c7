//! The device side of a kernel: one `no_std` crate with an entry function per instance and variant.

use super::built::Configs;
use super::host::options::HostOptions;
use super::instances::Instance;
use super::{coverage, entry_name};
use crate::diag::{Diagnostics, Result};
use crate::driver;
use crate::front::ast::{Choice, Config};
use crate::front::instance::Kernel;
use crate::ir::Func;
use crate::thread_ir::Lowered;
use crate::variant::{MmaPath, TMA_TARGET, Variant};
use std::path::PathBuf;

/// A crate to compile to PTX.
#[derive(Clone, Debug)]
pub struct DeviceUnit {
    /// The name of the kernel.
    pub kernel: String,
    /// The hash of the tokens of the kernel, which the macro computes as well.
    pub fingerprint: String,
    /// The path of the kernel's file, as its [`Source`](crate::Source) has it; empty where there are tokens alone.
    pub file: PathBuf,
    /// The line and the column of the kernel's name in its file, from 1.
    pub place: (usize, usize),
    /// The only target it is for; otherwise all.
    pub only: Option<&'static str>,
    /// Whether it calls functions that the device library has in several forms, each for some targets.
    pub by_target: bool,
    /// The text of the crate.
    pub source: String,
    /// The entry functions of the crate, in the order of its text.
    pub entries: Vec<EntryMeta>,
}

/// The facts of an entry that a launch needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryMeta {
    /// The symbol of the entry in the PTX.
    pub name: String,
    /// Threads of a thread block, exactly.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a thread block.
    pub shared_bytes: u32,
    /// Programs that must fit on a multiprocessor at once; 0 leaves it to the compiler.
    pub min_blocks: u32,
    /// Thread blocks of a program: one, or a cluster of them.
    pub ctas: u32,
    /// Tensor maps after the argument words: parameters `<name>_map_<i>` of 128 bytes, which are to be added to the
    /// PTX.
    pub maps: u32,
}

/// The bodies of entries are `unsafe` as a whole: their contract is that of `tilewright_core::KernelDesc::new`, and
/// what they call is the device library, whose contract is in `tilewright_core::device::hw`.
const PROLOGUE: &str = "#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]
#![allow(unused, unsafe_op_in_unsafe_fn, non_upper_case_globals)]
extern crate tilewright_core;
use tilewright_core::device as d;
use tilewright_core::scalar::{self as s, BF16, F8E4M3, F8E5M2, F16};
tilewright_core::device_prelude!();
";

/// A variant of an instance.
pub struct EntryCode {
    /// The symbol of its entry.
    pub name: String,
    /// The guards and the instructions that it is compiled for.
    pub variant: Variant,
    /// Its thread-level program.
    pub lowered: Lowered,
    /// Argument words.
    words: usize,
    blocks_per_sm: u32,
    ctas: u32,
}

/// All variants of all instances of a kernel.
pub(crate) fn entries(k: &Kernel, d: &Diagnostics) -> Result<Vec<EntryCode>> {
    entries_of(k, |_, _| true, d)
}

/// The variants that `is_built` is true of: by the number of their instance and their own.
fn entries_of(k: &Kernel, is_built: impl Fn(usize, usize) -> bool, d: &Diagnostics) -> Result<Vec<EntryCode>> {
    let mut out = vec![];
    let choices = k.choices();
    let each = choices.iter().flat_map(|choice| k.ast.configs.iter().map(move |config| (choice, config)));
    for (i, (choice, config)) in each.enumerate() {
        let func = driver::instance(k, choice, config, d)?;
        let variants = driver::variants(&func, config, false).into_iter().enumerate();
        let built = variants.filter(|(v, _)| is_built(i, *v));
        out.extend(built.map(|(_, (variant, lowered))| EntryCode::of(k, choice, config, &func, variant, lowered)));
    }
    Ok(out)
}

/// The lowered code of a function's kernels.
pub fn units(kernels: &[Kernel], configs: Configs, d: &Diagnostics) -> Result<Vec<DeviceUnit>> {
    let built = match configs {
        Configs::All => None,
        Configs::Few => {
            let options = HostOptions { configs, ..HostOptions::default() };
            let instances = kernels.iter().map(|k| Instance::all(k, &options, d)).collect::<Result<Vec<_>>>()?;
            Some(coverage::built(configs, kernels, &instances))
        }
    };
    let of_kernel = |(k, kernel): (usize, &Kernel)| {
        let entries = entries_of(kernel, |i, v| built.as_ref().is_none_or(|built| built[k][i][v]), d)?;
        Ok(units_of(kernel, entries))
    };
    Ok(kernels.iter().enumerate().map(of_kernel).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The code of entries of a kernel: that for every target, and that for one.
pub(crate) fn units_of(k: &Kernel, entries: Vec<EntryCode>) -> Vec<DeviceUnit> {
    let name = k.ast.name.span().start();
    let unit = |only: Option<&'static str>| DeviceUnit {
        kernel: k.name.clone(),
        fingerprint: k.fingerprint.clone(),
        file: PathBuf::new(),
        place: (name.line, name.column + 1),
        only,
        by_target: false,
        source: PROLOGUE.to_string(),
        entries: vec![],
    };
    let mut out = [unit(None), unit(Some(TMA_TARGET))];
    for EntryCode { name, variant, lowered, words, blocks_per_sm, ctas } in entries {
        let params = (0..words).map(|i| format!("a{i}: u64")).collect::<Vec<_>>().join(", ");
        let by_wgmma = variant.mma != MmaPath::MmaSync;
        let unit = &mut out[usize::from(variant.only(ctas).is_some())];
        let maps: String = (0..lowered.maps.len())
            .map(|m| format!("    let map{m}: u64 = tilewright_core::tensor_map!(\"{name}_map_{m}\");\n"))
            .collect();
        unit.by_target |= lowered.is_by_target();
        let body = lowered.text();
        unit.source.push_str(&format!("\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn {name}({params}) {{\n    let tid: u32 = d::thread();\n{maps}{body}}}\n"));
        unit.entries.push(EntryMeta {
            name,
            threads: lowered.threads,
            shared_bytes: lowered.shared_bytes as u32,
            min_blocks: if by_wgmma { blocks_per_sm.max(1) } else { blocks_per_sm },
            ctas,
            maps: lowered.maps.len() as u32,
        });
    }
    out.into_iter().filter(|u| !u.entries.is_empty()).collect()
}

impl EntryCode {
    /// The entry of a variant of an instance, with its program.
    pub(crate) fn of(
        k: &Kernel,
        choice: &Choice,
        config: &Config,
        f: &Func,
        variant: Variant,
        lowered: Lowered,
    ) -> Self {
        EntryCode {
            name: entry_name(&k.name, choice, config, variant),
            variant,
            lowered,
            words: f.params.iter().map(|p| p.kind.words()).sum(),
            blocks_per_sm: config.blocks_per_sm,
            ctas: config.ctas,
        }
    }
}
