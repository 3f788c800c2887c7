//! One error type for everything the host does. Each message says what to do about it.

use tilewright_core::{BindError, DeviceId, ViewError};

/// The result of a call of the runtime.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Result, Runtime};
///
/// fn total(rt: &Runtime, data: &[f32]) -> Result<f32> {
///     let x = Buffer::from_slice(rt, data)?;
///     Ok(x.to_vec()?.iter().sum())
/// }
/// assert_eq!(total(&Runtime::cpu(), &[1.0, 2.0])?, 3.0);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the runtime.
///
/// Unless the variant says otherwise, nothing was enqueued, nothing was written, and the runtime is usable after it.
/// The message says the way out. More variants may be added.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Error, Runtime};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
/// let e = x.slice(1..5).unwrap_err();
/// assert!(matches!(e, Error::OutOfRange { start: 1, end: 5, len: 2, .. }) && !e.is_fatal());
/// assert_eq!(e.to_string(), "Buffer::slice: 1..5 is not within a buffer of 2 elements: use a range within 0..2");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no CUDA driver, or it shows no device.
    #[error("no CUDA here: {why}. Install the NVIDIA driver, or take the CPU backend, as with TILE_BACKEND=cpu")]
    NoCuda {
        /// The driver's message, or that of the loader.
        why: String,
    },

    /// The driver shows fewer devices.
    #[error("no CUDA device {ordinal}: {count} visible. Choose a smaller ordinal or change CUDA_VISIBLE_DEVICES")]
    NoDevice {
        /// The device that was asked for, from 0 on.
        ordinal: u32,
        /// Devices that the driver shows.
        count: u32,
    },

    /// The driver has no function of this name, which CUDA 12.0 has, or does not know the version of a kernel's PTX.
    #[error("the NVIDIA driver is too old: it lacks {missing}. Install a driver for CUDA 12.0 or later")]
    DriverTooOld {
        /// As in `cuTensorMapEncodeTiled`. For PTX, with the errors of the code for older targets.
        missing: String,
    },

    /// [`Runtime::from_name`](crate::Runtime::from_name) or `TILE_BACKEND` has another name than those of a backend.
    #[error(
        "`{name}` is not a backend: use auto, cuda, cuda:N, cpu, emulator, emulator:SEED or emulator:SEED:MULTIPROCESSORS"
    )]
    UnknownBackend {
        /// The name as it was given.
        name: String,
    },

    /// The emulated SM was asked for in a build without the feature `emulator`.
    #[error("this program has no emulated SM: build it with the feature `emulator` of tilewright")]
    NoEmulator,

    /// The CPU backend runs on x86-64 processors with AVX2 and FMA, which Intel and AMD have since 2013 and 2015.
    #[error("{kernel}: this processor lacks AVX2 or FMA, which the CPU backend needs: run the program on a newer one")]
    OldProcessor {
        /// The kernel that was to be launched.
        kernel: &'static str,
    },

    /// An argument is in the memory of another device than the one that launches.
    #[error(
        "{kernel}: `{param}` lives {} but the call runs {}: copy it there with Buffer::from_slice or to_vec",
        describe(*found), describe(*expected)
    )]
    DeviceMismatch {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// Its parameter.
        param: &'static str,
        /// The memory of the runtime that launches.
        expected: DeviceId,
        /// The memory of the argument.
        found: DeviceId,
    },

    /// An argument is borrowed for launches on one stream, as of [`DlpackTensor::for_stream`], and the launch is on
    /// another one.
    ///
    /// [`DlpackTensor::for_stream`]: crate::dlpack::DlpackTensor::for_stream
    #[error(
        "{kernel}: `{param}` is for launches on the stream {its:#x} alone, and this one is on {this:#x}: launch on the \
         stream that the argument was borrowed for"
    )]
    StreamOfArgument {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// Its parameter.
        param: &'static str,
        /// The address of the argument's stream.
        its: u64,
        /// The address of the launch's stream.
        this: u64,
    },

    /// A stream, an event, a graph or a buffer is of another runtime.
    #[error("the {what} belongs to another runtime: use the {what} of the runtime that this call is for")]
    StreamMismatch {
        /// `stream`, `event`, `graph`, `buffer` or `output`.
        what: &'static str,
    },

    /// An output shares memory with another argument. A kernel with `alias(x, y)` takes `y` that is `x`, with the same
    /// start and the same size.
    #[error("{kernel}: output `{output}` overlaps `{other}`: give the output memory of its own")]
    Alias {
        /// The kernel or the operation.
        kernel: &'static str,
        /// The parameter that is written.
        output: &'static str,
        /// The parameter that shares its memory.
        other: &'static str,
    },

    /// The address of an argument is not a multiple of the size of its elements.
    #[error(
        "{kernel}: the address of `{param}` is not a multiple of its element size, {align} bytes: pass memory aligned to its element"
    )]
    Misaligned {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// Its parameter.
        param: &'static str,
        /// The alignment that is needed, in bytes.
        align: usize,
    },

    /// An argument with elements has no address.
    #[error("{kernel}: `{param}` is a null pointer with a positive length: pass memory, or a length of zero")]
    NullPointer {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// Its parameter.
        param: &'static str,
    },

    /// The arguments of a [`Call`](crate::Call) are not those that its kernel takes.
    #[error(transparent)]
    Arguments(#[from] BindError),

    /// An array has too few elements for a view, or, for a row-major one, too many.
    #[error(transparent)]
    View(#[from] ViewError),

    /// Lengths or extents of arguments do not fit together.
    #[error("{what}: shapes do not agree: {why}")]
    Shape {
        /// The function or the operation.
        what: &'static str,
        /// The extents, and the rule that they break.
        why: String,
    },

    /// A range is not within a buffer.
    #[error("{what}: {start}..{end} is not within a buffer of {len} elements: use a range within 0..{len}")]
    OutOfRange {
        /// The function.
        what: &'static str,
        /// The first element of the range.
        start: usize,
        /// The element behind the range.
        end: usize,
        /// Elements of the buffer.
        len: usize,
    },

    /// An argument is outside its limits: a scale, a precision, a type, or an extent that no kernel takes.
    #[error("{what}: {why}")]
    InvalidArgument {
        /// The operation.
        what: &'static str,
        /// The argument, and its range.
        why: String,
    },

    /// The grid is larger than CUDA allows.
    #[error(
        "{kernel}: a grid of {grid:?} programs is beyond the limit of 2147483647 × 65535 × 65535: split the data or use a larger block"
    )]
    GridTooLarge {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// Programs along x, y and z.
        grid: [u64; 3],
    },

    /// The kernel was not compiled for a GPU.
    #[error(
        "{kernel}: this build holds no code for a GPU: its build script found no device toolchain (run `cargo xtask setup` \
         or `rustup component add rust-src`), the kernel was changed while it was built (build again), or the script does not find it: \
         in another folder than src and examples, in a function's body, made by a macro_rules!, or under another name of the attribute. Or use the CPU"
    )]
    MissingBundle {
        /// The kernel that was to be launched.
        kernel: &'static str,
    },

    /// The kernel was compiled for other GPUs.
    #[error("{kernel}: built for {built}, not for {device}: build with TILE_TARGETS={wanted}")]
    NoTarget {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// The name of the GPU.
        device: String,
        /// The targets of the build, as in `sm_80, sm_90a`.
        built: String,
        /// The target of the GPU, for `TILE_TARGETS`.
        wanted: String,
    },

    /// The compiled code of the kernel is damaged, or is of another version.
    #[error("{kernel}: the compiled kernel cannot be used ({why}): run `cargo clean -p` on its crate and build again")]
    BadBundle {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// The damage.
        why: String,
    },

    /// The kernel has no configuration with this id.
    #[error("{kernel}: no configuration `{id}`: use one of {known}")]
    UnknownConfig {
        /// The kernel.
        kernel: String,
        /// The id as it was given.
        id: String,
        /// All ids of the kernel.
        known: String,
    },

    /// The configuration was not compiled for the emulated SM.
    #[error(
        "{kernel}: configuration {config} has no code for the emulated SM: {}write `emulate = all` in its attribute \
         and build with the feature `emulator` of tilewright", choose_text(*emulated)
    )]
    NotEmulated {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// The id of the configuration.
        config: &'static str,
        /// The id of another configuration, which has such code and whose conditions the arguments satisfy.
        emulated: Option<&'static str>,
    },

    /// The device or the arguments do not allow the configuration.
    #[error("{kernel} ({config}) cannot run on {device}: {why}. Choose another configuration")]
    CannotLaunch {
        /// The kernel that was to be launched.
        kernel: &'static str,
        /// The id of the configuration.
        config: &'static str,
        /// The name of the device.
        device: String,
        /// The limit or the condition that does not hold.
        why: String,
    },

    /// An allocation failed.
    #[error("out of memory {}: {bytes} bytes asked for{}. Free buffers or use smaller ones", describe(*device), free_text(*free))]
    OutOfMemory {
        /// Host memory, or that of a device.
        device: DeviceId,
        /// Bytes of the allocation.
        bytes: u64,
        /// Bytes that were free on the device, where that is known.
        free: Option<u64>,
    },

    /// The size of an allocation in bytes is no `isize`.
    #[error("{len} elements of {size} bytes are more than an address space holds: use a smaller length")]
    TooLarge {
        /// Elements that were asked for.
        len: usize,
        /// Bytes of an element.
        size: usize,
    },

    /// A `device_assert!` failed on the CPU or on the emulated SM. Outputs may be partly written.
    #[error("{kernel}: {message}")]
    Assert {
        /// The kernel that was launched.
        kernel: &'static str,
        /// File, line and message of the assertion, and its program.
        message: String,
    },

    /// The emulated SM found a race or another defect. Outputs may be partly written.
    #[error("{kernel}: the emulated SM found a defect: {report}")]
    Emulator {
        /// The kernel that was launched.
        kernel: &'static str,
        /// The defect, with the lines of the kernel and the threads.
        report: String,
    },

    /// The device context is gone (an illegal access or an assertion on the GPU); every later call fails too.
    #[error(
        "{what}: the GPU stopped with {source} and its context is lost: end the process; run with TILE_BACKEND=cpu or under compute-sanitizer to find the cause"
    )]
    DeviceLost {
        /// The call that failed.
        what: String,
        /// The driver's error.
        source: DriverError,
    },

    /// The context was destroyed by its owner, or the device's primary context was reset: what was in it is gone. The
    /// device can be used by a runtime that is made after this.
    #[error(
        "{what}: the driver reports {source}: the runtime's CUDA context was destroyed or reset by other code: make a new runtime and new buffers"
    )]
    ContextDestroyed {
        /// The call that failed.
        what: String,
        /// The driver's error.
        source: DriverError,
    },

    /// CUDA does not survive a fork; the driver was not called.
    #[error(
        "this process was forked after its parent had started CUDA, which does not survive a fork: start processes with \
         `spawn` (in Python: multiprocessing.set_start_method(\"spawn\")), or use CUDA first after the fork"
    )]
    Forked,

    /// Any other error of the driver.
    #[error("{what}: the driver reports {source}")]
    Driver {
        /// The call that failed.
        what: String,
        /// The driver's error.
        source: DriverError,
    },

    /// The device, or the state of a stream, does not allow the call.
    #[error("{what} is not supported on {device}: {instead}")]
    Unsupported {
        /// The call.
        what: &'static str,
        /// The name of the device.
        device: String,
        /// The call to make in its place.
        instead: &'static str,
    },

    /// Memory of another library cannot be an argument.
    #[error("the memory cannot be borrowed: {why}")]
    ExternalMemory {
        /// The address, the device or the element type that does not fit.
        why: String,
    },

    /// The tuner could not measure.
    #[error("{what}: {why}")]
    Tuning {
        /// The kernel, or the measurement.
        what: String,
        /// The reason.
        why: String,
    },
}

