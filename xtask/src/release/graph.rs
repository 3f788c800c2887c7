//! The programs of a release, and the crates that are linked into each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::command;

/// A program or a library of a release.
pub struct Program {
    /// The package of the workspace that it is built from.
    pub package: &'static str,
    /// The name that users see.
    pub name: &'static str,
    /// The type of the component in CycloneDX.
    pub kind: &'static str,
    /// The type and the name of its package URL.
    pub purl: &'static str,
}

pub static PROGRAMS: [Program; 3] = [
    Program { package: "tilewright-capi", name: "libtile", kind: "library", purl: "generic/libtile" },
    Program { package: "tilewright-cli", name: "tile", kind: "application", purl: "cargo/tilewright-cli" },
    Program { package: "tilewright-wheel", name: "tilewright (Python)", kind: "library", purl: "pypi/tilewright" },
];

/// A crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    pub name: String,
    pub version: String,
    /// The SPDX expression of its manifest.
    pub license: Option<String>,
    /// The file that its manifest names instead.
    pub license_file: Option<PathBuf>,
    pub folder: PathBuf,
    /// Whether it comes from outside of the workspace.
    pub is_third_party: bool,
    /// Whether a registry has it, or gets it in this release.
    pub is_published: bool,
}

/// Name and version. They order crates.
pub type CrateId = (String, String);

/// A program with its crates.
pub struct Linked {
    pub program: &'static Program,
    /// The crate of the program itself.
    pub root: CrateId,
    /// The crates that are linked into it, with itself.
    pub crates: BTreeSet<CrateId>,
}

/// All programs with their crates.
pub struct Graph {
    pub programs: Vec<Linked>,
    /// The crates of all programs.
    pub crates: BTreeMap<CrateId, Crate>,
    /// The linked crates that each crate depends on.
    pub dependencies: BTreeMap<CrateId, BTreeSet<CrateId>>,
    pub rust: Rust,
}

/// The toolchain that compiles the programs.
#[derive(Default)]
pub struct Rust {
    /// The version, as in `1.95.0`.
    pub version: String,
    /// The commit of its sources.
    pub commit: String,
    /// The target of the host, as in `x86_64-unknown-linux-gnu`.
    pub host: String,
    pub sysroot: PathBuf,
}

impl Rust {
    /// The rustc that cargo uses in the workspace.
    pub fn here() -> Result<Rust> {
        let rustc = || command::program(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let ask = |args: &[&str]| rustc().args(args).dir(&command::root()).output(Duration::from_secs(60));
        let about = ask(&["-vV"])?;
        let field = |name: &str| {
            let value = about.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_string());
            value.with_context(|| format!("rustc -vV prints no `{name}`"))
        };
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        Ok(Rust { version: field("release:")?, commit: field("commit-hash:")?, host: field("host:")?, sysroot })
    }

    /// The host in names of files, as in `x86_64-linux`.
    pub fn platform(&self) -> String {
        self.host.replace("-unknown", "").trim_end_matches("-gnu").to_string()
    }
}

impl Graph {
    /// The graph of the workspace for the host, with the versions of Cargo.lock.
    pub fn read() -> Result<Graph> {
        let rust = Rust::here()?;
        let metadata = command::metadata(&["--locked", "--filter-platform", &rust.host])?;
        let trees = PROGRAMS.iter().map(|p| tree(p, &rust.host)).collect::<Result<Vec<_>>>()?;
        Graph::of(&metadata, trees, rust)
    }

    /// Joins the output of `cargo metadata` with the linked crates of each program.
    ///
    /// `cargo metadata` unifies features over the workspace. A program alone has fewer features and fewer crates, which
    /// `cargo tree` knows.
    fn of(metadata: &Value, trees: Vec<BTreeSet<CrateId>>, rust: Rust) -> Result<Graph> {
        let list = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
        let linked: BTreeSet<&CrateId> = trees.iter().flatten().collect();
        let (mut crates, mut ids) = (BTreeMap::new(), BTreeMap::new());
        for package in list(metadata, "packages") {
            let (id, found) = (text(&package, "id"), read_crate(&package)?);
            let key = (found.name.clone(), found.version.clone());
            if linked.contains(&key) {
                ids.insert(id, key.clone());
                crates.insert(key, found);
            }
        }
        let mut dependencies = BTreeMap::new();
        for node in list(&metadata["resolve"], "nodes") {
            let Some(from) = ids.get(&text(&node, "id")) else { continue };
            let deps = list(&node, "deps");
            let is_normal = |d: &&Value| list(d, "dep_kinds").iter().any(|k| k["kind"].is_null());
            let of_crate = deps.iter().filter(is_normal).filter_map(|d| ids.get(&text(d, "pkg")).cloned());
            dependencies.insert(from.clone(), of_crate.collect());
        }
        let mut programs = vec![];
        for (program, crates_of_program) in PROGRAMS.iter().zip(trees) {
            let root = crates_of_program.iter().find(|(name, _)| name == program.package);
            let root = root.with_context(|| format!("cargo tree does not list {}", program.package))?.clone();
            for id in &crates_of_program {
                ensure!(crates.contains_key(id), "cargo metadata does not list {} {}", id.0, id.1);
            }
            programs.push(Linked { program, root, crates: crates_of_program });
        }
        Ok(Graph { programs, crates, dependencies, rust })
    }

