//! One folder for everything that outlives a build: the toolchain that `cargo xtask setup` unpacks, the prebuilt
//! crates, and the products of every unit, each under the hash of all that went into it.
//!
//! Several builds may use it at once: files appear by renaming, and whoever makes something slow holds a lock.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use siphasher::sip128::{Hasher128, SipHasher13};

/// What has not been used for this long is removed.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// The folders whose contents can be made again.
const PRODUCTS: [&str; 4] = ["sysroot", "kernel-core", "ptx", "cubin"];

/// The hash of an input; never of anything secret or hostile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// Parts cannot run into each other: each is hashed with its length.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut h = SipHasher13::new();
        for p in parts {
            h.write_u64(p.len() as u64);
            h.write(p);
        }
        Key(format!("{:032x}", h.finish128().as_u128()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// `$TILE_CACHE_DIR`, else `tile-kernels` in the user's cache folder; `None` for a user without a home.
    pub fn from_env() -> Option<Cache> {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let root = set("TILE_CACHE_DIR")
            .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("tile-kernels")))
            .or_else(|| std::env::home_dir().map(|d| d.join(".cache").join("tile-kernels")))?;
        Some(Cache { root })
    }

    /// Whether it can be written to: in a sandboxed build the user's folders cannot.
    pub fn is_writable(&self) -> bool {
        let probe = self.root.join("writable");
        self.part(&probe).and_then(|p| fs::write(&p, "").and_then(|()| fs::remove_file(p))).is_ok()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where `cargo xtask setup` puts the toolchain.
    pub fn toolchain(&self) -> PathBuf {
        self.root.join("toolchain")
    }

    /// A file that changes whenever `cargo xtask setup` has installed something, so that builds look again.
    pub fn toolchain_stamp(&self) -> PathBuf {
        self.toolchain().join("changed")
    }

    pub(crate) fn path(&self, kind: &str, key: &Key) -> PathBuf {
        self.root.join(kind).join(&key.0)
    }

    /// A product of an earlier build.
    pub fn get(&self, kind: &str, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(kind, key);
        let bytes = fs::read(&path).ok()?;
        touch(&path);
        Some(bytes)
    }

    pub fn put(&self, kind: &str, key: &Key, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(kind, key);
        let part = self.part(&path)?;
        fs::write(&part, bytes)?;
        fs::rename(&part, &path)
    }

    /// The folder of this key; `make` fills it if it is not there yet, once, however many builds ask at a time.
    pub fn folder<E: From<io::Error>>(
        &self,
        kind: &str,
        key: &Key,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let path = self.path(kind, key);
        if !path.is_dir() {
            fs::create_dir_all(self.root.join(kind))?;
            let lock = File::create(path.with_extension("lock"))?;
            lock.lock()?;
            if !path.is_dir() {
                let part = self.part(&path)?;
                fs::create_dir_all(&part)?;
                make(&part)?;
                fs::rename(&part, &path)?;
            }
        }
        touch(&path);
        Ok(path)
    }

    /// A name beside the final one that nobody else uses.
    fn part(&self, path: &Path) -> io::Result<PathBuf> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        Ok(path.with_extension(format!("{}-{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))))
    }

    /// Removes what no build has used for a month; looks once a day.
    pub fn prune(&self) {
        let stamp = self.root.join("pruned");
        if age(&stamp).is_some_and(|a| a < DAY) || fs::write(&stamp, "").is_err() {
            return;
        }
        for kind in PRODUCTS {
            for entry in fs::read_dir(self.root.join(kind)).into_iter().flatten().flatten() {
                let path = entry.path();
                if age(&path).is_some_and(|a| a > KEPT_FOR) {
                    let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                }
            }
        }
    }
}

/// Says that it was used; a read-only cache still serves.
fn touch(path: &Path) {
    if let Ok(f) = File::open(path) {
        let _ = f.set_modified(SystemTime::now());
    }
}

fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> Cache {
        let dir = std::env::temp_dir().join(format!("tile-cache-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Cache::at(dir)
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Key::of([b"ab".as_slice(), b"c"]), Key::of([b"a".as_slice(), b"bc"]));
        assert_eq!(Key::of([b"ab".as_slice()]), Key::of([b"ab".as_slice()]));
    }

    #[test]
    fn what_is_put_can_be_had() {
        let c = fresh("put");
        let k = Key::of([b"x".as_slice()]);
        assert_eq!(c.get("ptx", &k), None);
        c.put("ptx", &k, b"text").unwrap();
        assert_eq!(c.get("ptx", &k).as_deref(), Some(b"text".as_slice()));
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn a_folder_is_made_once() {
        let c = fresh("folder");
        let k = Key::of([b"x".as_slice()]);
        let made = AtomicU32::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    c.folder("sysroot", &k, |dir| {
                        made.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(30));
                        fs::write(dir.join("f"), "x")
                    })
                    .unwrap()
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_to() {
        let c = fresh("writable");
        assert!(c.is_writable() && fs::read_dir(c.root()).unwrap().next().is_none());
        let file = c.root().join("file");
        fs::write(&file, "").unwrap();
        assert!(!Cache::at(file).is_writable());
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn a_failed_folder_is_made_again() {
        let c = fresh("failed");
        let k = Key::of([b"x".as_slice()]);
        c.folder("sysroot", &k, |_| Err(io::Error::other("no"))).unwrap_err();
        c.folder("sysroot", &k, |_| Ok::<_, io::Error>(())).unwrap();
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn the_old_is_pruned() {
        let c = fresh("prune");
        let (old, new) = (Key::of([b"old".as_slice()]), Key::of([b"new".as_slice()]));
        c.put("ptx", &old, b"").unwrap();
        c.put("ptx", &new, b"").unwrap();
        let f = File::open(c.path("ptx", &old)).unwrap();
        f.set_modified(SystemTime::now() - 2 * KEPT_FOR).unwrap();
        c.prune();
        assert!(c.get("ptx", &old).is_none() && c.get("ptx", &new).is_some());
        fs::remove_dir_all(c.root()).unwrap();
    }
}
