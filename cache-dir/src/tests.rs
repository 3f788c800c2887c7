use super::*;

fn cache() -> (TempDir, CacheDir) {
    let dir = tempfile::tempdir().unwrap();
    let cache = CacheDir::at(dir.path().join("cache"));
    (dir, cache)
}

#[test]
fn written_files_are_read() {
    let (_dir, c) = cache();
    assert_eq!(c.read("a/b").unwrap_err().kind(), io::ErrorKind::NotFound);
    c.write("a/b", b"one").unwrap();
    c.write("a/b", b"two").unwrap();
    assert_eq!(c.read("a/b").unwrap(), b"two");
    assert_eq!(fs::read_dir(c.root().join("a")).unwrap().count(), 1, "no temporary file stays");
    assert!(c.write("../b", b"").is_err() && c.read("/etc/passwd").is_err());
}

#[test]
fn temporary_folders_are_moved_or_removed() {
    let (_dir, c) = cache();
    let (kept, dropped) = (c.temp_dir("a").unwrap(), c.temp_dir("a").unwrap());
    fs::write(kept.path().join("f"), "x").unwrap();
    c.persist(kept, "a/kept").unwrap();
    drop(dropped);
    assert_eq!(c.read("a/kept/f").unwrap(), b"x");
    assert_eq!(fs::read_dir(c.root().join("a")).unwrap().count(), 1);
}

#[test]
fn a_lock_is_not_waited_for_without_end() {
    let (_dir, c) = cache();
    let held = c.lock("lock", None).unwrap();
    let e = c.lock("lock", Some(Duration::from_millis(10))).unwrap_err();
    assert_eq!(e.kind(), io::ErrorKind::TimedOut);
    drop(held);
    c.lock("lock", Some(Duration::from_millis(10))).unwrap();
}

#[test]
fn digests_tell_parts_apart() {
    assert_ne!(digest([b"ab".as_slice(), b"c"]), digest([b"a".as_slice(), b"bc"]));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refused<T: std::fmt::Debug>(result: io::Result<T>, word: &str) {
        let e = result.unwrap_err();
        assert!(e.get_ref().is_some_and(|e| e.is::<Untrusted>()) && e.to_string().contains(word), "{e}");
    }

    #[test]
    fn folders_and_files_are_the_owners_alone() {
        let (_dir, c) = cache();
        c.write("a/b", b"x").unwrap();
        let mode = |p: PathBuf| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(c.root().into()), mode(c.root().join("a")), mode(c.root().join("a/b"))),
            (0o700, 0o700, 0o600)
        );
    }

    #[test]
    fn what_others_may_write_is_refused() {
        let (_dir, c) = cache();
        c.write("a/b", b"x").unwrap();
        for path in [c.root().to_path_buf(), c.root().join("a"), c.root().join("a/b")] {
            let before = fs::metadata(&path).unwrap().permissions();
            for mode in [0o770, 0o702] {
                chmod(&path, mode);
                refused(c.read("a/b"), "chmod go-w");
                refused(c.trusted("a/b"), "chmod go-w");
                if path.is_dir() {
                    refused(c.write("a/b", b"y"), "chmod go-w");
                    refused(c.lock("a/lock", None), "chmod go-w");
                }
            }
            fs::set_permissions(&path, before).unwrap();
        }
        assert_eq!(c.read("a/b").unwrap(), b"x");
    }

    /// Only root can give files away.
    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let (_dir, c) = cache();
        c.write("a/b", b"x").unwrap();
        if std::os::unix::fs::chown(c.root().join("a"), Some(12345), None).is_ok() {
            refused(c.read("a/b"), "belongs to user 12345");
            refused(c.write("a/b", b"y"), "belongs to user 12345");
        }
    }

    #[test]
    fn links_are_not_followed() {
        let (dir, c) = cache();
        c.write("a/b", b"x").unwrap();
        let target = dir.path().join("target");
        fs::write(&target, "theirs").unwrap();
        symlink(&target, c.root().join("a/link")).unwrap();
        refused(c.read("a/link"), "symbolic link");
        assert!(open(&c.root().join("a/link")).is_err());
        assert!(c.lock("a/link", None).is_err());
        c.write("a/link", b"mine").unwrap();
        assert_eq!((fs::read(&target).unwrap(), c.read("a/link").unwrap()), (b"theirs".to_vec(), b"mine".to_vec()));
        symlink(dir.path(), c.root().join("folder")).unwrap();
        refused(c.write("folder/f", b"x"), "symbolic link");
        // Nothing is created through a link that leads nowhere.
        symlink(dir.path().join("new"), c.root().join("dangling")).unwrap();
        assert!(c.lock("dangling", None).is_err() && !dir.path().join("new").exists());
    }

    #[test]
    fn pipes_devices_and_large_files_are_errors_at_once() {
        let (dir, c) = cache();
        c.create("").unwrap();
        let made = std::process::Command::new("mkfifo").arg("-m600").arg(c.root().join("pipe")).status().unwrap();
        assert!(made.success());
        assert!(c.read("pipe").unwrap_err().to_string().contains("not a regular file"));
        assert!(c.lock("pipe", None).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(Path::new("/dev/zero"), 10).unwrap_err().to_string().contains("not a regular file"));
        let file = dir.path().join("file");
        fs::write(&file, [0; 11]).unwrap();
        assert_eq!(read(&file, 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&file, 11).unwrap().len(), 11);
    }
}
