//! The artifacts of a release, in one folder.

mod builds;
mod checksums;
mod compare;
mod graph;
mod library;
mod notices;
mod sbom;
mod tarball;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::{archive, command, packages, setup};
use builds::Builds;
use graph::Graph;

/// A part of a release, which `--only` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Packages,
    Notices,
    Sbom,
    Archives,
    Library,
    Wheel,
    Checksums,
}

/// All parts in the order in which they are made. The checksums are those of the others.
const PARTS: [(&str, Part); 7] = [
    ("packages", Part::Packages),
    ("notices", Part::Notices),
    ("sbom", Part::Sbom),
    ("archives", Part::Archives),
    ("library", Part::Library),
    ("wheel", Part::Wheel),
    ("checksums", Part::Checksums),
];

impl Part {
    /// Whether it has compiled kernels.
    fn has_kernels(self) -> bool {
        matches!(self, Part::Archives | Part::Library | Part::Wheel)
    }
}

/// A program that a part needs, and the command that installs it.
struct Tool {
    part: Part,
    name: &'static str,
    how: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool { part: Part::Library, name: "cc", how: "apt-get install gcc libc6-dev" },
    Tool { part: Part::Wheel, name: "maturin", how: wheel::INSTALL },
];

#[derive(Debug, PartialEq)]
struct Options {
    out: PathBuf,
    parts: Vec<Part>,
    /// Whether all parts are made twice.
    check: bool,
    /// Whether packages may have changes that are not committed.
    allow_changes: bool,
}

impl Options {
    fn parse(args: &[&str]) -> Result<Options> {
        let (mut out, mut parts, mut check, mut allow_changes) = (None, None, false, false);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = |what: &str| args.next().with_context(|| format!("{arg} takes {what}"));
            match *arg {
                "--out" => out = Some(std::path::absolute(value("a folder")?)?),
                "--only" => parts = Some(read_parts(value("names of parts")?)?),
                "--check" => check = true,
                "--allow-dirty" => allow_changes = true,
                _ => bail!("`cargo xtask release` takes --out, --only, --check and --allow-dirty, not `{arg}`"),
            }
        }
        let out = out.context("`cargo xtask release` needs a folder: --out DIR")?;
        Ok(Options { out, parts: parts.unwrap_or_else(|| PARTS.map(|(_, p)| p).into()), check, allow_changes })
    }
}

/// The parts of a list as in `sbom,notices`, in the order in which they are made.
fn read_parts(list: &str) -> Result<Vec<Part>> {
    let names: Vec<&str> = list.split(',').collect();
    for name in &names {
        let known = PARTS.map(|(n, _)| n);
        ensure!(known.contains(name), "no part `{name}`: there are {}", known.join(", "));
    }
    Ok(PARTS.iter().filter(|(name, _)| names.contains(name)).map(|(_, part)| *part).collect())
}

pub fn run(args: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(args)?;
    missing_tool(&options.parts, command::exists)?;
    if options.parts.len() == PARTS.len() {
        let is_empty = fs::read_dir(&options.out).map_or(true, |mut entries| entries.next().is_none());
        ensure!(is_empty, "{} has files already, which are no part of this release", options.out.display());
    }
    if options.parts.iter().any(|p| p.has_kernels()) {
        let ready = setup::setup()?;
        ensure!(
            ready.device_toolchain && ready.ptxas,
            "there is no device toolchain, or no ptxas: `cargo xtask setup` installs them"
        );
    }
    let graph = Graph::read()?;
    let metadata = command::metadata(&["--no-deps", "--offline"])?;
    let target = Path::new(metadata["target_directory"].as_str().context("cargo has no target folder")?);
    let target = target.join("release-builds");
    make(&options, &graph, &Builds::at(&target.join("first"), &graph.rust)?, &options.out)?;
    for entry in sorted(&options.out)? {
        println!("{}: {:.0} kB", entry.display(), fs::metadata(&entry)?.len() as f64 / 1e3);
    }
    if options.check {
        // The names of both folders have different lengths.
        let again = target.join("artifacts-again");
        if again.exists() {
            fs::remove_dir_all(&again)?;
        }
        make(&options, &graph, &Builds::at(&target.join("second-time"), &graph.rust)?, &again)?;
        let differences = compare::differences(&options.out, &again)?;
        ensure!(differences.is_empty(), "two builds differ:\n  {}", differences.join("\n  "));
        fs::remove_dir_all(&again)?;
        println!("two builds in two folders gave the same bytes");
    }
    Ok(ExitCode::SUCCESS)
}

