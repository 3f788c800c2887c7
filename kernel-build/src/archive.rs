//! An archive of compiled kernels: a build that finds its kernels in one needs no device toolchain.
//!
//! A unit of code is found by a hash of its source, its entries, the device library, the target, and the version of
//! this crate. So a kernel that has changed is not found. The versions of rustc and `ptxas` are not a part of the hash.
//! Neither the time nor the place of a build is in an archive: the same sources and tools give the same bytes.
//!
//! ```text
//! magic "TILEARCH" | version u32 | stored and plain length of the index, u32 | its digest | index | chunks
//! ```
//! Integers are little-endian, a digest is text. The index is JSON. It and the chunks are LZMA streams. A chunk has the
//! texts and the machine code of one kernel's entries, for all targets, one after another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use tilewright_cache_dir::{MAX_BYTES, digest};
use tilewright_core::bundle::{Usage, lzma};

use crate::assemble::{Assembled, BuiltEntry, is_code};
use crate::cache::Key;
use crate::pool::Pool;
use crate::ptx::EntryPtx;

/// The ending of archives.
pub const ENDING: &str = "tilearchive";

const MAGIC: &[u8; 8] = b"TILEARCH";
const VERSION: u32 = 1;
const DIGEST: usize = 32;
const HEADER: usize = MAGIC.len() + 12 + DIGEST;
/// Bytes of all chunks that one build unpacks: more than all kernels of this repository have together.
const MAX_PLAIN: usize = 1 << 30;
/// Bytes of the unpacked index, which has some hundred for each unit.
const MAX_INDEX: usize = 16 << 20;
/// Memory that unpacking may take for a dictionary.
const MAX_DICTIONARY_KIB: u32 = 128 << 10;

/// A unit for one target, with its entries in their order.
pub struct BuiltUnit<'a> {
    pub key: Key,
    /// Units of one kernel are compressed together.
    pub kernel: &'a str,
    pub entries: Vec<&'a BuiltEntry>,
}

/// The versions of the tools that made the entries, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    pub rustc: Option<String>,
    pub ptxas: Option<String>,
}

