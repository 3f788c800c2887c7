//! Files of the repository that tests write.

use std::fs;
use std::path::Path;

/// A file has this text; with `TILE_BLESS` it is written.
pub fn is_recorded(path: &Path, text: &str) {
    if std::env::var_os("TILE_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of the file");
        fs::write(path, text).expect("a writable file");
    }
    let recorded = fs::read_to_string(path).unwrap_or_default();
    assert!(recorded == text, "{} is not up to date: `cargo xtask bless` writes it", path.display());
}
