//! Untyped memory of a device.

use crate::cuda::Cuda;
use crate::cuda::sys::DEFAULT_STREAM;
use crate::error::{Error, Result};
use core::mem::MaybeUninit;
use std::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;
use tilewright_core::{DeviceId, Element};

/// Bytes of `len` elements; an error where that is more than an allocation can be.
pub(crate) fn byte_count<T>(len: usize) -> Result<u64> {
    match len.checked_mul(size_of::<T>()) {
        Some(b) if b <= isize::MAX as usize - ALIGN => Ok(b as u64),
        _ => Err(Error::TooLarge { len, size: size_of::<T>() }),
    }
}

const ALIGN: usize = 64;

/// The bytes of elements.
pub(crate) fn bytes_of<T: Element>(data: &[T]) -> &[u8] {
    // SAFETY: the bytes of the slice; elements have no padding.
    unsafe { core::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

/// The bytes of elements that need not be initialized.
pub(crate) fn bytes_of_uninit<T>(data: &mut [MaybeUninit<T>]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the bytes of the slice, none of which has to be initialized.
    unsafe { core::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), size_of_val(data)) }
}

/// Untyped memory and how to give it back.
pub(crate) struct Memory {
    pub ptr: u64,
    pub cuda: Option<Arc<Cuda>>,
    /// The pointer that `calloc` gave, and its size.
    host: Option<(usize, Layout)>,
}

impl Memory {
    /// Zeroed host memory.
    pub(crate) fn host(bytes: u64) -> Result<Memory> {
        if bytes == 0 {
            return Ok(Memory { ptr: ALIGN as u64, cuda: None, host: None });
        }
        let oom = Error::OutOfMemory { device: DeviceId::Host, bytes, free: None };
        // A larger alignment would turn calloc into an allocation and a memset, which touches every page: ask for
        // room to align in.
        let Ok(layout) = Layout::from_size_align(bytes as usize + ALIGN, 16) else { return Err(oom) };
        // SAFETY: the size is not zero.
        let base = unsafe { std::alloc::alloc_zeroed(layout) } as usize;
        if base == 0 {
            return Err(oom);
        }
        Ok(Memory { ptr: base.next_multiple_of(ALIGN) as u64, cuda: None, host: Some((base, layout)) })
    }

    /// Device memory, of zeros on request.
    pub(crate) fn cuda(cuda: &Arc<Cuda>, bytes: u64, zeroed: bool) -> Result<Memory> {
        let ptr = if bytes == 0 { ALIGN as u64 } else { cuda.alloc(bytes, DEFAULT_STREAM)? };
        let memory = Memory { ptr, cuda: Some(cuda.clone()), host: None };
        if zeroed && bytes > 0 {
            cuda.fill_zero(ptr, bytes, DEFAULT_STREAM)?;
        }
        // Behind the zeros: a stream that waits for so many allocations has waited for them, too.
        cuda.allocations.fetch_add(1, Release);
        Ok(memory)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match (&self.cuda, self.host) {
            // SAFETY: `Memory::host` allocated it with this layout. Work on the host is done when a launch returns.
            (None, Some((base, layout))) => unsafe { std::alloc::dealloc(base as *mut u8, layout) },
            (Some(cuda), _) if self.ptr != ALIGN as u64 => {
                cuda.release(self.ptr);
            }
            _ => {}
        }
    }
}
