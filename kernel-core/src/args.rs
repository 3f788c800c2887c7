//! Arguments for the parameters of a kernel: borrowed memory of any device.

mod device;

use core::marker::PhantomData;

use crate::desc::Element;
pub use device::DeviceId;

/// The error of a view: the array has too few elements for the extents and strides, or, row-major, too many.
///
/// # Examples
/// ```
/// use tilewright_core::{AsSlice, ViewError};
///
/// let e = [0.0f32; 6].as_slice_arg().view([2, 4]).unwrap_err();
/// assert_eq!(e, ViewError::Length { elements: Some(8), len: 6 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The extents of a row-major tensor do not multiply to the length of the array.
    #[error(
        "a row-major view has {} elements and its array {len}: pass extents that multiply to the length",
        number(*elements)
    )]
    Length {
        /// The product of the extents; `None` where it overflows.
        elements: Option<usize>,
        /// Elements of the array.
        len: usize,
    },
    /// The last element of a strided tensor is beyond the end of the array.
    #[error(
        "a strided view spans {} elements and its array has {len}: pass smaller extents or strides",
        number(*span)
    )]
    OutOfBounds {
        /// Elements from the first to one past the last; `None` where the number overflows.
        span: Option<usize>,
        /// Elements of the array.
        len: usize,
    },
}

fn number(n: Option<usize>) -> String {
    n.map_or_else(|| "more than 2^64".into(), |n| n.to_string())
}

/// A borrowed contiguous array in the memory of any device: an argument for `&[T]`.
///
/// # Examples
/// ```
/// use tilewright_core::AsSlice;
///
/// let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let x = data.as_slice_arg();
/// assert_eq!(x.len(), 6);
/// assert_eq!(x.view([2, 3])?.strides(), [3, 1]);
/// assert_eq!(x.strided([2, 2], [3, 1])?.dims(), [2, 2]); // the first two columns
/// # Ok::<(), tilewright_core::ViewError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SliceArg<'a, T> {
    ptr: u64,
    len: usize,
    device: DeviceId,
    borrow: PhantomData<&'a [T]>,
}

/// A mutably borrowed contiguous array in the memory of any device: an argument for `&mut [T]`.
///
/// # Examples
/// ```
/// use tilewright_core::AsSliceMut;
///
/// let mut data = [0.0f32; 6];
/// let y = data.as_slice_mut_arg().view([2, 3])?;
/// assert_eq!(y.as_view().dims(), [2, 3]);
/// # Ok::<(), tilewright_core::ViewError>(())
/// ```
#[derive(Debug)]
pub struct SliceMutArg<'a, T>(pub(crate) SliceArg<'a, T>);

impl<'a, T: Element> SliceArg<'a, T> {
    /// `len` elements at an address on the device `device`.
    ///
    /// # Safety
    /// `ptr` addresses `len` initialized elements at `device` that outlive `'a`.
    pub unsafe fn from_raw(ptr: u64, len: usize, device: DeviceId) -> Self {
        SliceArg { ptr, len, device, borrow: PhantomData }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose memory it is.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The address of the first element on its device.
    pub fn addr(&self) -> u64 {
        self.ptr
    }

    /// As a row-major tensor of these extents.
    ///
    /// # Errors
    /// [`ViewError::Length`] unless the extents multiply to the length, without overflow.
    pub fn view<const R: usize>(self, dims: [usize; R]) -> Result<ViewArg<'a, T, R>, ViewError> {
        let (mut strides, mut elements) = ([1; R], Some(1usize));
        for d in (0..R).rev() {
            // Extents that overflow are refused below, with any strides.
            strides[d] = elements.unwrap_or(0);
            elements = elements.and_then(|n| n.checked_mul(dims[d]));
        }
        if elements != Some(self.len) {
            return Err(ViewError::Length { elements, len: self.len });
        }
        Ok(ViewArg { ptr: self.ptr, dims, strides, device: self.device, borrow: PhantomData })
    }

