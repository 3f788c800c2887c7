//! Every write and every opening of a file fails once: the old file stays, and no half-written file takes its place.
//!
//! The system makes the failures: a limit on the size of files ends a write at any byte, as a full disk does, and a
//! limit on open files fails any opening. Limits are a process's, so that each test runs in a process of its own.

use super::*;
use std::os::fd::AsRawFd;
use std::process::Command;

/// Runs an ignored test of this file in a process of its own.
fn apart(test: &str) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("faults::{test}"), "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
}

/// Runs `work` under a limit of this process.
fn limited<T>(what: libc::__rlimit_resource_t, limit: u64, work: impl FnOnce() -> T) -> T {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is read and written whole. A write beyond the limit then gives an error, not a signal.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::getrlimit(what, &mut before), 0);
        assert_eq!(libc::setrlimit(what, &libc::rlimit { rlim_cur: limit, ..before }), 0);
    }
    let result = work();
    // SAFETY: as above.
    unsafe { assert_eq!(libc::setrlimit(what, &before), 0) };
    result
}

/// The number that the next file gets, which is the count of open ones where they are dense.
fn next_file() -> u64 {
    File::open("/").unwrap().as_raw_fd() as u64
}

fn files(c: &CacheDir, dir: &str) -> Vec<String> {
    let all = fs::read_dir(c.root().join(dir)).unwrap();
    all.map(|f| f.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Writes with every limit from 0 on, until one succeeds; whether some failed.
fn write_until_it_succeeds(c: &CacheDir, path: &str, new: &[u8], what: libc::__rlimit_resource_t, from: u64) -> u64 {
    let old = c.read(path).unwrap();
    for n in 0.. {
        let written = limited(what, from + n, || c.write(path, new));
        assert_eq!(files(c, "a"), ["b"], "no temporary file stays, with a limit of {n}");
        match written {
            Ok(()) => {
                assert_eq!(c.read(path).unwrap(), new);
                return n;
            }
            Err(e) => assert_eq!(c.read(path).unwrap(), old, "with a limit of {n}: {e}"),
        }
    }
    unreachable!()
}

#[test]
fn a_write_that_fails_at_any_byte_leaves_the_old_contents() {
    apart("at_any_byte");
}

#[test]
fn a_write_that_cannot_open_a_file_leaves_the_old_contents() {
    apart("at_any_opening");
}

#[test]
fn a_lock_that_cannot_be_opened_is_an_error_once() {
    apart("at_any_lock");
}

#[test]
#[ignore = "limits its process"]
fn at_any_byte() {
    let dir = tempfile::tempdir().unwrap();
    let c = CacheDir::at(dir.path().join("cache"));
    c.write("a/b", b"old").unwrap();
    let new: Vec<u8> = (0..200).collect();
    assert_eq!(write_until_it_succeeds(&c, "a/b", &new, libc::RLIMIT_FSIZE, 0), 200);
}

#[test]
#[ignore = "limits its process"]
fn at_any_opening() {
    let dir = tempfile::tempdir().unwrap();
    let c = CacheDir::at(dir.path().join("cache"));
    c.write("a/b", b"old").unwrap();
    let failed = write_until_it_succeeds(&c, "a/b", b"new", libc::RLIMIT_NOFILE, next_file());
    assert!(failed > 0, "no opening failed");
}

#[test]
#[ignore = "limits its process"]
fn at_any_lock() {
    let dir = tempfile::tempdir().unwrap();
    let c = CacheDir::at(dir.path().join("cache"));
    let refused = limited(libc::RLIMIT_NOFILE, next_file(), || c.lock("a/lock", Some(Duration::ZERO)));
    assert!(refused.is_err());
    c.lock("a/lock", Some(Duration::ZERO)).unwrap();
}
