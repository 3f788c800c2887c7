//! The program that expands the macros.

use std::path::Path;
use std::sync::OnceLock;

/// Whether rust-analyzer does: procedural macros run in `rust-analyzer-proc-macro-srv`, and in older releases in
/// `rust-analyzer` itself. The checks that an editor runs are rustc's, and get the expansion of a build.
pub fn is_editor() -> bool {
    static IS_EDITOR: OnceLock<bool> = OnceLock::new();
    *IS_EDITOR.get_or_init(|| std::env::current_exe().is_ok_and(|program| is_rust_analyzer(&program)))
}

fn is_rust_analyzer(program: &Path) -> bool {
    program.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with("rust-analyzer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_macros_is_told_from_rustc() {
        assert!(is_rust_analyzer(Path::new("/toolchain/libexec/rust-analyzer-proc-macro-srv")));
        assert!(is_rust_analyzer(Path::new("rust-analyzer.exe")));
        for other in ["/toolchain/bin/rustc", "clippy-driver", "/home/rust-analyzer/bin/rustc", ""] {
            assert!(!is_rust_analyzer(Path::new(other)), "{other}");
        }
    }
}
