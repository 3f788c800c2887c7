//! What the functions return.

use core::ffi::c_int;
use tilewright_runtime::Error;

/// Success.
pub const TILE_OK: c_int = 0;
/// A null pointer, a negative size, a size too large to address, an unknown dtype or precision, shapes that do not fit together.
pub const TILE_ERROR_ARGUMENT: c_int = 1;
/// An output overlaps another array in a way that is not allowed.
pub const TILE_ERROR_OVERLAP: c_int = 2;
/// No usable GPU, driver or compiled kernel; or the process was forked after CUDA was used.
pub const TILE_ERROR_NO_DEVICE: c_int = 3;
/// Not enough memory.
pub const TILE_ERROR_MEMORY: c_int = 4;
/// The launch failed; see tile_last_error.
pub const TILE_ERROR_LAUNCH: c_int = 5;
/// The context is lost: the process cannot use this device any more.
pub const TILE_ERROR_DEVICE_LOST: c_int = 6;
/// A defect of this library.
pub const TILE_ERROR_INTERNAL: c_int = 7;

pub(crate) fn code_of(error: &Error) -> c_int {
    match error {
        Error::Shape { .. }
        | Error::InvalidArgument { .. }
        | Error::Arguments(_)
        | Error::NullPointer { .. }
        | Error::Misaligned { .. }
        | Error::TooLarge { .. }
        | Error::GridTooLarge { .. } => TILE_ERROR_ARGUMENT,
        Error::StreamMismatch
        | Error::DeviceMismatch { .. }
        | Error::Foreign { .. }
        | Error::UnknownBackend { .. }
        | Error::UnknownOperation { .. } => TILE_ERROR_ARGUMENT,
        Error::Alias { .. } => TILE_ERROR_OVERLAP,
        Error::NoCuda { .. }
        | Error::NoDevice { .. }
        | Error::DriverTooOld { .. }
        | Error::Forked
        | Error::MissingBundle { .. }
        | Error::NoTarget { .. } => TILE_ERROR_NO_DEVICE,
        Error::OutOfMemory { .. } => TILE_ERROR_MEMORY,
        Error::DeviceLost { .. } => TILE_ERROR_DEVICE_LOST,
        _ => TILE_ERROR_LAUNCH,
    }
}
