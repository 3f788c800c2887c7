//! One error type for everything the host does. Each message says what to do about it.

use tilewright_core::{BindError, Place, ViewError};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Unless the variant says otherwise nothing was enqueued, nothing was written, and the runtime is
/// usable after it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no CUDA here: {why}. Use Runtime::cpu() (or --backend cpu), or install the NVIDIA driver")]
    NoCuda { why: String },

    #[error("no CUDA device {ordinal}: {count} visible. Choose a smaller ordinal or change CUDA_VISIBLE_DEVICES")]
    NoDevice { ordinal: u32, count: u32 },

    #[error("the NVIDIA driver is too old: it lacks {missing}. Install a driver for CUDA 12.0 or later")]
    DriverTooOld { missing: &'static str },

    #[error(
        "`{name}` is not a backend: use auto, cuda, cuda:N, cpu, emulator, emulator:SEED or emulator:SEED:MULTIPROCESSORS"
    )]
    UnknownBackend { name: String },

    #[error("this program has no emulated SM: build it with the feature `emulator` of tilewright")]
    NoEmulator,

    /// `meant`: names like it, empty where there is none.
    #[error("there is no operation `{name}`{}: `tile list` shows all", meant_text(meant))]
    UnknownOperation { name: String, meant: String },

    #[error(
        "{kernel}: `{param}` lives {} but the call runs {}: copy it there with Buffer::from_slice or to_vec",
        describe(*found), describe(*expected)
    )]
    DeviceMismatch { kernel: &'static str, param: &'static str, expected: Place, found: Place },

    #[error("the stream belongs to another runtime: create it with Stream::new on the runtime that launches")]
    StreamMismatch,

    #[error("{kernel}: output `{output}` overlaps `{other}`: give the output memory of its own")]
    Alias { kernel: &'static str, output: &'static str, other: &'static str },

    #[error(
        "{kernel}: the address of `{param}` is not a multiple of its element size, {align} bytes: pass memory aligned to its element"
    )]
    Misaligned { kernel: &'static str, param: &'static str, align: usize },

    #[error("{kernel}: `{param}` is a null pointer with a positive length: pass memory, or a length of zero")]
    NullPointer { kernel: &'static str, param: &'static str },

    #[error(transparent)]
    Arguments(#[from] BindError),

    #[error(transparent)]
    View(#[from] ViewError),

    #[error("{what}: shapes do not agree: {why}")]
    Shape { what: &'static str, why: String },

    /// An argument that no shape makes right: a scale, a precision, a type.
    #[error("{what}: {why}")]
    InvalidArgument { what: &'static str, why: String },

    #[error(
        "{kernel}: a grid of {grid:?} programs is beyond the limit of 2147483647 × 65535 × 65535: split the data or use a larger block"
    )]
    GridTooLarge { kernel: &'static str, grid: [u64; 3] },

    #[error(
        "{kernel}: this build holds no code for a GPU: its build script found no device toolchain (run `cargo xtask setup` \
         or `rustup component add rust-src`), the kernel was changed while it was built (build again), or the script does not find it: \
         in another folder than src and examples, in a function's body, made by a macro_rules!, or under another name of the attribute. Or use the CPU"
    )]
    MissingBundle { kernel: &'static str },

    #[error("{kernel}: built for {built}, not for {device}: build with TILE_TARGETS={wanted}")]
    NoTarget { kernel: &'static str, device: String, built: String, wanted: String },

    #[error("{kernel}: the compiled kernel cannot be used ({why}): run `cargo clean -p` on its crate and build again")]
    BadBundle { kernel: &'static str, why: String },

    #[error("{kernel}: no configuration `{id}`: use one of {known}")]
    UnknownConfig { kernel: String, id: String, known: String },

    #[error(
        "{kernel}: configuration {config} has no code for the emulated SM: write `emulate = all` in its attribute \
         and build with the feature `emulator` of tilewright, or choose another configuration"
    )]
    NotEmulated { kernel: &'static str, config: &'static str },

    #[error("{kernel} ({config}) cannot run on {device}: {why}. Choose another configuration")]
    CannotLaunch { kernel: &'static str, config: &'static str, device: String, why: String },

    #[error("out of memory {}: {bytes} bytes asked for{}. Free buffers or use smaller ones", describe(*place), free_text(*free))]
    OutOfMemory { place: Place, bytes: u64, free: Option<u64> },

    #[error("{len} elements of {size} bytes are more than an address space holds: use a smaller length")]
    TooLarge { len: usize, size: usize },

    #[error("{kernel}: {message}")]
    Assert { kernel: &'static str, message: String },

    #[error("{kernel}: the emulated SM found a defect: {report}")]
    Emulator { kernel: &'static str, report: String },

    /// The device context is gone (an illegal access or an assertion on the GPU); every later call fails too.
    #[error(
        "{what}: the GPU stopped with {source} and its context is lost: end the process; run with TILE_BACKEND=cpu or under compute-sanitizer to find the cause"
    )]
    DeviceLost { what: String, source: DriverError },

    /// The context was destroyed by its owner, or the device's primary context was reset: what was in it is gone. The
    /// device can be used by a runtime that is made after this.
    #[error(
        "{what}: the driver reports {source}: the runtime's CUDA context was destroyed or reset by other code: make a new runtime and new buffers"
    )]
    ContextDestroyed { what: String, source: DriverError },

    /// CUDA does not survive a fork; the driver was not called.
    #[error(
        "this process was forked after its parent had started CUDA, which does not survive a fork: start processes with \
         `spawn` (in Python: multiprocessing.set_start_method(\"spawn\")), or use CUDA first after the fork"
    )]
    Forked,

    #[error("{what}: the driver reports {source}")]
    Driver { what: String, source: DriverError },

    #[error("{what} is not supported on {device}: {instead}")]
    Unsupported { what: &'static str, device: String, instead: &'static str },

    #[error("the memory cannot be borrowed: {why}")]
    Foreign { why: String },

    #[error("{what}: {why}")]
    Tuning { what: String, why: String },
}

/// What the CUDA driver reports: the source of [`Error::Driver`] and of errors of a lost context.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} ({message})")]
pub struct DriverError {
    /// The `CUresult`.
    pub code: i32,
    /// As in `CUDA_ERROR_INVALID_VALUE`.
    pub name: String,
    /// The driver's own words.
    pub message: String,
}

impl Error {
    /// True when the process cannot use this device any more.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Error::DeviceLost { .. })
    }
}

fn describe(place: Place) -> String {
    match place {
        Place::Host => "on the host".into(),
        Place::Cuda { device, context } => format!("on CUDA device {device} (context {context})"),
        Place::Unknown => "at a raw address".into(),
    }
}

fn free_text(free: Option<u64>) -> String {
    free.map_or(String::new(), |f| format!(", {f} free"))
}

fn meant_text(meant: &str) -> String {
    if meant.is_empty() { String::new() } else { format!(" (did you mean {meant}?)") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn errors_of_the_driver_have_its_code_as_their_source() {
        let source = DriverError { code: 2, name: "CUDA_ERROR_OUT_OF_MEMORY".into(), message: "out of memory".into() };
        let e = Error::Driver { what: "allocating".into(), source: source.clone() };
        assert_eq!(e.to_string(), "allocating: the driver reports CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
        assert_eq!(e.source().and_then(|s| s.downcast_ref()), Some(&source));
    }
}
