//! The crates that a user's program gets with ours: their licenses, their oldest compilers, and no crate twice. The
//! packages of the workspace that are built beside the kernels, and not after them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// Licenses of code that may be linked into a program under MIT or Apache-2.0.
const LICENSES: [&str; 9] =
    ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD", "Unlicense", "Unicode-3.0"];

/// Crates of another license, and why they do no harm.
const OTHER_LICENSES: [(&str, &str); 1] = [("cbindgen", "A test writes the C header with it. No program contains it.")];

/// Crates that a user's program gets in several versions, and why that cannot be helped.
const TWICE: [(&str, &str); 1] =
    [("syn", "Derives of serde and thiserror take version 3. A derive that half depends on takes version 2, as ours.")];

/// Crates of a user's program that do not say which compiler they need. `cargo +1.95 check --workspace` tries.
const UNSTATED: [&str; 5] = ["cudarc", "scopeguard", "siphasher", "smallvec", "zerocopy-derive"];

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Libraries that build scripts of the workspace use with fewer features than its tests do. They compile within
/// seconds.
const SMALLER_IN_BUILD_SCRIPTS: [&str; 3] = ["tilewright", "tilewright_build", "tilewright_core"];

/// The output of cargo in the workspace.
fn cargo(args: &[&str]) -> Vec<u8> {
    cargo_with(args, &[])
}

/// The output of cargo in the workspace with these environment variables.
fn cargo_with(args: &[&str], variables: &[(&str, &str)]) -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let variables = variables.iter().copied();
    let out = Command::new(cargo).args(args).envs(variables).current_dir(ROOT).output().expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// The workspace as cargo sees it, for Linux, with these arguments.
fn metadata(args: &[&str]) -> Value {
    let of_linux = ["metadata", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"];
    serde_json::from_slice(&cargo(&[&of_linux, args].concat())).expect("cargo prints JSON")
}

/// A version of Rust as numbers, as in `1.95`.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|n| n.parse().expect("a version is made of numbers")).collect()
}

fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// Packages by their ids.
fn packages(metadata: &Value) -> BTreeMap<&str, &Value> {
    list(metadata, "packages").iter().map(|p| (text(p, "id"), p)).collect()
}

/// The packages that a program gets with `root`: all that it depends on, and that its build depends on. With `tests`
/// also the dependencies of its tests.
fn with<'a>(metadata: &'a Value, root: &str, tests: bool) -> BTreeSet<&'a str> {
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"], "nodes").iter().map(|n| (text(n, "id"), n)).collect();
    let packages = packages(metadata);
    let mut todo: Vec<&str> = nodes.keys().copied().filter(|id| text(packages[id], "name") == root).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if found.insert(id) {
            let dev = tests && text(packages[id], "name") == root;
            let used = |d: &&Value| list(d, "dep_kinds").iter().any(|k| dev || text(k, "kind") != "dev");
            todo.extend(list(nodes[id], "deps").iter().filter(used).map(|d| text(d, "pkg")));
        }
    }
    assert!(!found.is_empty(), "there is no package {root}");
    found
}

#[test]
fn licenses_go_with_ours() {
    let metadata = metadata(&["--all-features"]);
    let mut wrong = vec![];
    for p in list(&metadata, "packages").iter().filter(|p| !p["source"].is_null()) {
        let (name, license) = (text(p, "name"), text(p, "license"));
        let parsed = Expression::parse_mode(license, ParseMode::LAX);
        let allowed =
            parsed.is_ok_and(|e| e.evaluate(|r| r.license.id().is_some_and(|id| LICENSES.contains(&id.name))));
        if allowed == OTHER_LICENSES.iter().any(|(n, _)| *n == name) {
            wrong.push(format!("{name}: `{license}`"));
        }
    }
    assert!(wrong.is_empty(), "licenses that do not go with ours, or need no exception:\n  {}", wrong.join("\n  "));
}

