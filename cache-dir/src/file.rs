//! Opening files of a folder that may hold anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Opens a regular file to read: not a link, a pipe or a device, for which opening or reading might never end.
///
/// # Examples
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// std::fs::write(&path, b"1")?;
/// assert_eq!(tilewright_cache_dir::open(&path)?.metadata()?.len(), 1);
/// assert!(tilewright_cache_dir::open(folder.path()).is_err()); // no regular file
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open(path: &Path) -> io::Result<File> {
    regular(path, OpenOptions::new().read(true))
}

/// The contents of a regular file of at most `limit` bytes.
///
/// # Examples
/// ```
/// use std::io::ErrorKind;
/// use tilewright_cache_dir::read;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// std::fs::write(&path, b"123")?;
/// assert_eq!(read(&path, 3)?, b"123");
/// assert_eq!(read(&path, 2).unwrap_err().kind(), ErrorKind::FileTooLarge);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let bytes = file.metadata()?.len();
    let too_large = || {
        let why = format!("{} is larger than {limit} bytes", path.display());
        io::Error::new(io::ErrorKind::FileTooLarge, why)
    };
    if bytes > limit {
        return Err(too_large());
    }
    let mut contents = Vec::new();
    contents.try_reserve_exact(bytes as usize)?;
    // It may grow meanwhile.
    file.take(limit + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > limit { Err(too_large()) } else { Ok(contents) }
}

/// Opens a regular file to append to it; makes it with mode 0600 where there is none.
///
/// # Examples
/// ```
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// tilewright_cache_dir::append(&path)?.write_all(b"1")?;
/// tilewright_cache_dir::append(&path)?.write_all(b"2")?;
/// assert_eq!(tilewright_cache_dir::read(&path, 10)?, b"12");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn append(path: &Path) -> io::Result<File> {
    regular(path, created().append(true))
}

/// Files and folders until they are whole. Nobody can foretell their names.
pub(crate) fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".part-").rand_bytes(16);
    builder
}

/// Writes a file whole: readers see the old contents or the new ones. `fill` writes to a new file beside it, whose name
/// nobody can foretell, and which is removed where anything fails. A link is replaced, not followed.
///
/// # Examples
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// tilewright_cache_dir::replace(&path, |file| std::io::Write::write_all(file, b"12"))?;
/// assert_eq!(tilewright_cache_dir::read(&path, 10)?, b"12");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace<E: From<io::Error>>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = temporary();
    // As any other new file of the user, by the umask.
    #[cfg(unix)]
    part.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut part = part.tempfile_in(folder)?;
    let mut buffered = io::BufWriter::new(&mut part);
    fill(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    part.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Opens a regular file to write without changing it; makes it with mode 0600 where there is none.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    regular(path, created().read(true).write(true).truncate(false))
}

/// Of a file that is made with mode 0600 where there is none.
fn created() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true);
    options
}

fn regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits() as _);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a regular file", path.display())))
}
