//! The Python wheel, which maturin builds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::release::builds::Builds;
use crate::release::notices::Notices;

/// The command that installs maturin, in the versions that `wheel/pyproject.toml` takes.
pub const INSTALL: &str = "pip install 'maturin>=1.9,<2'";

/// Builds the wheel into a folder. Its metadata have the licenses and the notices.
pub fn build(builds: &Builds, notices: &[Notices], out: &Path) -> Result<()> {
    let folder = command::root().join("wheel");
    let mut files = Files(vec![]);
    for (name, text) in notices {
        files.write(&folder.join(name), text)?;
    }
    let wheels = builds.target.join("wheels-of-release");
    let _ = fs::remove_dir_all(&wheels);
    let maturin = command::program("maturin").args(["build", "--release", "--locked", "--quiet", "--manifest-path"]);
    let maturin = maturin.args([folder.join("Cargo.toml")]).args(["--out".as_ref(), wheels.as_os_str()]);
    ensure!(builds.with_settings(maturin).dir(&command::root()).succeeds()?, "maturin does not build the wheel");
    let mut found = vec![];
    for entry in fs::read_dir(&wheels).context("maturin left no wheel")? {
        found.push(entry?.path());
    }
    ensure!(found.len() == 1, "maturin left {} wheels, and not one", found.len());
    let name = found[0].file_name().context("a wheel has a name")?;
    fs::copy(&found[0], out.join(name)).with_context(|| format!("cannot write to {}", out.display()))?;
    Ok(())
}

/// Files that maturin reads beside `pyproject.toml`. They are removed when this is dropped.
struct Files(Vec<PathBuf>);

impl Files {
    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.0.push(path.to_path_buf());
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::library::LICENSES;
    use crate::release::notices;

    #[test]
    fn the_project_of_the_wheel_agrees() {
        let folder = command::root().join("wheel");
        let project = fs::read_to_string(folder.join("pyproject.toml")).unwrap();
        let maturin = INSTALL.split('\'').nth(1).unwrap();
        assert!(project.contains(&format!("requires = [\"{maturin}\"]")));
        let files = project.lines().find(|l| l.starts_with("license-files = ")).unwrap();
        for name in LICENSES.into_iter().chain([notices::NAME, notices::OF_STD]) {
            assert!(files.contains(&format!("\"{name}\"")), "{name} is not in the wheel's metadata");
        }
        for name in LICENSES {
            assert_eq!(fs::read(folder.join(name)).unwrap(), fs::read(command::root().join(name)).unwrap());
        }
        let ignored = fs::read_to_string(command::root().join(".gitignore")).unwrap();
        for name in [notices::NAME, notices::OF_STD] {
            assert!(ignored.lines().any(|l| l == format!("/wheel/{name}")), "git does not ignore {name}");
        }
    }
}
