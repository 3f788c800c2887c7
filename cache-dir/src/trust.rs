//! The owners and permissions that a file needs before it is read or run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file or a folder of the cache is not used.
///
/// # Examples
/// ```
/// use tilewright_cache_dir::{Untrusted, check};
///
/// let folder = tempfile::tempdir()?;
/// # #[cfg(unix)] {
/// let link = folder.path().join("link");
/// std::os::unix::fs::symlink(folder.path(), &link)?;
/// let e = check(&link).unwrap_err();
/// let why = e.get_ref().and_then(|why| why.downcast_ref());
/// assert!(matches!(why, Some(Untrusted::Link { path }) if *path == link));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// It belongs to another user.
    #[error("{} belongs to user {owner}: set TILE_CACHE_DIR to a folder of your own", path.display())]
    Owner {
        /// The file or the folder.
        path: PathBuf,
        /// The id of its owner.
        owner: u32,
    },
    /// Others than its owner may write it.
    #[error("{} may be written by others (mode {mode:03o}): run `chmod go-w` on it, or set TILE_CACHE_DIR", path.display())]
    Writable {
        /// The file or the folder.
        path: PathBuf,
        /// The bits of its permissions.
        mode: u32,
    },
    /// It is a symbolic link.
    #[error("{} is a symbolic link: replace it by the folder, or set TILE_CACHE_DIR to the folder itself", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
}

impl From<Untrusted> for io::Error {
    fn from(why: Untrusted) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    }
}

/// Checks that a file or folder belongs to the user or to root, is no symbolic link, and can be written by its owner
/// only. Errors: [`Untrusted`] as the cause of an [`io::ErrorKind::PermissionDenied`], and the system's.
///
/// # Examples
/// ```
/// use tilewright_cache_dir::check;
///
/// let folder = tempfile::tempdir()?;
/// check(folder.path())?;
/// # #[cfg(unix)] {
/// use std::fs::{Permissions, set_permissions};
/// use std::os::unix::fs::PermissionsExt;
/// set_permissions(folder.path(), Permissions::from_mode(0o777))?;
/// assert!(check(folder.path()).is_err());
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn check(path: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Err(Untrusted::Link { path: path.into() }.into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (owner, mode) = (about.uid(), about.mode() & 0o777);
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return Err(Untrusted::Owner { path: path.into(), owner }.into());
        }
        if mode & 0o022 != 0 {
            return Err(Untrusted::Writable { path: path.into(), mode }.into());
        }
    }
    Ok(())
}
