//! A hash of the PTX of every operation's entries, per version of rustc. Names of entries and symbols, numbers of
//! labels and comments are not part of it. `cargo xtask bless` writes the hashes for the installed device toolchain.

use super::{Entry, entries};
use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tilewright_core::VariantDesc;

/// The PTX without the parts that depend on where in its crate an entry stands.
fn normalized(e: &Entry) -> String {
    let mut out = String::new();
    let ptx = e.ptx.replace(e.name, "entry");
    let mut rest = ptx.as_str();
    // `$L__BB12_3`: the third label of the twelfth function.
    while let Some(at) = rest.find("$L__BB") {
        let (before, label) = rest.split_at(at + "$L__BB".len());
        out.push_str(before);
        rest = label.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

fn variants() -> impl Iterator<Item = &'static VariantDesc> {
    tilewright_kernels::all().into_iter().flat_map(|d| d.configs).flat_map(|c| c.variants)
}

fn version() -> Option<String> {
    let toolchain = tilewright_build::toolchain::find().ok()?;
    Some(toolchain.version.split_whitespace().nth(1)?.to_string())
}

#[test]
fn ptx_is_as_recorded() {
    let (Some(version), entries) = (version(), entries()) else {
        return eprintln!("skipped: no device toolchain");
    };
    if entries.is_empty() {
        return;
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/ptx/rustc-{version}.txt"));
    let hash = |e: &Entry| format!("{:016x}", SipHasher13::new().hash(normalized(e).as_bytes()));
    let now: BTreeMap<String, String> = entries.iter().map(|e| (format!("{} {}", e.name, e.target), hash(e))).collect();
    if std::env::var_os("TILE_BLESS").is_some() {
        // A build with few configurations keeps the hashes of the others.
        let others: BTreeSet<&str> = variants().filter(|v| !v.built).map(|v| v.entry).collect();
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let known = known.lines().filter_map(|l| l.rsplit_once(' '));
        let kept = known.filter(|(e, _)| e.rsplit_once(' ').is_some_and(|(name, _)| others.contains(name)));
        let all: BTreeMap<&str, &str> = kept.chain(now.iter().map(|(e, h)| (e.as_str(), h.as_str()))).collect();
        let text: String = all.iter().map(|(entry, hash)| format!("{entry} {hash}\n")).collect();
        std::fs::write(&path, text).expect("a writable file");
        return;
    }
    let Ok(recorded) = std::fs::read_to_string(&path) else {
        return eprintln!("skipped: no hashes are recorded for rustc {version}");
    };
    let recorded: BTreeMap<&str, &str> = recorded.lines().filter_map(|l| l.rsplit_once(' ')).collect();
    let changed: Vec<&String> =
        now.iter().filter(|(e, h)| recorded.get(e.as_str()).is_some_and(|r| r != h)).map(|(e, _)| e).collect();
    let new = now.keys().filter(|e| !recorded.contains_key(e.as_str())).count();
    assert!(
        changed.is_empty() && new == 0,
        "{} entries have other PTX and {new} are new; `cargo xtask bless` records that:\n  {}",
        changed.len(),
        changed.iter().take(20).map(|e| e.as_str()).collect::<Vec<_>>().join("\n  ")
    );
}
