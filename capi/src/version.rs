//! The versions of the library and of its ABI.

use core::ffi::{CStr, c_char, c_int};

/// The number of this ABI. It is one more in each release in which a function or a constant of these headers is gone,
/// or has other arguments, another value or another meaning. New functions and constants do not change it. A program
/// may compare it with tile_abi_version().
pub const TILE_ABI_VERSION: c_int = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};

/// The TILE_ABI_VERSION of the library that is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn tile_abi_version() -> c_int {
    TILE_ABI_VERSION
}

/// The version of the library that is loaded, as in "1.2.3". The string lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn tile_version() -> *const c_char {
    VERSION.as_ptr()
}
