//! Packs compiled entries: one bundle a kernel.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

use tilewright_cache_dir::digest;
use tilewright_core::bundle::{BundleData, Compression, EntryData, ImageData, VERSION};

use crate::compile::{Build, Compiled};

/// Writes all bundles and removes those of kernels that are no more.
pub fn write_all(compiled: &[Compiled], b: &Build) -> io::Result<()> {
    let mut kernels: BTreeMap<(&str, &str), Vec<&Compiled>> = BTreeMap::new();
    for c in compiled {
        kernels.entry((&c.unit.kernel, &c.unit.fingerprint)).or_default().push(c);
    }
    let jobs: Vec<_> = kernels.into_iter().collect();
    let written = b.pool.map(&jobs, |((kernel, fingerprint), list)| {
        let name = format!("{kernel}-{fingerprint}.bundle");
        let names: Vec<String> = b.targets.iter().map(|t| t.name()).collect();
        write(&b.out.join(&name), &pack(kernel, fingerprint, list, &names), b.compression).map(|()| name)
    });
    let keep = written.into_iter().collect::<io::Result<HashSet<String>>>()?;
    for entry in fs::read_dir(b.out)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bundle = name.strip_suffix(OF).unwrap_or(&name);
        if bundle.ends_with(".bundle") && !keep.contains(bundle) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The ending of the file that says which contents a bundle has.
const OF: &str = ".of";

/// Compression takes longer than all else of a build that finds its kernels compiled: a bundle of these contents stays.
fn write(path: &Path, data: &BundleData, compression: Compression) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(OF);
    let contents = contents(data, compression);
    let is_there = || Some(fs::metadata(path).ok()?.len().to_string());
    let line = |length: String| format!("{contents} {length}");
    if is_there().is_some_and(|length| fs::read_to_string(&beside).is_ok_and(|old| old == line(length))) {
        return Ok(());
    }
    fs::write(path, data.to_bytes(compression))?;
    fs::write(&beside, line(is_there().unwrap_or_default()))
}

/// A digest of all that a bundle has.
fn contents(data: &BundleData, compression: Compression) -> String {
    let mut parts: Vec<Cow<[u8]>> = vec![];
    let head = format!("{VERSION} {compression:?} {} {}", data.kernel, data.fingerprint);
    parts.push(head.into_bytes().into());
    for e in &data.entries {
        let EntryData { name, threads, shared_bytes, min_blocks, ctas, images } = e;
        parts.push(format!("{name} {threads} {shared_bytes} {min_blocks} {ctas}").into_bytes().into());
        for ImageData { target, ptx, cubin, usage } in images {
            parts.push(format!("{target} {usage:?} {}", cubin.is_some()).into_bytes().into());
            parts.push(ptx.as_bytes().into());
            parts.extend(cubin.as_deref().map(Cow::from));
        }
    }
    digest(parts.iter().map(|p| &**p))
}

/// Entries by name, images in the order of targets: the same bytes for every order in which the jobs ended.
fn pack(kernel: &str, fingerprint: &str, list: &[&Compiled], targets: &[String]) -> BundleData {
    let mut entries: BTreeMap<&str, Vec<&Compiled>> = BTreeMap::new();
    for c in list {
        let of_entry = entries.entry(&c.entry.name).or_default();
        // Two files may hold the same kernel.
        if of_entry.iter().all(|o| o.target != c.target) {
            of_entry.push(c);
        }
    }
    let entries = entries.into_values().map(|mut list| {
        list.sort_by_key(|c| c.target);
        let meta = list[0].entry;
        let images = list.iter().map(|c| ImageData {
            target: targets[c.target].clone(),
            ptx: c.built.ptx.text.clone(),
            cubin: c.built.assembled.as_ref().and_then(|a| a.code.clone()),
            usage: c.built.assembled.as_ref().map(|a| a.usage),
        });
        EntryData {
            name: meta.name.clone(),
            threads: meta.threads,
            shared_bytes: meta.shared_bytes,
            min_blocks: meta.min_blocks,
            ctas: meta.ctas,
            images: images.collect(),
        }
    });
    BundleData { kernel: kernel.into(), fingerprint: fingerprint.into(), entries: entries.collect() }
}

pub fn write_if_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(old) if old == bytes => Ok(()),
        _ => fs::write(path, bytes),
    }
}
