//! Streams and memory of cudarc. Its types stand in the public API with the feature `cudarc` alone.

use crate::error::{Error, Result};
use crate::foreign::{Foreign, ForeignMut};
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

impl<'a, T: Element> Foreign<'a, T> {
    /// A slice of cudarc. Launch on `Stream::from_cudarc(&rt, slice.stream())`: then this runtime's work and cudarc's
    /// keep their order. Errors: [`Error::Foreign`] for a slice on another device or in another context.
    ///
    /// # Safety
    /// Work that uses the result is put on a stream made of `slice.stream()`, or is ordered with cudarc's work on the
    /// slice, before and after.
    ///
    /// # Examples
    /// ```no_run
    /// use tilewright::{Foreign, Runtime, Stream};
    ///
    /// let rt = Runtime::cuda(0)?;
    /// let theirs = cudarc::driver::CudaContext::new(0).expect("a GPU").default_stream();
    /// let slice = theirs.alloc_zeros::<f32>(64).expect("memory");
    /// let stream = Stream::from_cudarc(&rt, &theirs)?;
    /// // SAFETY: all work on the slice is put on `stream`.
    /// let x = unsafe { Foreign::from_cudarc(&rt, &slice) }?;
    /// assert_eq!(x.len(), 64);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn from_cudarc(rt: &Runtime, slice: &'a CudaSlice<T>) -> Result<Self> {
        check_context(rt, slice)?;
        let (addr, _recorded) = slice.device_ptr(slice.stream());
        // SAFETY: the slice is borrowed, and lives on the runtime's device.
        Ok(unsafe { Foreign::on(rt.device().place, addr, slice.len()) })
    }
}

impl<'a, T: Element> ForeignMut<'a, T> {
    /// A slice of cudarc, to be written. Errors: as [`Foreign::from_cudarc`].
    ///
    /// # Safety
    /// As [`Foreign::from_cudarc`].
    pub unsafe fn from_cudarc(rt: &Runtime, slice: &'a mut CudaSlice<T>) -> Result<Self> {
        check_context(rt, slice)?;
        let (len, stream) = (slice.len(), slice.stream().clone());
        let (addr, _recorded) = slice.device_ptr_mut(&stream);
        // SAFETY: the slice is borrowed mutably, and lives on the runtime's device.
        Ok(unsafe { ForeignMut::on(rt.device().place, addr, len) })
    }
}

fn check_context<T>(rt: &Runtime, slice: &CudaSlice<T>) -> Result<()> {
    let place = rt.device().place;
    match rt.cuda_context() {
        Some(cuda) if cuda.ordinal as usize != slice.ordinal() => Err(Error::Foreign {
            why: format!("it lives on CUDA device {}, the runtime on {place:?}", slice.ordinal()),
        }),
        Some(cuda) if cuda.context.0 != slice.context().cu_ctx() => Err(Error::Foreign {
            why: format!("it lives in the primary context of its device, the runtime on {place:?}"),
        }),
        Some(_) => Ok(()),
        None => Err(Error::Foreign { why: format!("it lives on a CUDA device, the runtime on {place:?}") }),
    }
}
