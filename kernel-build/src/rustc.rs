//! Running bare rustc for the device.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::absolute;
use crate::target::Target;
use crate::toolchain::Toolchain;

pub const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// For every crate. Without `immediate-abort` divisions and indices leave calls to the panic machinery; MIR of all
/// functions lets every call into another crate be inlined, because there is no linker to resolve remaining calls.
const COMMON: &[&str] = &[
    "--edition=2024",
    "--crate-type=rlib",
    "--target=nvptx64-nvidia-cuda",
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Copt-level=3",
    "-Zcross-crate-inline-threshold=always",
    // It copies barriers and shuffles into both arms of a branch that lanes take apart: it knows nothing of
    // convergence.
    "-Zmir-enable-passes=-JumpThreading",
    "--cap-lints=allow",
];
/// Nothing is linked: metadata and MIR are all that a later crate needs, and code generation would take twice as long.
const LIBRARY: &[&str] = &["-Zalways-encode-mir", "--emit=metadata"];
/// Crates that are part of the sysroot.
const SYSROOT: &[&str] = &["-Zforce-unstable-if-unmarked"];
/// Small arrays are registers only once their loops are unrolled.
const UNIT: &[&str] = &["-Ccodegen-units=1", "-Cllvm-args=-unroll-threshold=20000", "--emit=asm"];

/// Everything above, for cache keys.
pub fn flags() -> Vec<&'static [u8]> {
    [COMMON, LIBRARY, SYSROOT, UNIT].iter().flat_map(|f| f.iter().map(|s| s.as_bytes())).collect()
}

/// One run of rustc that did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", first_error(log))]
pub struct Failure {
    pub log: String,
}

pub struct Rustc<'a> {
    pub toolchain: &'a Toolchain,
}

impl Rustc<'_> {
    /// A crate of the sysroot itself, for all targets.
    pub fn sysroot_crate(&self, name: &str, source: &Path, out_dir: &Path) -> Result<(), Failure> {
        let mut c = self.without_places(name, source);
        c.args(LIBRARY).args(SYSROOT).arg("-Cextra-filename=-tile").arg("--out-dir").arg(absolute(out_dir));
        run(c)
    }

    /// A library for one target.
    pub fn library(
        &self,
        name: &str,
        source: &Path,
        sysroot: &Path,
        target: &Target,
        out: &Path,
    ) -> Result<(), Failure> {
        let mut c = self.without_places(name, source);
        c.args(LIBRARY).args(for_target(target));
        c.arg("--sysroot").arg(absolute(sysroot)).arg("-o").arg(absolute(out));
        run(c)
    }

    /// A unit, to PTX.
    pub fn unit(
        &self,
        source: &Path,
        sysroot: &Path,
        target: &Target,
        externs: &[(&str, PathBuf)],
        out: &Path,
    ) -> Result<(), Failure> {
        let mut c = self.command("unit", source);
        c.args(UNIT).args(for_target(target)).arg("--sysroot").arg(sysroot).arg("-o").arg(out);
        for (name, path) in externs {
            c.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        run(c)
    }

    /// A command for a library. It records the places of its source and of the folder that the compiler is called in.
    /// They must not matter: the contents of a library are a part of the keys of all units.
    fn without_places(&self, name: &str, source: &Path) -> Command {
        let source = absolute(source);
        let folder = source.parent().unwrap_or(Path::new("/"));
        let mut map = std::ffi::OsString::from("--remap-path-prefix=");
        map.push(folder);
        map.push("=");
        map.push(name);
        let mut c = self.command(name, &source);
        c.arg(map).current_dir(folder);
        c
    }

    fn command(&self, name: &str, source: &Path) -> Command {
        let mut c = Command::new(&self.toolchain.rustc);
        c.arg("--crate-name").arg(name).arg(source).args(COMMON);
        c.envs(self.toolchain.env.iter().cloned()).env("RUSTC_BOOTSTRAP", "1");
        // This rustc is no part of the build that started us.
        for v in [
            "MAKEFLAGS",
            "MFLAGS",
            "CARGO_MAKEFLAGS",
            "RUSTC_LOG",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
        ] {
            c.env_remove(v);
        }
        c
    }
}

fn for_target(t: &Target) -> [String; 2] {
    [format!("-Ctarget-cpu={t}"), format!("-Ctarget-feature=+{}", t.isa())]
}

fn run(mut c: Command) -> Result<(), Failure> {
    match c.output() {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(Failure { log: format!("{c:?}\n{}\n{}", out.status, String::from_utf8_lossy(&out.stderr)) }),
        Err(e) => Err(Failure { log: format!("{c:?}\nerror: {e}\n") }),
    }
}

/// The first error of a log with the line that it points at, else the last line of the log.
fn first_error(log: &str) -> String {
    let mut lines =
        log.lines().skip_while(|l| !l.starts_with("error") && !l.contains("LLVM ERROR") && !l.contains("panicked at"));
    match lines.next() {
        Some(first) => match lines.find(|l| l.trim_start().starts_with("--> ")) {
            Some(place) => format!("{first} ({})", place.trim_start().trim_start_matches("--> ")),
            None => first.into(),
        },
        None => log.lines().last().unwrap_or("rustc failed").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_shown() {
        let log = "\"rustc\" ...\nwarning: w\n  --> a.rs:1:1\nerror[E0308]: mismatched types\n  --> unit.rs:7:3\n   |\nerror: two\n";
        assert_eq!(Failure { log: log.into() }.to_string(), "error[E0308]: mismatched types (unit.rs:7:3)");
        assert_eq!(Failure { log: "\"rustc\"\nsignal: 9".into() }.to_string(), "signal: 9");
    }
}
