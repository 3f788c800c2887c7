//! The settings that the expansion of a kernel depends on, beside the kernel.

use crate::emit::built::Configs;
use std::path::{Path, PathBuf};

/// The settings that the expansion depends on, beside the kernel.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Where the build script has put the bundles of kernels, if there is one.
    pub bundles: Option<PathBuf>,
    /// The variants that get code for the emulated SM.
    pub emulate: Emulate,
    /// The configurations that get code for the GPU.
    pub configs: Configs,
    /// Nothing can run the kernels: `cargo check`. Functions of instances have no bodies, configurations no variants.
    pub check_only: bool,
}

impl HostOptions {
    /// A kernel's bundle, if the build script has made one.
    pub(super) fn bundle(&self, kernel: &str, fingerprint: &str) -> Option<PathBuf> {
        let folder = self.bundles.as_ref().filter(|_| !self.check_only)?;
        Some(bundle_path(folder, kernel, fingerprint)).filter(|p| p.is_file())
    }
}

/// Where the build script puts a kernel's bundle.
pub(crate) fn bundle_path(folder: &Path, kernel: &str, fingerprint: &str) -> PathBuf {
    folder.join(format!("{kernel}-{fingerprint}.bundle"))
}

/// Which variants of instances the emulated SM can run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Emulate {
    /// No variant.
    None,
    /// The fastest and the most general variant of the first configuration of each choice of types, a variant that
    /// takes any arguments, and variants that [cover](crate::features::cover) the other features of a function's
    /// kernels, with the most general one of their configurations. All of a kernel with `emulate = all`.
    #[default]
    Chosen,
    /// Every variant.
    All,
}

impl Emulate {
    /// `TILE_EMULATE`, from the environment or the build script. A compiler without the feature `emulator` emulates
    /// nothing.
    pub fn from_env() -> Emulate {
        match std::env::var("TILE_EMULATE").as_deref() {
            _ if !cfg!(feature = "emulator") => Emulate::None,
            Ok("off") => Emulate::None,
            Ok("all") => Emulate::All,
            _ => Emulate::Chosen,
        }
    }

    /// Tells files of one kernel apart.
    pub fn name(self) -> &'static str {
        match self {
            Emulate::None => "off",
            Emulate::Chosen => "chosen",
            Emulate::All => "all",
        }
    }
}