    /// The version of the release: that of its programs.
    pub fn version(&self) -> &str {
        &self.programs[0].root.1
    }

    /// The crates from outside of the workspace.
    pub fn third_party(&self) -> impl Iterator<Item = &Crate> {
        self.crates.values().filter(|c| c.is_third_party)
    }

    /// The names of the programs with a crate.
    pub fn programs_with(&self, c: &Crate) -> Vec<&'static str> {
        let id = (c.name.clone(), c.version.clone());
        self.programs.iter().filter(|p| p.crates.contains(&id)).map(|p| p.program.name).collect()
    }
}

/// The crates that a build of this program alone links: no build scripts, and no procedural macros.
fn tree(program: &Program, host: &str) -> Result<BTreeSet<CrateId>> {
    let args = ["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    let cargo = command::cargo().args(args).args(["--target", host, "--package", program.package]);
    read_tree(&cargo.output(Duration::from_secs(600))?)
}

/// The crates of lines as in `serde v1.0.229 (*)`.
fn read_tree(lines: &str) -> Result<BTreeSet<CrateId>> {
    let read = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_string(), rest.split(' ').next()?.to_string()))
    };
    let lines = lines.lines().filter(|l| !l.trim().is_empty());
    lines.map(|l| read(l).with_context(|| format!("cargo tree prints `{l}`"))).collect()
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_string()
}

fn read_crate(package: &Value) -> Result<Crate> {
    let manifest = text(package, "manifest_path");
    let folder = Path::new(&manifest).parent().context("a package has a folder")?.to_path_buf();
    let is_third_party = !package["source"].is_null();
    Ok(Crate {
        name: text(package, "name"),
        version: text(package, "version"),
        license: package["license"].as_str().map(expression),
        license_file: package["license_file"].as_str().map(PathBuf::from),
        folder,
        is_third_party,
        is_published: is_third_party || package["publish"].is_null(),
    })
}

/// An SPDX expression. Old manifests have `/` for `OR`.
fn expression(license: &str) -> String {
    license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_tree() {
        let lines = "tilewright-cli v0.1.0 (/clone/cli)\nserde v1.0.1\nserde v1.0.1 (*)\n\n";
        let of = |name: &str, version: &str| (name.to_string(), version.to_string());
        let found = read_tree(lines).unwrap();
        assert_eq!(found, [of("serde", "1.0.1"), of("tilewright-cli", "0.1.0")].into_iter().collect());
        assert!(read_tree("serde").is_err());
    }

    #[test]
    fn names_of_platforms() {
        let of = |host: &str| Rust { host: host.into(), ..Rust::default() }.platform();
        assert_eq!(of("x86_64-unknown-linux-gnu"), "x86_64-linux");
        assert_eq!(of("aarch64-unknown-linux-musl"), "aarch64-linux-musl");
    }

    #[test]
    fn the_license_of_each_linked_crate_is_an_spdx_expression() {
        assert_eq!(expression("Unlicense/MIT"), "Unlicense OR MIT");
        for c in Graph::read().unwrap().crates.values() {
            let license = c.license.as_deref().unwrap_or_else(|| panic!("{} names no license", c.name));
            spdx::Expression::parse(license).unwrap_or_else(|e| panic!("{}: {e}", c.name));
        }
    }

    #[test]
    fn crates_of_the_programs() {
        let graph = Graph::read().unwrap();
        let has = |program: usize, name: &str| graph.programs[program].crates.iter().any(|(n, _)| n == name);
        for program in 0..PROGRAMS.len() {
            assert!(has(program, "serde_json") && has(program, "tilewright-runtime"));
            // A procedural macro, a build dependency and a dev-dependency.
            assert!(!has(program, "serde_derive") && !has(program, "pyo3-build-config") && !has(program, "insta"));
        }
        assert!(has(1, "clap") && !has(0, "clap") && has(2, "pyo3"));
        let json = graph.third_party().find(|c| c.name == "serde_json").unwrap();
        assert!(graph.programs_with(json).len() == 3 && json.folder.join("Cargo.toml").is_file());
    }
}
