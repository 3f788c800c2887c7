//! Scratch memory: what an operation needs between its launches, or between the programs of one.
//!
//! A block is leased for the time in which an operation is enqueued, and goes back to its stream's list when the lease
//! is dropped: whatever uses it next is enqueued on the same stream, thus later. No call into the driver, no waiting.

use crate::blocks::{Block, Blocks};
use crate::error::{Error, Result};
use crate::leases::Used;
use crate::memory::{Memory, byte_count};
use crate::stream::{CudaStream, Stream, StreamInner};
use core::marker::PhantomData;
use std::any::Any;
use std::sync::Arc;
use tilewright_core::{AsSlice, AsSliceMut, DeviceId, Element, RawArg, SliceArg, SliceMutArg};

/// `len` elements of scratch on a stream. Pass `&scratch` for `&[T]`, `&mut scratch` for `&mut [T]`, in launches on
/// that stream, and drop it after the last of them. A launch on another stream runs behind what this one was given
/// before, and this one's later work runs behind the launch.
///
/// The tuner tells scratch from outputs: it restores scratch, but does not compare the contents that two configurations
/// leave in it.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, tile_kernel};
///
/// #[tile_kernel(grid = [cdiv(x.len(), 64)])]
/// fn sums(x: &[f32], partials: &mut [f32]) {
///     store(partials, program_id(0), sum(load(x, program_id(0) * 64 + arange(64))));
/// }
///
/// #[tile_kernel(grid = [1])]
/// fn total(partials: &[f32], y: &mut [f32]) {
///     store(y, 0, sum(load(partials, arange(64))));
/// }
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0f32; 1000])?;
/// let mut y = Buffer::<f32>::zeros(&rt, 1)?;
/// let mut partials = rt.stream().scratch::<f32>(x.len().div_ceil(64))?;
/// rt.launch(sums(&x, &mut partials))?;
/// rt.launch(total(&partials, &mut y))?;
/// assert_eq!(y.to_vec()?, [1000.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub struct Scratch<T> {
    ptr: u64,
    len: usize,
    device: DeviceId,
    lease: Lease,
    stream: Stream,
    /// The launches that had failed when it was leased.
    failed: u64,
    element: PhantomData<T>,
}

#[derive(Clone, Copy)]
enum Lease {
    Nothing,
    Block,
    /// Allocated within the graph of this capture, where it stays.
    Captured(u64),
}

impl Stream {
    /// Scratch of `len` elements with unspecified contents. [`Scratch`] has an example. Errors: [`Error::OutOfMemory`],
    /// [`Error::TooLarge`].
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::cpu();
    /// let sums = rt.stream().scratch::<f32>(100)?;
    /// assert_eq!((sums.len(), sums.is_empty()), (100, false));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn scratch<T: Element>(&self, len: usize) -> Result<Scratch<T>> {
        self.lease(len, false)
    }

    /// Scratch that is zero now and that the operation **leaves zero**: semaphores and counters which the last program
    /// puts back. It is zeroed when it is first allocated, not on each use. Errors: as [`Stream::scratch`].
    ///
    /// # Safety
    /// All elements are zero again after the launches that this value is given to, unless one of them fails. Operations
    /// of libraries are given the same memory later, and their kernels rely on zeros for their own safety.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// /// The last of the programs to arrive stores, and puts the counter back.
    /// #[tile_kernel(grid = [4])]
    /// fn arrive(counter: &mut [u32], y: &mut [u32]) {
    ///     let before = atomic_add(counter, 0, 1);
    ///     if before == 3 {
    ///         store(y, 0, before + 1);
    ///         store(counter, 0, 0);
    ///     }
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// // SAFETY: the kernel puts the counter back.
    /// let mut counter = unsafe { rt.stream().zeroed_scratch::<u32>(1) }?;
    /// let mut y = Buffer::<u32>::zeros(&rt, 1)?;
    /// rt.launch(arrive(&mut counter, &mut y))?;
    /// assert_eq!(y.to_vec()?, [4]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn zeroed_scratch<T: Element>(&self, len: usize) -> Result<Scratch<T>> {
        self.lease(len, true)
    }

    fn lease<T: Element>(&self, len: usize, zeroed: bool) -> Result<Scratch<T>> {
        let device = self.as_cuda().map_or(DeviceId::Host, |s| s.cuda.device());
        let bytes = byte_count::<T>(len)?;
        let (ptr, lease) = match self.as_cuda() {
            _ if bytes == 0 => (64, Lease::Nothing),
            None => (self.lease_host_block(bytes, zeroed)?, Lease::Block),
            Some(s) => {
                let (ptr, capture) = self.lease_device_memory(s, bytes, zeroed)?;
                let owner: Arc<dyn Any + Send + Sync> = self.0.clone();
                s.cuda.leases.begin(ptr..ptr + bytes, Arc::downgrade(&owner), &s.leased, capture);
                (ptr, capture.map_or(Lease::Block, Lease::Captured))
            }
        };
        let failed = self.failures().count();
        Ok(Scratch { ptr, len, device, lease, stream: self.clone(), failed, element: PhantomData })
    }

    fn lease_host_block(&self, bytes: u64, zeroed: bool) -> Result<u64> {
        if let Some(ptr) = self.blocks().reuse(bytes, zeroed) {
            return Ok(ptr);
        }
        let size = block_size(bytes);
        self.trim(size);
        let memory = Memory::host(size)?;
        let ptr = memory.ptr;
        self.blocks().add(Block { ptr, bytes: size, zeroed, leased: true, defined: zeroed, host: Some(memory) });
        Ok(ptr)
    }

    /// A kept block, or memory of the capture that the stream is in: a kept block would be shared with whatever runs
    /// beside the graph when it is replayed.
    fn lease_device_memory(&self, s: &CudaStream, bytes: u64, zeroed: bool) -> Result<(u64, Option<u64>)> {
        let mut size = bytes;
        if s.asks_for_capture()?.is_none() {
            if let Some(ptr) = self.blocks().reuse(bytes, zeroed) {
                return Ok((ptr, None));
            }
            size = block_size(bytes);
            self.trim(size);
        }
        let allocate = || s.allocate(size, zeroed);
        let (ptr, capture) = match s.cuda.retrying(s.raw.0, allocate) {
            Err(Error::OutOfMemory { .. }) => {
                self.trim(u64::MAX);
                s.cuda.retrying(s.raw.0, allocate)?
            }
            other => other?,
        };
        if capture.is_none() {
            self.blocks().add(Block { ptr, bytes: size, zeroed, leased: true, defined: zeroed, host: None });
        }
        Ok((ptr, capture))
    }

    /// Makes room for a block of so many bytes among those that are kept.
    fn trim(&self, coming: u64) {
        self.blocks().trim(coming, |ptr| {
            if let Some(s) = self.as_cuda() {
                // Work on other streams may have used it, too.
                s.cuda.release(ptr);
            }
        });
    }

    pub(crate) fn blocks(&self) -> &Blocks {
        let blocks = match &*self.0 {
            StreamInner::Host(blocks) => blocks,
            StreamInner::Cuda(s) => &s.scratch,
        };
        blocks.get_or_init(Blocks::new)
    }
}