/// The first tool that is not here.
fn missing_tool(parts: &[Part], exists: impl Fn(&str) -> bool) -> Result<()> {
    for Tool { name, how, .. } in TOOLS.iter().filter(|t| parts.contains(&t.part)) {
        ensure!(exists(name), "there is no {name}: `{how}` installs it");
    }
    let needs_linux = parts.iter().any(|p| matches!(p, Part::Library | Part::Wheel));
    ensure!(!needs_linux || cfg!(target_os = "linux"), "the library and the wheel are built on Linux");
    Ok(())
}

/// Makes parts in a folder.
fn make(options: &Options, graph: &Graph, builds: &Builds, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let (version, rust) = (graph.version(), &graph.rust);
    let write = |name: &str, bytes: &[u8]| tarball::write(&out.join(name), bytes);
    let needs_notices = |p: &Part| matches!(p, Part::Notices | Part::Library | Part::Wheel);
    let notices = if options.parts.iter().any(needs_notices) { notices::files(graph)? } else { vec![] };
    for part in &options.parts {
        match part {
            Part::Packages => {
                for package in packages::pack(&builds.target, options.allow_changes)? {
                    write(&file_name(&package), &fs::read(&package)?)?;
                }
            }
            Part::Notices => {
                for (name, text) in &notices {
                    write(name, text)?;
                }
            }
            Part::Sbom => write(&format!("tilewright-{version}.cdx.json"), sbom::text(graph).as_bytes())?,
            Part::Archives => {
                archive::make(builds.cargo(), &builds.target, out)?;
            }
            Part::Library => {
                let (name, built) = (library::name(version, rust), library::build(builds)?);
                let files = library::tarball(built, version, &notices)?;
                write(&format!("{name}.tar.gz"), &files.compress(&name, builds.time)?)?;
            }
            Part::Wheel => wheel::build(builds, &notices, out)?,
            Part::Checksums => write(checksums::NAME, checksums::text(out)?.as_bytes())?,
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The entries of a folder.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut out = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
    out.sort();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let all = Options::parse(&["--out", "/r", "--check"]).unwrap();
        assert_eq!(all.parts, PARTS.map(|(_, p)| p));
        assert!(all.check && !all.allow_changes && all.out == Path::new("/r"));
        let some = Options::parse(&["--only", "checksums,sbom", "--out", "/r", "--allow-dirty"]).unwrap();
        assert_eq!(some.parts, [Part::Sbom, Part::Checksums]);
        assert!(!some.check && some.allow_changes);
        let error = |args: &[&str]| Options::parse(args).unwrap_err().to_string();
        assert!(error(&[]).contains("--out DIR"));
        assert!(error(&["--out"]).contains("takes a folder"));
        assert!(error(&["--out", "r", "--only", "sbom,nothing"]).contains("no part `nothing`: there are packages, "));
        assert!(error(&["--out", "r", "--fast"]).contains("not `--fast`"));
    }

    #[test]
    fn a_missing_tool_is_an_error_with_its_command() {
        let missing = |parts: &[Part]| missing_tool(parts, |name| name != "maturin");
        assert!(missing(&[Part::Sbom, Part::Notices, Part::Library]).is_ok());
        let said = missing(&[Part::Wheel]).unwrap_err().to_string();
        assert_eq!(said, "there is no maturin: `pip install 'maturin>=1.9,<2'` installs it");
    }

    #[test]
    fn parts_without_a_build() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::parse(&["--out", "unused", "--only", "notices,sbom,checksums"]).unwrap();
        let graph = Graph::read().unwrap();
        let builds = Builds::at(&folder.path().join("target"), &graph.rust).unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        make(&options, &graph, &builds, &first).unwrap();
        make(&options, &graph, &builds, &second).unwrap();
        assert_eq!(compare::differences(&first, &second).unwrap(), [""; 0]);
        let names: Vec<String> = sorted(&first).unwrap().iter().map(|p| file_name(p)).collect();
        for name in [notices::NAME, checksums::NAME, &format!("tilewright-{}.cdx.json", graph.version())] {
            assert!(names.iter().any(|n| n == name), "{names:?}");
        }
        let sums = fs::read_to_string(first.join(checksums::NAME)).unwrap();
        assert_eq!(sums.lines().count(), names.len() - 1);
        assert!(!folder.path().join("target").exists(), "something was built");
    }
}