    /// As a tensor of these extents and strides, in elements.
    ///
    /// # Errors
    /// [`ViewError::OutOfBounds`] where an element would be beyond the end of the array.
    pub fn strided<const R: usize>(
        self,
        dims: [usize; R],
        strides: [usize; R],
    ) -> Result<ViewArg<'a, T, R>, ViewError> {
        let v = ViewArg { ptr: self.ptr, dims, strides, device: self.device, borrow: PhantomData };
        match v.checked_span() {
            Some(span) if span <= self.len => Ok(v),
            span => Err(ViewError::OutOfBounds { span, len: self.len }),
        }
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> {
    /// `len` elements at an address on the device `device`, to be written.
    ///
    /// # Safety
    /// As [`SliceArg::from_raw`], and nothing else uses the memory during `'a`.
    pub unsafe fn from_raw(ptr: u64, len: usize, device: DeviceId) -> Self {
        // SAFETY: the caller's.
        SliceMutArg(unsafe { SliceArg::from_raw(ptr, len, device) })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The device whose memory it is.
    pub fn device(&self) -> DeviceId {
        self.0.device
    }

    /// The address of the first element on its device.
    pub fn addr(&self) -> u64 {
        self.0.ptr
    }

    /// As a row-major tensor of these extents. Errors: as [`SliceArg::view`].
    pub fn view<const R: usize>(self, dims: [usize; R]) -> Result<ViewMutArg<'a, T, R>, ViewError> {
        self.0.view(dims).map(ViewMutArg)
    }

    /// As a tensor of these extents and strides, in elements. Errors: as [`SliceArg::strided`].
    pub fn strided<const R: usize>(
        self,
        dims: [usize; R],
        strides: [usize; R],
    ) -> Result<ViewMutArg<'a, T, R>, ViewError> {
        self.0.strided(dims, strides).map(ViewMutArg)
    }
}

/// A borrowed strided tensor of rank R: an argument for `View<T, R>`.
///
/// # Examples
/// ```
/// use tilewright_core::AsSlice;
///
/// let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let x = data.as_slice_arg().view([2, 3])?;
/// assert_eq!((x.dims(), x.strides(), x.span()), ([2, 3], [3, 1], 6));
/// let columns = x.flipped().narrowed(0, 2);
/// assert_eq!((columns.dims(), columns.strides(), columns.span()), ([2, 2], [1, 3], 5));
/// assert!(x.as_contiguous().is_some() && columns.as_contiguous().is_none());
/// # Ok::<(), tilewright_core::ViewError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ViewArg<'a, T, const R: usize> {
    ptr: u64,
    dims: [usize; R],
    strides: [usize; R],
    device: DeviceId,
    borrow: PhantomData<&'a [T]>,
}

/// A mutably borrowed strided tensor of rank R: an argument for `ViewMut<T, R>`. [`SliceMutArg`] has an example.
#[derive(Debug)]
pub struct ViewMutArg<'a, T, const R: usize>(pub(crate) ViewArg<'a, T, R>);

impl<T, const R: usize> ViewArg<'_, T, R> {
    fn checked_span(&self) -> Option<usize> {
        if self.dims.contains(&0) {
            return Some(0);
        }
        let mut last = 0usize;
        for d in 0..R {
            last = last.checked_add((self.dims[d] - 1).checked_mul(self.strides[d])?)?;
        }
        last.checked_add(1)
    }

    /// The number of elements from the first to the last, both counted; 0 where an extent is 0.
    pub fn span(&self) -> usize {
        self.checked_span().unwrap_or(usize::MAX)
    }

    /// The extents.
    pub fn dims(&self) -> [usize; R] {
        self.dims
    }

    /// The strides, in elements.
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }

    /// The device whose memory it is.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The address of the first element on its device.
    pub fn addr(&self) -> u64 {
        self.ptr
    }
}

impl<'a, T, const R: usize> ViewMutArg<'a, T, R> {
    /// The same memory, to be read by a kernel that also gets it to write.
    ///
    /// # Safety
    /// A launch takes the two arguments if the kernel has `alias(x, y)` for them, and keeps the rules of `alias`: a
    /// program stores an element after its last load of it, and no other program reads the element.
    pub unsafe fn aliased(&self) -> ViewArg<'a, T, R> {
        ViewArg {
            ptr: self.0.ptr,
            dims: self.0.dims,
            strides: self.0.strides,
            device: self.0.device,
            borrow: PhantomData,
        }
    }

    /// The same memory, to be read while this is borrowed.
    pub fn as_view(&self) -> ViewArg<'_, T, R> {
        // SAFETY: nothing writes there while this is borrowed.
        unsafe { self.aliased() }
    }
}

impl<'a, T: Element, const R: usize> ViewArg<'a, T, R> {
    /// The same elements as an array; `None` unless they are row-major without gaps.
    pub fn as_contiguous(self) -> Option<SliceArg<'a, T>> {
        let len = self.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let array = SliceArg { ptr: self.ptr, len, device: self.device, borrow: PhantomData };
        (array.view(self.dims).ok()?.strides == self.strides).then_some(array)
    }
}