/// Bytes of a block for a lease of so many.
fn block_size(bytes: u64) -> u64 {
    match bytes {
        0..=0x10_0000 => bytes.next_power_of_two().max(256),
        _ => bytes.next_multiple_of(2 << 20),
    }
}

impl CudaStream {
    /// Memory that this stream allocates, and the capture that it belongs to. Errors: the driver's;
    /// [`Error::Unsupported`] where another library begins or ends a capture meanwhile.
    fn allocate(&self, bytes: u64, zeroed: bool) -> Result<(u64, Option<u64>)> {
        // Neither begins nor ends here a capture of this runtime. Nothing below waits for a stream, which would take
        // this lock once more.
        let _captures = self.queue.captures.hold();
        let capture = self.asks_for_capture()?;
        let ptr = self.cuda.try_alloc(bytes, self.raw.0)?;
        let zeros = if zeroed { self.cuda.fill_zero(ptr, bytes, self.raw.0) } else { Ok(()) };
        // An allocation and its zeros are work of the stream, too: the block is freed behind both.
        self.mark(capture);
        let done = zeros.and_then(|()| match self.capture() == capture {
            true => Ok(()),
            false => Err(Error::Unsupported {
                what: "leasing scratch memory while a capture of its stream begins or ends",
                device: self.cuda.info.name.clone(),
                instead: "let other threads use other streams",
            }),
        });
        if let Err(e) = done {
            let _entered = self.cuda.enter();
            // Refused where it is not of the capture that the stream is in now: there the memory stays allocated.
            let _freed = self.cuda.free_here(ptr, self.raw.0);
            return Err(e);
        }
        Ok((ptr, capture))
    }

    /// Makes a block zero again after launches have failed that were to leave it so. `false` where that is refused, or
    /// would be a part of a capture.
    fn zeroes_again(&self, ptr: u64, bytes: u64) -> bool {
        let _captures = self.queue.captures.hold();
        let zeroed = matches!(self.asks_for_capture(), Ok(None))
            && self.cuda.fill_zero(ptr, bytes, self.raw.0).is_ok()
            && matches!(self.asks_for_capture(), Ok(None));
        self.mark(None);
        zeroed
    }
}

