//! ptxas from the Python package index: one file of a package, no CUDA toolkit.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kernel_build::cache::Cache;
use kernel_build::ptxas::{self, Ptxas};

use crate::{command, setup};

/// The last toolkit that still assembles for sm_75.
const PACKAGE: &str = "nvidia-cuda-nvcc==13.0.*";
const LIMIT: Duration = Duration::from_secs(300);

pub fn find_or_install(cache: &Cache) -> Result<Ptxas> {
    if let Some(p) = ptxas::find() {
        return Ok(p);
    }
    if std::env::var_os("TILE_PTXAS").is_some_and(|v| !v.is_empty()) {
        bail!("TILE_PTXAS names none");
    }
    println!("no ptxas yet; trying: pip download {PACKAGE}");
    let work = cache.toolchain().join(format!("ptxas.{}.part", std::process::id()));
    let done = download(&work, cache);
    let _ = fs::remove_dir_all(&work);
    done?;
    setup::installed(cache)?;
    ptxas::find().context("the downloaded ptxas does not run")
}

fn download(work: &std::path::Path, cache: &Cache) -> Result<()> {
    fs::create_dir_all(work)?;
    let pip = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--retries", "1", "--dest", ".", PACKAGE];
    command::program("python3").args(pip).dir(work).output(LIMIT)?;
    let wheel = fs::read_dir(work)?.flatten().map(|e| e.path()).find(|p| p.extension().is_some_and(|e| e == "whl"));
    let wheel = wheel.context("pip downloaded no wheel")?;
    command::program("python3").args(["-m", "zipfile", "-e"]).args([&wheel]).args(["."]).dir(work).output(LIMIT)?;
    let packages = fs::read_dir(work.join("nvidia")).context("the package has another shape")?;
    let found = packages.flatten().map(|e| e.path().join("bin/ptxas")).find(|p| p.is_file()).context("the package has no ptxas")?;
    // zipfile does not keep modes.
    #[cfg(unix)]
    fs::set_permissions(&found, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(fs::rename(found, cache.toolchain().join("ptxas"))?)
}