/// An error of the CUDA driver: the source of [`Error::Driver`] and of errors of a lost context.
///
/// # Examples
/// ```
/// use std::error::Error as _;
/// use tilewright::{DriverError, Error};
///
/// let source = DriverError { code: 1, name: "CUDA_ERROR_INVALID_VALUE".into(), message: "invalid argument".into() };
/// let e = Error::Driver { what: "copying".into(), source };
/// let driver = e.source().and_then(|s| s.downcast_ref::<DriverError>());
/// assert_eq!(driver.map(|d| d.code), Some(1));
/// ```
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

impl DriverError {
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) const OUT_OF_MEMORY: u32 = 2;

    /// Whether the driver found no memory, on the device or for itself.
    ///
    /// # Examples
    /// ```
    /// use tilewright::DriverError;
    ///
    /// let e = DriverError { code: 2, name: "CUDA_ERROR_OUT_OF_MEMORY".into(), message: "out of memory".into() };
    /// assert!(e.is_out_of_memory());
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        self.code == Self::OUT_OF_MEMORY as i32
    }
}

/// The subject of an error: it decides the code of a C function, and the exception in Python.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, ErrorKind, Runtime};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
/// assert_eq!(x.slice(1..5).unwrap_err().kind(), ErrorKind::Argument);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument that no call of this kind takes, or arguments that do not fit together.
    Argument,
    /// An output shares memory with another argument.
    Overlap,
    /// There is no usable device, driver or compiled kernel.
    NoDevice,
    /// The device was lost: the process cannot use it any more.
    DeviceLost,
    /// There is not enough memory.
    OutOfMemory,
    /// The launch, or another operation of the driver, failed.
    Launch,
}

