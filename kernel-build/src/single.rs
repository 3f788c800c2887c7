//! One crate with entries, outside of a build script: `tile profile --trace` compiles the entry that it launches.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tilewright_compiler::{DeviceUnit, Libraries};
use tilewright_core::bundle::Compression;

use crate::cache::Cache;
use crate::compile::{self, Build, BuildError, Outcome};
use crate::pool::Pool;
use crate::ptxas;
use crate::report::EntryReport;
use crate::sources::Sources;
use crate::target::Target;
use crate::toolchain::{self, Missing, Toolchain};

/// A compiled crate.
pub struct Compiled {
    /// The bundle with its entries.
    pub bundle: Vec<u8>,
    /// The reports of `ptxas` on them.
    pub entries: Vec<EntryReport>,
    /// Whether there was a `ptxas`; else the driver compiles the PTX.
    pub assembled: bool,
}

/// The error of a crate that is not compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no device toolchain.
    #[error("{}", .0.tried.iter().map(|(origin, why)| format!("{origin}: {why}")).collect::<Vec<_>>().join("; "))]
    Toolchain(Missing),
    /// The sources of `tilewright_core`, which the crate is compiled with, are not where they were.
    #[error("the sources of tilewright-core are not in {}", .0.display())]
    Sources(PathBuf),
    /// No kernel can be compiled here.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// This code cannot be compiled: a defect of the tile compiler.
    #[error("{kernel} is not compiled for {target}: {why}")]
    Failed {
        /// The kernel.
        kernel: String,
        /// The target.
        target: String,
        /// The first message of rustc or of ptxas.
        why: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Compiles a crate with the device toolchain of this environment, as a build script does. Products of earlier builds
/// are found in the cache folder, and kept there. `folder` is for temporary files.
pub fn compile(unit: DeviceUnit, target: &Target, folder: &Path) -> Result<Compiled, Error> {
    let library = Path::new(tilewright_core::SOURCE_DIR).join("lib.rs");
    with(unit, target, folder, &library, toolchain::find)
}

fn with(
    unit: DeviceUnit,
    target: &Target,
    folder: &Path,
    library: &Path,
    toolchain: fn() -> Result<Toolchain, Missing>,
) -> Result<Compiled, Error> {
    if !library.is_file() {
        return Err(Error::Sources(library.parent().unwrap_or(library).into()));
    }
    let sources = Sources::read_with(&[], Libraries::default(), Default::default())?;
    let cache = Cache::from_env().filter(|c| c.check().is_ok()).unwrap_or_else(|| Cache::at(folder.join("cache")));
    let bundle = folder.join(format!("{}-{}.bundle", unit.kernel, unit.fingerprint));
    let build = Build {
        sources: &sources,
        targets: std::slice::from_ref(target),
        lower: &|_, _| vec![],
        toolchain,
        ptxas: ptxas::find,
        tilewright_core: library,
        cache: &cache,
        prebuilt: &[],
        archive: None,
        out: folder,
        compression: Compression::Fast,
        pool: &Pool::alone(),
    };
    let outcome = match compile::run_units(&build, vec![unit], Outcome::default()) {
        Err(BuildError::Toolchain { missing, .. }) => return Err(Error::Toolchain(missing)),
        outcome => outcome?,
    };
    if let Some(f) = outcome.failures.first() {
        return Err(Error::Failed { kernel: f.kernel.clone(), target: f.target.clone(), why: f.why.to_string() });
    }
    let (entries, assembled) = (outcome.report.entries, outcome.report.ptxas.is_some());
    Ok(Compiled { bundle: fs::read(bundle)?, entries, assembled })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_compiler::trace::{TraceOptions, units};
    use tilewright_compiler::{Libraries, Variant};
    use tilewright_core::TRACE_SYMBOL;
    use tilewright_core::bundle::Bundle;

    /// A persistent program, whose producer copies by TMA and whose consumers multiply by `wgmma`.
    const MATMUL: &str = "#[tile_kernel(
            tune(BM = [128], BN = [256], BK = [64], warps = [8], arch = [90]),
            grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms())],
        )]
        pub fn matmul<const BM: usize, const BN: usize, const BK: usize>(
            a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f16, 2>,
        ) {
            let columns = cdiv(c.dim(1), BN);
            for t in range(program_id(0), cdiv(c.dim(0), BM) * columns, num_programs(0)) {
                let (i, j) = (t / columns * BM, t % columns * BN);
                let mut acc = zeros::<f32>([BM, BN]);
                for k in (0..a.dim(1)).step_by(BK) {
                    acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
                }
                c.store([i, j], acc.to::<f16>());
            }
        }";

    fn traced(variant: &str) -> (DeviceUnit, usize) {
        let variant = Variant::all().find(|v| v.name() == variant).unwrap();
        let options = TraceOptions { blocks: 8, records: 2048, listed: 512 };
        let mut made = units(MATMUL, &Libraries::default(), "matmul", None, None, &[variant], options).unwrap();
        let made = made.remove(0);
        (made.unit, made.entries[0].layout.bytes())
    }

    fn temp(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tile-single-test-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_traced_matmul_is_assembled_with_its_array() {
        if let Err(e) = toolchain::find() {
            eprintln!("skipped: {e}");
            return;
        }
        let (unit, bytes) = traced("tma");
        let (dir, hopper) = (temp("matmul"), Target::parse("sm_90a").unwrap());
        let made = compile(unit, &hopper, &dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let bundle = Bundle::parse(&made.bundle).unwrap();
        let image = bundle.image_of(&bundle.entries()[0], "sm_90a").unwrap();
        let ptx = image.ptx().unwrap();
        let declared = format!(".visible .global .align 16 .b8 {TRACE_SYMBOL}[{bytes}];");
        assert_eq!(ptx.matches(&declared).count(), 1, "{declared}");
        assert!(ptx.contains("%globaltimer") && ptx.matches("%clock64").count() > 20);
        assert_eq!(image.cubin().unwrap().is_some(), made.assembled);
        let entry = &made.entries[0];
        if made.assembled {
            // Marks must neither spill registers nor keep products of a warpgroup from running on.
            assert!(!entry.serialized && entry.usage.spill_bytes == 0, "{entry:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let dir = temp("missing");
        let hopper = Target::parse("sm_90a").unwrap();
        let (unit, _) = traced("tma");
        let core = Path::new(tilewright_core::SOURCE_DIR).join("lib.rs");
        let missing = || Err(Missing { tried: vec![] });
        assert!(matches!(with(unit.clone(), &hopper, &dir, &core, missing), Err(Error::Toolchain(_))));
        let e = with(unit, &hopper, &dir, Path::new("/no/such/src/lib.rs"), missing).err().unwrap();
        assert_eq!(e.to_string(), "the sources of tilewright-core are not in /no/such/src");
        fs::remove_dir_all(&dir).unwrap();
    }
}