/// The names and the versions of the crates that a program gets with the facade and these features. Cargo unifies the
/// features of a crate over the workspace in its metadata, but not in a tree of one package.
fn of_a_program(features: &str) -> BTreeSet<(String, String)> {
    let args = ["tree", "--package", "tilewright", "--features", features, "--edges", "normal,build"];
    let tree = cargo(&[&args[..], &["--prefix", "none", "--format", "{p}"]].concat());
    let tree = String::from_utf8(tree).expect("cargo prints text");
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?.to_string(), words.next()?.trim_start_matches('v').to_string()))
    });
    crates.collect()
}

/// All features that have dependencies.
const FEATURES: &str = "ops,build,cudarc,emulator";

#[test]
fn a_program_gets_each_crate_once() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, version) in of_a_program(FEATURES) {
        versions.entry(name).or_default().insert(version);
    }
    assert!(versions.contains_key("tilewright-kernels"), "{versions:?}");
    let twice: Vec<_> = versions.iter().filter(|(_, v)| v.len() > 1).map(|(n, _)| n.as_str()).collect();
    assert_eq!(twice, TWICE.map(|(n, _)| n), "crates in several versions: {versions:?}");
}

/// The kernels take longer to build than all else together. Features are unified over the workspace, so that a
/// dependency on the facade is one on the kernels.
#[test]
fn little_waits_for_the_kernels() {
    let metadata = metadata(&[]);
    let packages = packages(&metadata);
    let waits = |root: &str, tests| {
        with(&metadata, root, tests).into_iter().any(|id| text(packages[id], "name") == "tilewright-kernels")
    };
    assert!(waits("tilewright", false), "the facade has no operations in a build of the workspace");
    for library in ["runtime", "without-ops"] {
        assert!(!waits(&format!("tilewright-{library}"), false), "{library} waits for the kernels");
    }
    // The challenges use a library of the kernels.
    for tested in ["bench", "compiler", "fuzz-cases", "lang", "language-tests", "macro-tests"] {
        assert!(!waits(&format!("tilewright-{tested}"), true), "the tests of {tested} wait for the kernels");
    }
}

/// A build of all tests compiles each library once. A feature that reaches a build dependency pulls the
/// dev-dependencies of the crates that it enables into the build of build scripts, and with them the kernels.
#[test]
fn a_library_is_compiled_once() {
    let args = ["test", "--workspace", "--no-run", "--unit-graph", "-Z", "unstable-options"];
    let graph = cargo_with(&args, &[("RUSTC_BOOTSTRAP", "1")]);
    let graph: Value = serde_json::from_slice(&graph).expect("cargo prints JSON");
    let mut compiled: BTreeMap<&str, usize> = BTreeMap::new();
    for unit in list(&graph, "units").iter().filter(|u| text(u, "mode") == "build") {
        let target = &unit["target"];
        let is_ours = text(unit, "pkg_id").starts_with("path+");
        if is_ours && list(target, "kind").iter().any(|k| k == "lib" || k == "rlib" || k == "proc-macro") {
            *compiled.entry(text(target, "name")).or_default() += 1;
        }
    }
    assert!(compiled.len() > 20, "{compiled:?}");
    let twice: Vec<&str> = compiled.iter().filter(|(_, n)| **n > 1).map(|(name, _)| *name).collect();
    assert_eq!(twice, SMALLER_IN_BUILD_SCRIPTS);
}

/// The oldest compiler is the same for all of our packages. Their dependencies need no newer one. Each package has the
/// texts of its licenses.
#[test]
fn packages_can_be_published() {
    let metadata = metadata(&["--all-features"]);
    let version = |p: &Value| numbers(text(p, "rust_version"));
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        list(&metadata, "packages").iter().partition(|p| p["source"].is_null());
    let published: Vec<&Value> = own.into_iter().filter(|p| p["publish"].is_null()).collect();
    let facade = published.iter().find(|p| text(p, "name") == "tilewright").expect("the facade is published");
    let stated = version(facade);
    for p in &published {
        assert_eq!(version(p), stated, "{}", text(p, "name"));
        for field in ["license", "description"] {
            assert!(!text(p, field).is_empty(), "{} has no {field}", text(p, "name"));
        }
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let of_package = fs::read(Path::new(text(p, "manifest_path")).with_file_name(file)).ok();
            let of_root = fs::read(Path::new(ROOT).join(file)).expect("the license of the repository");
            assert!(of_package == Some(of_root), "{} has no copy of {file}", text(p, "name"));
        }
    }
    for p in others.into_iter().filter(|p| !text(p, "rust_version").is_empty()) {
        assert!(version(p) <= stated, "{} needs Rust {}", text(p, "name"), text(p, "rust_version"));
    }
}

