//! Typed memory on the device of a runtime.

use crate::cuda::sys::DEFAULT_STREAM;
use crate::error::{Error, Result};
use crate::memory::{Memory, byte_count, bytes_of, bytes_of_uninit};
use crate::runtime::Runtime;
use crate::stream::{CudaStream, Stream};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Bound, RangeBounds};
use std::sync::Arc;
use tilewright_core::{
    AsSlice, AsSliceMut, DType, DeviceId, Element, RawArg, SliceArg, SliceMutArg, ViewArg, ViewMutArg,
};

/// `len` elements of `T` on a runtime's device, contiguous, aligned to 64 bytes at least. Pass `&buffer` for `&[T]` and
/// `&mut buffer` for `&mut [T]`.
///
/// Allocation, copies and the release on drop are ordered on the runtime's default stream; a drop never waits.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
/// let mut y = Buffer::<f32>::zeros(&rt, 3)?;
/// y.copy_from_buffer(&x)?;
/// assert_eq!((y.len(), y.bytes(), y.to_vec()?), (3, 12, vec![1.0, 2.0, 3.0]));
/// y.copy_from(&[4.0, 5.0, 6.0])?;
/// let mut back = [0.0; 3];
/// y.copy_to(&mut back)?;
/// assert_eq!(back, [4.0, 5.0, 6.0]);
/// y.fill_zero()?;
/// assert_eq!(y.as_host(), Some(&[0.0; 3][..]));
/// # Ok::<(), tilewright::Error>(())
/// ```
/// Parts of a buffer and views of it are arguments, too:
/// ```
/// # use tilewright::{Buffer, Runtime};
/// # let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
/// assert_eq!(x.slice(1..3)?.len(), 2);
/// assert_eq!(x.view([2, 2])?.strides(), [2, 1]);
/// let mut y = Buffer::<f32>::zeros(&rt, 4)?;
/// let (head, tail) = y.split_at_mut(1)?;
/// assert_eq!((head.len(), tail.len()), (1, 3));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub struct Buffer<T> {
    memory: Memory,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// Memory with unspecified contents. Errors: [`Error::OutOfMemory`], [`Error::TooLarge`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let mut x = Buffer::<f32>::alloc(&Runtime::cpu(), 2)?;
    /// x.copy_from(&[1.0, 2.0])?; // before the first read
    /// assert_eq!(x.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn alloc(rt: &Runtime, len: usize) -> Result<Self> {
        Self::allocated(rt, len, false)
    }

    fn allocated(rt: &Runtime, len: usize, zeroed: bool) -> Result<Self> {
        let bytes = byte_count::<T>(len)?;
        let memory = match rt.cuda_context() {
            // Host memory comes from calloc: it is zero without having been touched.
            None => Memory::host(bytes)?,
            Some(cuda) => Memory::cuda(cuda, bytes, zeroed)?,
        };
        Ok(Buffer { memory, len, element: PhantomData })
    }

    /// Memory full of zeros. Errors: as [`Buffer::alloc`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// assert_eq!(Buffer::<i32>::zeros(&Runtime::cpu(), 3)?.to_vec()?, [0, 0, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn zeros(rt: &Runtime, len: usize) -> Result<Self> {
        Self::allocated(rt, len, true)
    }

    /// A copy of host data. Errors: as [`Buffer::alloc`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let x = Buffer::from_slice(&Runtime::cpu(), &[1u8, 2, 3])?;
    /// assert_eq!(x.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn from_slice(rt: &Runtime, data: &[T]) -> Result<Self> {
        let mut buffer = Self::alloc(rt, data.len())?;
        match &buffer.memory.cuda {
            // Nobody has it yet: there is no other stream to wait for.
            Some(cuda) if !data.is_empty() => cuda.upload(buffer.memory.ptr, bytes_of(data), DEFAULT_STREAM)?,
            _ => buffer.copy_from(data)?,
        }
        Ok(buffer)
    }

    /// Overwrites all elements from the host; `src` may be reused on return. Errors: [`Error::Shape`] unless the
    /// lengths are equal.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Error, Runtime};
    ///
    /// let mut x = Buffer::<f32>::zeros(&Runtime::cpu(), 2)?;
    /// x.copy_from(&[1.0, 2.0])?;
    /// assert_eq!(x.to_vec()?, [1.0, 2.0]);
    /// assert!(matches!(x.copy_from(&[1.0]), Err(Error::Shape { .. })));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn copy_from(&mut self, src: &[T]) -> Result<()> {
        self.same_len("Buffer::copy_from", src.len())?;
        if self.len == 0 {
            return Ok(());
        }
        match &self.memory.cuda {
            Some(cuda) => {
                cuda.join_streams()?;
                cuda.upload(self.memory.ptr, bytes_of(src), DEFAULT_STREAM)
            }
            None => {
                // SAFETY: both have `len` elements, and `self` is borrowed mutably.
                unsafe { core::ptr::copy_nonoverlapping(src.as_ptr(), self.memory.ptr as *mut T, self.len) };
                Ok(())
            }
        }
    }

    /// Reads all elements, after the work put on the streams of the runtime so far. Errors: [`Error::Shape`] unless the
    /// lengths are equal, and those of the work.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let (x, mut host) = (Buffer::from_slice(&Runtime::cpu(), &[1.0f32, 2.0])?, [0.0; 2]);
    /// x.copy_to(&mut host)?;
    /// assert_eq!(host, [1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn copy_to(&self, dst: &mut [T]) -> Result<()> {
        self.same_len("Buffer::copy_to", dst.len())?;
        if T::DTYPE == DType::Bool {
            // Where a copy fails half way, bytes that are no `bool` stay there.
            dst.copy_from_slice(&self.to_vec()?);
            return Ok(());
        }
        let dst: *mut [T] = dst;
        // SAFETY: the slice is borrowed mutably, and `read` writes only initialized elements, of which all patterns are
        // valid.
        self.read(unsafe { &mut *(dst as *mut [MaybeUninit<T>]) }, None)
    }

    /// Reads all elements, after the work put on the streams of the runtime so far. Errors: [`Error::OutOfMemory`], and
    /// those of the work.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn ones(y: &mut [f32]) {
    ///     store(y, arange(2), 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
    /// rt.launch(ones(&mut y))?;
    /// assert_eq!(y.to_vec()?, [1.0, 1.0]); // waits for the launch
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.read_vec(None)
    }

    /// Reads all elements, after the work put on `stream` so far, which may still go on elsewhere. Errors: as
    /// [`Buffer::to_vec`]; [`Error::StreamMismatch`] for a stream of another context.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, Stream, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn ones(y: &mut [f32]) {
    ///     store(y, arange(2), 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let (stream, mut y) = (Stream::new(&rt)?, Buffer::<f32>::zeros(&rt, 2)?);
    /// rt.launch_on(&stream, ones(&mut y))?;
    /// assert_eq!(y.to_vec_on(&stream)?, [1.0, 1.0]); // waits for this stream alone
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn to_vec_on(&self, stream: &Stream) -> Result<Vec<T>> {
        if let Some(s) = stream.as_cuda() {
            if self.memory.cuda.as_ref().is_some_and(|cuda| !Arc::ptr_eq(cuda, &s.cuda)) {
                return Err(Error::StreamMismatch { what: "stream" });
            }
            let _entered = s.cuda.enter()?;
            s.behind_allocations()?;
        }
        self.read_vec(stream.as_cuda().filter(|s| s.raw.0 != DEFAULT_STREAM))
    }

    /// Overwrites all elements with those of another buffer of the same runtime, on the default stream.
    /// Errors: [`Error::Shape`] unless the lengths are equal; [`Error::StreamMismatch`] where the other buffer is on
    /// another device.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let (x, mut y) = (Buffer::from_slice(&rt, &[1.0f32, 2.0])?, Buffer::<f32>::zeros(&rt, 2)?);
    /// y.copy_from_buffer(&x)?;
    /// assert_eq!(y.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn copy_from_buffer(&mut self, src: &Buffer<T>) -> Result<()> {
        self.same_len("Buffer::copy_from_buffer", src.len)?;
        match (&self.memory.cuda, &src.memory.cuda) {
            _ if self.len == 0 => Ok(()),
            (Some(cuda), Some(other)) if !Arc::ptr_eq(cuda, other) => Err(Error::StreamMismatch { what: "buffer" }),
            (Some(cuda), Some(_)) => {
                cuda.join_streams()?;
                cuda.copy(self.memory.ptr, src.memory.ptr, self.bytes() as u64, DEFAULT_STREAM)
            }
            (None, None) => {
                // SAFETY: two allocations of `len` elements.
                unsafe {
                    core::ptr::copy_nonoverlapping(src.memory.ptr as *const T, self.memory.ptr as *mut T, self.len)
                };
                Ok(())
            }
            _ => Err(Error::StreamMismatch { what: "buffer" }),
        }
    }

    /// Sets every byte to zero, on the default stream. Errors: the driver's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let mut x = Buffer::from_slice(&Runtime::cpu(), &[1.0f32, 2.0])?;
    /// x.fill_zero()?;
    /// assert_eq!(x.to_vec()?, [0.0, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn fill_zero(&mut self) -> Result<()> {
        match &self.memory.cuda {
            _ if self.len == 0 => Ok(()),
            Some(cuda) => {
                cuda.join_streams()?;
                cuda.fill_zero(self.memory.ptr, self.bytes() as u64, DEFAULT_STREAM)
            }
            None => {
                // SAFETY: zero is a value of every element type.
                unsafe { core::ptr::write_bytes(self.memory.ptr as *mut T, 0, self.len) };
                Ok(())
            }
        }
    }

    /// Part of the buffer. Errors: [`Error::OutOfRange`] where the range leaves it.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Error, Runtime};
    ///
    /// let x = Buffer::from_slice(&Runtime::cpu(), &[1.0f32, 2.0, 3.0])?;
    /// assert_eq!((x.slice(1..)?.len(), x.slice(..)?.len()), (2, 3));
    /// assert!(matches!(x.slice(2..4), Err(Error::OutOfRange { end: 4, len: 3, .. })));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<SliceArg<'_, T>> {
        let (start, len) = self.range("Buffer::slice", range)?;
        // SAFETY: within the buffer, which is borrowed.
        Ok(unsafe { SliceArg::from_raw(self.at(start), len, self.device()) })
    }

    /// Part of the buffer, to write. Errors: [`Error::OutOfRange`] where the range leaves it.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn ones(y: &mut [f32]) {
    ///     store(y, arange(4), 1.0); // stores past the end are dropped
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let mut y = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(ones(y.slice_mut(1..3)?))?;
    /// assert_eq!(y.to_vec()?, [0.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMutArg<'_, T>> {
        let (start, len) = self.range("Buffer::slice_mut", range)?;
        // SAFETY: within the buffer, which is borrowed mutably.
        Ok(unsafe { SliceMutArg::from_raw(self.at(start), len, self.device()) })
    }

    /// Two parts that may be written at the same time. Errors: [`Error::OutOfRange`] where `mid` is past the end.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn fill(a: &mut [f32], b: &mut [f32]) {
    ///     store(a, arange(4), 1.0);
    ///     store(b, arange(4), 2.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let mut y = Buffer::<f32>::zeros(&rt, 3)?;
    /// let (head, tail) = y.split_at_mut(1)?;
    /// rt.launch(fill(head, tail))?;
    /// assert_eq!(y.to_vec()?, [1.0, 2.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(SliceMutArg<'_, T>, SliceMutArg<'_, T>)> {
        let (_, tail) = self.range("Buffer::split_at_mut", mid..)?;
        // SAFETY: disjoint parts of a buffer that is borrowed mutably.
        unsafe {
            Ok((
                SliceMutArg::from_raw(self.at(0), mid, self.device()),
                SliceMutArg::from_raw(self.at(mid), tail, self.device()),
            ))
        }
    }

    /// The buffer as a row-major tensor. Errors: [`Error::View`] unless the extents multiply to the length.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Error, Runtime};
    ///
    /// let x = Buffer::<f32>::zeros(&Runtime::cpu(), 6)?;
    /// let rows = x.view([2, 3])?;
    /// assert_eq!((rows.dims(), rows.strides()), ([2, 3], [3, 1]));
    /// assert!(matches!(x.view([2, 2]), Err(Error::View(_))));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn view<const R: usize>(&self, dims: [usize; R]) -> Result<ViewArg<'_, T, R>> {
        Ok(self.slice(..)?.view(dims)?)
    }

    /// The buffer as a row-major tensor, to write. Errors: as [`Buffer::view`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn first_row(mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], full([1, 4], 1.0));
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let mut y = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(first_row(y.view_mut([2, 2])?))?;
    /// assert_eq!(y.to_vec()?, [1.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn view_mut<const R: usize>(&mut self, dims: [usize; R]) -> Result<ViewMutArg<'_, T, R>> {
        Ok(self.slice_mut(..)?.view(dims)?)
    }

    /// The elements in host memory; `None` on a GPU.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let x = Buffer::from_slice(&Runtime::cpu(), &[1.0f32, 2.0])?;
    /// assert_eq!(x.as_host(), Some(&[1.0, 2.0][..]));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn as_host(&self) -> Option<&[T]> {
        // SAFETY: `len` elements, initialized (calloc at least), and CPU work is done when a launch returns.
        self.memory
            .cuda
            .is_none()
            .then(|| unsafe { core::slice::from_raw_parts(self.memory.ptr as *const T, self.len) })
    }

    /// Address of the first element on the device; not null, whatever the length.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let x = Buffer::<f32>::zeros(&Runtime::cpu(), 2)?;
    /// assert!(x.addr() != 0 && x.addr() % 64 == 0);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn addr(&self) -> u64 {
        self.memory.ptr
    }

    /// An argument for a parameter `*const T` or `*mut T`, whose extent is the buffer. The caller keeps the buffer
    /// alive until the launch is done.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, tile_kernel};
    ///
    /// /// # Safety
    /// /// `p` addresses `n` elements, which nothing else uses.
    /// #[tile_kernel(grid = [1])]
    /// unsafe fn ones(p: *mut f32, n: usize) {
    ///     store(p.add(arange(4)), 1.0).mask(arange(4) < n);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let y = Buffer::<f32>::zeros(&rt, 3)?;
    /// // SAFETY: `y` has three elements, and it lives until they are read.
    /// rt.launch(unsafe { ones(y.raw(), 3) })?;
    /// assert_eq!(y.to_vec()?, [1.0; 3]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn raw(&self) -> RawArg<T> {
        RawArg::within(self.addr(), self.bytes(), self.device())
    }

    fn at(&self, index: usize) -> u64 {
        self.memory.ptr + (index * size_of::<T>()) as u64
    }

    fn range(&self, what: &'static str, range: impl RangeBounds<usize>) -> Result<(usize, usize)> {
        let start = match range.start_bound() {
            Bound::Included(&i) => i,
            Bound::Excluded(&i) => i.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            // No buffer has this many elements.
            Bound::Included(&i) => i.saturating_add(1),
            Bound::Excluded(&i) => i,
            Bound::Unbounded => self.len,
        };
        if start <= end && end <= self.len {
            return Ok((start, end - start));
        }
        Err(Error::OutOfRange { what, start, end, len: self.len })
    }

    fn same_len(&self, what: &'static str, other: usize) -> Result<()> {
        if self.len == other {
            return Ok(());
        }
        Err(Error::Shape { what, why: format!("the buffer has {} elements, the other side {other}", self.len) })
    }

    fn read_vec(&self, stream: Option<&CudaStream>) -> Result<Vec<T>> {
        let mut v = Vec::new();
        v.try_reserve_exact(self.len).map_err(|_| Error::OutOfMemory {
            device: DeviceId::Host,
            bytes: self.bytes() as u64,
            free: None,
        })?;
        self.read(&mut v.spare_capacity_mut()[..self.len], stream)?;
        // SAFETY: `read` has written `len` elements.
        unsafe { v.set_len(self.len) };
        Ok(v)
    }

    /// Writes all of `dst`, which has `len` elements, behind the work of `stream`, or of all streams. Where this fails,
    /// bytes that are no element may be left there.
    fn read(&self, dst: &mut [MaybeUninit<T>], stream: Option<&CudaStream>) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        match &self.memory.cuda {
            Some(cuda) => match stream {
                Some(s) => s.queue.download(cuda, bytes_of_uninit(dst), self.memory.ptr)?,
                None => {
                    cuda.join_streams()?;
                    cuda.download(bytes_of_uninit(dst), self.memory.ptr, DEFAULT_STREAM)?
                }
            },
            // SAFETY: the buffer's `len` elements, which nobody writes while it is borrowed.
            None => dst.copy_from_slice(unsafe {
                core::slice::from_raw_parts(self.memory.ptr as *const MaybeUninit<T>, self.len)
            }),
        }
        if T::DTYPE == DType::Bool {
            // Device memory that nothing has written may hold any byte; a `bool` may not.
            for b in bytes_of_uninit(dst) {
                // SAFETY: written above.
                *b = MaybeUninit::new(u8::from(unsafe { b.assume_init() } != 0));
            }
        }
        Ok(())
    }
}

