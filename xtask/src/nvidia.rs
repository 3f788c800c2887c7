//! Programs of the CUDA toolkit from the Python package index: one file of a package each, no toolkit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tilewright_build::cache::Cache;
use tilewright_build::ptxas::{self, Ptxas};

use crate::python::PINNED;
use crate::{command, stamp};

const LIMIT: Duration = Duration::from_secs(300);
const PYTHON: &str = "python3 and its pip (`apt-get install python3-pip`, or https://python.org)";

/// A program and the package that it is a file of.
struct Program {
    name: &'static str,
    package: &'static str,
    /// SHA-256 of the wheels for x86_64 and aarch64: pip fetches one of these from any index.
    sha256: [&'static str; 2],
}

/// Of the last toolkit that still assembles for sm_75.
const PTXAS: Program = Program {
    name: "ptxas",
    package: "nvidia-cuda-nvcc==13.0.88",
    sha256: [
        "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
        "c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
    ],
};
/// The first version of 13 that is a package; it reads the output of older versions.
const NVDISASM: Program = Program {
    name: "nvdisasm",
    package: "nvidia-cuda-nvdisasm==13.2.86",
    sha256: [
        "53606e719ecae07a2335f95902d5a1393a0cc1c317499ee7ffcf628a44385f2c",
        "d02c627f7aecfcac4dd5e923e94adeaa6607c5fdae8df750b01ad948d38941d3",
    ],
};

pub fn ptxas(cache: &Cache) -> Result<Ptxas> {
    if let Some(p) = ptxas::find() {
        return Ok(p);
    }
    if std::env::var_os("TILE_PTXAS").is_some_and(|v| !v.is_empty()) {
        bail!("TILE_PTXAS names none");
    }
    PTXAS.install(cache)?;
    stamp::installed(cache)?;
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
        println!("no {} yet; pip downloads {} and checks its SHA-256", self.name, self.package);
        // A random name that nobody else can have made; removed when dropped.
        let work = cache.dir().temp_dir("toolchain")?;
        self.download(work.path(), cache)
    }

    /// A requirements file that no other contents satisfy.
    fn requirement(&self) -> String {
        let hashes = self.sha256.iter().map(|h| format!(" --hash=sha256:{h}"));
        format!("{}{}\n", self.package, hashes.collect::<String>())
    }

    fn download(&self, work: &Path, cache: &Cache) -> Result<()> {
        fs::write(work.join("requirements.txt"), self.requirement())?;
        let pip = ["-m", "pip", "download", "--dest", "."];
        command::program("python3").args(pip).args(PINNED).dir(work).output(LIMIT)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_by_version_and_hash() {
        for p in [PTXAS, NVDISASM] {
            assert!(p.package.contains("==") && !p.package.contains('*'), "{}", p.package);
            assert!(p.sha256.iter().all(|h| h.len() == 64 && h.bytes().all(|c| c.is_ascii_hexdigit())));
            assert_eq!(p.requirement().matches(" --hash=sha256:").count(), 2);
        }
    }
}
