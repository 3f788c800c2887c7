//! The code of kernels for the host, which the macros include: CPU functions, descriptors, and the code for the
//! emulated SM.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use tilewright_compiler::HostFile;

use crate::bundle::write_if_new;
use crate::pool::Pool;
use crate::sources::Sources;

/// Writes the files of all kernels in `sources` to the folder `out`, and removes those of kernels that are no more. A
/// file that stays the same keeps its time: nothing that includes it is compiled anew.
pub fn write_all(sources: &Sources, out: &Path, pool: &Pool) -> io::Result<()> {
    let lowered =
        pool.map(&sources.with_kernels(), |f| tilewright_compiler::host_files(f.source(), &sources.libraries));
    write(&lowered.concat(), out)
}

fn write(files: &[HostFile], out: &Path) -> io::Result<()> {
    fs::create_dir_all(out)?;
    let keep: HashSet<&str> = files.iter().map(|f| f.name.as_str()).collect();
    for f in files {
        write_if_new(&out.join(&f.name), f.text.as_bytes())?;
    }
    for entry in fs::read_dir(out)? {
        let path = entry?.path();
        if !path.file_name().and_then(|n| n.to_str()).is_some_and(|n| keep.contains(n)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "#[tile_kernel(grid = [1])]\nfn k(y: &mut [f32]) { store(y, 0, 1.0); }";

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn a_kernel_has_a_file_for_checks_and_one_for_builds() {
        let dir = std::env::temp_dir().join(format!("tile-host-code-test-{}", std::process::id()));
        let (source, out, pool) = (dir.join("src/lib.rs"), dir.join("host"), Pool::of(2));
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        let write = |text: &str| {
            fs::write(&source, text).unwrap();
            write_all(&Sources::read(std::slice::from_ref(&source)).unwrap(), &out, &pool).unwrap();
            names(&out)
        };
        let first = write(KERNEL);
        assert!(first.len() == 2 && first.iter().all(|n| n.starts_with("k-")), "{first:?}");
        let check = first.iter().find(|n| n.ends_with("-check.rs")).expect("the file of a check");
        let build = first.iter().find(|n| *n != check).expect("the file of a build");
        let text = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert!(text(build).contains("fn cpu_body_0") && !text(check).contains("fn cpu_body_0"));
        // The same kernel some lines below has other files, and the first ones are gone.
        let moved = write(&format!("\n\n{KERNEL}"));
        assert!(moved.len() == 2 && !moved.iter().any(|n| first.contains(n)), "{moved:?}");
        // A kernel with mistakes has none.
        assert_eq!(write(&KERNEL.replace("1.0", "nothing")), [""; 0]);
        fs::remove_dir_all(dir).unwrap();
    }
}
