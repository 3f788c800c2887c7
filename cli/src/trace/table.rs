//! The meaning of the marks of a traced entry, and the files of compiled entries.

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use tilewright_compiler::trace::{TraceLayout, TracedEntry};
use tilewright_core::trace_file::{self, BUNDLE};

/// Threads of a warp.
const WARP: u32 = 32;
/// Warps of a warpgroup.
const GROUP: u32 = 4;

/// An event, whose number is its place in the table plus 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub label: String,
    /// The line of the kernel; 0 where it is not known.
    pub line: u32,
    /// The meaning of a mark's value, as in `stage`.
    pub value: Option<String>,
}

/// A traced entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub kernel: String,
    pub config: String,
    pub entry: String,
    /// As messages name the kernel's file.
    pub file: String,
    /// Threads of a thread block.
    pub threads: u32,
    /// The threads of the consumers of a warp-specialized program, which come first; else 0.
    pub consumers: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
    pub blocks: u32,
    pub records: u32,
    pub listed: u32,
    pub events: Vec<Event>,
}

impl Table {
    pub fn new(kernel: &str, config: &str, file: &Path, e: &TracedEntry) -> Table {
        let event = |e: &tilewright_compiler::trace::TraceEvent| Event {
            label: e.label.clone(),
            line: e.line,
            value: e.value.map(str::to_owned),
        };
        Table {
            kernel: kernel.into(),
            config: config.into(),
            entry: e.name.clone(),
            file: file.display().to_string(),
            threads: e.threads,
            consumers: e.consumers,
            ctas: e.ctas,
            blocks: e.layout.blocks,
            records: e.layout.capacity,
            listed: e.layout.listed,
            events: e.events.iter().map(event).collect(),
        }
    }

    pub fn layout(&self) -> TraceLayout {
        TraceLayout { blocks: self.blocks, warps: self.threads / WARP, capacity: self.records, listed: self.listed }
    }

    /// The role of a warp in its block.
    pub fn role(&self, warp: u32) -> String {
        let first = self.consumers / WARP;
        match warp {
            _ if self.consumers == 0 => "warp".into(),
            w if w < first => format!("consumer {}", w / GROUP),
            // One thread copies.
            w if w == first => "producer".into(),
            _ => "idle".into(),
        }
    }

    /// The event of a number.
    pub fn event(&self, number: u32) -> Option<&Event> {
        self.events.get(number.checked_sub(1)? as usize)
    }
}

/// A traced entry with its code.
pub struct Compiled {
    pub table: Table,
    pub bundle: Vec<u8>,
}

/// The version of the program that wrote a file. Another one numbers argument words in another way, perhaps.
const VERSION: &str = "version";
const TABLE: &str = "table ";

/// Writes compiled entries, for `--compiled` and `TILE_TRACE`.
pub fn write(path: &Path, entries: &[Compiled]) -> Result<()> {
    let mut parts = vec![(VERSION.to_string(), env!("CARGO_PKG_VERSION").as_bytes().to_vec())];
    for c in entries {
        let name = &c.table.entry;
        parts.push((format!("{TABLE}{name}"), serde_json::to_vec(&c.table)?));
        parts.push((format!("{BUNDLE}{name}"), c.bundle.clone()));
    }
    fs::write(path, trace_file::write(&parts)).with_context(|| format!("writing {}", path.display()))
}

/// Reads a file of [`write()`].
pub fn read(path: &Path) -> Result<Vec<Compiled>> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let of_file = |why: String| anyhow!("{}: {why}", path.display());
    let parts = trace_file::read(&bytes).map_err(of_file)?;
    let find = |name: &str| parts.iter().find(|(n, _)| n == name).map(|(_, bytes)| bytes);
    let version = find(VERSION).map(|v| String::from_utf8_lossy(v).into_owned()).unwrap_or_default();
    ensure!(
        version == env!("CARGO_PKG_VERSION"),
        "{} was made by version `{version}` of tile, and this is {}: make it again with --compile-only",
        path.display(),
        env!("CARGO_PKG_VERSION")
    );
    let mut out = vec![];
    for (name, bytes) in &parts {
        let Some(entry) = name.strip_prefix(TABLE) else { continue };
        let Some(bundle) = find(&format!("{BUNDLE}{entry}")) else {
            bail!("{} has no code of {entry}", path.display());
        };
        let table = serde_json::from_slice(bytes).map_err(|e| of_file(format!("the events of {entry}: {e}")))?;
        out.push(Compiled { table, bundle: bundle.clone() });
    }
    ensure!(!out.is_empty(), "{} has no entry", path.display());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn specialized() -> Table {
        Table {
            kernel: "k".into(),
            config: "warps=8".into(),
            entry: "k__tma".into(),
            file: "k.rs".into(),
            threads: 384,
            consumers: 256,
            ctas: 1,
            blocks: 2,
            records: 64,
            listed: 8,
            events: vec![Event { label: "wait full 0".into(), line: 7, value: Some("stage".into()) }],
        }
    }

    #[test]
    fn roles_of_warps() {
        let table = specialized();
        let roles = [0, 3, 4, 7, 8, 9, 11].map(|w| table.role(w));
        assert_eq!(roles, ["consumer 0", "consumer 0", "consumer 1", "consumer 1", "producer", "idle", "idle"]);
        assert_eq!(Table { consumers: 0, ..table }.role(9), "warp");
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k.trace");
        write(&path, &[Compiled { table: specialized(), bundle: vec![1, 2, 3] }]).expect("it is written");
        let read_back = read(&path).expect("it is read");
        assert_eq!((&read_back[0].table, &read_back[0].bundle[..]), (&specialized(), &[1, 2, 3][..]));
        fs::write(&path, b"no such file").expect("it is written");
        assert!(read(&path).err().expect("no file of ours").to_string().contains("it is no file of `tile profile"));
        let parts = [(VERSION.to_string(), b"0.0.0".to_vec())];
        fs::write(&path, trace_file::write(&parts)).expect("it is written");
        assert!(read(&path).err().expect("another version").to_string().contains("--compile-only"));
    }
}
