//! The paths that cargo watches, to run a build script again.
//!
//! A missing path makes every build run the script. A folder is watched with all its contents, and the folder around a
//! missing one may have the build's own output. So a watched folder holds a link to each missing path. Cargo ignores a
//! link that leads nowhere, and follows it once its target exists.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The paths to watch for some paths: each existing one, and for the others a folder of links, which is written.
pub fn watched(paths: impl IntoIterator<Item = PathBuf>, links: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut there, missing): (Vec<_>, Vec<_>) = paths.into_iter().partition(|p| p.exists());
    if write_links(&missing, links)? {
        there.push(links.to_path_buf());
    }
    Ok(there)
}

/// Whether there is a folder of links now. Its time is older than that of any build: only the target of a link counts.
#[cfg(unix)]
fn write_links(missing: &[PathBuf], links: &Path) -> io::Result<bool> {
    match fs::remove_dir_all(links) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ if missing.is_empty() => return Ok(false),
        _ => fs::create_dir_all(links)?,
    }
    for (i, path) in missing.iter().enumerate() {
        std::os::unix::fs::symlink(path, links.join(i.to_string()))?;
    }
    fs::File::open(links)?.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400))?;
    Ok(true)
}

#[cfg(not(unix))]
fn write_links(_: &[PathBuf], _: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    /// The script of a package, which has this file as a module.
    const SCRIPT: &str = r#"
#[path = "WATCH"]
mod watch;

fn main() {
    let folder = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let links = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("watched");
    let paths = ["src", "examples", "kernels/more", "kernels.archive"].map(|p| folder.join(p));
    for path in watch::watched(paths, &links).expect("links") {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let runs = folder.join("runs");
    let so_far = std::fs::read_to_string(&runs).unwrap_or_default();
    std::fs::write(runs, so_far + "1").expect("a file");
}
"#;

    /// By cargo itself.
    #[test]
    fn a_folder_that_appears_runs_the_script_once() {
        let dir = std::env::temp_dir().join(format!("tile-watch-test-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let write = |file: &str, text: &str| {
            // Cargo sees no change within the tick of a file system's clock.
            std::thread::sleep(std::time::Duration::from_millis(50));
            fs::create_dir_all(dir.join(file).parent().unwrap()).unwrap();
            fs::write(dir.join(file), text).unwrap();
        };
        write("Cargo.toml", "[package]\nname = \"watching\"\nedition = \"2024\"\n[workspace]\n");
        write("src/lib.rs", "");
        write("build.rs", &SCRIPT.replace("WATCH", concat!(env!("CARGO_MANIFEST_DIR"), "/src/watch.rs")));
        let runs = || {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            cargo.args(["check", "--quiet", "--offline"]).current_dir(&dir).env("CARGO_TARGET_DIR", dir.join("target"));
            let out = cargo.output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            fs::read_to_string(dir.join("runs")).unwrap().len()
        };
        assert_eq!((runs(), runs()), (1, 1));
        // Beside the folders, in an existing one, and in those that were missing.
        write("README.md", "");
        assert_eq!(runs(), 1);
        write("src/more.rs", "");
        assert_eq!((runs(), runs()), (2, 2));
        write("examples/one.rs", "fn main() {}");
        assert_eq!((runs(), runs()), (3, 3));
        write("examples/one.rs", "fn main() { }");
        assert_eq!((runs(), runs()), (4, 4));
        write("kernels/other.rs", "");
        assert_eq!(runs(), 4);
        write("kernels/more/one.rs", "");
        assert_eq!((runs(), runs()), (5, 5));
        write("kernels.archive", "");
        assert_eq!((runs(), runs()), (6, 6));
        // One that goes again.
        fs::remove_dir_all(dir.join("examples")).unwrap();
        assert_eq!((runs(), runs()), (7, 7));
        fs::remove_dir_all(&dir).unwrap();
    }
}
