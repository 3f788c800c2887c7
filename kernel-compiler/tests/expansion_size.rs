//! The size of the expansion for rust-analyzer of each kernel: it is parsed again after every key.

use crate::common::files;
use std::fs;
use std::path::Path;

#[allow(dead_code)]
#[path = "../examples/expansion_size.rs"]
mod example;

/// `cargo run -p tilewright-compiler --features emulator --example expansion_size` prints the sizes.
#[test]
fn the_expansion_for_editors_is_short() {
    let (mut source, mut expanded) = (0, 0);
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../device-kernels/src"), "rs") {
        let text = fs::read_to_string(&path).expect("a file");
        source += text.len();
        expanded += example::for_editor(&text);
    }
    assert!(expanded > 0, "no kernels were found");
    assert!(2 * expanded <= 3 * source, "{source} bytes of kernels expand to {expanded} bytes in rust-analyzer");
}
