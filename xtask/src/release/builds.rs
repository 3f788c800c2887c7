//! Builds whose bytes do not depend on folders, times and settings of a machine.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::{self, Run};
use crate::release::graph::Rust;

/// Variables that leave out kernels or configurations, or put products in other folders.
const IGNORED: [&str; 8] = [
    "TILE_CONFIGS",
    "TILE_EMULATE",
    "TILE_DEVICE_ERRORS",
    "TILE_REMARKS",
    "TILE_PREBUILT",
    "TILE_ARCHIVE",
    "CARGO_BUILD_TARGET",
    "RUSTFLAGS",
];
/// Cargo separates flags with this character, so that a flag may have blanks.
const SEPARATOR: &str = "\x1f";
/// 1980-01-01: no file in a wheel is older.
const OLDEST_IN_ZIP: u64 = 315_532_800;

/// A build of a release.
pub struct Builds {
    /// Cargo's folder for it.
    pub target: PathBuf,
    /// The time of all files, in seconds since 1970.
    pub time: u64,
    flags: OsString,
}

impl Builds {
    /// A build in this target folder, of the time that `SOURCE_DATE_EPOCH` says, else of 1970.
    pub fn at(target: &Path, rust: &Rust) -> Result<Builds> {
        let variable = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
        let time = variable("SOURCE_DATE_EPOCH").map_or(Ok(0), |t| t.parse());
        let time = time.context("SOURCE_DATE_EPOCH is a number of seconds since 1970")?;
        // A toolchain without the component rust-src has this name in programs itself.
        let of_std = format!("/rustc/{}", rust.commit);
        let named = |folder: PathBuf, name: &str| (folder, name.to_string());
        let mut folders = vec![
            named(command::root(), "/tilewright"),
            named(target.to_path_buf(), "/target"),
            named(rust.sysroot.join("lib/rustlib/src/rust"), &of_std),
        ];
        folders.extend(cargo_home().map(|home| named(home, "/cargo")));
        let set = match variable("CARGO_ENCODED_RUSTFLAGS") {
            Some(flags) => flags.split(SEPARATOR).map(String::from).collect(),
            None => variable("RUSTFLAGS").unwrap_or_default().split_whitespace().map(String::from).collect(),
        };
        Ok(Builds { target: target.into(), time, flags: flags(set, folders) })
    }

    /// A program that calls cargo, with the settings of a release.
    pub fn with_settings(&self, run: Run) -> Run {
        let run = IGNORED.iter().fold(run, |run, name| run.without(name));
        // Cargo does not put flags into the names of symbols if they have --remap-path-prefix.
        let run = run.env("CARGO_ENCODED_RUSTFLAGS", &self.flags).env("CARGO_TARGET_DIR", &self.target);
        let run = run.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        run.env("SOURCE_DATE_EPOCH", self.time.max(OLDEST_IN_ZIP).to_string())
    }

    pub fn cargo(&self) -> Run {
        self.with_settings(command::cargo())
    }
}

/// The folder with the sources of other crates.
fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME").filter(|h| !h.is_empty()).map(PathBuf::from).or_else(home)
}

/// The flags of rustc with names in the place of folders. Of several names for a file rustc takes the last: that of the
/// innermost folder.
fn flags(set: Vec<String>, mut folders: Vec<(PathBuf, String)>) -> OsString {
    folders.sort_by_key(|(folder, _)| folder.components().count());
    let mut flags: Vec<OsString> = set.into_iter().map(OsString::from).collect();
    for (folder, name) in folders {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(folder);
        flag.push("=");
        flag.push(name);
        flags.push(flag);
    }
    flags.join(OsStr::new(SEPARATOR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn the_innermost_folder_comes_last() {
        let folders = [("/a/b c/target", "/target"), ("/a/b c", "/root")];
        let folders = folders.map(|(folder, name)| (PathBuf::from(folder), name.to_string())).into();
        let expected = "-Cx\x1f--remap-path-prefix=/a/b c=/root\x1f--remap-path-prefix=/a/b c/target=/target";
        assert_eq!(flags(vec!["-Cx".into()], folders), expected);
    }

    /// A program with a panic in generated code, which has its path.
    #[test]
    fn two_target_folders_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(folder.path().join("src")).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        };
        write(
            "Cargo.toml",
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
             [profile.release]\nopt-level = 0\n",
        );
        write(
            "build.rs",
            "fn main() {
                let out = std::env::var(\"OUT_DIR\").unwrap();
                std::fs::write(out + \"/at.rs\", \"fn at(x: &[u8], i: usize) -> u8 { x[i] }\").unwrap();
            }",
        );
        write(
            "src/main.rs",
            "include!(concat!(env!(\"OUT_DIR\"), \"/at.rs\"));
            fn main() { println!(\"{}\", at(std::env::args().next().unwrap().as_bytes(), 1)); }",
        );
        let rust = Rust::here().unwrap();
        let program = |name: &str| {
            let builds = Builds::at(&folder.path().join(name), &rust).unwrap();
            let cargo = builds.cargo().dir(folder.path()).args(["build", "--release", "--offline"]);
            cargo.output(Duration::from_secs(300)).unwrap();
            fs::read(builds.target.join("release/p")).unwrap()
        };
        let (first, second) = (program("first"), program("the second"));
        assert!(first == second, "the target folder is in the program");
        let has = |text: &str| first.windows(text.len()).any(|w| w == text.as_bytes());
        assert!(has("/target/release/build/"));
        for path in [folder.path(), &rust.sysroot, &command::root()] {
            assert!(!has(path.to_str().unwrap()), "{} is in the program", path.display());
        }
    }
}
