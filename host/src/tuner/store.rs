//! Tuning results on disk: one JSON file per device and kernel.
//!
//! ```text
//! { "format": 2, "kernel": "relu[f16]", "builds": [ {
//!   "provenance": { "kernel_hash": "..", "device": "NVIDIA H200", "driver": "13.0", "crate": "0.1.0" },
//!   "results": { "x:25 y:25 v0": { "config": "BLOCK=1024,warps=4", "us": 61.2, "default_us": 66.0 } } } ] }
//! ```
//! A result says something of this kernel, on this device, under this driver only. Programs with other kernels of this
//! name, other versions of the library, or another driver keep their results beside it, in the same file. A file that
//! cannot be read as this format is ignored with a warning, and overwritten by the next result.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tilewright_cache_dir::CacheDir;

const FORMAT: u32 = 2;
/// The builds that a file keeps results of. The one that has been without a new result for longest gives way.
const MAX_BUILDS: usize = 16;

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
    builds: Vec<Build>,
}

#[derive(Serialize, Deserialize)]
struct Build {
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

/// The results for a build of a kernel; none, with a warning, if the file cannot be used.
pub(crate) fn load(dir: &Path, path: &Path, label: &str, provenance: &Provenance) -> Records {
    let builds = read(&CacheDir::at(dir), path, label).unwrap_or_else(|why| {
        tracing::warn!(path = %dir.join(path).display(), %why, "ignoring a file of tuning results");
        vec![]
    });
    builds.into_iter().find(|b| b.provenance == *provenance).map(|b| b.results).unwrap_or_default()
}

/// Why the results of a file are not known.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("it is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error("its format is {0}, not {FORMAT}")]
    Format(u32),
    #[error("it is of kernel {0}")]
    Kernel(String),
    /// It may be readable at another time.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn read(dir: &CacheDir, path: &Path, label: &str) -> Result<Vec<Build>, Unreadable> {
    /// The fields that files of all formats have.
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let text = match dir.read(path) {
        Ok(t) => t,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(e.into()),
    };
    match serde_json::from_slice::<Head>(&text)?.format {
        FORMAT => {}
        other => return Err(Unreadable::Format(other)),
    }
    let file: File = serde_json::from_slice(&text)?;
    if file.kernel == label { Ok(file.builds) } else { Err(Unreadable::Kernel(file.kernel)) }
}

/// How long another process may take to write its results.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Adds results to the file under a lock, so that those of other threads, processes and builds stay. Readers see the
/// old file or the new one. Errors: those of the system; then the file is as it was.
pub(crate) fn add(dir: &Path, path: &Path, label: &str, provenance: &Provenance, new: &Records) -> io::Result<()> {
    let dir = CacheDir::at(dir);
    let _lock = dir.lock(path.with_file_name("lock"), Some(LOCK_LIMIT))?;
    let mut builds = match read(&dir, path, label) {
        Err(Unreadable::Io(e)) => return Err(e),
        // It was reported when results were read.
        found => found.unwrap_or_default(),
    };
    let known = builds.iter().position(|b| b.provenance == *provenance).map(|at| builds.remove(at).results);
    let mut results = known.unwrap_or_default();
    results.extend(new.clone());
    builds.push(Build { provenance: provenance.clone(), results });
    builds.drain(..builds.len().saturating_sub(MAX_BUILDS));
    let file = File { format: FORMAT, kernel: label.into(), builds };
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
    fn builds_keep_their_results_beside_each_other() {
        let dir = crate::test_kernel::temp_dir("store-builds");
        let p = path("d", "k");
        let others = [
            Provenance { kernel_hash: "cd".into(), ..provenance() },
            Provenance { device: "NVIDIA A100".into(), ..provenance() },
            Provenance { driver: "12.4".into(), ..provenance() },
            Provenance { version: "0.2.0".into(), ..provenance() },
        ];
        add(&dir, &p, "k", &provenance(), &one("x:1 v0", "A")).unwrap();
        for other in &others {
            assert!(load(&dir, &p, "k", other).is_empty());
            add(&dir, &p, "k", other, &one("x:1 v0", "B")).unwrap();
        }
        for (build, config) in others.iter().map(|other| (other, "B")).chain([(&provenance(), "A")]) {
            assert_eq!(load(&dir, &p, "k", build)["x:1 v0"].config, config);
        }
        // The file does not grow without end.
        let build = |i: usize| Provenance { kernel_hash: i.to_string(), ..provenance() };
        for i in 0..MAX_BUILDS {
            add(&dir, &p, "k", &build(i), &one("x:1 v0", "C")).unwrap();
        }
        assert!(load(&dir, &p, "k", &provenance()).is_empty());
        assert!((0..MAX_BUILDS).all(|i| load(&dir, &p, "k", &build(i)).len() == 1));
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// As one that others may write to.
    #[cfg(unix)]
    #[test]
    fn a_file_that_is_not_readable_now_keeps_its_results() {
        use std::os::unix::fs::PermissionsExt;
        let dir = crate::test_kernel::temp_dir("store-unreadable");
        let p = path("d", "k");
        add(&dir, &p, "k", &provenance(), &one("x:1 v0", "A")).unwrap();
        let mode = |mode| std::fs::set_permissions(dir.join(&p), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o666);
        assert!(load(&dir, &p, "k", &provenance()).is_empty());
        add(&dir, &p, "k", &provenance(), &one("x:2 v0", "B")).unwrap_err();
        mode(0o600);
        assert_eq!(load(&dir, &p, "k", &provenance()), one("x:1 v0", "A"));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn damaged_files_are_ignored_and_replaced() {
        let dir = crate::test_kernel::temp_dir("store-damaged");
        let p = path("d", "k");
        add(&dir, &p, "k", &provenance(), &one("x:1 v0", "A")).unwrap();
        assert!(load(&dir, &p, "another", &provenance()).is_empty());
        let good = std::fs::read_to_string(dir.join(&p)).unwrap();
        for bad in
            ["", "{", "null", &good[..good.len() / 2], &good.replace("\"format\": 2", "\"format\": 9"), "\u{0}\u{1}"]
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
