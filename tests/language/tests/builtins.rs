//! Every operation on every dtype that it takes, on the CPU and on the emulated SM, against plain Rust: arithmetic
//! here, the others in `conversions.rs`, `reductions.rs`, `atomics.rs` and `shapes.rs`.

use quote::ToTokens;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tilewright_compiler::dtype::DType;
use tilewright_compiler::{BUILTINS, Libraries, Source};
use tilewright_language_tests::everywhere::{Number, everywhere, results, room, same};

mod debug;
mod elementary;
mod floats;
mod integers;

/// The names that the kernels of the tests use, the names of dtypes among them.
fn used() -> BTreeSet<String> {
    fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
        for e in std::fs::read_dir(dir).expect("a folder") {
            match e.expect("an entry").path() {
                dir if dir.is_dir() => rust_files(&dir, out),
                path => out.extend(Some(path).filter(|p| p.extension().is_some_and(|x| x == "rs"))),
            }
        }
    }
    let mut files = vec![];
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut files);
    let texts: Vec<_> = files.iter().map(|f| std::fs::read_to_string(f).expect("text")).collect();
    let sources = || files.iter().zip(&texts).map(|(file, text)| Source { file, text });
    let mut libraries = Libraries::default();
    sources().for_each(|s| libraries.add(s));
    let kernels = sources().flat_map(|s| tilewright_compiler::module::file(s, &libraries));
    let text = |k: tilewright_compiler::module::Found| {
        format!("{} {} {}", k.attr, k.item.sig.to_token_stream(), k.item.block.to_token_stream())
    };
    kernels
        .map(text)
        .flat_map(|t| t.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn every_operation_is_in_a_kernel_that_runs() {
    let used = used();
    let missing: Vec<_> = BUILTINS
        .iter()
        .map(|b| b.0)
        .chain(DType::ALL.iter().map(|d| d.name()))
        .filter(|n| !used.contains(*n))
        .collect();
    assert!(missing.is_empty(), "no kernel of the tests has {missing:?}");
    assert!(!used.contains("BUILTINS"), "names are of kernels alone");
}
