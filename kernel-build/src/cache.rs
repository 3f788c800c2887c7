//! One folder for everything that outlives a build: the toolchain that `cargo xtask setup` unpacks, the prebuilt
//! crates, and the products of every unit, each under the hash of all that went into it.
//!
//! Several builds may use it at once: files appear by renaming, and whoever makes something slow holds a lock. Every
//! product carries a hash of its contents; a product that does not match it is made again, with a warning.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tilewright_cache_dir::{CacheDir, digest};

/// Entries that were not used for this time are removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long another build may take to make a folder: minutes on a slow machine.
const LOCK_LIMIT: Duration = Duration::from_secs(15 * 60);
/// The folders whose contents can be made again.
const PRODUCTS: [&str; 4] = ["sysroot", "tilewright-core", "ptx", "cubin"];
/// The ending of products whose contents are hashed as they are here.
const SEALED: &str = "sealed";
/// The file in a folder that lists the hashes of all others.
const CONTENTS: &str = "contents";

/// The hash of an input; never of anything secret or hostile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// Parts cannot run into each other: each is hashed with its length.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        Key(digest(parts))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of this text, which [`Key::as_str`] has given.
    pub fn read(text: &str) -> Option<Key> {
        (text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Key(text.into()))
    }
}

#[derive(Clone, Debug)]
pub struct Cache {
    dir: CacheDir,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Cache {
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { dir: CacheDir::at(root), warnings: Arc::default() }
    }

    /// The user's cache folder ([`tilewright_cache_dir::user_dir`]); `None` for a user without a home.
    pub fn from_env() -> Option<Cache> {
        tilewright_cache_dir::user_dir().map(Cache::at)
    }

    /// Whether it can be written to, and by this user only: in a sandboxed build the user's folders cannot. Errors:
    /// [`tilewright_cache_dir::Untrusted`] as the cause, and the system's.
    pub fn check(&self) -> io::Result<()> {
        self.dir.check_writable()?;
        self.dir.create("toolchain").map(drop)
    }

    pub fn root(&self) -> &Path {
        self.dir.root()
    }

    /// The folder itself, for `cargo xtask setup`.
    pub fn dir(&self) -> &CacheDir {
        &self.dir
    }

    /// The folder in which `cargo xtask setup` puts the toolchain.
    pub fn toolchain(&self) -> PathBuf {
        self.root().join("toolchain")
    }

    /// A file or folder of the toolchain, if nobody but this user or root can have written it.
    pub fn trusted_toolchain(&self, name: &str) -> Option<PathBuf> {
        self.dir.trusted(Path::new("toolchain").join(name)).ok()
    }

    /// A file that changes whenever `cargo xtask setup` has installed something, so that builds look again.
    pub fn toolchain_stamp(&self) -> PathBuf {
        self.toolchain().join("changed")
    }

    /// Writes that file.
    pub fn stamp_toolchain(&self, text: &str) -> io::Result<()> {
        self.dir.write("toolchain/changed", text.as_bytes())
    }

    /// The defects of products since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn made_again(&self, path: &Path, why: impl std::fmt::Display) {
        let text = format!("{} is made again: {why}", self.root().join(path).display());
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn path(kind: &str, key: &Key) -> PathBuf {
        Path::new(kind).join(format!("{}.{SEALED}", key.0))
    }

    /// A product of an earlier build.
    pub fn get(&self, kind: &str, key: &Key) -> Option<Vec<u8>> {
        let path = Self::path(kind, key);
        let found = self.dir.read(&path).and_then(|bytes| unseal(key, &bytes).ok_or_else(damaged));
        match found {
            Ok(bytes) => {
                touch(&self.root().join(path));
                Some(bytes)
            }
            Err(e) => {
                if e.kind() != io::ErrorKind::NotFound {
                    self.made_again(&path, e);
                }
                None
            }
        }
    }

    pub fn put(&self, kind: &str, key: &Key, bytes: &[u8]) -> io::Result<()> {
        let seal = digest([key.as_bytes(), bytes]);
        self.dir.write(Self::path(kind, key), &[seal.as_bytes(), b"\n", bytes].concat())
    }

    /// The folder of this key; `make` fills it if it is not there yet, once, however many builds ask at a time.
    pub fn folder<E: From<io::Error>>(
        &self,
        kind: &str,
        key: &Key,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let path = Self::path(kind, key);
        let whole = self.root().join(&path);
        if self.verify(&path).is_err() {
            let _lock = self.dir.lock(path.with_extension("lock"), Some(LOCK_LIMIT))?;
            // Another build may have made it meanwhile.
            if let Err(e) = self.verify(&path) {
                if e.kind() != io::ErrorKind::NotFound {
                    self.made_again(&path, e);
                }
                let part = self.dir.temp_dir(kind)?;
                make(part.path())?;
                fs::write(part.path().join(CONTENTS), contents(part.path(), |_| Ok(()))?)?;
                self.dir.persist(part, &path)?;
            }
        }
        touch(&whole);
        Ok(whole)
    }

