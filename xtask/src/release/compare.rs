//! The differences between two folders with a release.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::release::{checksums, tarball};

/// The names of the files that differ, and of tarballs the entries that do.
pub fn differences(first: &Path, second: &Path) -> Result<Vec<String>> {
    let (first, second) = (files(first)?, files(second)?);
    let mut out = vec![];
    for name in keys(&first, &second) {
        match (first.get(name), second.get(name)) {
            // It differs if another file does.
            _ if name == checksums::NAME => {}
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => out.push(format!("{name}: {}", inside(name, a, b))),
            _ => out.push(format!("{name}: only one of both has it")),
        }
    }
    Ok(out)
}

/// The place where two files of one name differ.
fn inside(name: &str, a: &[u8], b: &[u8]) -> String {
    let is_tarball = name.ends_with(".tar.gz") || name.ends_with(".crate");
    if let (true, Ok(a), Ok(b)) = (is_tarball, tarball::entries(a), tarball::entries(b)) {
        let differ: Vec<&str> = keys(&a, &b).into_iter().filter(|k| a.get(*k) != b.get(*k)).collect();
        if !differ.is_empty() {
            return differ.join(", ");
        }
    }
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    format!("{} and {} bytes, which differ from byte {at} on", a.len(), b.len())
}

fn keys<'a, T>(a: &'a BTreeMap<String, T>, b: &'a BTreeMap<String, T>) -> BTreeSet<&'a str> {
    a.keys().chain(b.keys()).map(String::as_str).collect()
}

fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
    };
    fs::read_dir(folder)?.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::tarball::Tarball;

    #[test]
    fn files_and_entries_that_differ_are_named() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let tarball = |text: &str| {
            let mut t = Tarball::default();
            t.file("lib/same", "same");
            t.file("lib/other", text);
            t.compress("t", 0).unwrap()
        };
        for (folder, text, sums) in [(&first, "first", "1"), (&second, "second", "2")] {
            let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
            write("same.txt", b"same");
            write(checksums::NAME, sums.as_bytes());
            write("t.tar.gz", &tarball(text));
            write("bare.whl", format!("text {text}").as_bytes());
        }
        fs::write(first.path().join("alone"), "").unwrap();
        let expected = [
            "alone: only one of both has it",
            "bare.whl: 10 and 11 bytes, which differ from byte 5 on",
            "t.tar.gz: t/lib/other",
        ];
        assert_eq!(differences(first.path(), second.path()).unwrap(), expected);
        assert_eq!(differences(first.path(), first.path()).unwrap(), [""; 0]);
    }
}
