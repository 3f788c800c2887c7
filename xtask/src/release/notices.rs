//! The licenses of the crates that are linked into the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::release::graph::{Crate, Graph};

/// The name of the notices.
pub const NAME: &str = "THIRD-PARTY-NOTICES.txt";
/// The name of the notices of Rust's standard library, which the toolchain brings.
pub const OF_STD: &str = "RUST-STANDARD-LIBRARY.html";

/// Words in the names of files with licenses.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "PATENTS"];
/// Folders with licenses.
const FOLDERS: [&str; 2] = ["LICENSES", "licenses"];
/// Endings of the names of files with licenses. A name with another ending is that of code or data.
const ENDINGS: [&str; 4] = ["", "txt", "md", "rst"];
const LINE: &str = "================================================================================\n";

/// A crate with the texts of its licenses by their files' names.
struct Licensed<'a> {
    of: &'a Crate,
    texts: BTreeMap<String, String>,
}

/// A file of notices: its name and its text.
pub type Notices = (&'static str, Vec<u8>);

/// The notices that a program comes with: those of the crates, and those of the standard library if the toolchain has
/// them.
pub fn files(graph: &Graph) -> Result<Vec<Notices>> {
    let mut files = vec![(NAME, text(graph)?.into_bytes())];
    let of_std = graph.rust.sysroot.join("share/doc/rust/COPYRIGHT-library.html");
    if of_std.is_file() {
        files.push((OF_STD, fs::read(of_std)?));
    }
    Ok(files)
}

/// The notices of the crates: a list of these, then each text once, with the crates that have it.
fn text(graph: &Graph) -> Result<String> {
    let licensed = graph.third_party().map(read).collect::<Result<Vec<_>>>()?;
    Ok(write(graph, &licensed))
}

fn read(c: &Crate) -> Result<Licensed<'_>> {
    let mut files = vec![];
    let folders = FOLDERS.map(|f| c.folder.join(f)).into_iter().filter(|f| f.is_dir());
    for folder in [c.folder.clone()].into_iter().chain(folders) {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_file() && (folder != c.folder || is_license(&path)) {
                files.push(path);
            }
        }
    }
    files.extend(c.license_file.as_ref().map(|f| c.folder.join(f)));
    let mut texts = BTreeMap::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(&c.folder).unwrap_or(&file).display().to_string();
        texts.insert(name, normalized(&String::from_utf8_lossy(&bytes)));
    }
    Ok(Licensed { of: c, texts })
}

/// Whether the name of a file of a package is that of a license.
fn is_license(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    // In `LICENSE-Apache-2.0` the number is no ending.
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let has_text = ENDINGS.contains(&ending.as_str()) || ending.starts_with(|c: char| c.is_ascii_digit());
    has_text && NAMES.iter().any(|n| name.contains(n))
}

/// A text without differences that nobody sees, so that equal licenses are there once.
fn normalized(text: &str) -> String {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    format!("{}\n", text.trim_matches('\n'))
}

