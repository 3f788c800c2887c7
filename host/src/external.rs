//! Memory that someone else owns, borrowed without a copy.

use crate::error::{Error, Result};
use crate::runtime::Runtime;
use core::marker::PhantomData;
use tilewright_core::{AsSlice, AsSliceMut, DeviceId, Element, SliceArg, SliceMutArg};

/// Contiguous memory of another library, borrowed. A kernel takes a reference to it for a `&[T]`.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, ExternalSlice, Runtime, tile_kernel};
///
/// #[tile_kernel(grid = [1])]
/// fn copy(x: &[f32], y: &mut [f32]) {
///     store(y, arange(2), load(x, arange(2)));
/// }
///
/// let rt = Runtime::cpu();
/// let theirs = vec![1.0f32, 2.0];
/// // SAFETY: two elements, which live and stay unwritten as long as `x`.
/// let x = unsafe { ExternalSlice::from_raw(&rt, theirs.as_ptr(), theirs.len()) }?;
/// let mut y = Buffer::<f32>::zeros(&rt, x.len())?;
/// rt.launch(copy(&x, &mut y))?;
/// assert_eq!(y.to_vec()?, theirs);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ExternalSlice<'a, T> {
    addr: u64,
    len: usize,
    device: DeviceId,
    borrow: PhantomData<&'a [T]>,
}

/// Contiguous memory of another library, borrowed to be written. A kernel takes `&mut` of it for a `&mut [T]`.
///
/// # Examples
/// ```
/// use tilewright::{ExternalSliceMut, Runtime, tile_kernel};
///
/// #[tile_kernel(grid = [1])]
/// fn ones(y: &mut [f32]) {
///     store(y, arange(2), 1.0);
/// }
///
/// let (rt, mut theirs) = (Runtime::cpu(), vec![0.0f32; 2]);
/// // SAFETY: two elements, which nothing else uses as long as `y` lives.
/// let mut y = unsafe { ExternalSliceMut::from_raw(&rt, theirs.as_mut_ptr(), theirs.len()) }?;
/// rt.launch(ones(&mut y))?;
/// assert_eq!(theirs, [1.0, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Debug)]
pub struct ExternalSliceMut<'a, T>(ExternalSlice<'a, T>);

impl<'a, T> ExternalSlice<'a, T> {
    /// # Safety
    /// As [`ExternalSlice::from_raw`], and the address is on the device of `device`.
    #[cfg(feature = "cudarc")]
    pub(crate) unsafe fn on(device: DeviceId, addr: u64, len: usize) -> Self {
        ExternalSlice { addr, len, device, borrow: PhantomData }
    }
}

impl<'a, T: Element> ExternalSlice<'a, T> {
    /// `len` elements at an address on the runtime's device (host memory on the CPU runtime). Errors:
    /// [`Error::ExternalMemory`] for a null pointer with a positive length, an address that is not aligned to its
    /// element, a byte count that overflows, and, on a GPU, an address that the driver does not know on this device.
    ///
    /// # Safety
    /// `addr` addresses `len` initialized elements that stay valid and unwritten by others during `'a`, and on a GPU
    /// until the work that was launched with them is done, or is ordered before what frees or writes them.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Error, ExternalSlice, Runtime};
    ///
    /// let (rt, theirs) = (Runtime::cpu(), [1.0f32, 2.0]);
    /// // SAFETY: two elements, which live and stay unwritten as long as `x`.
    /// let x = unsafe { ExternalSlice::from_raw(&rt, theirs.as_ptr(), 2) }?;
    /// assert_eq!((x.len(), x.is_empty()), (2, false));
    /// // SAFETY: a null pointer is an error.
    /// let e = unsafe { ExternalSlice::<f32>::from_raw(&rt, std::ptr::null(), 2) }.unwrap_err();
    /// assert!(matches!(e, Error::ExternalMemory { .. }));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn from_raw(rt: &Runtime, addr: *const T, len: usize) -> Result<Self> {
        let addr = addr as u64;
        check_address(addr, len, size_of::<T>())?;
        if len > 0 {
            rt.check_reachable(addr)?;
            rt.check_reachable(addr + (len * size_of::<T>()) as u64 - 1)?;
        }
        Ok(ExternalSlice { addr, len, device: rt.device().id, borrow: PhantomData })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'a, T: Element> ExternalSliceMut<'a, T> {
    /// # Safety
    /// As [`ExternalSliceMut::from_raw`], and the address is on the device of `device`.
    #[cfg(feature = "cudarc")]
    pub(crate) unsafe fn on(device: DeviceId, addr: u64, len: usize) -> Self {
        // SAFETY: the caller's contract.
        ExternalSliceMut(unsafe { ExternalSlice::on(device, addr, len) })
    }

    /// `len` elements at an address, to be written. Errors: as [`ExternalSlice::from_raw`].
    ///
    /// # Safety
    /// As [`ExternalSlice::from_raw`], and nothing else uses the memory during that time.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{ExternalSliceMut, Runtime};
    ///
    /// let mut theirs = [1.0f32, 2.0];
    /// // SAFETY: two elements, which nothing else uses as long as `y` lives.
    /// let y = unsafe { ExternalSliceMut::from_raw(&Runtime::cpu(), theirs.as_mut_ptr(), 2) }?;
    /// assert_eq!((y.len(), y.is_empty()), (2, false));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn from_raw(rt: &Runtime, addr: *mut T, len: usize) -> Result<Self> {
        // SAFETY: the caller's contract.
        unsafe { ExternalSlice::from_raw(rt, addr.cast_const(), len) }.map(ExternalSliceMut)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }
}

impl<'b, T: Element> AsSlice<'b, T> for &'b ExternalSlice<'_, T> {
    fn as_slice_arg(self) -> SliceArg<'b, T> {
        // SAFETY: the constructor's contract.
        unsafe { SliceArg::from_raw(self.addr, self.len, self.device) }
    }
}

impl<'b, T: Element> AsSlice<'b, T> for &'b ExternalSliceMut<'_, T> {
    fn as_slice_arg(self) -> SliceArg<'b, T> {
        (&self.0).as_slice_arg()
    }
}

impl<'b, T: Element> AsSliceMut<'b, T> for &'b mut ExternalSliceMut<'_, T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'b, T> {
        // SAFETY: the constructor's contract, and `self` is borrowed mutably.
        unsafe { SliceMutArg::from_raw(self.0.addr, self.0.len, self.0.device) }
    }
}

pub(crate) fn check_address(addr: u64, len: usize, size: usize) -> Result<()> {
    let why = if len > 0 && addr == 0 {
        "it is a null pointer with a positive length".into()
    } else if !addr.is_multiple_of(size as u64) {
        format!("its address is not a multiple of its element size, {size} bytes")
    } else if len.checked_mul(size).and_then(|b| addr.checked_add(b as u64)).is_none() {
        format!("{len} elements of {size} bytes are more than an address space holds")
    } else {
        return Ok(());
    };
    Err(Error::ExternalMemory { why })
}
