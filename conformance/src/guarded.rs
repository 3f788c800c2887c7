//! Device arrays with guards on both sides, at an aligned or an odd address.

use tilewright_core::{Element, SliceArg, SliceMutArg};
use tilewright_runtime::Buffer;
use tilewright_runtime::Runtime;
use tilewright_runtime::{Error, Result};

/// Elements before and after the array that nothing may touch. A multiple of 16 bytes for every element type.
const GUARD: usize = 64;

/// `len` elements inside a larger buffer whose rest must stay as it is.
pub struct Guarded<T> {
    buffer: Buffer<T>,
    start: usize,
    len: usize,
    guard: T,
}

impl<T: Element + PartialEq> Guarded<T> {
    /// Holds `data`. With `odd` it starts one element past a 16-byte boundary.
    pub fn new(rt: &Runtime, data: &[T], guard: T, odd: bool) -> Result<Self> {
        let start = GUARD + usize::from(odd);
        let mut all = vec![guard; start + data.len() + GUARD];
        all[start..start + data.len()].copy_from_slice(data);
        Ok(Guarded { buffer: Buffer::from_slice(rt, &all)?, start, len: data.len(), guard })
    }

    /// Holds `len` times `poison`, for an output.
    pub fn poisoned(rt: &Runtime, len: usize, poison: T, odd: bool) -> Result<Self> {
        Self::new(rt, &vec![poison; len], poison, odd)
    }

    /// The array without its guards.
    pub fn get(&self) -> Result<SliceArg<'_, T>> {
        self.buffer.slice(self.start..self.start + self.len)
    }

    /// The array without its guards, to be written.
    pub fn get_mut(&mut self) -> Result<SliceMutArg<'_, T>> {
        self.buffer.slice_mut(self.start..self.start + self.len)
    }

    /// Its contents; an error where a guard has changed.
    pub fn read(&self) -> Result<Vec<T>> {
        let mut all = self.buffer.to_vec()?;
        let end = self.start + self.len;
        // A guard that is a NaN equals nothing, itself included: compare by value and by bits.
        let intact = |v: &T| *v == self.guard || bits(v) == bits(&self.guard);
        if let Some(at) = all[..self.start].iter().chain(&all[end..]).position(|v| !intact(v)) {
            let at = if at < self.start { at as i64 - self.start as i64 } else { at as i64 };
            return Err(Error::Tuning {
                what: "conformance".into(),
                why: format!("element {at} of an array of {} was written", self.len),
            });
        }
        all.truncate(end);
        all.drain(..self.start);
        Ok(all)
    }
}

fn bits<T: Element>(v: &T) -> u64 {
    const { assert!(size_of::<T>() <= size_of::<u64>(), "elements have at most 8 bytes") };
    let mut b = 0u64;
    // SAFETY: both are at least as long as T, by the assertion above, and T has no padding, by `Element`.
    unsafe { core::ptr::copy_nonoverlapping((v as *const T).cast::<u8>(), (&raw mut b).cast::<u8>(), size_of::<T>()) };
    b
}