impl<T> Buffer<T> {
    /// The number of elements.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, DeviceId, Runtime};
    ///
    /// let x = Buffer::<f32>::zeros(&Runtime::cpu(), 2)?;
    /// assert_eq!((x.len(), x.is_empty(), x.bytes(), x.device()), (2, false, 8, DeviceId::Host));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The device whose memory it is.
    pub fn device(&self) -> DeviceId {
        self.memory.cuda.as_ref().map_or(DeviceId::Host, |c| c.device())
    }
}

impl Runtime {
    /// A buffer with unspecified contents: [`Buffer::alloc`].
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::cpu();
    /// let mut x = rt.alloc::<f32>(2)?;
    /// x.copy_from(&[1.0, 2.0])?;
    /// assert_eq!(x.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn alloc<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::alloc(self, len)
    }

    /// A buffer of zeros: [`Buffer::zeros`].
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::zeros(self, len)
    }

    /// A buffer with a copy of host data: [`Buffer::from_slice`].
    pub fn from_slice<T: Element>(&self, data: &[T]) -> Result<Buffer<T>> {
        Buffer::from_slice(self, data)
    }
}

impl<T> core::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Buffer<{}>[{}; {:?}]", core::any::type_name::<T>(), self.len, self.device())
    }
}

impl<'a, T: Element> AsSlice<'a, T> for &'a Buffer<T> {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        // SAFETY: the whole buffer, borrowed.
        unsafe { SliceArg::from_raw(self.memory.ptr, self.len, self.device()) }
    }
}

impl<'a, T: Element> AsSliceMut<'a, T> for &'a mut Buffer<T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        // SAFETY: the whole buffer, borrowed mutably.
        unsafe { SliceMutArg::from_raw(self.memory.ptr, self.len, self.device()) }
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Buffer<f32>>();
};