/// Compresses units. Errors: they are more than [`Archive`] reads, or memory is short.
pub fn pack(tools: &Tools, units: Vec<BuiltUnit>, pool: &Pool) -> io::Result<Vec<u8>> {
    let mut kernels: BTreeMap<&str, Vec<&BuiltUnit>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for unit in units.iter().filter(|u| seen.insert(&u.key)) {
        kernels.entry(unit.kernel).or_default().push(unit);
    }
    let jobs: Vec<_> = kernels.into_iter().collect();
    let chunks = pool.map(&jobs, |(kernel, units)| {
        let mut units = units.clone();
        units.sort_by(|a, b| a.key.cmp(&b.key));
        pack_kernel(kernel, &units)
    });
    let (mut index, mut body, mut plain) = (vec![], vec![], 0);
    for chunk in chunks {
        let (of_chunk, bytes) = chunk?;
        plain += of_chunk["plain"].as_u64().unwrap_or(0);
        index.push(of_chunk);
        body.extend(bytes);
    }
    let index = json!({ "rustc": tools.rustc, "ptxas": tools.ptxas, "chunks": index }).to_string();
    let archive = assemble(index.as_bytes(), &body)?;
    if index.len() > MAX_INDEX || plain > MAX_PLAIN as u64 || archive.len() as u64 > MAX_BYTES {
        let why = format!("{plain} bytes of code are more than an archive takes: at most {MAX_PLAIN}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(archive)
}

/// An archive of an index and chunks.
fn assemble(index: &[u8], body: &[u8]) -> io::Result<Vec<u8>> {
    let packed = compress(index)?;
    let mut out = MAGIC.to_vec();
    for n in [VERSION, packed.len() as u32, index.len() as u32] {
        out.extend(n.to_le_bytes());
    }
    out.extend(digest([index]).as_bytes());
    out.extend(packed);
    out.extend(body);
    Ok(out)
}

fn pack_kernel(kernel: &str, units: &[&BuiltUnit]) -> io::Result<(Value, Vec<u8>)> {
    let mut plain = vec![];
    let mut entry = |e: &BuiltEntry| {
        plain.extend(e.ptx.text.as_bytes());
        let code = e.assembled.as_ref().and_then(|a| a.code.as_deref()).unwrap_or_default();
        plain.extend(code);
        let assembled = e.assembled.as_ref().map(|a| {
            let Usage { registers, spill_bytes, stack_bytes } = a.usage;
            json!([registers, spill_bytes, stack_bytes, a.serialized])
        });
        json!([e.ptx.text.len(), code.len(), e.ptx.local_bytes, assembled])
    };
    let units: Vec<Value> = units
        .iter()
        .map(|u| json!({ "key": u.key.as_str(), "entries": u.entries.iter().map(|e| entry(e)).collect::<Vec<_>>() }))
        .collect();
    let packed = compress(&plain)?;
    let index = json!({
        "kernel": kernel, "stored": packed.len(), "plain": plain.len(), "digest": digest([plain.as_slice()]),
        "units": units,
    });
    Ok((index, packed))
}

/// An archive that was read. Its chunks are unpacked when they are asked for.
pub struct Archive {
    bytes: Vec<u8>,
    chunks: Vec<Chunk>,
    pub tools: Tools,
}

struct Chunk {
    start: usize,
    stored: usize,
    plain: usize,
    digest: String,
    units: Vec<(Key, Vec<Part>)>,
}

/// An entry in a chunk.
struct Part {
    text: usize,
    code: usize,
    local_bytes: u64,
    assembled: Option<(Usage, bool)>,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is no archive of kernels")]
    NotAnArchive,
    #[error("its format is {0}, this build reads {VERSION}")]
    Version(u32),
    #[error("it is damaged")]
    Damaged,
}

impl Archive {
    pub fn read(path: &Path) -> Result<Archive, ArchiveError> {
        // A link to an archive is one.
        let bytes = tilewright_cache_dir::read(&path.canonicalize()?, MAX_BYTES)?;
        Archive::parse(bytes)
    }

    pub fn parse(bytes: Vec<u8>) -> Result<Archive, ArchiveError> {
        let number = |i: usize| {
            let at = MAGIC.len() + 4 * i;
            bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        if !bytes.starts_with(MAGIC) {
            return Err(ArchiveError::NotAnArchive);
        }
        let version = number(0).ok_or(ArchiveError::Damaged)?;
        if version != VERSION {
            return Err(ArchiveError::Version(version));
        }
        let index = || {
            let (stored, plain) = (number(1)? as usize, number(2).filter(|n| *n as usize <= MAX_INDEX)? as usize);
            let body = HEADER.checked_add(stored)?;
            let text = decompress(bytes.get(HEADER..body)?, plain)?;
            let is_whole = digest([text.as_slice()]).as_bytes() == &bytes[HEADER - DIGEST..HEADER];
            is_whole.then_some(())?;
            read_index(&serde_json::from_slice(&text).ok()?, body, bytes.len())
        };
        let (tools, chunks) = index().ok_or(ArchiveError::Damaged)?;
        Ok(Archive { bytes, chunks, tools })
    }

    /// The entries of the units that the archive has among these. Only chunks with one of them are unpacked.
    pub fn units(&self, wanted: &HashSet<Key>, pool: &Pool) -> Result<HashMap<Key, Vec<BuiltEntry>>, ArchiveError> {
        let mut chunks: Vec<&Chunk> =
            self.chunks.iter().filter(|c| c.units.iter().any(|(key, _)| wanted.contains(key))).collect();
        if chunks.iter().fold(0, |sum: usize, c| sum.saturating_add(c.plain)) > MAX_PLAIN {
            return Err(ArchiveError::Damaged);
        }
        chunks.sort_by_key(|c| std::cmp::Reverse(c.plain));
        let found = pool.map(&chunks, |c| c.units(&self.bytes, wanted).ok_or(ArchiveError::Damaged));
        Ok(found.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

impl Chunk {
    fn units(&self, archive: &[u8], wanted: &HashSet<Key>) -> Option<Vec<(Key, Vec<BuiltEntry>)>> {
        let plain = decompress(archive.get(self.start..self.start.checked_add(self.stored)?)?, self.plain)?;
        if digest([plain.as_slice()]) != self.digest {
            return None;
        }
        let (mut rest, mut out) = (plain.as_slice(), vec![]);
        for (key, parts) in &self.units {
            let mut entries = vec![];
            for p in parts {
                let (text, code);
                (text, rest) = rest.split_at_checked(p.text)?;
                (code, rest) = rest.split_at_checked(p.code)?;
                if !wanted.contains(key) {
                    continue;
                }
                let code = (!code.is_empty()).then_some(code);
                if code.is_some_and(|code| !is_code(code)) {
                    return None;
                }
                let text = String::from_utf8(text.to_vec()).ok()?;
                entries.push(BuiltEntry {
                    ptx: EntryPtx { text, local_bytes: p.local_bytes },
                    assembled: p.assembled.map(|(usage, serialized)| Assembled {
                        usage,
                        serialized,
                        code: code.map(<[u8]>::to_vec),
                    }),
                });
            }
            if wanted.contains(key) {
                out.push((key.clone(), entries));
            }
        }
        Some(out)
    }
}

/// The chunks of an archive of `total` bytes, the first of which begins at `start`.
fn read_index(index: &Value, start: usize, total: usize) -> Option<(Tools, Vec<Chunk>)> {
    let size = |v: &Value| v.as_u64().and_then(|n| usize::try_from(n).ok());
    let small = |v: &Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
    let part = |p: &Value| {
        let assembled = match p.get(3)? {
            Value::Null => None,
            a => {
                let usage = Usage {
                    registers: small(a.get(0)?)?,
                    spill_bytes: small(a.get(1)?)?,
                    stack_bytes: small(a.get(2)?)?,
                };
                Some((usage, a.get(3)?.as_bool()?))
            }
        };
        Some(Part { text: size(p.get(0)?)?, code: size(p.get(1)?)?, local_bytes: p.get(2)?.as_u64()?, assembled })
    };
    let unit = |u: &Value| {
        let parts = u["entries"].as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?;
        Some((Key::read(u["key"].as_str()?)?, parts))
    };
    let (mut at, mut chunks) = (start, vec![]);
    for c in index["chunks"].as_array()? {
        let units = c["units"].as_array()?.iter().map(unit).collect::<Option<Vec<_>>>()?;
        let (stored, plain) = (size(&c["stored"])?, size(&c["plain"])?);
        chunks.push(Chunk { start: at, stored, plain, digest: c["digest"].as_str()?.into(), units });
        at = at.checked_add(stored).filter(|end| *end <= total)?;
    }
    let text = |v: &Value| v.as_str().map(str::to_owned);
    Some((Tools { rustc: text(&index["rustc"]), ptxas: text(&index["ptxas"]) }, chunks))
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    lzma::compress(bytes, 6)
}

fn decompress(bytes: &[u8], plain: usize) -> Option<Vec<u8>> {
    lzma::decompress(bytes, plain, MAX_DICTIONARY_KIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str, code: Option<&[u8]>) -> BuiltEntry {
        let usage = Usage { registers: 32, spill_bytes: 0, stack_bytes: 8 };
        let assembled = code.map(|code| Assembled { usage, serialized: true, code: Some(code.into()) });
        BuiltEntry { ptx: EntryPtx { text: text.into(), local_bytes: 8 }, assembled }
    }

    fn key(name: &str) -> Key {
        Key::of([name.as_bytes()])
    }

    fn tools() -> Tools {
        Tools { rustc: Some("rustc 1".into()), ptxas: None }
    }

    fn packed() -> Vec<u8> {
        let entries = [entry("first", Some(b"\x7fELF1")), entry("second", None), entry("third", Some(b"\x7fELF3"))];
        let unit = |name: &str, kernel, entries| BuiltUnit { key: key(name), kernel, entries };
        let units = vec![
            unit("b for sm_80", "b", vec![&entries[2]]),
            unit("a for sm_80", "a", vec![&entries[0], &entries[1]]),
            unit("a for sm_90a", "a", vec![&entries[1], &entries[1]]),
            unit("a for sm_80", "a", vec![&entries[0], &entries[1]]),
        ];
        pack(&tools(), units, &Pool::of(2)).unwrap()
    }

    #[test]
    fn units_are_found_by_their_keys() {
        let archive = Archive::parse(packed()).unwrap();
        assert_eq!(archive.tools, tools());
        let wanted = ["a for sm_80", "b for sm_80", "c for sm_80"].map(key).into_iter().collect();
        let found = archive.units(&wanted, &Pool::of(2)).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[&key("a for sm_80")], [entry("first", Some(b"\x7fELF1")), entry("second", None)]);
        assert_eq!(found[&key("b for sm_80")], [entry("third", Some(b"\x7fELF3"))]);
    }

    #[test]
    fn the_same_units_make_the_same_bytes() {
        let (entry, pool) = (entry("text", None), Pool::of(2));
        let of = |order: [&str; 3]| {
            let unit = |n: &str| BuiltUnit { key: key(n), kernel: "k", entries: vec![&entry] };
            pack(&tools(), order.map(unit).into_iter().collect(), &pool).unwrap()
        };
        assert_eq!(of(["x", "y", "z"]), of(["z", "y", "x"]));
    }

    /// A file without a byte on the disk.
    #[test]
    fn a_large_file_is_not_read() {
        let path = std::env::temp_dir().join(format!("tile-archive-large-{}", std::process::id()));
        std::fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let too_large = |e: &io::Error| e.kind() == io::ErrorKind::FileTooLarge;
        assert!(matches!(Archive::read(&path), Err(ArchiveError::Io(e)) if too_large(&e)));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_no_machine_code_is_damage() {
        let entry = entry("text", Some(b"E"));
        let unit = BuiltUnit { key: key("a"), kernel: "k", entries: vec![&entry] };
        let archive = Archive::parse(pack(&tools(), vec![unit], &Pool::of(1)).unwrap()).unwrap();
        let found = archive.units(&[key("a")].into_iter().collect(), &Pool::of(1));
        assert!(matches!(found, Err(ArchiveError::Damaged)));
    }

    #[test]
    fn hostile_archives_are_errors() {
        let bytes = packed();
        let wanted = ["a for sm_80", "a for sm_90a", "b for sm_80"].map(key).into_iter().collect();
        let read = |bytes: Vec<u8>| Archive::parse(bytes).ok()?.units(&wanted, &Pool::of(1)).ok();
        let whole = read(bytes.clone()).unwrap();
        for cut in 0..bytes.len() {
            assert!(read(bytes[..cut].to_vec()).is_none(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            // Not every bit of a stream matters.
            assert!(read(changed).is_none_or(|found| found == whole), "changed at {at}");
        }
        // An index that is whole, and says something else.
        let start = Archive::parse(bytes.clone()).unwrap().chunks[0].start;
        let packed = &bytes[HEADER..start];
        let index = decompress(packed, u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize).unwrap();
        let numbers = [b'0', b'9', b'"', b'-', b']'];
        for (at, with) in (0..index.len()).flat_map(|at| numbers.map(|with| (at, with))) {
            let mut changed = index.clone();
            changed[at] = with;
            // Another name or fact of an entry is one, too. But none of them is a panic.
            let _ = read(assemble(&changed, &bytes[start..]).unwrap());
        }
        assert!(matches!(Archive::parse(b"TILEBNDL".to_vec()), Err(ArchiveError::NotAnArchive)));
        let mut of_later = bytes;
        of_later[8] = 99;
        assert!(matches!(Archive::parse(of_later), Err(ArchiveError::Version(99))));
    }
}
