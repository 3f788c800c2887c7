//! The tarball with the C library, its headers and the `tile` program.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use elf::abi::DT_SONAME;
use elf::{ElfBytes, endian::AnyEndian};

use crate::command;
use crate::release::builds::Builds;
use crate::release::graph::Rust;
use crate::release::notices::Notices;
use crate::release::tarball::Tarball;

/// The name by which a linker finds the library.
const LIBRARY: &str = "libtile.so";
/// The texts of our own licenses.
pub const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The products of a build.
pub struct Built {
    library: Vec<u8>,
    program: Vec<u8>,
}

/// Builds the library and the program. Each has a build of its own, since cargo unifies features over a build.
pub fn build(builds: &Builds) -> Result<Built> {
    let build = |args: &[&str], product: &str| {
        let cargo = builds.cargo().args(["build", "--release", "--locked", "--quiet"]).args(args);
        ensure!(cargo.succeeds()?, "cargo does not build {product}");
        let path = builds.target.join("release").join(product);
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok(Built {
        library: build(&["--package", "tilewright-capi", "--features", "versioned-soname"], LIBRARY)?,
        program: build(&["--package", "tilewright-cli", "--bin", "tile"], "tile")?,
    })
}

/// The name of the tarball without its ending, which also is that of its folder.
pub fn name(version: &str, rust: &Rust) -> String {
    format!("libtile-{version}-{}", rust.platform())
}

/// The files of the tarball.
pub fn tarball(built: Built, version: &str, notices: &[Notices]) -> Result<Tarball> {
    let root = command::root();
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let mut out = Tarball::default();
    let soname = soname(&built.library)?;
    ensure!(soname.starts_with(LIBRARY), "the name in the library is {soname}, and not {LIBRARY} or {LIBRARY}.NUMBER");
    if soname != LIBRARY {
        out.link(&format!("lib/{LIBRARY}"), &soname);
    }
    out.program(&format!("lib/{soname}"), built.library);
    out.program("bin/tile", built.program);
    out.file("lib/pkgconfig/tile.pc", pkg_config(version));
    for entry in fs::read_dir(root.join("capi/include"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        out.file(&format!("include/{name}"), read(&path)?);
    }
    for name in LICENSES {
        out.file(name, read(&root.join(name))?);
    }
    for (name, text) in notices {
        out.file(name, text.clone());
    }
    Ok(out)
}

/// The file for pkg-config. Its paths are relative to its own folder, so that it is right wherever it is unpacked.
fn pkg_config(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: tile\nDescription: The operations of tilewright, for C\nVersion: {version}\n\
         Libs: -L${{libdir}} -ltile\nCflags: -I${{includedir}}\n"
    )
}

/// The name in a library by which programs that are linked with it look for it.
fn soname(library: &[u8]) -> Result<String> {
    let elf = ElfBytes::<AnyEndian>::minimal_parse(library).context("the library is no ELF file")?;
    let name = || {
        let at = elf.dynamic().ok()??.iter().find(|d| d.d_tag == DT_SONAME)?.d_val();
        let strings = elf.find_common_data().ok()?.dynsyms_strs?;
        strings.get(usize::try_from(at).ok()?).ok().map(String::from)
    };
    name().context("the library has no SONAME")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::tarball::entries;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A library with this SONAME, if there is a gcc.
    fn library(folder: &Path, soname: &str) -> Option<Vec<u8>> {
        if !command::exists("gcc") {
            return None;
        }
        fs::write(folder.join("a.c"), "int tile_abi_version(void) { return 1; }\n").unwrap();
        let gcc = command::program("gcc").args(["-shared", "-fPIC", "a.c", "-o", "a.so", "-nostdlib"]).dir(folder);
        gcc.args([format!("-Wl,-soname,{soname}")]).output(LIMIT).unwrap();
        Some(fs::read(folder.join("a.so")).unwrap())
    }

    #[test]
    fn the_library_has_the_name_that_programs_look_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(soname(b"no library").is_err());
        for (name, is_link) in [("libtile.so.1", true), ("libtile.so", false)] {
            let Some(library) = library(folder.path(), name) else { return };
            assert_eq!(soname(&library).unwrap(), name);
            let built = Built { library, program: b"program".to_vec() };
            let files = tarball(built, "1.2.3", &[("NOTICES.txt", b"notices".to_vec())])
                .unwrap()
                .compress("libtile", 0)
                .unwrap();
            let files: Vec<String> = entries(&files).unwrap().into_keys().collect();
            for path in [&format!("lib/{name}"), "lib/libtile.so", "bin/tile", "include/tile.h", "LICENSE-MIT"] {
                assert!(files.contains(&format!("libtile/{path}")), "{path}: {files:?}");
            }
            assert_eq!(files.iter().filter(|f| f.contains(LIBRARY)).count(), 1 + usize::from(is_link));
        }
        let library = library(folder.path(), "other.so").unwrap();
        assert!(tarball(Built { library, program: vec![] }, "1.2.3", &[]).is_err());
    }

    /// A program that is compiled with the flags of pkg-config, and run beside the unpacked tarball.
    #[test]
    fn pkg_config_finds_the_library_where_it_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let Some(library) = library(folder.path(), "libtile.so.1") else { return };
        if !command::exists("pkg-config") || !command::exists("tar") {
            return;
        }
        let built = Built { library, program: vec![] };
        let bytes = tarball(built, "1.2.3", &[]).unwrap().compress("libtile-1.2.3", 0).unwrap();
        fs::write(folder.path().join("t.tar.gz"), bytes).unwrap();
        command::program("tar").args(["xzf", "t.tar.gz"]).dir(folder.path()).output(LIMIT).unwrap();
        let root = folder.path().join("libtile-1.2.3");
        let ask = |args: &[&str]| {
            let pkg_config = command::program("pkg-config").env("PKG_CONFIG_PATH", root.join("lib/pkgconfig"));
            pkg_config.args(args).args(["tile"]).output(LIMIT).unwrap()
        };
        assert_eq!(ask(&["--modversion"]).trim(), "1.2.3");
        ask(&["--validate"]);
        let flags = ask(&["--cflags", "--libs"]);
        let main = "#include <tile.h>\nint main(void) { return tile_abi_version() == TILE_ABI_VERSION ? 0 : 1; }\n";
        fs::write(folder.path().join("main.c"), main).unwrap();
        let gcc = command::program("gcc").args(["main.c", "-o", "main"]).args(flags.split_whitespace());
        gcc.dir(folder.path()).output(LIMIT).unwrap();
        let run = command::program(folder.path().join("main")).env("LD_LIBRARY_PATH", root.join("lib"));
        run.output(LIMIT).unwrap();
    }
}
