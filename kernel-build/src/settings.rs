//! The settings of a build script.

use std::ffi::OsString;
use std::path::PathBuf;

use tilewright_compiler::Configs;

use crate::files::DIRS;
use crate::target::{BadTarget, Target};

/// sm_80 runs on everything from the A100 on; Hopper has instructions of its own.
const DEFAULT_TARGETS: &str = "sm_80,sm_90a";

/// The environment variables that a build depends on.
pub(crate) const VARIABLES: [&str; 12] = [
    "TILE_DEVICE_RUSTC",
    "TILE_TARGETS",
    "TILE_PTXAS",
    "TILE_PREBUILT",
    "TILE_ARCHIVE",
    "TILE_CACHE_DIR",
    "TILE_DEVICE_ERRORS",
    "TILE_REMARKS",
    "TILE_EMULATE",
    "TILE_CONFIGS",
    "CUDA_HOME",
    "CUDA_PATH",
];

/// The settings of a build; [`Settings::compile`] runs it.
///
/// # Examples
/// ```no_run
/// // The `main` of build.rs:
/// tilewright_build::Settings::from_env().targets(&["sm_80", "sm_90a"]).dirs(&["src", "kernels"]).compile();
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) targets: Result<Vec<Target>, BadTarget>,
    pub(crate) dirs: Vec<PathBuf>,
    pub(crate) errors_are_warnings: bool,
    pub(crate) remarks: bool,
    /// Archives of compiled kernels.
    pub(crate) prebuilt: Vec<PathBuf>,
    /// The folder for the archive of this build.
    pub(crate) archives: Option<PathBuf>,
    /// The configurations that get code for the GPU.
    pub(crate) configs: Configs,
}

impl Settings {
    /// The settings of the environment:
    /// - `TILE_TARGETS=sm_75,sm_80,sm_90a`: the targets, before those of [`Settings::targets`]; sm_75 is the oldest.
    ///   With `none` kernels run on the CPU alone.
    /// - `TILE_DEVICE_RUSTC=path`: the device toolchain
    /// - `TILE_PTXAS=path` or `off`: the assembler
    /// - `TILE_CACHE_DIR=path`: the folder of products of earlier builds
    /// - `TILE_PREBUILT=path`, or several separated by `:`: archives of compiled kernels. Kernels that are found there,
    ///   or in the package's own `kernels.tilearchive`, are not compiled. The paths are absolute.
    /// - `TILE_ARCHIVE=folder`: write the compiled kernels to `folder/PACKAGE-VERSION.tilearchive`. The path is
    ///   absolute.
    /// - `TILE_EMULATE=off` or `all`: the instances that the emulated SM can run, in builds with the feature
    ///   `emulator`; by default instances that together have every feature of their kernel
    /// - `TILE_CONFIGS=few`: of configurations that differ in numbers alone the first gets code for the GPU. Builds are
    ///   shorter, and kernels slower.
    /// - `TILE_REMARKS=1`: report the optimizations that the compiler missed, at the kernels' own lines, as warnings
    ///   and in `report.json`
    /// - `TILE_DEVICE_ERRORS=warn`: kernels that cannot be compiled for the device are a warning, and left out
    ///
    /// # Examples
    /// ```no_run
    /// // The `main` of build.rs:
    /// tilewright_build::Settings::from_env().compile();
    /// ```
    pub fn from_env() -> Settings {
        Settings::from(|name| std::env::var_os(name))
    }

    fn from(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let path = |name| variable(name).filter(|v| !v.is_empty());
        // Of a text that is not UTF-8 a message shows the rest.
        let set = |name| path(name).map(|v| v.to_string_lossy().into_owned()).filter(|v| !v.trim().is_empty());
        let not_empty = |p: &PathBuf| !p.as_os_str().is_empty();
        let paths = |list: OsString| std::env::split_paths(&list).filter(not_empty).collect();
        Settings {
            targets: parse(&set("TILE_TARGETS").unwrap_or_else(|| DEFAULT_TARGETS.into())),
            dirs: DIRS.map(PathBuf::from).to_vec(),
            errors_are_warnings: set("TILE_DEVICE_ERRORS").is_some_and(|v| v == "warn"),
            remarks: set("TILE_REMARKS").is_some_and(|v| v != "0" && v != "off"),
            prebuilt: path("TILE_PREBUILT").map(paths).unwrap_or_default(),
            archives: path("TILE_ARCHIVE").map(PathBuf::from),
            configs: Configs::from_env(),
        }
    }

    /// The targets, where `TILE_TARGETS` is not set.
    ///
    /// # Examples
    /// ```no_run
    /// // The `main` of build.rs: code for Ampere and for Hopper, unless `TILE_TARGETS` says others.
    /// tilewright_build::Settings::from_env().targets(&["sm_80", "sm_90a"]).compile();
    /// ```
    pub fn targets(mut self, names: &[&str]) -> Settings {
        if std::env::var_os("TILE_TARGETS").is_none_or(|v| v.is_empty()) {
            self.targets = parse(&names.join(","));
        }
        self
    }

    /// The folders whose kernels are compiled, below the crate's own; `src` and `examples` unless set.
    ///
    /// # Examples
    /// ```no_run
    /// // The `main` of build.rs: kernels are in the folder `kernels`, and nowhere else.
    /// tilewright_build::Settings::from_env().dirs(&["kernels"]).compile();
    /// ```
    pub fn dirs(mut self, dirs: &[&str]) -> Settings {
        self.dirs = dirs.iter().map(PathBuf::from).collect();
        self
    }
}

/// No target, for a list that asks for none.
const NO_TARGET: &str = "none";

fn parse(list: &str) -> Result<Vec<Target>, BadTarget> {
    let mut out: Vec<Target> = Vec::new();
    if list.trim() == NO_TARGET {
        return Ok(out);
    }
    for name in list.split(',').filter(|n| !n.trim().is_empty()) {
        let t = Target::parse(name)?;
        if !out.contains(&t) {
            out.push(t);
        }
    }
    if out.is_empty() { Err(BadTarget::none()) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn paths_are_any_bytes() {
        use std::os::unix::ffi::OsStringExt;
        let bytes = |text: &[u8]| Some(OsString::from_vec(text.to_vec()));
        let s = Settings::from(|name| match name {
            "TILE_PREBUILT" => bytes(b"/a/\xff/p.tilearchive:/b"),
            "TILE_ARCHIVE" => bytes(b"/\xfe"),
            "TILE_TARGETS" => bytes(b"sm_80,\xff"),
            _ => None,
        });
        assert_eq!(s.prebuilt, [bytes(b"/a/\xff/p.tilearchive"), bytes(b"/b")].map(|p| PathBuf::from(p.unwrap())));
        assert_eq!(s.archives, bytes(b"/\xfe").map(PathBuf::from));
        assert!(s.targets.is_err());
    }

    #[test]
    fn lists_of_targets() {
        let names = |l: &str| parse(l).map(|t| t.iter().map(Target::name).collect::<Vec<_>>());
        assert_eq!(names("sm_75, sm_80,sm_75,").unwrap(), ["sm_75", "sm_80"]);
        assert!(names("sm_80,volta").unwrap_err().to_string().contains("volta"));
        assert_eq!(names("none").unwrap(), [""; 0]);
        assert!(names(" , ").is_err() && names("sm_80,none").is_err());
    }
}
