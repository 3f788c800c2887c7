//! Compiles entries with marks, by the device toolchain of this machine.

use super::table::{Compiled, Table};
use crate::kernel_code::KernelCode;
use anyhow::{Context, Result, anyhow, ensure};
use tilewright_build::Target;
use tilewright_build::single::{self, Error};
use tilewright_compiler::Variant;
use tilewright_compiler::trace::{TraceOptions, units};

/// Thread blocks whose begin and end are recorded.
const LISTED: u32 = 1 << 16;
/// The most bytes of the marks of a launch.
const MAX_BYTES: usize = 1 << 30;

/// The limits of a traced launch.
#[derive(Clone, Copy, clap::Args)]
pub struct Kept {
    /// With --trace: thread blocks whose warps are recorded, from the first one of the grid on
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub blocks: u32,
    /// With --trace: marks that a warp keeps; later ones are counted and dropped
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..=1048576))]
    pub marks: u32,
}

/// The target whose code a GPU of a compute capability runs: of a variant the only one that it is for.
fn target(variant: Variant, ctas: u32, (major, minor): (u32, u32)) -> Result<Target> {
    let only = tilewright_compiler::trace::only_target(variant, ctas);
    let of_capability = if major == 9 { format!("sm_{major}{minor}a") } else { format!("sm_{major}{minor}") };
    Ok(Target::parse(only.unwrap_or(&of_capability))?)
}

/// Compiles variants of a kernel's instance. `warnings` gets the warnings of `ptxas`.
pub fn compile(
    code: &KernelCode,
    variants: &[Variant],
    kept: Kept,
    arch: (u32, u32),
    warnings: &mut Vec<String>,
) -> Result<Vec<Compiled>> {
    let options = TraceOptions { blocks: kept.blocks, records: kept.marks + 3, listed: LISTED };
    let (types, config) = (code.types.as_deref(), Some(code.config.as_str()));
    let made = units(code.source(), &code.libraries, &code.name, types, config, variants, options);
    let mut out = vec![];
    for made in made.map_err(anyhow::Error::msg)? {
        for e in &made.entries {
            ensure!(
                e.layout.bytes() <= MAX_BYTES,
                "the marks of {} thread blocks of {} warps take {} MiB, and {} at most: take fewer with --blocks or --marks",
                kept.blocks,
                e.layout.warps,
                e.layout.bytes() >> 20,
                MAX_BYTES >> 20
            );
        }
        let first = made.entries.first().context("a unit has an entry")?;
        let target = target(first.variant, first.ctas, arch)?;
        let folder = tilewright_cache_dir::TempDir::with_prefix("tile-trace-").context("a folder for the code")?;
        let compiled = single::compile(made.unit, &target, folder.path()).map_err(missing)?;
        for e in &compiled.entries {
            if e.serialized {
                warnings.push(format!("{}: with marks, ptxas waits for each product where it stands", e.entry));
            }
            if e.usage.spill_bytes > 0 {
                warnings
                    .push(format!("{}: with marks, {} bytes of registers are spilled", e.entry, e.usage.spill_bytes));
            }
        }
        let table = |e| Table::new(&code.name, &code.config, &code.place, e);
        out.extend(made.entries.iter().map(|e| Compiled { table: table(e), bundle: compiled.bundle.clone() }));
    }
    Ok(out)
}

/// How to go on where nothing can be compiled.
fn missing(e: Error) -> anyhow::Error {
    const ELSEWHERE: &str = "or compile on another machine with --compile-only FILE, and run here with --compiled FILE";
    match e {
        Error::Toolchain(_) => anyhow!(
            "--trace compiles the kernel with marks, and there is no device toolchain: run `rustup component add \
             rust-src` (or `cargo xtask setup` in a checkout of tilewright), {ELSEWHERE} [{e}]"
        ),
        Error::Sources(_) => anyhow!("--trace compiles the kernel with marks, and {e}: build `tile` here, {ELSEWHERE}"),
        e => e.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_compiler::{MmaPath, Width};

    #[test]
    fn targets_of_variants() {
        let name =
            |mma, ctas, arch| target(Variant { width: Width::Vectors, mma }, ctas, arch).expect("a target").name();
        assert_eq!(name(MmaPath::WgmmaCpAsync, 1, (9, 0)), "sm_90a");
        assert_eq!(name(MmaPath::MmaSync, 1, (9, 0)), "sm_90a");
        assert_eq!(name(MmaPath::MmaSync, 1, (8, 6)), "sm_86");
        assert_eq!(name(MmaPath::MmaSync, 2, (8, 6)), "sm_90a");
    }

    #[test]
    fn what_is_missing_is_named_as_a_command() {
        let none = Error::Toolchain(tilewright_build::toolchain::Missing { tried: vec![] });
        let said = missing(none).to_string();
        assert!(said.contains("`rustup component add rust-src`") && said.contains("--compile-only FILE"), "{said}");
        let said = missing(Error::Sources("/gone".into())).to_string();
        assert!(said.contains("not in /gone: build `tile` here"), "{said}");
    }
}
