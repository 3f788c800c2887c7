//! The cache folder that builds, the tuner and `cargo xtask` share.
//!
//! Programs in the folder are executed and compiled code in it is launched, so whoever can write to the folder controls
//! the process. The folder is used only if it belongs to the user or to root and nobody else may write to it. Files are
//! opened without following links, must be regular and of bounded size, and are replaced by renaming.
#![warn(missing_docs)]

mod file;
mod trust;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

pub use file::{append, open, read, replace};
pub use tempfile::TempDir;
pub use trust::{Untrusted, check};

/// The largest file that is read: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;

/// `$TILE_CACHE_DIR`, else `tilewright` in `$XDG_CACHE_HOME` or `~/.cache`; `None` for a user without a home.
///
/// # Examples
/// ```
/// if let Some(folder) = tilewright_cache_dir::user_dir() {
///     println!("the cache is {}", folder.display());
/// }
/// ```
pub fn user_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("TILE_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("tilewright")))
        .or_else(|| std::env::home_dir().map(|d| d.join(".cache").join("tilewright")))
}

/// A cache folder. Paths given to its methods are relative to it.
///
/// # Examples
/// ```
/// use tilewright_cache_dir::CacheDir;
///
/// let folder = tempfile::tempdir()?;
/// let cache = CacheDir::at(folder.path());
/// cache.write("plans/matmul.json", b"[]")?;
/// assert_eq!(cache.read("plans/matmul.json")?, b"[]");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CacheDir {
    root: PathBuf,
}

impl CacheDir {
    /// Names a folder; nothing is created or checked until it is used.
    ///
    /// # Examples
    /// ```
    /// use std::path::Path;
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// assert_eq!(CacheDir::at("/no/such/folder").root(), Path::new("/no/such/folder"));
    /// ```
    pub fn at(root: impl Into<PathBuf>) -> CacheDir {
        CacheDir { root: root.into() }
    }