    /// Whether a folder holds the files that were put there.
    fn verify(&self, path: &Path) -> io::Result<()> {
        let whole = self.dir.trusted(path)?;
        let listed = match self.dir.read(path.join(CONTENTS)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(damaged()),
            listed => listed?,
        };
        if contents(&whole, tilewright_cache_dir::check)?.as_bytes() == listed { Ok(()) } else { Err(damaged()) }
    }

    /// Removes products that no build has used for a month, and nothing else; looks once a day.
    pub fn prune(&self) {
        if age(&self.root().join("pruned")).is_some_and(|a| a < DAY) || self.dir.write("pruned", b"").is_err() {
            return;
        }
        // Neither a folder that a link leads to, nor one that others may write to.
        for folder in PRODUCTS.iter().filter_map(|kind| self.dir.trusted(kind).ok()) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if is_product(&entry.file_name()) && age(&path).is_some_and(|a| a > MAX_AGE) {
                    let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
                    let _ = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                }
            }
        }
    }
}

/// Whether this crate gives products and their temporary files such names. A lock stays: another build may hold it.
fn is_product(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(".part-")
        || name.strip_suffix(SEALED).and_then(|n| n.strip_suffix('.')).and_then(Key::read).is_some()
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its contents do not match their hash")
}

/// The bytes that `put` was given.
fn unseal(key: &Key, bytes: &[u8]) -> Option<Vec<u8>> {
    let (seal, bytes) = bytes.split_at_checked(33)?;
    (seal == format!("{}\n", digest([key.as_bytes(), bytes])).as_bytes()).then(|| bytes.to_vec())
}