impl<T> Scratch<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An argument for a parameter `*const T` or `*mut T`, whose extent is this scratch.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// /// # Safety
    /// /// `partial` addresses an element, which nothing else uses.
    /// #[tile_kernel(grid = [1])]
    /// unsafe fn through(partial: *mut f32, y: &mut [f32]) {
    ///     store(partial, 2.0);
    ///     store(y, 0, load(partial));
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let (partial, mut y) = (rt.stream().scratch::<f32>(1)?, Buffer::<f32>::zeros(&rt, 1)?);
    /// // SAFETY: one element, and the scratch lives until the launch is enqueued.
    /// rt.launch(unsafe { through(partial.raw(), &mut y) })?;
    /// assert_eq!(y.to_vec()?, [2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn raw(&self) -> RawArg<T> {
        RawArg::within(self.ptr, self.len * size_of::<T>(), self.device)
    }
}

impl<'a, T: Element> AsSlice<'a, T> for &'a Scratch<T> {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        // SAFETY: leased, and borrowed for 'a. The block stays allocated until the streams that use it are done.
        unsafe { SliceArg::from_raw(self.ptr, self.len, self.device) }
    }
}

impl<'a, T: Element> AsSliceMut<'a, T> for &'a mut Scratch<T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        // SAFETY: leased to this value alone, and borrowed mutably for 'a. The block stays allocated until the streams
        // that use it are done.
        unsafe { SliceMutArg::from_raw(self.ptr, self.len, self.device) }
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        let failed = self.stream.failures().count() != self.failed;
        let Some(s) = self.stream.as_cuda() else {
            return self.stream.blocks().give_back(self.ptr, failed);
        };
        // In a forked child the memory is the parent's.
        if matches!(self.lease, Lease::Nothing) || s.cuda.api.forked() {
            return;
        }
        let used = s.cuda.leases.end(self.ptr);
        match self.lease {
            Lease::Nothing => {}
            Lease::Block if used == Used::ByGraph => {
                tracing::debug!("scratch memory that a graph uses stays allocated");
                self.stream.blocks().give_up(self.ptr);
            }
            Lease::Block => {
                let zeros = if failed { self.stream.blocks().zeros_of(self.ptr) } else { None };
                let is_whole = used == Used::InOrder && zeros.is_none_or(|bytes| s.zeroes_again(self.ptr, bytes));
                s.scratch_used();
                if is_whole {
                    return self.stream.blocks().give_back(self.ptr, false);
                }
                // Work that this stream does not wait for may still use it, or what was to be zero may not be.
                self.stream.blocks().give_up(self.ptr);
                s.cuda.release(self.ptr);
            }
            // A free outside of its capture, or one that is not ordered, would not be the graph's.
            Lease::Captured(capture)
                if used == Used::InOrder && s.asks_for_capture().map_or(true, |now| now == Some(capture)) =>
            {
                // In a capture that has failed, there is nothing to free.
                let _entered = s.cuda.enter();
                let _freed = s.cuda.free_here(self.ptr, s.raw.0);
            }
            Lease::Captured(_) => tracing::debug!("scratch memory of a graph is not freed in it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Runtime;
    use crate::test_kernel::copy_of;

    #[test]
    fn scratch_is_kept_and_recognized() {
        let rt = Runtime::cpu();
        let s = rt.stream();
        let first = {
            let mut a = s.scratch::<f32>(1000).unwrap();
            let b = s.scratch::<f32>(1000).unwrap();
            let (a, b) = ((&mut a).as_slice_mut_arg(), (&b).as_slice_arg());
            assert_ne!(a.addr(), b.addr());
            assert!(s.blocks().contains(a.addr() + 3999) && !s.blocks().contains(64));
            a.addr()
        };
        assert!(!s.blocks().contains(first), "not leased any more");
        let again = [s.scratch::<f32>(900).unwrap(), s.scratch::<f32>(1000).unwrap()];
        assert!(again.iter().any(|x| x.as_slice_arg().addr() == first));
        // SAFETY: it is only read.
        let ticket = unsafe { s.zeroed_scratch::<u32>(1) }.unwrap();
        // SAFETY: one number on the host, which the lease keeps.
        assert_eq!(unsafe { *(ticket.raw().addr() as *const u32) }, 0);
        assert!(s.scratch::<f32>(0).unwrap().is_empty());
    }

    #[test]
    fn scratch_is_zero_again_after_a_launch_on_another_stream_has_failed() {
        let rt = Runtime::cpu();
        let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
        // SAFETY: a launch that fails need not leave zeros.
        let mut dirty = unsafe { a.zeroed_scratch::<f32>(2) }.unwrap();
        let first = dirty.raw().addr();
        // It asserts after it has written an element.
        let failed = rt.launch_on(&b, copy_of(&[1.0f32, -1.0], &mut dirty));
        assert!(matches!(failed, Err(Error::Assert { .. })), "{failed:?}");
        drop(dirty);
        // SAFETY: it is only read.
        let again = unsafe { a.zeroed_scratch::<f32>(2) }.unwrap();
        assert_eq!(again.raw().addr(), first);
        // SAFETY: two numbers on the host, which the lease keeps.
        assert_eq!(unsafe { *(first as *const [f32; 2]) }, [0.0; 2]);
    }
}
