//! Packages of Debian, unpacked into the cache folder: needs no root, and installs nothing. They are a second rustc,
//! and Open MPI for tests.
//!
//! `rustc-web` and `rust-web-src` follow the current Rust also in Debian's stable release. Installed by apt they
//! would replace Debian's own rustc.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tilewright_build::cache::Cache;

use crate::command;

const RUST: [&str; 2] = ["rustc-web", "rust-web-src"];
/// 7 MB with all libraries.
const OPEN_MPI: &str = "openmpi-bin";
/// Downloads of Rust are 140 MB.
const LIMIT: Duration = Duration::from_secs(600);

/// `mpirun` of the unpacked Open MPI, which looks for its files below `/usr` otherwise.
const MPIRUN: &str = r#"#!/bin/sh
root=$(cd "$(dirname "$0")" && pwd)
export OPAL_PREFIX="$root/usr" OPAL_SYSCONFDIR="$root/etc/openmpi" PMIX_MCA_pcompress_base_silence_warning=1
for lib in "$root"/usr/lib/*-linux-gnu; do
    export LD_LIBRARY_PATH="$lib:$lib/openmpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
exec "$root/usr/bin/mpirun" "$@"
"#;

/// The path of an `mpirun`; missing packages are unpacked.
pub fn mpirun(cache: &Cache) -> Result<PathBuf> {
    if let Some(there) = cache.trusted_toolchain("open-mpi/mpirun") {
        return Ok(there);
    }
    println!("no mpirun yet; unpacking Debian's Open MPI into the cache folder");
    has_tools()?;
    let work = cache.dir().temp_dir("toolchain")?;
    let root = fill(work.path(), Apt::open_mpi)?;
    // The program tells by its name whether it is `mpirun`.
    symlink("mpirun.openmpi", root.join("usr/bin/mpirun"))?;
    let program = root.join("mpirun");
    fs::write(&program, MPIRUN)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let version = command::program(&program).args(["--version"]).output(LIMIT)?;
    ensure!(version.contains("Open MPI"), "mpirun says {version}");
    let to = cache.toolchain().join("open-mpi");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::rename(root, &to)?;
    Ok(to.join("mpirun"))
}

fn has_tools() -> Result<()> {
    for tool in ["apt-get", "apt-cache", "dpkg-deb", "dpkg-query"] {
        ensure!(command::exists(tool), "there is no {tool}: this is no Debian system");
    }
    Ok(())
}

pub fn unpack(cache: &Cache) -> Result<()> {
    has_tools()?;
    // A random name that nobody else can have made.
    let work = cache.dir().temp_dir("toolchain")?;
    let root = fill(work.path(), Apt::rust)?;
    trim(&root)?;
    let to = cache.toolchain().join("debian");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    Ok(fs::rename(root, to)?)
}

/// Downloads and unpacks the packages of a list below `work`; the folder that holds the result.
fn fill(work: &Path, packages: fn(&Apt) -> Result<Vec<String>>) -> Result<PathBuf> {
    let (debs, root) = (work.join("debs"), work.join("root"));
    fs::create_dir_all(&debs)?;
    fs::create_dir_all(&root)?;
    let apt = match packages(&Apt::system()) {
        Ok(list) => (Apt::system(), list),
        // Fresh images come without package lists.
        Err(_) => {
            println!("  fetching package lists");
            let own = Apt::private(&work.join("apt"))?;
            let list = packages(&own)?;
            (own, list)
        }
    };
    let (apt, list) = apt;
    println!("  downloading {}", list.join(" "));
    apt.run("apt-get", &["download"]).args(&list).dir(&debs).output(LIMIT)?;
    for deb in fs::read_dir(&debs)? {
        command::program("dpkg-deb").args(["-x".as_ref(), deb?.path().as_os_str(), root.as_os_str()]).output(LIMIT)?;
    }
    Ok(root)
}

/// apt, with the system's package lists or with its own.
struct Apt(Vec<String>);

impl Apt {
    fn system() -> Apt {
        Apt(Vec::new())
    }

    fn private(dir: &Path) -> Result<Apt> {
        for d in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(d))?;
        }
        let dir = dir.display();
        let options =
            [format!("Dir::State::Lists={dir}/lists"), format!("Dir::Cache={dir}/cache"), "Debug::NoLocking=1".into()];
        let apt = Apt(options.into_iter().flat_map(|o| ["-o".into(), o]).collect());
        apt.run("apt-get", &["update"]).output(LIMIT).context("cannot fetch package lists")?;
        Ok(apt)
    }

    fn run(&self, program: &str, args: &[&str]) -> command::Run {
        command::program(program).args(&self.0).args(args).env("LC_ALL", "C")
    }

    /// The packages that apt would install with Open MPI, in one call, which takes a second.
    fn open_mpi(&self) -> Result<Vec<String>> {
        let args = ["install", "--print-uris", "-qq", "--yes", "--no-install-recommends", OPEN_MPI];
        let list = downloads(&self.run("apt-get", &args).output(LIMIT)?);
        ensure!(!list.is_empty(), "apt-get would download nothing with {OPEN_MPI}");
        Ok(list)
    }

    /// The packages of Rust to download, with the libraries they need that this system does not have.
    fn rust(&self) -> Result<Vec<String>> {
        let mut todo: Vec<String> = RUST.iter().map(|p| p.to_string()).collect();
        let mut list = BTreeSet::new();
        while let Some(name) = todo.pop() {
            let about = self.run("apt-cache", &["show", "--no-all-versions", &name]).output(LIMIT)?;
            if list.insert(name) {
                todo.extend(needed(&about).filter(|d| of_rust(d) || !is_installed(d)));
            }
        }
        Ok(list.into_iter().collect())
    }
}

/// The packages that `apt-get install --print-uris` would download.
fn downloads(uris: &str) -> Vec<String> {
    // As in `'http://..' libpmix2_4.2.2-1_amd64.deb 670924 MD5Sum:..`.
    let files = uris.lines().filter_map(|l| l.split_whitespace().nth(1));
    files.filter_map(|file| Some(file.split_once('_')?.0.to_string())).collect()
}

/// The libraries among the dependencies of a package; of alternatives the first.
fn needed(about: &str) -> impl Iterator<Item = String> + '_ {
    let depends = about.lines().filter_map(|l| l.strip_prefix("Depends: ").or_else(|| l.strip_prefix("Pre-Depends: ")));
    let names = depends.flat_map(|d| d.split(',')).filter_map(|d| d.split(['(', '|', ':']).next()).map(str::trim);
    // A system without the C library has no rustc either, and its headers serve linking only.
    names.filter(|n| n.starts_with("lib") && !n.starts_with("libc6") && *n != "libc-dev").map(str::to_owned)
}

fn of_rust(name: &str) -> bool {
    name.starts_with("libstd-rust") || name.starts_with("libllvm")
}

fn is_installed(name: &str) -> bool {
    let status = command::program("dpkg-query").args(["-W", "-f", "${Status}", name]).output(LIMIT);
    status.is_ok_and(|s| s.ends_with(" installed"))
}

/// Of the sources only the library is of use, a tenth of them; of the host's libraries only the compiler's own.
fn trim(root: &Path) -> Result<()> {
    for host in fs::read_dir(root.join("usr/lib/rustlib"))? {
        for file in fs::read_dir(host?.path().join("lib")).into_iter().flatten() {
            let file = file?.path();
            if file.extension().is_some_and(|e| e == "rlib") {
                fs::remove_file(file)?;
            }
        }
    }
    for source in fs::read_dir(root.join("usr/src"))? {
        let source = source?.path();
        if !source.join("library").is_dir() {
            continue;
        }
        for part in fs::read_dir(&source)? {
            let part = part?;
            if part.file_type()?.is_dir() && part.file_name() != "library" {
                fs::remove_dir_all(part.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_apt_would_download() {
        let uris = "'http://h/p/libpmix2_4.2.2-1_amd64.deb' libpmix2_4.2.2-1_amd64.deb 670924 MD5Sum:00\n\
                    'http://h/o/openmpi-bin_4.1.4-3%2bb1_amd64.deb' openmpi-bin_4.1.4-3+b1_amd64.deb 226072 \n";
        assert_eq!(downloads(uris), ["libpmix2", "openmpi-bin"]);
    }

    #[test]
    fn dependencies_that_matter() {
        let about = "Package: p\nPre-Depends: libz3-4\nDepends: libc6 (>= 2.34), libllvm22, libx1 | libx2, libstd-rust-web-1.96 (= 1.96.0), gcc, libc-dev, binutils (>= 2.26)\n";
        assert_eq!(needed(about).collect::<Vec<_>>(), ["libz3-4", "libllvm22", "libx1", "libstd-rust-web-1.96"]);
    }
}