impl<T> ViewArg<'_, T, 2> {
    /// The first `extent` elements along an axis; all of them if there are no more.
    pub fn narrowed(mut self, axis: usize, extent: usize) -> Self {
        self.dims[axis] = self.dims[axis].min(extent);
        self
    }

    /// The transpose.
    pub fn flipped(self) -> Self {
        let ([rows, cols], [r, c]) = (self.dims, self.strides);
        ViewArg { dims: [cols, rows], strides: [c, r], ..self }
    }

    /// The same elements. A single row or column has no use of its other stride, which is set: to a multiple of 128
    /// elements where its elements are contiguous, else to 1.
    pub fn regular(self) -> Self {
        let apart =
            |len: usize, stride: usize| if stride == 1 { len.checked_next_multiple_of(128).unwrap_or(len) } else { 1 };
        let ([rows, cols], [mut r, mut c]) = (self.dims, self.strides);
        if cols == 1 {
            c = apart(rows, r);
        }
        if rows == 1 {
            r = apart(cols, c);
        }
        ViewArg { strides: [r, c], ..self }
    }
}

impl<T> ViewMutArg<'_, T, 2> {
    /// The transpose.
    pub fn flipped(self) -> Self {
        ViewMutArg(self.0.flipped())
    }

    /// The same elements: [`ViewArg::regular`].
    pub fn regular(self) -> Self {
        ViewMutArg(self.0.regular())
    }
}

impl<T> ViewArg<'_, T, 3> {
    /// Fewer, taller matrices: each is `n` of these, one below the other. `None` where no stride reaches their rows, or
    /// where the number of matrices is no multiple of `n`.
    ///
    /// # Examples
    /// ```
    /// use tilewright_core::AsSlice;
    ///
    /// let x = [0.0f32; 24].as_slice_arg().view([4, 2, 3]).unwrap().stacked(2).unwrap();
    /// assert_eq!(x.dims(), [2, 4, 3]);
    /// ```
    pub fn stacked(self, n: usize) -> Option<Self> {
        let ([matrices, rows, cols], [m, r, c]) = (self.dims, self.strides);
        // No stride leads away from a single row.
        let r = if rows == 1 { m } else { r };
        let lie_so = n == 1 || rows.checked_mul(r) == Some(m);
        if n == 0 || !matrices.is_multiple_of(n) || !lie_so {
            return None;
        }
        let dims = [matrices / n, rows.checked_mul(n)?, cols];
        Some(ViewArg { dims, strides: [m.checked_mul(n)?, r, c], ..self })
    }
}

impl<T> ViewMutArg<'_, T, 3> {
    /// Fewer, taller matrices, and `None`, as of [`ViewArg::stacked`].
    pub fn stacked(self, n: usize) -> Option<Self> {
        self.0.stacked(n).map(ViewMutArg)
    }
}

/// An address for a raw-pointer parameter. As with a raw pointer of Rust, making one is safe and using it is not:
/// kernels that take pointers are `unsafe fn`, and the caller of one vouches for the memory.
///
/// # Examples
/// ```
/// use tilewright_core::{DeviceId, RawArg};
///
/// let data = [1.0f32; 8];
/// let p = RawArg::<f32>::within(data.as_ptr() as u64, size_of_val(&data), DeviceId::Host);
/// assert_eq!(p.offset(2).extent(), Some(24));
/// assert_eq!(RawArg::from(data.as_ptr()).extent(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RawArg<T> {
    addr: u64,
    device: DeviceId,
    extent: Option<usize>,
    element: PhantomData<*const T>,
}

impl<T> RawArg<T> {
    /// The address of memory whose extent is not known.
    pub fn new(addr: u64, device: DeviceId) -> Self {
        RawArg { addr, device, extent: None, element: PhantomData }
    }

    /// The address of `bytes` bytes, which the call may read, and write if the kernel does. The autotuner saves and
    /// restores them; the emulated SM reports accesses beyond them.
    pub fn within(addr: u64, bytes: usize, device: DeviceId) -> Self {
        RawArg { extent: Some(bytes), ..RawArg::new(addr, device) }
    }

    /// The pointer moved by a number of elements; the address wraps, as [`pointer::wrapping_add`](primitive@pointer)
    /// does.
    pub fn offset(self, elements: usize) -> Self {
        let size = size_of::<T>();
        let addr = self.addr.wrapping_add(elements.wrapping_mul(size) as u64);
        RawArg { addr, extent: self.extent.map(|e| e.saturating_sub(elements.saturating_mul(size))), ..self }
    }

    /// The address of the first element on its device.
    pub fn addr(&self) -> u64 {
        self.addr
    }

    /// The device whose memory it is.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The extent in bytes, where it is known.
    pub fn extent(&self) -> Option<usize> {
        self.extent
    }
}

impl<T> From<*const T> for RawArg<T> {
    fn from(p: *const T) -> Self {
        RawArg::new(p as u64, DeviceId::Host)
    }
}

