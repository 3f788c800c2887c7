//! Libraries of kernels in other packages.
//!
//! Cargo hands the line `cargo::metadata=KEY=VALUE` of a build script to the build scripts of the packages that depend
//! on its own, if that has a key `links`: as `DEP_LINKS_KEY`. By it a package with public libraries announces their
//! folder.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tilewright_compiler::{Libraries, Source};

use crate::files;

const KEY: &str = "TILE_LIBRARIES";

/// A package's announcement of its libraries: the name of its crate, and its folder.
pub fn announcement(package: &str, crate_dir: &Path) -> String {
    format!("cargo::metadata={KEY}={}={}", package.replace('-', "_"), crate_dir.display())
}

/// A package that has said so.
pub struct Dependency {
    crate_name: String,
    pub sources: PathBuf,
}

/// The announcements among some variables of the environment, in the order of their names.
pub fn announced(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<Dependency> {
    let dependency = |(key, value): (OsString, OsString)| {
        let links = key.to_str()?.strip_prefix("DEP_")?.strip_suffix(KEY)?;
        let (name, dir) = value.to_str()?.split_once('=')?;
        links.ends_with('_').then(|| Dependency { crate_name: name.into(), sources: Path::new(dir).join("src") })
    };
    let mut found: Vec<Dependency> = variables.filter_map(dependency).collect();
    found.sort_by(|a, b| a.crate_name.cmp(&b.crate_name));
    found
}

/// Their libraries.
pub fn libraries(dependencies: &[Dependency]) -> io::Result<Libraries> {
    let mut out = Libraries::default();
    for d in dependencies {
        for file in files::rust_files(&d.sources)? {
            out.add_of_crate(&d.crate_name, Source { file: &file, text: &fs::read_to_string(&file)? });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_script_says_another_one_hears() {
        let said = announcement("my-tiles", Path::new("/a=b/my-tiles"));
        let value = said.strip_prefix("cargo::metadata=TILE_LIBRARIES=").unwrap();
        let variables = [("DEP_MY_TILES_TILE_LIBRARIES", value), ("DEP_Z_ROOT", "/z"), ("TILE_LIBRARIES", "x=y")];
        let found = announced(variables.into_iter().map(|(k, v)| (k.into(), v.into())));
        let found: Vec<_> = found.iter().map(|d| (d.crate_name.as_str(), d.sources.as_path())).collect();
        assert_eq!(found, [("my_tiles", Path::new("/a=b/my-tiles/src"))]);
    }
}
