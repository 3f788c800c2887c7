//! What may be passed for the parameters of a kernel: memory that is borrowed, wherever it lives.

use core::marker::PhantomData;

use crate::desc::Element;

/// Where memory lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Host,
    /// Memory of one CUDA context. Two contexts of one device do not share memory.
    Cuda {
        /// The device's ordinal.
        device: u32,
        /// The number that the driver gives a context for the life of the process.
        context: u64,
    },
    /// A raw address the caller vouches for.
    Unknown,
}

/// Why an array is no tensor of the extents and strides that were asked for.
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

/// A borrowed contiguous array, wherever it lives.
#[derive(Clone, Copy, Debug)]
pub struct SliceArg<'a, T> {
    ptr: u64,
    len: usize,
    place: Place,
    borrow: PhantomData<&'a [T]>,
}

/// A mutably borrowed contiguous array.
#[derive(Debug)]
pub struct SliceMutArg<'a, T>(pub(crate) SliceArg<'a, T>);

impl<'a, T: Element> SliceArg<'a, T> {
    /// # Safety
    /// `ptr` addresses `len` initialised elements at `place` that outlive `'a`.
    pub unsafe fn from_raw(ptr: u64, len: usize, place: Place) -> Self {
        SliceArg { ptr, len, place, borrow: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn place(&self) -> Place {
        self.place
    }

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
            // Extents that overflow are refused below, whatever their strides are.
            strides[d] = elements.unwrap_or(0);
            elements = elements.and_then(|n| n.checked_mul(dims[d]));
        }
        if elements != Some(self.len) {
            return Err(ViewError::Length { elements, len: self.len });
        }
        Ok(ViewArg { ptr: self.ptr, dims, strides, place: self.place, borrow: PhantomData })
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
        let v = ViewArg { ptr: self.ptr, dims, strides, place: self.place, borrow: PhantomData };
        match v.checked_span() {
            Some(span) if span <= self.len => Ok(v),
            span => Err(ViewError::OutOfBounds { span, len: self.len }),
        }
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> {
    /// # Safety
    /// As [`SliceArg::from_raw`], and nothing else uses the memory during `'a`.
    pub unsafe fn from_raw(ptr: u64, len: usize, place: Place) -> Self {
        // SAFETY: the caller's.
        SliceMutArg(unsafe { SliceArg::from_raw(ptr, len, place) })
    }

    pub fn len(&self) -> usize {
        self.0.len
    }

    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    pub fn place(&self) -> Place {
        self.0.place
    }

    pub fn addr(&self) -> u64 {
        self.0.ptr
    }

    /// As of [`SliceArg`].
    pub fn view<const R: usize>(self, dims: [usize; R]) -> Result<ViewMutArg<'a, T, R>, ViewError> {
        self.0.view(dims).map(ViewMutArg)
    }

    /// As of [`SliceArg`].
    pub fn strided<const R: usize>(
        self,
        dims: [usize; R],
        strides: [usize; R],
    ) -> Result<ViewMutArg<'a, T, R>, ViewError> {
        self.0.strided(dims, strides).map(ViewMutArg)
    }
}

/// A borrowed strided tensor of rank R.
#[derive(Clone, Copy, Debug)]
pub struct ViewArg<'a, T, const R: usize> {
    ptr: u64,
    dims: [usize; R],
    strides: [usize; R],
    place: Place,
    borrow: PhantomData<&'a [T]>,
}

/// A mutably borrowed strided tensor of rank R.
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

    /// Elements from the first to one past the last.
    pub fn span(&self) -> usize {
        self.checked_span().unwrap_or(usize::MAX)
    }

    pub fn dims(&self) -> [usize; R] {
        self.dims
    }

    /// In elements.
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }

    pub fn place(&self) -> Place {
        self.place
    }

    pub fn addr(&self) -> u64 {
        self.ptr
    }
}

impl<'a, T, const R: usize> ViewMutArg<'a, T, R> {
    /// The same memory, to be read by a kernel that also gets it to write.
    ///
    /// # Safety
    /// The kernel reads no element that another of its programs writes.
    pub unsafe fn aliased(&self) -> ViewArg<'a, T, R> {
        ViewArg {
            ptr: self.0.ptr,
            dims: self.0.dims,
            strides: self.0.strides,
            place: self.0.place,
            borrow: PhantomData,
        }
    }

    /// To be read while this is borrowed.
    pub fn as_view(&self) -> ViewArg<'_, T, R> {
        // SAFETY: nobody writes there while this is borrowed.
        unsafe { self.aliased() }
    }
}