impl Error {
    /// The subject of the error. [`ErrorKind`] has an example.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Shape { .. }
            | Error::OutOfRange { .. }
            | Error::InvalidArgument { .. }
            | Error::Arguments(_)
            | Error::View(_)
            | Error::NullPointer { .. }
            | Error::Misaligned { .. }
            | Error::TooLarge { .. }
            | Error::GridTooLarge { .. }
            | Error::StreamMismatch { .. }
            | Error::DeviceMismatch { .. }
            | Error::StreamOfArgument { .. }
            | Error::ExternalMemory { .. }
            | Error::UnknownBackend { .. } => ErrorKind::Argument,
            Error::Alias { .. } => ErrorKind::Overlap,
            Error::NoCuda { .. }
            | Error::NoDevice { .. }
            | Error::DriverTooOld { .. }
            | Error::Forked
            | Error::MissingBundle { .. }
            | Error::NoTarget { .. }
            | Error::NoEmulator
            | Error::OldProcessor { .. } => ErrorKind::NoDevice,
            Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Error::Driver { source, .. } if source.is_out_of_memory() => ErrorKind::OutOfMemory,
            Error::DeviceLost { .. } => ErrorKind::DeviceLost,
            _ => ErrorKind::Launch,
        }
    }

    /// True where the process cannot use this device any more: for [`Error::DeviceLost`].
    pub fn is_fatal(&self) -> bool {
        matches!(self, Error::DeviceLost { .. })
    }
}

fn describe(device: DeviceId) -> String {
    match device {
        DeviceId::Host => "on the host".into(),
        DeviceId::Cuda { device, context } => format!("on CUDA device {device} (context {context})"),
        DeviceId::CudaStream { device, context, stream } => {
            format!("on CUDA device {device} (context {context}), for the stream {stream:#x} alone")
        }
        DeviceId::Unknown => "at a raw address".into(),
    }
}

fn free_text(free: Option<u64>) -> String {
    free.map_or(String::new(), |f| format!(", {f} free"))
}

fn choose_text(config: Option<&str>) -> String {
    config.map_or(String::new(), |c| format!("choose configuration {c}, which has, or "))
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