fn write(graph: &Graph, licensed: &[Licensed]) -> String {
    let programs: Vec<&str> = graph.programs.iter().map(|p| p.program.name).collect();
    let mut out = format!(
        "Third-party notices of tilewright {}\n\n\
         Programs: {}.\n\
         They contain these crates, each under its license. Names of programs behind a license say that the others do\n\
         not contain the crate.\n\n",
        graph.version(),
        programs.join(", ")
    );
    for Licensed { of, .. } in licensed {
        let with = graph.programs_with(of);
        let with = if with == programs { String::new() } else { format!(" [{}]", with.join(", ")) };
        let license = of.license.as_deref().unwrap_or("see its text");
        let _ = writeln!(out, "{} {}: {license}{with}", of.name, of.version);
    }
    let _ = writeln!(
        out,
        "\nThe programs also contain the standard library of Rust {}: MIT OR Apache-2.0. {OF_STD}, from the\n\
         Rust distribution, has its notices. https://github.com/rust-lang/rust has its sources.",
        graph.rust.version
    );
    let without: Vec<&Licensed> = licensed.iter().filter(|l| l.texts.is_empty()).collect();
    if !without.is_empty() {
        out += "\nThe packages of these crates have no text of a license:\n\n";
        for Licensed { of, .. } in without {
            let license = of.license.as_deref().unwrap_or("no license is stated");
            let _ = writeln!(out, "{} {}: {license}", of.name, of.version);
        }
    }
    let mut texts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for Licensed { of, texts: of_crate } in licensed {
        for (file, text) in of_crate {
            texts.entry(text).or_default().insert(format!("{} {}: {file}", of.name, of.version));
        }
    }
    let mut texts: Vec<(&str, BTreeSet<String>)> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    for (text, files) in texts {
        out += &format!("\n{LINE}");
        files.iter().for_each(|f| out += &format!("{f}\n"));
        out += &format!("{LINE}\n{text}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_party_crate_has_its_notice() {
        let graph = Graph::read().unwrap();
        let notices = text(&graph).unwrap();
        assert_eq!(notices, text(&Graph::read().unwrap()).unwrap());
        for c in graph.third_party() {
            let listed = format!("\n{} {}: {}", c.name, c.version, c.license.as_deref().unwrap());
            assert!(notices.contains(&listed), "{} is not listed", c.name);
            if !read(c).unwrap().texts.is_empty() {
                let with_text = notices.matches(&format!("\n{} {}: ", c.name, c.version)).count();
                assert!(with_text >= 2, "the license of {} is missing", c.name);
            }
        }
        assert!(!notices.contains("\ntilewright"), "a crate of the workspace is no third party");
        assert!(notices.contains("MIT License") && notices.contains("Apache License"));
        // Paths are those of one machine.
        assert!(!notices.contains(crate::command::root().to_str().unwrap()) && !notices.contains("registry/src"));
    }

    #[test]
    fn a_crate_without_a_text_is_named_with_its_license() {
        let folder = tempfile::tempdir().unwrap();
        let mut graph = Graph::read().unwrap();
        for c in graph.crates.values_mut().filter(|c| c.name == "serde_json" || c.name == "half") {
            c.folder = folder.path().to_path_buf();
        }
        fs::write(folder.path().join("license.rs"), "no license").unwrap();
        let notices = text(&graph).unwrap();
        let without = notices.split("have no text of a license:").nth(1).unwrap().split(LINE).next().unwrap();
        let listed: Vec<&str> = without.lines().filter(|l| !l.is_empty()).collect();
        assert!(listed.len() == 2 && listed[0].starts_with("half ") && listed[1].starts_with("serde_json "));
        assert!(listed.iter().all(|l| l.ends_with(": MIT OR Apache-2.0")), "{listed:?}");
    }

    #[test]
    fn names_of_licenses() {
        for name in [
            "LICENSE",
            "LICENSE-MIT",
            "license-apache-2.0",
            "LICENSE-Apache-2.0_WITH_LLVM-exception",
            "COPYING.md",
            "UNLICENSE",
            "NOTICE.txt",
            "MIT-LICENSE.txt",
            "COPYRIGHT",
        ] {
            assert!(is_license(Path::new(name)), "{name}");
        }
        for name in ["license.rs", "README.md", "license.json", "Cargo.toml"] {
            assert!(!is_license(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn equal_texts_are_there_once() {
        assert_eq!(normalized("\u{feff}\r\nA  \r\n\r\nB\r\n\r\n"), normalized("A\n\nB"));
        let graph = Graph::read().unwrap();
        let crates: Vec<&Crate> = graph.third_party().take(2).collect();
        let licensed = |of| Licensed { of, texts: [("LICENSE".to_string(), "the text\n".to_string())].into() };
        let notices = write(&graph, &[licensed(crates[0]), licensed(crates[1])]);
        assert_eq!(notices.matches("the text").count(), 1);
    }
}
