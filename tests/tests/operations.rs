//! Every operation on every dtype that it takes, on the CPU and on the emulated SM, against plain Rust: arithmetic here, the others in
//! `conversions.rs`, `reductions.rs`, `atomics.rs` and `shapes.rs`.

use common::{Number, everywhere, results, room, same};
use kernel_compiler::BUILTINS;
use kernel_compiler::dtype::DType;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::path::Path;

#[path = "operations/common.rs"]
mod common;
#[path = "operations/debug.rs"]
mod debug;
#[path = "operations/floats.rs"]
mod floats;
#[path = "operations/integers.rs"]
mod integers;

/// The names that the kernels of the tests use, the names of dtypes among them.
fn used() -> BTreeSet<String> {
    fn files(dir: &Path, out: &mut BTreeSet<String>) {
        for e in std::fs::read_dir(dir).expect("a folder") {
            let path = e.expect("an entry").path();
            if path.is_dir() {
                files(&path, out);
            } else if path.extension().is_some_and(|x| x == "rs") {
                for k in kernel_compiler::module::file(&std::fs::read_to_string(&path).expect("text"), &Default::default()) {
                    let text = format!("{} {} {}", k.attr, k.item.sig.to_token_stream(), k.item.block.to_token_stream());
                    out.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
                }
            }
        }
    }
    let mut out = BTreeSet::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut out);
    out
}

#[test]
fn every_operation_is_in_a_kernel_that_runs() {
    let used = used();
    let missing: Vec<_> = BUILTINS.iter().map(|b| b.0).chain(DType::ALL.iter().map(|d| d.name())).filter(|n| !used.contains(*n)).collect();
    assert!(missing.is_empty(), "no kernel of the tests has {missing:?}");
    assert!(!used.contains("cumsum"), "names are of kernels alone");
}
