//! Tarballs whose bytes depend on their contents alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use tar::{Archive, Builder, EntryType, Header};

/// Files and links by their paths below the tarball's one folder.
#[derive(Default)]
pub struct Tarball(BTreeMap<String, Entry>);

enum Entry {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    /// A symbolic link with its target.
    Link(String),
}

impl Tarball {
    pub fn file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), Entry::File { bytes: bytes.into(), mode: 0o644 });
    }

    /// A file that may be executed.
    pub fn program(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), Entry::File { bytes: bytes.into(), mode: 0o755 });
    }

    pub fn link(&mut self, path: &str, target: &str) {
        self.0.insert(path.into(), Entry::Link(target.into()));
    }

    /// The tarball, compressed. All entries are below `folder`, in the order of their paths, and of this time in
    /// seconds since 1970. They belong to user and group 0.
    pub fn compress(&self, folder: &str, time: u64) -> io::Result<Vec<u8>> {
        // A header of gzip has 32 bits for a time. Without a time it has zero.
        let gzip = GzBuilder::new().mtime(u32::try_from(time).unwrap_or(0)).operating_system(255);
        let mut tar = Builder::new(gzip.write(vec![], Compression::new(9)));
        let mut folders = BTreeSet::new();
        for (path, entry) in &self.0 {
            let path = format!("{folder}/{path}");
            for (at, _) in path.match_indices('/') {
                if folders.insert(path[..=at].to_string()) {
                    let mut header = header(EntryType::Directory, 0o755, 0, time);
                    tar.append_data(&mut header, &path[..=at], io::empty())?;
                }
            }
            match entry {
                Entry::File { bytes, mode } => {
                    let mut header = header(EntryType::Regular, *mode, bytes.len() as u64, time);
                    tar.append_data(&mut header, &path, bytes.as_slice())?;
                }
                Entry::Link(target) => {
                    tar.append_link(&mut header(EntryType::Symlink, 0o777, 0, time), &path, target)?;
                }
            }
        }
        tar.into_inner()?.finish()
    }
}

fn header(kind: EntryType, mode: u32, size: u64, time: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// The entries of a compressed tarball by their paths: header and contents.
pub fn entries(bytes: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut out = BTreeMap::new();
    for entry in Archive::new(GzDecoder::new(bytes)).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.display().to_string();
        let mut contents = entry.header().as_bytes().to_vec();
        entry.read_to_end(&mut contents)?;
        out.insert(path, contents);
    }
    Ok(out)
}

/// Writes a file of a release.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tarball(backwards: bool) -> Tarball {
        let mut t = Tarball::default();
        let mut steps: Vec<fn(&mut Tarball)> =
            vec![|t| t.file("include/a.h", "int a;"), |t| t.program("lib/liba.so.1", vec![0; 5000]), |t| {
                t.link("lib/liba.so", "liba.so.1")
            }];
        if backwards {
            steps.reverse();
        }
        steps.iter().for_each(|step| step(&mut t));
        t
    }

    #[test]
    fn the_order_of_making_does_not_matter() {
        let bytes = tarball(false).compress("a-1.0", 0).unwrap();
        assert_eq!(bytes, tarball(true).compress("a-1.0", 0).unwrap());
        assert_ne!(bytes, tarball(true).compress("a-1.0", 1).unwrap());
        // No time, and no operating system.
        assert_eq!((&bytes[4..8], bytes[9]), (&[0; 4][..], 255));
    }

    #[test]
    fn entries_with_their_modes_and_links() {
        let bytes = tarball(true).compress("a-1.0", 7).unwrap();
        let mut found = vec![];
        for entry in Archive::new(GzDecoder::new(&bytes[..])).entries().unwrap() {
            let mut entry = entry.unwrap();
            let (header, path) = (entry.header().clone(), entry.path().unwrap().display().to_string());
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 7));
            let link = entry.link_name().unwrap().map(|l| l.display().to_string()).unwrap_or_default();
            let mut contents = vec![];
            entry.read_to_end(&mut contents).unwrap();
            found.push((path, header.mode().unwrap(), link, contents.len()));
        }
        let entry = |path: &str, mode, link: &str, bytes| (path.to_string(), mode, link.to_string(), bytes);
        let expected = [
            entry("a-1.0/", 0o755, "", 0),
            entry("a-1.0/include/", 0o755, "", 0),
            entry("a-1.0/include/a.h", 0o644, "", 6),
            entry("a-1.0/lib/", 0o755, "", 0),
            entry("a-1.0/lib/liba.so", 0o777, "liba.so.1", 0),
            entry("a-1.0/lib/liba.so.1", 0o755, "", 5000),
        ];
        assert_eq!(found, expected);
        assert_eq!(entries(&bytes).unwrap().len(), expected.len());
    }
}