/// The tests run with a compiler that is no older than the stated one.
#[test]
fn the_compiler_is_as_new_as_stated() {
    let metadata = metadata(&["--no-deps"]);
    let facade = list(&metadata, "packages").iter().find(|p| text(p, "name") == "tilewright").expect("the facade");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8(out.stdout).expect("rustc prints text");
    let version = version.split([' ', '-']).nth(1).expect("rustc prints its version");
    assert!(numbers(version) >= numbers(text(facade, "rust_version")), "rustc {version}");
}

#[test]
fn crates_without_a_stated_compiler_are_known() {
    let metadata = metadata(&[]);
    let of_program = of_a_program(FEATURES);
    let is_of_program = |p: &&Value| of_program.contains(&(text(p, "name").into(), text(p, "version").into()));
    let unstated = list(&metadata, "packages").iter().filter(is_of_program);
    let unstated = unstated.filter(|p| text(p, "rust_version").is_empty()).map(|p| text(p, "name"));
    assert_eq!(unstated.collect::<BTreeSet<_>>(), BTreeSet::from(UNSTATED));
}

/// A program that asks for a family of operations compiles the kernels of that family alone, and no emulated SM.
#[test]
fn a_family_of_operations_has_its_own_kernels_alone() {
    let metadata = metadata(&["--no-deps"]);
    let facade = list(&metadata, "packages").iter().find(|p| text(p, "name") == "tilewright").expect("the facade");
    let features = facade["features"].as_object().expect("its features");
    let families: Vec<&str> = features.keys().filter_map(|f| f.strip_prefix("ops-")).collect();
    assert!(families.len() >= 6, "{families:?}");
    for family in families {
        let asked = format!("ops-{family}");
        let args = ["tree", "--package", "tilewright", "--features", &asked];
        let tree = cargo(&[&args[..], &["--edges", "normal", "--prefix", "none", "--format", "{p}|{f}"]].concat());
        let tree = String::from_utf8(tree).expect("cargo prints text");
        let kernels = tree.lines().find(|l| l.starts_with("tilewright-kernels ")).expect("the kernels");
        assert_eq!(kernels.split_once('|').map(|(_, features)| features), Some(family));
    }
}

/// A program that asks for no features has no command line, no emulated SM, and no types of cudarc in its API.
#[test]
fn default_features_are_few() {
    let tree = cargo(&["tree", "--package", "tilewright", "--edges", "normal,build", "--prefix", "none"]);
    let tree = String::from_utf8(tree).expect("cargo prints text");
    let names: BTreeSet<&str> = tree.lines().filter_map(|l| l.split(' ').next()).collect();
    assert!(names.contains("tilewright-runtime"), "{names:?}");
    for feature in ["clap", "corosensei", "tilewright-kernels", "tracing-subscriber"] {
        assert!(!names.contains(feature), "{feature} is a dependency with the default features");
    }
    let metadata = metadata(&["--no-deps"]);
    for package in list(&metadata, "packages").iter().filter(|p| text(p, "name") == "tilewright-runtime") {
        assert_eq!(package["features"]["default"], serde_json::json!(["cuda"]));
    }
    let sources = Path::new(ROOT).join("host/src");
    let lib = fs::read_to_string(sources.join("lib.rs")).expect("the runtime");
    assert!(lib.contains("#[cfg(feature = \"cudarc\")]\nmod cudarc;"), "the module `cudarc` needs its feature");
    // `cuda` is a private module. Other sources that name cudarc's items would show them.
    for entry in fs::read_dir(sources).expect("the runtime") {
        let path = entry.expect("an entry").path();
        if path.is_file() && !path.ends_with("cudarc.rs") {
            let text = fs::read_to_string(&path).expect("a source");
            assert!(!text.contains("cudarc::"), "{} names items of cudarc", path.display());
        }
    }
}
