//! The compiled form of one kernel: one PTX per entry and target, with the facts that a launch needs.
//!
//! `kernel-build` writes a bundle per kernel ([`BundleData::to_bytes`]), the macro embeds it, the host reads it
//! ([`Bundle::parse`]). Parsing copies nothing and looks at the table alone; code is decompressed and checked when it
//! is asked for. Reading any bytes gives a value or a [`BundleError`], never a panic.
//!
//! ```text
//! magic "TILEBNDL" | version u32 | table length u32 | table checksum u32 | table | chunks (LZMA streams)
//! ```
//! Integers are little-endian; a string is its length (u32) and its bytes. Entries of a kernel are much alike, so that
//! a chunk holds the PTX of several of them for one target, or the machine code. Code is named by its chunk, its place
//! in the plain bytes of the chunk, its length and its checksum.

#[doc(hidden)]
pub mod lzma;
mod read;
mod target;
mod write;

#[cfg(test)]
mod tests;

pub use read::{Bundle, Entry, Image};
pub use target::{Arch, Suffix};
pub use write::{BundleData, Compression, EntryData, ImageData};

const MAGIC: &[u8; 8] = b"TILEBNDL";
/// Raised whenever the layout changes: an application and its bundles are always built together.
pub const VERSION: u32 = 3;
/// Plain bytes of a chunk, unless one image has more: unpacking them all takes some 20 ms.
const CHUNK: usize = 2 << 20;
const HEADER: usize = MAGIC.len() + 12;

/// The error of a bundle, or of an image in it.
///
/// # Examples
/// ```
/// use tilewright_core::bundle::{Bundle, BundleError};
///
/// assert_eq!(Bundle::parse(b"no bundle").unwrap_err(), BundleError::NotABundle);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The bytes do not begin with those of a bundle.
    #[error("not a kernel bundle")]
    NotABundle,
    /// The bundle has another [`VERSION`].
    #[error("bundle format {found}, this build reads {VERSION}")]
    Version {
        /// The version of the bundle.
        found: u32,
    },
    /// The bytes are no bundle, although they begin as one.
    #[error("damaged bundle: {what}")]
    Damaged {
        /// The damage.
        what: &'static str,
    },
    /// The kernel has no entry of this name.
    #[error("kernel `{kernel}` has no entry `{entry}`")]
    NoEntry {
        /// The kernel of the bundle.
        kernel: String,
        /// The name that was asked for.
        entry: String,
    },
    /// The entry was built for no target that the device runs.
    #[error(
        "kernel `{kernel}` was built for {}, not for compute capability {major}.{minor}: set TILE_TARGETS=sm_{major}{minor} and build again",
        built.join(", ")
    )]
    NoTarget {
        /// The kernel of the bundle.
        kernel: String,
        /// The targets of the entry, as in `sm_90a`.
        built: Vec<String>,
        /// The major compute capability of the device.
        major: u32,
        /// The minor compute capability of the device.
        minor: u32,
    },
}

/// The resources of one thread of an entry, as `ptxas` reports them.
/// [`BundleData`] has an example of an image, which may have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of 32 bits.
    pub registers: u32,
    /// Bytes of spill stores and loads.
    pub spill_bytes: u32,
    /// Bytes of local memory: arrays that found no place in registers.
    pub stack_bytes: u32,
}

/// FNV-1a: enough to tell a damaged table from a whole one.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |h, &b| (h ^ b as u32).wrapping_mul(0x0100_0193))
}
