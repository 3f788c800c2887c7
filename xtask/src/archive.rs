//! The archive of compiled kernels, from which a build with `TILE_PREBUILT` takes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Result, bail, ensure};

use crate::command::{self, Run};
use crate::setup;

/// `cargo xtask archive [DIR]`.
pub fn run(args: &[&str]) -> Result<ExitCode> {
    let folder = match args {
        [] => command::root().join("target/archives"),
        [folder] if !folder.starts_with('-') => std::path::absolute(folder)?,
        _ => bail!("`cargo xtask archive` takes a folder, not `{}`", args.join(" ")),
    };
    ensure!(setup::setup()?.device_toolchain, "an archive needs the device toolchain");
    for archive in make(command::cargo(), &command::root().join("target"), &folder)? {
        println!("{}: {:.1} MB", archive.display(), fs::metadata(&archive)?.len() as f64 / 1e6);
    }
    Ok(ExitCode::SUCCESS)
}

/// Compiles the kernels of the operations for the GPU with this cargo. Returns the archives, which are in `folder`.
/// A new folder below `scratch` is there meanwhile.
pub fn make(cargo: Run, scratch: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    // A check runs the build script, and compiles nothing for the host. The build script runs anew, since the folder is
    // new.
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    let fresh = scratch.join(format!("archives-{started}"));
    let cargo = cargo.args(["check", "--release", "--quiet", "--package", "tilewright-kernels"]);
    let built = cargo.without("TILE_CONFIGS").env("TILE_ARCHIVE", &fresh).succeeds()?;
    fs::create_dir_all(folder)?;
    let mut written = vec![];
    for entry in fs::read_dir(&fresh).into_iter().flatten() {
        let (from, name) = entry.map(|e| (e.path(), e.file_name()))?;
        let to = folder.join(name);
        // The folder may be on another disk.
        fs::copy(&from, &to)?;
        written.push(to);
    }
    let _ = fs::remove_dir_all(&fresh);
    ensure!(built && !written.is_empty(), "no archive was written");
    written.sort();
    Ok(written)
}
