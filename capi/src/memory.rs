//! The caller's memory: checked before anything else happens.

use crate::guard::{Failure, Result};
use core::ffi::{c_int, c_longlong};
use tilewright_core::{DeviceId, Element, SliceArg, SliceMutArg};

/// A size that must not be negative.
pub(crate) fn size(name: &str, n: impl Into<i64>) -> Result<usize> {
    let n = n.into();
    usize::try_from(n).map_err(|_| Failure::argument(format!("{name} is {n}: a size cannot be negative")))
}

pub(crate) fn long(name: &str, n: c_longlong) -> Result<usize> {
    size(name, n)
}

pub(crate) fn int(name: &str, n: c_int) -> Result<usize> {
    size(name, n)
}

/// 0 or 1.
pub(crate) fn flag(name: &str, v: c_int) -> Result<bool> {
    match v {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::argument(format!("{name} is {v}: 0 or 1"))),
    }
}

/// The product of two sizes.
pub(crate) fn area(rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols)
        .ok_or_else(|| Failure::argument(format!("{rows} x {cols} elements are more than 64 bits count")))
}

/// The product of extents; without one of them there is nothing, however large the others are.
pub(crate) fn volume(extents: &[usize]) -> Result<usize> {
    if extents.contains(&0) { Ok(0) } else { extents.iter().try_fold(1, |n, &e| area(n, e)) }
}

/// How many elements of an operand are looked at. Without results nothing is computed. Then no element is read, for any
/// extents and pointer of the operand.
pub(crate) fn operand(extents: &[usize], results: usize) -> Result<usize> {
    if results == 0 { Ok(0) } else { volume(extents) }
}

/// An array as it was handed over.
#[derive(Clone, Copy)]
pub(crate) struct Array<'a, T> {
    name: &'a str,
    ptr: *const T,
    len: usize,
}

impl<'a, T: Element> Array<'a, T> {
    /// Not null, aligned to its element, and of a size that can be addressed. Without elements anything is fine.
    ///
    /// # Safety
    /// The pointer is an argument of the C function that is called. It addresses `len` elements on the device of the
    /// call, which live and are the caller's until the operation is done, for this library to read, and to write where
    /// [`Array::output`] is asked for.
    pub unsafe fn new(name: &'a str, ptr: *const T, len: usize) -> Result<Self> {
        let a = Array { name, ptr, len };
        if len == 0 {
            return Ok(a);
        }
        let bytes = len.checked_mul(size_of::<T>()).filter(|b| *b <= isize::MAX as usize);
        let Some(bytes) = bytes else {
            return Err(Failure::argument(format!(
                "{name}: {len} elements of {} bytes are more than can be addressed",
                size_of::<T>()
            )));
        };
        if ptr.is_null() {
            return Err(Failure::argument(format!("{name} is a null pointer, with {len} elements")));
        }
        if !(ptr as usize).is_multiple_of(size_of::<T>()) {
            let why =
                format!("{name} is at {ptr:p}, which is not a multiple of its element size, {} bytes", size_of::<T>());
            return Err(Failure::argument(why));
        }
        if (ptr as usize).checked_add(bytes).is_none() {
            return Err(Failure::argument(format!(
                "{name}: {len} elements at {ptr:p} reach past the end of the address space"
            )));
        }
        Ok(a)
    }

    fn range(&self) -> (usize, usize) {
        (self.ptr as usize, self.ptr as usize + self.len * size_of::<T>())
    }

    /// At the place of the call, as [`backend::with`](crate::backend::with) gives it.
    pub fn input(&self, device: DeviceId) -> SliceArg<'a, T> {
        // SAFETY: the contract of `new`.
        unsafe { SliceArg::from_raw(self.ptr as u64, self.len, device) }
    }

    /// The same, to write. Of an array that no other argument overlaps, or, in an element-wise operation, one that is
    /// it.
    pub fn output(&self, device: DeviceId) -> SliceMutArg<'a, T> {
        // SAFETY: the contract of `new`; each operation asks once.
        unsafe { SliceMutArg::from_raw(self.ptr as u64, self.len, device) }
    }

    /// No byte in common with `other`.
    pub fn apart<U: Element>(&self, other: &Array<U>) -> Result<()> {
        let ((a, b), (c, d)) = (self.range(), other.range());
        if a < d && c < b && self.len > 0 && other.len > 0 {
            return Err(Failure::overlap(format!(
                "{} and {} overlap: give the output memory of its own",
                self.name, other.name
            )));
        }
        Ok(())
    }

    /// No byte in common with `other`, or all of them.
    pub fn apart_or_same(&self, other: &Array<T>) -> Result<()> {
        if self.range() == other.range() { Ok(()) } else { self.apart(other) }
    }
}

/// An array of `len` elements; without any where the pointer is null.
///
/// # Safety
/// As of [`Array::new`].
pub(crate) unsafe fn optional<T: Element>(name: &'static str, ptr: *const T, len: usize) -> Result<Array<'static, T>> {
    // SAFETY: the caller's contract.
    unsafe { Array::new(name, ptr, if ptr.is_null() { 0 } else { len }) }
}
