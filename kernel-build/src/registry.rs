//! The list of a library's kernels, and their sources, which `tilewright::kernels!()` includes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tilewright_compiler::Source;
use tilewright_compiler::front::registry::{KERNELS, SOURCES, paths};

use crate::bundle::write_if_new;

/// Writes both lists for the library of a package. `files` are those that kernels are looked for in.
pub fn write(crate_dir: &Path, files: &[PathBuf], out: &Path) -> io::Result<()> {
    let src = crate_dir.join("src");
    let program = |f: &Path| f == src.join("main.rs") || f.starts_with(src.join("bin"));
    let (mut kernels, mut sources) = (String::new(), String::new());
    for file in files.iter().filter(|f| f.starts_with(&src) && !program(f)) {
        let text = fs::read_to_string(file)?;
        if !text.contains("tile_") {
            continue;
        }
        for path in paths(Source { file, text: &text }) {
            kernels += &format!("    {path}::DESCS,\n");
        }
        let name = file.strip_prefix(crate_dir).unwrap_or(file);
        sources += &format!("    ({:?}, include_str!({file:?})),\n", name.display().to_string());
    }
    fs::create_dir_all(out)?;
    write_if_new(&out.join(KERNELS), format!("&[\n{kernels}]\n").as_bytes())?;
    write_if_new(&out.join(SOURCES), format!("&[\n{sources}]\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_s_kernels_and_no_program_s() {
        let dir = std::env::temp_dir().join(format!("tile-registry-test-{}", std::process::id()));
        let file = |name: &str| {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#[tile_kernel(grid = [1])]\nfn k(y: &mut [f32]) { store(y, 0, 1.0); }").unwrap();
            path
        };
        let files = ["src/lib.rs", "src/rows.rs", "src/main.rs", "src/bin/p.rs", "examples/e.rs"].map(file);
        let out = dir.join("out");
        write(&dir, &files, &out).unwrap();
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert_eq!(read(KERNELS), "&[\n    crate::k::DESCS,\n    crate::rows::k::DESCS,\n]\n");
        let sources = read(SOURCES);
        assert!(sources.contains("(\"src/rows.rs\", include_str!(") && !sources.contains("main.rs"), "{sources}");
        fs::remove_dir_all(dir).unwrap();
    }
}
