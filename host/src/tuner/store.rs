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
use std::time::Duration;
use tilewright_cache_dir::CacheDir;

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

impl Provenance {
    /// Why results of this build and machine are not those of another one.
    fn differs_from(&self, other: &Provenance) -> Option<String> {
        if self.device != other.device {
            return Some(format!("it is of the device {}, and this one is {}", self.device, other.device));
        }
        if self.driver != other.driver {
            return Some(format!("it is of the driver {}, and this one is {}", self.driver, other.driver));
        }
        if self.version != other.version {
            return Some(format!("it is of version {} of the library, and this is {}", self.version, other.version));
        }
        (self != other).then(|| "it is of another version of the kernels".into())
    }
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

/// Where the results of a kernel on a device are, below the cache folder.
pub(crate) fn path(device: &str, label: &str) -> PathBuf {
    Path::new("tune").join(device_name(device)).join(format!("{}.json", plain(label)))
}

/// The name of a device as a file has it.
pub fn device_name(device: &str) -> String {
    plain(device).to_lowercase()
}

fn plain(name: &str) -> String {
    let c = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    c.collect::<String>().trim_matches('-').to_string()
}

/// What is known of a kernel; nothing, with a warning, where the file cannot be used.
pub(crate) fn load(dir: &Path, path: &Path, label: &str, provenance: &Provenance) -> Records {
    read(&CacheDir::at(dir), path, label, provenance).unwrap_or_else(|why| {
        tracing::warn!(path = %dir.join(path).display(), why, "ignoring a file of tuning results");
        Records::new()
    })
}

fn read(dir: &CacheDir, path: &Path, label: &str, provenance: &Provenance) -> Result<Records, String> {
    let text = match dir.read(path) {
        Ok(t) => t,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Records::new()),
        Err(e) => return Err(e.to_string()),
    };
    match serde_json::from_slice::<File>(&text) {
        Err(e) => Err(format!("it is damaged: {e}")),
        Ok(f) if f.format != FORMAT => Err(format!("its format is {}, not {FORMAT}", f.format)),
        Ok(f) if f.kernel != label => Err(format!("it is of kernel {}", f.kernel)),
        Ok(f) => f.provenance.differs_from(provenance).map_or(Ok(f.results), Err),
    }
}

/// How long another process may take to write its results.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Adds results to the file under a lock, so that those of other threads and processes stay. Readers see the old file
/// or the new one.
pub(crate) fn add(dir: &Path, path: &Path, label: &str, provenance: &Provenance, new: &Records) -> std::io::Result<()> {
    let dir = CacheDir::at(dir);
    let _lock = dir.lock(path.with_file_name("lock"), Some(LOCK_LIMIT))?;
    // A file that cannot be used was reported when results were read.
    let mut results = read(&dir, path, label, provenance).unwrap_or_default();
    results.extend(new.clone());
    let file = File { format: FORMAT, kernel: label.into(), provenance: provenance.clone(), results };
    dir.write(path, serde_json::to_string_pretty(&file)?.as_bytes())
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
        let p = path("NVIDIA H200", "relu[f16]");
        assert!(p.ends_with("tune/nvidia-h200/relu-f16.json"), "{p:?}");
        assert!(load(&dir, &p, "relu[f16]", &provenance()).is_empty());
        add(&dir, &p, "relu[f16]", &provenance(), &one("x:1 v0", "A")).unwrap();
        add(&dir, &p, "relu[f16]", &provenance(), &one("x:2 v0", "B")).unwrap();
        let all = load(&dir, &p, "relu[f16]", &provenance());
        assert_eq!(all.len(), 2);
        assert_eq!(all["x:1 v0"].config, "A");
        assert_eq!(std::fs::read_dir(dir.join(&p).parent().unwrap()).unwrap().count(), 2, "the file and the lock");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn foreign_and_damaged_files_are_ignored_and_replaced() {
        let dir = crate::test_kernel::temp_dir("store-foreign");
        let p = path("d", "k");
        add(&dir, &p, "k", &provenance(), &one("x:1 v0", "A")).unwrap();
        let others = [
            Provenance { kernel_hash: "cd".into(), ..provenance() },
            Provenance { device: "NVIDIA A100".into(), ..provenance() },
            Provenance { driver: "12.4".into(), ..provenance() },
            Provenance { version: "0.2.0".into(), ..provenance() },
        ];
        let whys = ["another version of the kernels", "the device NVIDIA H200", "the driver 13.0", "version 0.1.0 of"];
        for (other, why) in others.into_iter().zip(whys) {
            assert!(load(&dir, &p, "k", &other).is_empty());
            let said = provenance().differs_from(&other).expect("a difference");
            assert!(said.contains(why), "{said}");
        }
        assert!(load(&dir, &p, "another", &provenance()).is_empty());
        let good = std::fs::read_to_string(dir.join(&p)).unwrap();
        for bad in
            ["", "{", "null", &good[..good.len() / 2], &good.replace("\"format\": 1", "\"format\": 9"), "\u{0}\u{1}"]
        {
            std::fs::write(dir.join(&p), bad).unwrap();
            assert!(load(&dir, &p, "k", &provenance()).is_empty(), "{bad}");
        }
        std::fs::write(dir.join(&p), [0xff, 0xfe]).unwrap();
        assert!(load(&dir, &p, "k", &provenance()).is_empty());
        add(&dir, &p, "k", &provenance(), &one("x:3 v0", "C")).unwrap();
        assert_eq!(load(&dir, &p, "k", &provenance()).len(), 1);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn concurrent_results_are_all_kept() {
        let dir = crate::test_kernel::temp_dir("store-concurrent");
        let p = path("d", "k");
        std::thread::scope(|s| {
            for i in 0..16 {
                let (dir, p) = (&dir, &p);
                s.spawn(move || add(dir, p, "k", &provenance(), &one(&format!("x:{i} v0"), "A")).unwrap());
            }
        });
        assert_eq!(load(&dir, &p, "k", &provenance()).len(), 16);
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// Whatever a file of the cache holds, reading it gives results or nothing, and a result can be added to it.
    #[test]
    fn hostile_files_of_results_are_results_or_nothing() {
        let (dir, p) = (crate::test_kernel::temp_dir("hostile-store"), path("NVIDIA H200", "relu[f16]"));
        std::fs::create_dir_all(dir.join(&p).parent().unwrap()).unwrap();
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/tuning");
        tilewright_hostile_inputs::attack(Path::new(corpus), |bytes| {
            std::fs::write(dir.join(&p), bytes).unwrap();
            let before = load(&dir, &p, "relu[f16]", &provenance());
            if bytes.len() % 64 == 0 {
                // Writing waits for the disk: not for every input.
                add(&dir, &p, "relu[f16]", &provenance(), &one("new", "A")).unwrap();
                assert_eq!(
                    load(&dir, &p, "relu[f16]", &provenance()).len(),
                    before.len() + usize::from(!before.contains_key("new"))
                );
            }
        });
        std::fs::remove_dir_all(dir).unwrap();
    }
}
