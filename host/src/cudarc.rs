//! Streams and memory of cudarc. Its types stand in the public API with the feature `cudarc` alone.

use crate::error::{Error, Result};
use crate::external::{ExternalSlice, ExternalSliceMut};
use crate::runtime::Runtime;
use crate::stream::Stream;
use ::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;
use tilewright_core::Element;

impl Stream {
    /// Work on cudarc's stream, so that launches and cudarc's own calls keep their order. Its context must be the
    /// device's primary one, as cudarc's always is. Errors: as [`Stream::from_raw`].
    ///
    /// # Examples
    /// ```no_run
    /// use tilewright::{Runtime, Stream};
    ///
    /// let theirs = cudarc::driver::CudaContext::new(0).expect("a GPU").default_stream();
    /// let stream = Stream::from_cudarc(&Runtime::cuda(0)?, &theirs)?;
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn from_cudarc(rt: &Runtime, stream: &Arc<CudaStream>) -> Result<Stream> {
        // SAFETY: the `Arc` that is kept keeps the stream.
        let raw = unsafe { Stream::from_raw(rt, stream.cu_stream().cast()) }?;
        Ok(raw.keeping(stream.clone()))
    }
}

impl<'a, T: Element> ExternalSlice<'a, T> {
    /// A slice of cudarc. Launch on `Stream::from_cudarc(&rt, slice.stream())`: then this runtime's work and cudarc's
    /// keep their order. Errors: [`Error::ExternalMemory`] for a slice on another device or in another context.
    ///
    /// # Safety
    /// Work that uses the result is put on a stream made of `slice.stream()`, or is ordered with cudarc's work on the
    /// slice, before and after.
    ///
    /// # Examples
    /// ```no_run
    /// use tilewright::{ExternalSlice, Runtime, Stream};
    ///
    /// let rt = Runtime::cuda(0)?;
    /// let theirs = cudarc::driver::CudaContext::new(0).expect("a GPU").default_stream();
    /// let slice = theirs.alloc_zeros::<f32>(64).expect("memory");
    /// let stream = Stream::from_cudarc(&rt, &theirs)?;
    /// // SAFETY: all work on the slice is put on `stream`.
    /// let x = unsafe { ExternalSlice::from_cudarc(&rt, &slice) }?;
    /// assert_eq!(x.len(), 64);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn from_cudarc(rt: &Runtime, slice: &'a CudaSlice<T>) -> Result<Self> {
        check_context(rt, slice)?;
        let (addr, _recorded) = slice.device_ptr(slice.stream());
        // SAFETY: the slice is borrowed, and lives on the runtime's device.
        Ok(unsafe { ExternalSlice::on(rt.device().id, addr, slice.len()) })
    }
}

impl<'a, T: Element> ExternalSliceMut<'a, T> {
    /// A slice of cudarc, to be written. Errors: as [`ExternalSlice::from_cudarc`].
    ///
    /// # Safety
    /// As [`ExternalSlice::from_cudarc`].
    pub unsafe fn from_cudarc(rt: &Runtime, slice: &'a mut CudaSlice<T>) -> Result<Self> {
        check_context(rt, slice)?;
        let (len, stream) = (slice.len(), slice.stream().clone());
        let (addr, _recorded) = slice.device_ptr_mut(&stream);
        // SAFETY: the slice is borrowed mutably, and lives on the runtime's device.
        Ok(unsafe { ExternalSliceMut::on(rt.device().id, addr, len) })
    }
}

fn check_context<T>(rt: &Runtime, slice: &CudaSlice<T>) -> Result<()> {
    let device = rt.device().id;
    match rt.cuda_context() {
        Some(cuda) if cuda.ordinal as usize != slice.ordinal() => Err(Error::ExternalMemory {
            why: format!("it lives on CUDA device {}, the runtime on {device:?}", slice.ordinal()),
        }),
        Some(cuda) if cuda.raw.0 != slice.context().cu_ctx() => Err(Error::ExternalMemory {
            why: format!("it lives in the primary context of its device, the runtime on {device:?}"),
        }),
        Some(_) => Ok(()),
        None => Err(Error::ExternalMemory { why: format!("it lives on a CUDA device, the runtime on {device:?}") }),
    }
}
