//! The clone that this command was built in.

use std::path::Path;

/// Its folder; none where the command was built from a package of the registry, or where the clone is no more.
pub fn here() -> Option<&'static Path> {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let has = |package: &str| parent.join(package).join("Cargo.toml").is_file();
    (has("kernel-core") && has("tilewright")).then_some(parent)
}
