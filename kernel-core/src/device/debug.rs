//! Assertions and prints of a kernel.

use core::ffi::CStr;

use super::{Mem, hw, mem};

/// Stops the launch with `msg` unless `c` holds: on CUDA the driver prints it and the context reports an assertion.
#[inline(always)]
pub fn assert(c: bool, msg: &'static CStr, site: u32) {
    if !c {
        hw::assert_failed(msg, site);
    }
}

/// Prints the message, the program, the thread and its value.
#[inline(always)]
pub fn print<T: Mem>(msg: &'static CStr, v: T, site: u32) {
    hw::print(msg, mem::widen(v), site);
}
