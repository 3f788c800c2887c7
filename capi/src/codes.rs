//! The numbers that functions take and return.

use core::ffi::c_int;
use tilewright_runtime::{Error, ErrorKind};

/// The return values of the functions.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)] // The names in C.
pub enum tile_status_t {
    /// Success.
    TILE_OK = 0,
    /// A null pointer, a negative size, a size too large to address, an unknown dtype or precision, shapes that do not
    /// fit together.
    TILE_ERROR_ARGUMENT = 1,
    /// An output overlaps another array in a way that is not allowed.
    TILE_ERROR_OVERLAP = 2,
    /// No usable GPU, driver or compiled kernel; or the process was forked after CUDA was used.
    TILE_ERROR_NO_DEVICE = 3,
    /// Not enough memory.
    TILE_ERROR_MEMORY = 4,
    /// The launch failed; see tile_last_error.
    TILE_ERROR_LAUNCH = 5,
    /// The context is lost: the process cannot use this device any more.
    TILE_ERROR_DEVICE_LOST = 6,
    /// A defect of this library.
    TILE_ERROR_INTERNAL = 7,
}

/// Element types, for arguments called dtype.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)] // The names in C.
pub enum tile_dtype_t {
    TILE_DTYPE_F32 = 0,
    TILE_DTYPE_F16 = 1,
    TILE_DTYPE_BF16 = 2,
    TILE_DTYPE_I8 = 3,
    /// 8-bit floats with 4 bits of exponent and 3 of fraction.
    TILE_DTYPE_F8E4M3 = 4,
    /// 8-bit floats with 5 bits of exponent and 2 of fraction.
    TILE_DTYPE_F8E5M2 = 5,
}

/// The arithmetic of products of f32, for arguments called precision.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)] // The names in C.
pub enum tile_precision_t {
    /// TILE_PRECISION_F32.
    TILE_PRECISION_DEFAULT = 0,
    /// As accurate as multiply-adds in f32.
    TILE_PRECISION_F32 = 1,
    /// Operands are rounded to tf32, of 10 bits of fraction. Of TILE_DTYPE_F32 alone.
    TILE_PRECISION_TF32 = 2,
}

// Arguments and results are ints: a C caller may pass any number, which a Rust enum must not hold. By a macro, which
// cbindgen does not expand: the header has the enumerators.
macro_rules! numbers { ($($of:ident: $($name:ident)*;)*) => { $($(
    pub const $name: c_int = $of::$name as c_int;
)*)* } }
numbers! {
    tile_status_t: TILE_OK TILE_ERROR_ARGUMENT TILE_ERROR_OVERLAP TILE_ERROR_NO_DEVICE TILE_ERROR_MEMORY
        TILE_ERROR_LAUNCH TILE_ERROR_DEVICE_LOST TILE_ERROR_INTERNAL;
    tile_dtype_t: TILE_DTYPE_F32 TILE_DTYPE_F16 TILE_DTYPE_BF16 TILE_DTYPE_I8 TILE_DTYPE_F8E4M3 TILE_DTYPE_F8E5M2;
    tile_precision_t: TILE_PRECISION_DEFAULT TILE_PRECISION_F32 TILE_PRECISION_TF32;
}

pub(crate) fn code_of(error: &Error) -> c_int {
    match error.kind() {
        ErrorKind::Argument => TILE_ERROR_ARGUMENT,
        ErrorKind::Overlap => TILE_ERROR_OVERLAP,
        ErrorKind::NoDevice => TILE_ERROR_NO_DEVICE,
        ErrorKind::OutOfMemory => TILE_ERROR_MEMORY,
        ErrorKind::DeviceLost => TILE_ERROR_DEVICE_LOST,
        _ => TILE_ERROR_LAUNCH,
    }
}
