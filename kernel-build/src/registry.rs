//! The list of a library's kernels, and their sources, which `tilewright::kernels!()` includes.

use std::fs;
use std::io;
use std::path::Path;

use tilewright_compiler::front::registry::{KERNELS, SOURCES, paths};
use tilewright_compiler::front::source::ModulePath;

use crate::bundle::write_if_new;
use crate::sources::Sources;

/// Writes both lists for the library of a package.
pub fn write(crate_dir: &Path, sources: &Sources, out: &Path) -> io::Result<()> {
    let src = crate_dir.join("src");
    let library = ModulePath::of(&src.join("lib.rs")).root;
    let in_library = |path: &Path| ModulePath::of(path).root == library && path != src.join("main.rs");
    let (mut kernels, mut texts) = (String::new(), String::new());
    for file in sources.files().iter().filter(|f| f.is_certain && in_library(&f.path)) {
        for path in paths(file.source(), &sources.features) {
            kernels += &format!("    {path}::DESCS,\n");
        }
        let name = file.path.strip_prefix(crate_dir).unwrap_or(&file.path);
        texts += &format!("    ({:?}, include_str!({:?})),\n", name.display().to_string(), file.path);
    }
    fs::create_dir_all(out)?;
    write_if_new(&out.join(KERNELS), format!("&[\n{kernels}]\n").as_bytes())?;
    write_if_new(&out.join(SOURCES), format!("&[\n{texts}]\n").as_bytes())
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
        write(&dir, &Sources::read(&files).unwrap(), &out).unwrap();
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert_eq!(read(KERNELS), "&[\n    crate::k::DESCS,\n    crate::rows::k::DESCS,\n]\n");
        let sources = read(SOURCES);
        assert!(sources.contains("(\"src/rows.rs\", include_str!(") && !sources.contains("main.rs"), "{sources}");
        fs::remove_dir_all(dir).unwrap();
    }
}