/// The hash and the name of every file below a folder but the list itself, by name. `check` is asked about each file
/// and folder.
fn contents(dir: &Path, check: fn(&Path) -> io::Result<()>) -> io::Result<String> {
    let (mut lines, mut todo) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(dir.join(&at))? {
            let entry = entry?;
            let name = at.join(entry.file_name());
            check(&entry.path())?;
            if entry.file_type()?.is_dir() {
                todo.push(name);
            } else if name != Path::new(CONTENTS) {
                let hash =
                    digest([tilewright_cache_dir::read(&entry.path(), tilewright_cache_dir::MAX_BYTES)?.as_slice()]);
                lines.push(format!("{} {hash}\n", name.display()));
            }
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// Says that it was used; a read-only cache still serves.
fn touch(path: &Path) {
    if let Ok(f) = File::open(path) {
        let _ = f.set_modified(SystemTime::now());
    }
}

fn age(path: &Path) -> Option<Duration> {
    fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

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
        c.check().unwrap();
        let file = c.root().join("file");
        fs::write(&file, "").unwrap();
        assert!(Cache::at(file).check().is_err());
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
        let f = File::open(c.root().join(Cache::path("ptx", &old))).unwrap();
        f.set_modified(SystemTime::now() - 2 * MAX_AGE).unwrap();
        c.prune();
        assert!(c.get("ptx", &old).is_none() && c.get("ptx", &new).is_some());
        fs::remove_dir_all(c.root()).unwrap();
    }

    /// A folder of another program, which has the name of one of ours, a folder that a link leads to, and a lock.
    #[cfg(unix)]
    #[test]
    fn what_is_no_product_is_not_pruned() {
        let c = fresh("prune-others");
        let elsewhere = c.root().with_extension("elsewhere");
        let product = Cache::path("", &Key::of([b"x".as_slice()]));
        let kept =
            [c.root().join("sysroot/usr"), c.root().join("ptx/a.lock"), elsewhere.join(&product), elsewhere.join("f")];
        c.dir.create("sysroot").unwrap();
        c.dir.create("ptx").unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, c.root().join("cubin")).unwrap();
        for path in &kept {
            fs::write(path, "").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - 2 * MAX_AGE).unwrap();
        }
        c.prune();
        for path in &kept {
            assert!(path.exists(), "{}", path.display());
        }
        fs::remove_dir_all(c.root()).unwrap();
        fs::remove_dir_all(elsewhere).unwrap();
    }

    /// As with a umask of 002, which many systems set.
    #[cfg(unix)]
    #[test]
    fn a_folder_whose_files_others_might_write_is_made_once() {
        use std::os::unix::fs::PermissionsExt;
        let (c, k) = (fresh("umask"), Key::of([b"x".as_slice()]));
        let make = || {
            c.folder("sysroot", &k, |dir| {
                fs::create_dir(dir.join("lib"))?;
                fs::write(dir.join("lib/f"), "good")?;
                let mode = |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
                mode(dir.join("lib/f"), 0o666).and(mode(dir.join("lib"), 0o777))
            })
        };
        let dir = make().unwrap();
        let mode = |name: &str| fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode("lib"), mode("lib/f"), mode(CONTENTS) & 0o022], [0o755, 0o644, 0]);
        assert!(c.verify(&Cache::path("sysroot", &k)).is_ok());
        // Others may have written it since.
        fs::set_permissions(dir.join("lib/f"), fs::Permissions::from_mode(0o664)).unwrap();
        assert_eq!((make().unwrap(), c.take_warnings().len(), mode("lib/f")), (dir.clone(), 1, 0o644));
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn damaged_products_are_made_again_with_a_warning() {
        let c = fresh("damaged");
        let k = Key::of([b"x".as_slice()]);
        c.put("ptx", &k, b"text").unwrap();
        let file = c.root().join(Cache::path("ptx", &k));
        let good = fs::read(&file).unwrap();
        let mut changed = good.clone();
        *changed.last_mut().unwrap() ^= 1;
        for bad in [&good[..good.len() - 1], &good[..10], b"", &changed] {
            fs::write(&file, bad).unwrap();
            assert_eq!(c.get("ptx", &k), None);
            assert!(matches!(&c.take_warnings()[..], [w] if w.contains("made again")));
        }
        // Another product's contents under this name.
        let other = Key::of([b"y".as_slice()]);
        c.put("ptx", &other, b"other").unwrap();
        fs::copy(c.root().join(Cache::path("ptx", &other)), &file).unwrap();
        assert_eq!((c.get("ptx", &k), c.take_warnings().len()), (None, 1));
        c.put("ptx", &k, b"text").unwrap();
        assert!(c.get("ptx", &k).is_some() && c.take_warnings().is_empty());
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn damaged_folders_are_made_again_with_a_warning() {
        let c = fresh("damaged-folder");
        let k = Key::of([b"x".as_slice()]);
        let make = || {
            c.folder("sysroot", &k, |dir| {
                fs::create_dir(dir.join("lib"))?;
                fs::write(dir.join("lib/f"), "good")
            })
        };
        let dir = make().unwrap();
        assert!(c.take_warnings().is_empty());
        type Damage = fn(&Path) -> io::Result<()>;
        let damages: [Damage; 4] = [
            |d| fs::write(d.join("lib/f"), "goo"),
            |d| fs::write(d.join("lib/added"), ""),
            |d| fs::remove_file(d.join("lib/f")),
            |d| fs::remove_file(d.join(CONTENTS)),
        ];
        for damage in damages {
            damage(&dir).unwrap();
            assert_eq!(fs::read(make().unwrap().join("lib/f")).unwrap(), b"good");
            assert!(!dir.join("lib/added").exists() && c.take_warnings().len() == 1);
        }
        make().unwrap();
        assert!(c.take_warnings().is_empty());
        fs::remove_dir_all(c.root()).unwrap();
    }

    /// The entries of the corpus are of one key, and some of them are damaged already.
    #[test]
    fn hostile_products_are_made_again_with_a_warning() {
        let (c, k) = (fresh("hostile"), Key::of([b"hostile".as_slice()]));
        let (text, words) = (b".version 8.0\n".as_slice(), [1u64, u64::MAX, 7].map(u64::to_le_bytes).concat());
        let sound = [text, &words, b""];
        c.put("ptx", &k, text).unwrap();
        let (file, cases) = (c.root().join(Cache::path("ptx", &k)), AtomicU32::new(0));
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/product");
        assert_eq!(fs::read(&file).unwrap(), fs::read(Path::new(corpus).join("text")).unwrap());
        tilewright_hostile_inputs::attack(Path::new(corpus), |bytes| {
            fs::write(&file, bytes).unwrap();
            match c.get("ptx", &k) {
                Some(found) => assert!(sound.contains(&&found[..]) && c.take_warnings().is_empty()),
                None => assert!(matches!(&c.take_warnings()[..], [w] if w.contains("made again"))),
            }
            if cases.fetch_add(1, Ordering::Relaxed).is_multiple_of(100) {
                c.put("ptx", &k, text).unwrap();
                assert_eq!((c.get("ptx", &k).as_deref(), c.take_warnings().len()), (Some(text), 0));
            }
        });
        fs::remove_dir_all(c.root()).unwrap();
    }

    #[test]
    fn hostile_lists_of_contents_make_the_folder_again() {
        let (c, k) = (fresh("hostile-folder"), Key::of([b"hostile".as_slice()]));
        let make = || {
            c.folder("sysroot", &k, |dir| {
                fs::create_dir(dir.join("lib"))?;
                fs::write(dir.join("lib/f"), "good")
            })
        };
        let (list, cases) = (make().unwrap().join(CONTENTS), AtomicU32::new(0));
        let good = fs::read(&list).unwrap();
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/contents");
        assert_eq!(good, fs::read(Path::new(corpus).join("sound")).unwrap());
        tilewright_hostile_inputs::attack(Path::new(corpus), |bytes| {
            fs::write(&list, bytes).unwrap();
            assert_eq!(c.verify(&Cache::path("sysroot", &k)).is_ok(), bytes == good);
            if cases.fetch_add(1, Ordering::Relaxed).is_multiple_of(100) {
                make().unwrap();
                assert_eq!(
                    (fs::read(&list).unwrap() == good, c.take_warnings().len()),
                    (true, usize::from(bytes != good))
                );
            }
        });
        fs::remove_dir_all(c.root()).unwrap();
    }
}
