//! The source files of a package.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folders of a package in which kernels are looked for, unless a build script names others.
pub const DIRS: [&str; 2] = ["src", "examples"];

/// All `.rs` files below a folder, sorted, without those of packages inside it; none where there is no such folder.
pub fn rust_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(d) = todo.pop() {
        let entries = match fs::read_dir(&d) {
            Ok(e) => e,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                if !path.join("Cargo.toml").exists() {
                    todo.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    out.sort();
    Ok(out)
}

/// A path that means the same in every folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_package() {
        let dir = std::env::temp_dir().join(format!("tile-files-test-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        for f in ["z.rs", "a/b.rs", "a/c.txt", "other/Cargo.toml", "other/src/d.rs"] {
            fs::create_dir_all(dir.join(f).parent().unwrap()).unwrap();
            fs::write(dir.join(f), "").unwrap();
        }
        assert_eq!(rust_files(&dir).unwrap(), [dir.join("a/b.rs"), dir.join("z.rs")]);
        assert!(rust_files(&dir.join("absent")).unwrap().is_empty());
        fs::remove_dir_all(dir).unwrap();
    }
}
