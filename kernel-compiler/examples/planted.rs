//! `planted DEFECT..`: the kernels among the tests of the language whose code planted defects change. A line has a
//! defect, the module of a file, a kernel, and the bytes of its code, with tabs between.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::emit::host::compiled_code;
use tilewright_compiler::planted::active::with;
use tilewright_compiler::{Libraries, Source};

fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, out)
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path)
        }
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/language/tests");
    let mut paths = vec![];
    rust_files(&folder, &mut paths);
    paths.sort();
    let read = |path: PathBuf| (std::fs::read_to_string(&path).expect("a readable file"), path);
    let files: Vec<(String, PathBuf)> = paths.into_iter().map(read).collect();
    let mut libraries = Libraries::default();
    files.iter().for_each(|(text, file)| libraries.add(Source { file, text }));
    std::panic::set_hook(Box::new(|_| ()));
    for (text, file) in &files {
        let path = file.strip_prefix(&folder).expect("in the folder").with_extension("");
        let module = path.to_string_lossy().replace('/', "::");
        for found in tilewright_compiler::module::file(Source { file, text }, &libraries) {
            let Ok(kernels) = found.parse(&Diagnostics::default()) else { continue };
            let code = || compiled_code(&kernels, &Diagnostics::default()).ok();
            let (usual, sites) = with(None, code);
            for name in names.iter().filter(|n| sites.contains(n.as_str())) {
                // A defect that makes the compiler panic changes the code, too.
                let made = catch_unwind(AssertUnwindSafe(|| with(Some(name), code).0)).unwrap_or_default();
                for (i, k) in kernels.iter().enumerate() {
                    let of_kernel = |all: &Option<Vec<Vec<String>>>| all.as_ref().map(|all| all[i].clone());
                    let (made, usual) = (of_kernel(&made), of_kernel(&usual));
                    if made != usual {
                        let bytes: usize = made.iter().flatten().map(String::len).sum();
                        println!("{name}\t{module}\t{}\t{bytes}", k.name);
                    }
                }
            }
        }
    }
}