    /// The folder. [`CacheDir::at`] has an example.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the folder and its missing parents, with mode 0700, and checks every level from the root of the cache
    /// on. Errors: [`Untrusted`] as the cause of an [`io::ErrorKind::PermissionDenied`], and the system's.
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// assert_eq!(cache.create("a/b")?, folder.path().join("a/b"));
    /// assert!(folder.path().join("a/b").is_dir());
    /// assert_eq!(cache.create("../b").unwrap_err().kind(), ErrorKind::InvalidInput);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create(&self, folder: impl AsRef<Path>) -> io::Result<PathBuf> {
        make_dir(&self.root)?;
        trust::check(&self.root)?;
        let mut path = self.root.clone();
        for part in relative(folder.as_ref())? {
            path.push(part);
            make_dir(&path)?;
            trust::check(&path)?;
        }
        Ok(path)
    }

    /// The path of an existing file or folder, after every level from the root of the cache on has been checked.
    /// Errors: as [`CacheDir::create`], and [`io::ErrorKind::NotFound`].
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// cache.write("a", b"1")?;
    /// assert_eq!(cache.trusted("a")?, folder.path().join("a"));
    /// assert_eq!(cache.trusted("b").unwrap_err().kind(), ErrorKind::NotFound);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trusted(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        trust::check(&self.root)?;
        let mut whole = self.root.clone();
        for part in relative(path.as_ref())? {
            whole.push(part);
            trust::check(&whole)?;
        }
        Ok(whole)
    }

    /// The contents of a file. Errors: as [`CacheDir::trusted`], and those of [`read`].
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// assert_eq!(cache.read("a").unwrap_err().kind(), ErrorKind::NotFound);
    /// cache.write("a", b"1")?;
    /// assert_eq!(cache.read("a")?, b"1");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        file::read(&self.trusted(path)?, MAX_BYTES)
    }

    /// Writes a file whole: readers see the old contents or the new ones, also after a crash. Errors: as
    /// [`CacheDir::create`].
    ///
    /// # Examples
    /// ```
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// cache.write("new/a", b"1")?; // makes the folder `new`
    /// cache.write("new/a", b"2")?;
    /// assert_eq!(cache.read("new/a")?, b"2");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let path = path.as_ref();
        let dir = self.create(parent(path))?;
        let mut part = file::temporary().tempfile_in(&dir)?;
        part.write_all(bytes)?;
        part.as_file().sync_all()?;
        part.persist(self.root.join(path))?;
        sync_dir(&dir)
    }

    /// A new folder with a random name and mode 0700, removed when dropped.
    ///
    /// # Examples
    /// ```
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// let made = cache.temp_dir("builds")?;
    /// assert_eq!(made.path().parent(), Some(&*folder.path().join("builds")));
    /// let path = made.path().to_owned();
    /// drop(made);
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn temp_dir(&self, folder: impl AsRef<Path>) -> io::Result<TempDir> {
        file::temporary().tempdir_in(self.create(folder)?)
    }

    /// Moves a filled temporary folder to its final name, after its contents have reached the disk. From then on only
    /// their owner may write them, whatever the umask let others do. A folder that has the name already is removed.
    ///
    /// # Examples
    /// ```
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// let made = cache.temp_dir("builds")?;
    /// std::fs::write(made.path().join("kernels"), b"1")?;
    /// assert_eq!(cache.persist(made, "builds/first")?, folder.path().join("builds/first"));
    /// assert_eq!(cache.read("builds/first/kernels")?, b"1");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn persist(&self, dir: TempDir, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        let to = self.root.join(path);
        settle(dir.path())?;
        match fs::symlink_metadata(&to) {
            Ok(m) if m.is_dir() => fs::remove_dir_all(&to)?,
            Ok(_) => fs::remove_file(&to)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        fs::rename(dir.path(), &to)?;
        // It no longer has the name that the guard would remove.
        let _ = dir.keep();
        sync_dir(to.parent().unwrap_or(&self.root))?;
        Ok(to)
    }

    /// Takes the lock of this name, which all processes respect, until the file is dropped. Errors:
    /// [`io::ErrorKind::TimedOut`] where another holder keeps it for longer than `limit`.
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use std::time::Duration;
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// let held = cache.lock("lock", None)?;
    /// let e = cache.lock("lock", Some(Duration::ZERO)).unwrap_err();
    /// assert_eq!(e.kind(), ErrorKind::TimedOut);
    /// drop(held);
    /// cache.lock("lock", Some(Duration::ZERO))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lock(&self, path: impl AsRef<Path>, limit: Option<Duration>) -> io::Result<File> {
        let path = path.as_ref();
        self.create(parent(path))?;
        let file = file::open_or_create(&self.root.join(path))?;
        let Some(limit) = limit else {
            file.lock()?;
            return Ok(file);
        };
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::Error(e)) => return Err(e),
                Err(fs::TryLockError::WouldBlock) if begun.elapsed() > limit => {
                    let why =
                        format!("another process holds {} for longer than {limit:?}", self.root.join(path).display());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Checks that the folder can be written to, and creates it where it is missing. Errors: as [`CacheDir::create`].
    ///
    /// # Examples
    /// ```
    /// use tilewright_cache_dir::CacheDir;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cache = CacheDir::at(folder.path());
    /// cache.check_writable()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn check_writable(&self) -> io::Result<()> {
        let dir = self.create("")?;
        file::temporary().tempfile_in(dir).map(drop)
    }
}

/// A hash of contents, as 32 hexadecimal digits. It finds damage, not an attacker: against those the folder's owner and
/// mode are checked.
///
/// # Examples
/// ```
/// use tilewright_cache_dir::digest;
///
/// let one = digest([&b"ab"[..], b"c"]);
/// assert_eq!(one.len(), 32);
/// assert_ne!(one, digest([&b"a"[..], b"bc"])); // the parts count, and not their concatenation
/// ```
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    use siphasher::sip128::{Hasher128, SipHasher13};
    use std::hash::Hasher;
    let mut h = SipHasher13::new();
    for p in parts {
        // Parts cannot run into each other: each is hashed with its length.
        h.write_u64(p.len() as u64);
        h.write(p);
    }
    format!("{:032x}", h.finish128().as_u128())
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The names of a path below the root; `..` and absolute paths are refused.
fn relative(path: &Path) -> io::Result<Vec<&std::ffi::OsStr>> {
    let name = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
    if !path.components().all(name) {
        let why = format!("{} leaves the cache folder", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(path.components().filter_map(|c| if let Component::Normal(n) = c { Some(n) } else { None }).collect())
}

fn make_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn sync_dir(path: &Path) -> io::Result<()> {
    // Windows has no such call, and orders the two itself.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Leaves only the owner the right to write to a folder and its files, and waits for the disk.
fn settle(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            settle(&entry.path())?;
        } else if kind.is_file() {
            keep_others_from_writing(&entry.path())?;
            File::open(entry.path())?.sync_all()?;
        }
    }
    keep_others_from_writing(path)?;
    sync_dir(path)
}

fn keep_others_from_writing(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = fs::metadata(path)?.permissions();
        if permissions.mode() & 0o022 != 0 {
            permissions.set_mode(permissions.mode() & !0o022);
            fs::set_permissions(path, permissions)?;
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod faults;
#[cfg(test)]
mod tests;
