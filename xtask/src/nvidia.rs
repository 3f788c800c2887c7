//! Programs of the CUDA toolkit from the Python package index: one file of a package each, no toolkit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kernel_build::cache::Cache;
use kernel_build::ptxas::{self, Ptxas};

use crate::{command, setup};

const LIMIT: Duration = Duration::from_secs(300);
const PYTHON: &str = "python3 and its pip (`apt-get install python3-pip`, or https://python.org)";

/// A program and the package that it is a file of.
struct Program {
    name: &'static str,
    package: &'static str,
}

/// Of the last toolkit that still assembles for sm_75.
const PTXAS: Program = Program { name: "ptxas", package: "nvidia-cuda-nvcc==13.0.*" };
/// The first of 13 that is a package; it reads what older ones made.
const NVDISASM: Program = Program { name: "nvdisasm", package: "nvidia-cuda-nvdisasm==13.2.*" };

pub fn ptxas(cache: &Cache) -> Result<Ptxas> {
    if let Some(p) = ptxas::find() {
        return Ok(p);
    }
    if std::env::var_os("TILE_PTXAS").is_some_and(|v| !v.is_empty()) {
        bail!("TILE_PTXAS names none");
    }
    PTXAS.install(cache)?;
    setup::installed(cache)?;
    ptxas::find().context("the downloaded ptxas does not run")
}

/// For `tile show --stage sass`: no build asks for it.
pub fn nvdisasm(cache: &Cache) -> Result<PathBuf> {
    let found = || ptxas::Search::from_env().program(NVDISASM.name);
    if let Some(p) = found() {
        return Ok(p);
    }
    NVDISASM.install(cache)?;
    found().context("the downloaded nvdisasm is not found")
}

impl Program {
    fn install(&self, cache: &Cache) -> Result<()> {
        let pip = command::program("python3").args(["-m", "pip", "--version"]).output(LIMIT);
        ensure!(pip.is_ok(), "fetching it takes {PYTHON}");
        println!("no {} yet; trying: pip download {}", self.name, self.package);
        let work = cache.toolchain().join(format!("{}.{}.part", self.name, std::process::id()));
        let done = self.download(&work, cache);
        let _ = fs::remove_dir_all(&work);
        done
    }

    fn download(&self, work: &Path, cache: &Cache) -> Result<()> {
        fs::create_dir_all(work)?;
        let pip = [
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--retries",
            "1",
            "--dest",
            ".",
            self.package,
        ];
        command::program("python3").args(pip).dir(work).output(LIMIT)?;
        let wheel = fs::read_dir(work)?.flatten().map(|e| e.path()).find(|p| p.extension().is_some_and(|e| e == "whl"));
        let wheel = wheel.context("pip downloaded no wheel")?;
        command::program("python3").args(["-m", "zipfile", "-e"]).args([&wheel]).args(["."]).dir(work).output(LIMIT)?;
        let packages = fs::read_dir(work.join("nvidia")).context("the package has another shape")?;
        let found = packages.flatten().map(|e| e.path().join("bin").join(self.name)).find(|p| p.is_file());
        let found = found.with_context(|| format!("the package has no {}", self.name))?;
        // zipfile does not keep modes.
        #[cfg(unix)]
        fs::set_permissions(&found, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(fs::rename(found, cache.toolchain().join(self.name))?)
    }
}