impl<T> From<*mut T> for RawArg<T> {
    fn from(p: *mut T) -> Self {
        RawArg::new(p as u64, DeviceId::Host)
    }
}

/// The types of arguments for `usize`: `usize`, `u64`, `u32`, and `i32` for literals.
///
/// # Examples
/// ```
/// use tilewright_core::AsSize;
///
/// assert_eq!((7.as_size(), 7usize.as_size(), (-7).as_size()), (Ok(7), Ok(7), Err(-7)));
/// ```
pub trait AsSize {
    /// The number as a kernel takes it. Errors: a negative number.
    fn as_size(self) -> Result<u64, i32>;
}

impl AsSize for u64 {
    #[inline]
    fn as_size(self) -> Result<u64, i32> {
        Ok(self)
    }
}
impl AsSize for usize {
    #[inline]
    fn as_size(self) -> Result<u64, i32> {
        Ok(self as u64)
    }
}
impl AsSize for u32 {
    #[inline]
    fn as_size(self) -> Result<u64, i32> {
        Ok(self.into())
    }
}
impl AsSize for i32 {
    #[inline]
    fn as_size(self) -> Result<u64, i32> {
        u64::try_from(self).map_err(|_| self)
    }
}

/// The types of arguments for `&[T]`: host slices, arrays and vectors, and the buffers of a runtime.
///
/// # Examples
/// ```
/// use tilewright_core::AsSlice;
///
/// fn length<'a>(x: impl AsSlice<'a, f32>) -> usize {
///     x.as_slice_arg().len()
/// }
/// assert_eq!((length(&[1.0, 2.0]), length(&vec![1.0; 3])), (2, 3));
/// ```
pub trait AsSlice<'a, T> {
    /// The borrowed array.
    fn as_slice_arg(self) -> SliceArg<'a, T>;
}

/// The types of arguments for `&mut [T]`: host slices, arrays and vectors, and the buffers of a runtime.
/// [`SliceMutArg`] has an example.
pub trait AsSliceMut<'a, T> {
    /// The mutably borrowed array.
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T>;
}

/// The types of arguments for `View<T, R>`. [`ViewArg`] has an example.
pub trait AsView<'a, T, const R: usize> {
    /// The borrowed tensor.
    fn as_view_arg(self) -> ViewArg<'a, T, R>;
}

/// The types of arguments for `ViewMut<T, R>`. [`SliceMutArg`] has an example.
pub trait AsViewMut<'a, T, const R: usize> {
    /// The mutably borrowed tensor.
    fn as_view_mut_arg(self) -> ViewMutArg<'a, T, R>;
}

impl<'a, T> AsSlice<'a, T> for SliceArg<'a, T> {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        self
    }
}
impl<'a, T> AsSliceMut<'a, T> for SliceMutArg<'a, T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        self
    }
}
impl<'a, T, const R: usize> AsView<'a, T, R> for ViewArg<'a, T, R> {
    fn as_view_arg(self) -> ViewArg<'a, T, R> {
        self
    }
}
impl<'a, T, const R: usize> AsViewMut<'a, T, R> for ViewMutArg<'a, T, R> {
    fn as_view_mut_arg(self) -> ViewMutArg<'a, T, R> {
        self
    }
}
impl<'a, T: Element> AsSlice<'a, T> for &'a [T] {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        SliceArg { ptr: self.as_ptr() as u64, len: self.len(), device: DeviceId::Host, borrow: PhantomData }
    }
}
impl<'a, T: Element> AsSlice<'a, T> for &'a Vec<T> {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        self.as_slice().as_slice_arg()
    }
}
impl<'a, T: Element, const N: usize> AsSlice<'a, T> for &'a [T; N] {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        self.as_slice().as_slice_arg()
    }
}
/// To be read while it is borrowed.
impl<'a, T: Element> AsSlice<'a, T> for &'a SliceMutArg<'_, T> {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        self.0
    }
}
impl<'a, T: Element, const N: usize> AsSliceMut<'a, T> for &'a mut [T; N] {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        self.as_mut_slice().as_slice_mut_arg()
    }
}
impl<'a, T: Element> AsSliceMut<'a, T> for &'a mut [T] {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        SliceMutArg(SliceArg {
            ptr: self.as_mut_ptr() as u64,
            len: self.len(),
            device: DeviceId::Host,
            borrow: PhantomData,
        })
    }
}
impl<'a, T: Element> AsSliceMut<'a, T> for &'a mut Vec<T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        self.as_mut_slice().as_slice_mut_arg()
    }
}

#[cfg(test)]
mod tests;
