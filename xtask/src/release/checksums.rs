//! The SHA-256 of each file of a release, in the form that `sha256sum -c` reads.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

pub const NAME: &str = "SHA256SUMS";

/// A line for each file of a folder but [`NAME`], in the order of their names.
pub fn text(folder: &Path) -> Result<String> {
    let mut lines = vec![];
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("the name of a file is no text")?;
        if name == NAME {
            continue;
        }
        ensure!(entry.path().is_file(), "{} is no file of a release", entry.path().display());
        let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {}", entry.path().display()))?;
        lines.push((name, hex(&bytes)));
    }
    ensure!(!lines.is_empty(), "{} has no files", folder.display());
    lines.sort();
    Ok(lines.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect())
}

/// The SHA-256 as 64 digits.
fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;
    use std::time::Duration;

    #[test]
    fn sha256sum_checks_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b.txt", "abc");
        write("a.txt", "");
        write(NAME, "of an earlier run");
        let lines = text(folder.path()).unwrap();
        // The examples of FIPS 180-2.
        let expected = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.txt",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b.txt",
        ];
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
        write(NAME, &lines);
        if command::exists("sha256sum") {
            let check = || command::program("sha256sum").args(["-c", "--strict", NAME]).dir(folder.path());
            check().output(Duration::from_secs(60)).unwrap();
            write("a.txt", "changed");
            assert!(check().output(Duration::from_secs(60)).is_err());
        }
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(text(folder.path()).is_err());
        fs::create_dir(folder.path().join("lib")).unwrap();
        assert!(text(folder.path()).unwrap_err().to_string().contains("is no file"));
    }
}
