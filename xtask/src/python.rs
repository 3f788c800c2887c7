//! Python packages that tests import, in a folder of their own.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use tilewright_build::cache::{Cache, Key};

use crate::command;

/// Their versions, and the SHA-256 of each file that may be taken.
const REQUIREMENTS: &str = include_str!("../../wheel/tests/requirements.txt");
/// Arguments with which pip takes the files of `requirements.txt` alone, and runs nothing of them.
pub const PINNED: [&str; 9] = [
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary=:all:",
    "--require-hashes",
    "--retries",
    "1",
    "--requirement",
    "requirements.txt",
];
const LIMIT: Duration = Duration::from_secs(600);

/// The folder with the packages for the installed `python3`; missing packages are installed.
pub fn packages(cache: &Cache) -> Result<PathBuf> {
    let version = ["-c", "import sys; print(sys.implementation.cache_tag)"];
    let version = command::program("python3").args(version).output(LIMIT).context("there is no python3")?;
    let key = Key::of([REQUIREMENTS.as_bytes(), version.as_bytes()]);
    let folder = PathBuf::from("python").join(key.as_str());
    if let Ok(there) = cache.dir().trusted(&folder) {
        return Ok(there);
    }
    println!("no Python packages for tests yet; pip downloads them and checks their SHA-256");
    let work = cache.dir().temp_dir("python")?;
    let requirements = work.path().join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let pip = ["-m", "pip", "install", "--no-compile", "--target", "packages"];
    command::program("python3").args(pip).args(PINNED).dir(work.path()).output(LIMIT)?;
    let to = cache.root().join(&folder);
    fs::rename(work.path().join("packages"), &to).context("pip installed nothing")?;
    Ok(to)
}
