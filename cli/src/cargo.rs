//! Cargo, and its metadata of a package.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The Cargo that runs this command, else the one in PATH.
pub fn command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The target that Cargo builds for by default, as in `x86_64-unknown-linux-gnu`.
pub fn host() -> Result<String> {
    let out = command().arg("-vV").output().context("cannot run cargo")?;
    let said = String::from_utf8_lossy(&out.stdout);
    let host = said.lines().find_map(|l| l.strip_prefix("host: "));
    Ok(host.context("cargo names no host")?.to_owned())
}

/// Cargo's metadata of the package in a folder, and of its workspace.
pub fn metadata(folder: &Path) -> Result<Value> {
    ask_metadata(folder, &["--no-deps"])
}

/// The same with all packages that these depend on here: those of other platforms may not have been downloaded.
pub fn resolved_metadata(folder: &Path) -> Result<Value> {
    ask_metadata(folder, &["--filter-platform", &host()?])
}

fn ask_metadata(folder: &Path, options: &[&str]) -> Result<Value> {
    ensure!(folder.join("Cargo.toml").is_file(), "{} has no package", folder.display());
    let metadata = command()
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(options)
        .current_dir(folder)
        .output()
        .context("cannot run cargo")?;
    ensure!(metadata.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&metadata.stderr).trim());
    Ok(serde_json::from_slice(&metadata.stdout)?)
}

/// The package in a folder, out of the result of [`metadata`].
pub fn package<'a>(metadata: &'a Value, folder: &Path) -> Result<&'a Value> {
    let none = || format!("{} has no package", folder.display());
    let manifest = folder.join("Cargo.toml").canonicalize().with_context(none)?;
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    let of_folder = |p: &&Value| p["manifest_path"].as_str().is_some_and(|m| Path::new(m) == manifest);
    packages.iter().find(of_folder).with_context(none)
}