impl<'a, T: Element, const R: usize> ViewArg<'a, T, R> {
    /// The same elements as an array, if they lie row-major without gaps.
    pub fn as_contiguous(self) -> Option<SliceArg<'a, T>> {
        let len = self.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let array = SliceArg { ptr: self.ptr, len, place: self.place, borrow: PhantomData };
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

    /// The same elements: of a single column or row, that no stride leads away from, as the first of others. Where its elements are neighbours these
    /// begin whole cache lines apart, else they are neighbours.
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
    /// As of [`ViewArg`].
    pub fn flipped(self) -> Self {
        ViewMutArg(self.0.flipped())
    }

    /// As of [`ViewArg`].
    pub fn regular(self) -> Self {
        ViewMutArg(self.0.regular())
    }
}

impl<T> ViewArg<'_, T, 3> {
    /// As many matrices, of which each is `n` of these under each other, if they lie so; their number is a multiple of `n`.
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
    /// As of [`ViewArg`].
    pub fn stacked(self, n: usize) -> Option<Self> {
        self.0.stacked(n).map(ViewMutArg)
    }
}

/// An address for a raw-pointer parameter. As with a raw pointer of Rust, making one is safe and using it is not: kernels
/// that take pointers are `unsafe fn`, and whoever calls one vouches for the memory.
#[derive(Clone, Copy, Debug)]
pub struct RawArg<T> {
    addr: u64,
    place: Place,
    extent: Option<usize>,
    element: PhantomData<*const T>,
}

impl<T> RawArg<T> {
    /// The address of memory whose extent is not known.
    pub fn new(addr: u64, place: Place) -> Self {
        RawArg { addr, place, extent: None, element: PhantomData }
    }

    /// The same of so many bytes from there on, all of which are the call's to read, and to write if the kernel does: the autotuner saves them and
    /// puts them back, and the emulated SM reports what is accessed beyond them.
    pub fn within(addr: u64, bytes: usize, place: Place) -> Self {
        RawArg { extent: Some(bytes), ..RawArg::new(addr, place) }
    }

    /// So many elements further on; the address wraps, as [`pointer::wrapping_add`](primitive@pointer) does.
    pub fn offset(self, elements: usize) -> Self {
        let size = size_of::<T>();
        let addr = self.addr.wrapping_add(elements.wrapping_mul(size) as u64);
        RawArg { addr, extent: self.extent.map(|e| e.saturating_sub(elements.saturating_mul(size))), ..self }
    }

    pub fn addr(&self) -> u64 {
        self.addr
    }

    pub fn place(&self) -> Place {
        self.place
    }

    /// Bytes from there on that are the call's, where that is known.
    pub fn extent(&self) -> Option<usize> {
        self.extent
    }
}

impl<T> From<*const T> for RawArg<T> {
    fn from(p: *const T) -> Self {
        RawArg::new(p as u64, Place::Host)
    }
}

impl<T> From<*mut T> for RawArg<T> {
    fn from(p: *mut T) -> Self {
        RawArg::new(p as u64, Place::Host)
    }
}

/// What may be passed for `usize`. Numbers without a type are `i32`, which is why that is among them.
///
/// # Panics
/// A negative number is no size.
pub trait AsSize {
    fn as_size(self) -> u64;
}

impl AsSize for u64 {
    fn as_size(self) -> u64 {
        self
    }
}
impl AsSize for usize {
    fn as_size(self) -> u64 {
        self as u64
    }
}
impl AsSize for u32 {
    fn as_size(self) -> u64 {
        self.into()
    }
}
impl AsSize for i32 {
    #[track_caller]
    fn as_size(self) -> u64 {
        u64::try_from(self).unwrap_or_else(|_| panic!("{self} is passed for a usize"))
    }
}

/// What may be passed for `&[T]`: host slices and vectors here, device buffers in the host crate.
pub trait AsSlice<'a, T> {
    fn as_slice_arg(self) -> SliceArg<'a, T>;
}

/// What may be passed for `&mut [T]`.
pub trait AsSliceMut<'a, T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T>;
}

/// What may be passed for `View<T, R>`.
pub trait AsView<'a, T, const R: usize> {
    fn as_view_arg(self) -> ViewArg<'a, T, R>;
}

/// What may be passed for `ViewMut<T, R>`.
pub trait AsViewMut<'a, T, const R: usize> {
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
        SliceArg { ptr: self.as_ptr() as u64, len: self.len(), place: Place::Host, borrow: PhantomData }
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
            place: Place::Host,
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
