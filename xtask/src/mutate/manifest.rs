//! The manifest of the crate in which tests with planted defects are compiled.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command;

/// The package whose tests are compiled.
const TESTS: &str = "tilewright-language-tests";
/// The packages with planted defects; macros run the compiler.
const PLANTED: [(&str, &str); 3] = [
    ("tilewright-core", "kernel-core"),
    ("tilewright-compiler", "kernel-compiler"),
    ("tilewright-macros", "kernel-macros"),
];
const PROFILE: &str = "[profile.dev]
opt-level = 0
debug = 0
lto = \"off\"
incremental = false
[profile.dev.build-override]
opt-level = 1
[profile.dev.package.\"*\"]
opt-level = 1

[workspace]
";

/// A manifest with the dependencies of the language's tests, and test binaries: their names and their files.
pub fn of(binaries: impl Iterator<Item = (String, String)>) -> Result<String> {
    let packages = command::packages()?;
    let package = packages.iter().find(|p| p["name"] == TESTS);
    let package = package.with_context(|| format!("cargo metadata lists no package {TESTS}"))?;
    let dependencies = package["dependencies"].as_array().context("cargo metadata lists no dependencies")?;
    let mut out = "[package]\nname = \"mutants\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\
                   autotests = false\n\n[dependencies]\n"
        .to_string();
    let is_planted = |d: &Value| PLANTED.iter().any(|(name, _)| d["name"] == *name);
    for d in dependencies.iter().filter(|d| !is_planted(d)) {
        let name = d["name"].as_str().context("a dependency has no name")?;
        let rename = d["rename"].as_str();
        out += &format!("{} = {{ package = {name:?}, version = {}", rename.unwrap_or(name), d["req"]);
        if let Some(path) = d["path"].as_str() {
            out += &format!(", path = {path:?}");
        }
        out += &format!(", features = {} }}\n", d["features"]);
    }
    let root = command::root();
    let path = |folder: &str| root.join(folder).display().to_string();
    for (name, folder) in PLANTED {
        out += &format!("{name} = {{ path = {:?}, features = [\"mutants\"] }}\n", path(folder));
    }
    out += &format!("{TESTS} = {{ path = {:?} }}\n\n{PROFILE}", path("tests/language"));
    for (name, path) in binaries {
        out += &format!("\n[[test]]\nname = {name:?}\npath = {path:?}\n");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_has_what_the_tests_need() {
        let binary = |name: &str| (name.to_string(), format!("tests/{name}.rs"));
        let manifest = super::of(["dot", "scans"].map(binary).into_iter()).unwrap();
        let tests = std::fs::read_to_string(crate::command::root().join("tests/language/Cargo.toml")).unwrap();
        let sections =
            tests.split("\n[").filter(|s| s.starts_with("dependencies]") || s.starts_with("dev-dependencies]"));
        let names: Vec<&str> = sections
            .flat_map(|s| s.lines().skip(1))
            .filter_map(|l| Some(l.split(['=', '.']).next()?.trim()).filter(|name| !name.is_empty()))
            .collect();
        assert!(names.len() > 3, "{names:?}");
        for name in names {
            assert!(manifest.lines().any(|l| l.starts_with(&format!("{name} = {{"))), "{name} in {manifest}");
        }
        assert!(manifest.contains("[[test]]\nname = \"scans\"\npath = \"tests/scans.rs\"\n"));
    }
}
