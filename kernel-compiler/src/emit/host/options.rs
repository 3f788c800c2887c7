//! What the expansion of a kernel depends on beside the kernel.

/// What the expansion depends on beside the kernel.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// The kernel's bundle, if the build script has made one.
    pub bundle: Option<std::path::PathBuf>,
    pub emulate: Emulate,
    /// Nothing can run the kernels: `cargo check`. Functions of instances have no bodies, configurations no variants.
    pub check_only: bool,
    /// Descriptors are complete, and instances have no code: a planted defect is looked for in other kernels.
    pub without_code: bool,
}

/// Which instances the emulated SM can run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Emulate {
    None,
    /// The first configuration of each choice of types, and a set that [covers](crate::features::cover) the other
    /// features of the kernel; all of a kernel with `emulate = all`.
    #[default]
    Chosen,
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
