//! The libraries of kernels in the dependencies of a package, as its build script finds them.

use crate::cargo;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tilewright_build::files::rust_files;
use tilewright_compiler::{Libraries, Source};

/// Adds the libraries of the dependencies of the package in a folder. A package with public libraries has the key
/// `links`.
pub fn add_libraries(folder: &Path, libraries: &mut Libraries) -> Result<()> {
    let metadata = cargo::resolved_metadata(folder)?;
    let all = metadata["packages"].as_array().context("cargo names no packages")?;
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo names no dependencies")?;
    let id = &cargo::package(&metadata, folder)?["id"];
    let node = nodes.iter().find(|n| n["id"] == *id).context("cargo names no dependencies of the package")?;
    let dependencies = node["deps"].as_array().context("cargo names no dependencies of the package")?;
    for dependency in dependencies.iter().filter(|d| is_of_code(d)) {
        let of_id = all.iter().find(|p| p["id"] == dependency["pkg"]);
        let Some(package) = of_id.filter(|p| p["links"].is_string()) else { continue };
        let name = package["name"].as_str().context("cargo names a package without a name")?.replace('-', "_");
        let manifest = package["manifest_path"].as_str().context("cargo names a package without a manifest")?;
        for file in rust_files(&Path::new(manifest).with_file_name("src"))? {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            libraries.add_of_crate(&name, Source { file: &file, text: &text });
        }
    }
    Ok(())
}

/// Whether code of a package can name a dependency: one of its build script alone is of no kernel.
fn is_of_code(dependency: &Value) -> bool {
    dependency["dep_kinds"].as_array().is_none_or(|kinds| kinds.iter().any(|k| k["kind"] != "build"))
}
