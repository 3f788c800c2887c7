//! Arrays in the shared memory of a program.

use super::pool::Buffer;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Memory of one program, from the statement that makes the array to the end of its block. Nobody else knows where it
/// is, and no other thread has it.
pub struct SharedArray(Buffer<u64>, PhantomData<*const ()>);

impl SharedArray {
    /// `bytes` bytes, zeros, aligned for all types.
    pub fn new(bytes: usize) -> Self {
        let mut words = Buffer::new(bytes.div_ceil(8));
        words.uninit().fill(MaybeUninit::new(0));
        SharedArray(words, PhantomData)
    }
}

/// The address of the array's first element, for loads, stores and atomics.
#[inline(always)]
pub fn shared_address(array: &SharedArray) -> u64 {
    array.0.as_ptr().expose_provenance() as u64
}
