//! Tuning results on disk: one JSON file per device and kernel.
//!
//! ```text
//! { "format": 1, "kernel": "relu[f16]",
//!   "provenance": { "kernel_hash": "..", "device": "NVIDIA H200", "driver": "13.0", "crate": "0.1.0" },
//!   "results": { "x:25 y:25 v0": { "config": "BLOCK=1024,warps=4", "us": 61.2, "default_us": 66.0 } } }
//! ```
//! A file that cannot be read, or whose provenance is another, is ignored with a warning and overwritten by the next
//! result: a result says something of this kernel, on this device, under this driver only.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const FORMAT: u32 = 1;

/// Of which build, on which machine, a result is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Provenance {
    pub kernel_hash: String,
    pub device: String,
    pub driver: String,
    #[serde(rename = "crate")]
    pub version: String,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub config: String,
    /// Median time of one run, microseconds.
    pub us: f64,
    /// That of the default configuration.
    pub default_us: f64,
}

/// By signature.
pub(crate) type Records = BTreeMap<String, Record>;

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    kernel: String,
    provenance: Provenance,
    results: Records,
}

/// `$TILE_CACHE_DIR`, else `$XDG_CACHE_HOME/tile-kernels`, else `~/.cache/tile-kernels`; `None` without a home.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    let var = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    var("TILE_CACHE_DIR")
        .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("tile-kernels")))
        .or_else(|| var("HOME").map(|d| d.join(".cache/tile-kernels")))
}

/// Where the results of a kernel on a device are.
pub(crate) fn path(dir: &Path, device: &str, label: &str) -> PathBuf {
    let plain = |s: &str| -> String {
        let c = s.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
        c.collect::<String>().trim_matches('-').to_string()
    };
    dir.join("tune").join(plain(device).to_lowercase()).join(format!("{}.json", plain(label)))
}

/// What is known of a kernel; nothing, with a warning, where the file cannot be used.
pub(crate) fn load(path: &Path, label: &str, provenance: &Provenance) -> Records {
    read(path, label, provenance).unwrap_or_else(|why| {
        tracing::warn!(path = %path.display(), why, "ignoring a file of tuning results");
        Records::new()
    })
}

fn read(path: &Path, label: &str, provenance: &Provenance) -> Result<Records, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(t) => t,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Records::new()),
        Err(e) => return Err(e.to_string()),
    };
    match serde_json::from_str::<File>(&text) {
        Err(e) => Err(format!("it is damaged: {e}")),
        Ok(f) if f.format != FORMAT => Err(format!("its format is {}, not {FORMAT}", f.format)),
        Ok(f) if f.kernel != label => Err(format!("it is of kernel {}", f.kernel)),
        Ok(f) if f.provenance != *provenance => Err(format!("it is of {:?}, not of {provenance:?}", f.provenance)),
        Ok(f) => Ok(f.results),
    }
}

/// Adds results to the file, keeping what another process has added. Readers see the old file or the new one.
pub(crate) fn add(path: &Path, label: &str, provenance: &Provenance, new: &Records) -> std::io::Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Whoever has looked for results was told of a file that cannot be used.
    let mut results = read(path, label, provenance).unwrap_or_default();
    results.extend(new.clone());
    let file = File { format: FORMAT, kernel: label.into(), provenance: provenance.clone(), results };
    let text = serde_json::to_string_pretty(&file)?;
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let unique = format!("{}.{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let temporary = path.with_extension(unique);
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provenance() -> Provenance {
        Provenance {
            kernel_hash: "ab".into(),
            device: "NVIDIA H200".into(),
            driver: "13.0".into(),
            version: "0.1.0".into(),
        }
    }

    fn one(sig: &str, config: &str) -> Records {
        [(sig.to_string(), Record { config: config.into(), us: 1.5, default_us: 2.0 })].into()
    }

    #[test]
    fn what_is_written_is_read_and_merged() {
        let dir = crate::test_kernel::temp_dir("store");
        let p = path(&dir, "NVIDIA H200", "relu[f16]");
        assert!(p.ends_with("tune/nvidia-h200/relu-f16.json"), "{p:?}");
        assert!(load(&p, "relu[f16]", &provenance()).is_empty());
        add(&p, "relu[f16]", &provenance(), &one("x:1 v0", "A")).unwrap();
        add(&p, "relu[f16]", &provenance(), &one("x:2 v0", "B")).unwrap();
        let all = load(&p, "relu[f16]", &provenance());
        assert_eq!(all.len(), 2);
        assert_eq!(all["x:1 v0"].config, "A");
        assert_eq!(std::fs::read_dir(p.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn foreign_and_damaged_files_are_ignored_and_replaced() {
        let dir = crate::test_kernel::temp_dir("store-foreign");
        let p = path(&dir, "d", "k");
        add(&p, "k", &provenance(), &one("x:1 v0", "A")).unwrap();
        let others = [
            Provenance { kernel_hash: "cd".into(), ..provenance() },
            Provenance { device: "NVIDIA A100".into(), ..provenance() },
            Provenance { driver: "12.4".into(), ..provenance() },
            Provenance { version: "0.2.0".into(), ..provenance() },
        ];
        for other in others {
            assert!(load(&p, "k", &other).is_empty());
        }
        assert!(load(&p, "another", &provenance()).is_empty());
        let good = std::fs::read_to_string(&p).unwrap();
        for bad in
            ["", "{", "null", &good[..good.len() / 2], &good.replace("\"format\": 1", "\"format\": 9"), "\u{0}\u{1}"]
        {
            std::fs::write(&p, bad).unwrap();
            assert!(load(&p, "k", &provenance()).is_empty(), "{bad}");
        }
        std::fs::write(&p, [0xff, 0xfe]).unwrap();
        assert!(load(&p, "k", &provenance()).is_empty());
        add(&p, "k", &provenance(), &one("x:3 v0", "C")).unwrap();
        assert_eq!(load(&p, "k", &provenance()).len(), 1);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
