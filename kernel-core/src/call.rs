//! A kernel with its arguments bound.
//!
//! Arguments travel as 64-bit *argument words*, little-endian, in parameter order: a slice is (address, length), a view
//! of rank R is (address, R extents, R strides in elements), a raw pointer is (address), a scalar its own bits.
//!
//! Each argument is compared with the kernel's parameter when it is bound, so argument words always have the layout
//! that the kernel's code takes. The function that `#[tile_kernel]` makes binds correctly by construction; a call that
//! is put together by hand may not, and then holds a [`BindError`] that every launch returns.

use core::marker::PhantomData;

use crate::args::{AsSize, DeviceId, RawArg, SliceArg, SliceMutArg, ViewArg, ViewMutArg};
use crate::desc::{Element, KernelDesc, ParamKind, ParamType};
use smallvec::SmallVec;
use tilewright_types::limits::INLINE_ARGUMENT_WORDS;

/// The memory of one argument of a call, for the checks before a launch and for the bounds of the emulated SM. [`Call`]
/// has an example.
#[derive(Clone, Copy, Debug)]
pub struct BufferUse {
    /// Index into [`KernelParts::params`](crate::KernelParts::params).
    pub param: u8,
    /// The device whose memory it is.
    pub device: DeviceId,
    /// The address of the first byte.
    pub start: u64,
    /// The size in bytes; 0 for a raw pointer.
    pub bytes: u64,
    /// The extent of a raw pointer in bytes, where it is known.
    pub extent: Option<u64>,
    /// Whether the kernel may write it.
    pub mutable: bool,
}

/// The error of a call whose arguments do not fit the parameters of its kernel.
///
/// # Examples
/// ```
/// use tilewright_core::{BindError, Call, KernelDesc};
///
/// fn without_arguments(kernel: &'static KernelDesc) -> Result<(), BindError> {
///     Call::new(kernel).check() // `BindError::Missing`, where the kernel has a parameter
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// An argument has another type than its parameter.
    #[error(
        "{kernel}: an argument of type `{found}` is bound to `{param}: {expected}`: bind the kernel's parameters in order, or call the function of the kernel's name"
    )]
    Type {
        /// The kernel.
        kernel: &'static str,
        /// Its parameter.
        param: &'static str,
        /// The type of the parameter.
        expected: ParamType,
        /// The type of the argument.
        found: ParamType,
    },

    /// There are more arguments than parameters.
    #[error(
        "{kernel}: {expected} parameters, and an argument of type `{found}` is bound after them: bind each parameter once"
    )]
    TooMany {
        /// The kernel.
        kernel: &'static str,
        /// The number of its parameters.
        expected: usize,
        /// The type of the first argument beyond them.
        found: ParamType,
    },

    /// A parameter has no argument.
    #[error("{kernel}: nothing is bound to `{param}: {expected}`: bind every parameter, in order")]
    Missing {
        /// The kernel.
        kernel: &'static str,
        /// The first parameter without an argument.
        param: &'static str,
        /// The type of the parameter.
        expected: ParamType,
    },

    /// A negative number is bound to a `usize`.
    #[error("{kernel}: {value} is passed for `{param}: usize`: a size is not negative")]
    Negative {
        /// The kernel.
        kernel: &'static str,
        /// Its parameter.
        param: &'static str,
        /// The number.
        value: i32,
    },

    /// The kernel is an `unsafe fn`, and the call was made by [`Call::new`].
    #[error(
        "{kernel} is an `unsafe fn`: call the function of its name, or bind to Call::new_unsafe, in an unsafe block"
    )]
    Unsafe {
        /// The kernel.
        kernel: &'static str,
    },
}

/// The number of arrays up to which a call allocates nothing.
const INLINE_BUFFERS: usize = 12;

/// A kernel with its arguments bound: cheap, typed, not yet checked against a device. A runtime launches it.
///
/// The function that `#[tile_kernel]` makes returns one. A tool that has descriptors alone binds the arguments itself.
///
/// # Examples
/// ```
/// use tilewright_core::{AsSlice, AsSliceMut, BindError, Call, KernelDesc};
///
/// /// A call of a kernel with the parameters `x: &[f32], y: &mut [f32], a: f32`.
/// fn bind<'a>(kernel: &'static KernelDesc, x: &'a [f32], y: &'a mut [f32]) -> Result<Call<'a>, BindError> {
///     let call = Call::new(kernel).slice(x.as_slice_arg()).slice_mut(y.as_slice_mut_arg()).scalar(2.0f32);
///     call.check()?;
///     assert_eq!((call.words().len(), call.buffers().len()), (5, 2));
///     assert!(call.buffers()[1].mutable);
///     Ok(call)
/// }
/// ```
///
/// A call borrows its arguments and is launched once, so it cannot be copied: two launches could write the same memory
/// from two threads.
/// ```compile_fail,E0599
/// # fn copies(call: tilewright_core::Call) {
/// let again = call.clone();
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until a runtime launches it"]
pub struct Call<'a> {
    desc: &'static KernelDesc,
    words: SmallVec<[u64; INLINE_ARGUMENT_WORDS]>,
    buffers: SmallVec<[BufferUse; INLINE_BUFFERS]>,
    params_bound: usize,
    /// The first mistake; nothing is bound after it.
    mistake: Option<BindError>,
    borrow: PhantomData<&'a mut ()>,
}

impl<'a> Call<'a> {
    /// A call of a kernel that is not declared `unsafe fn`; of another, the launch returns [`BindError::Unsafe`].
    #[inline]
    pub fn new(desc: &'static KernelDesc) -> Self {
        let mistake = if desc.is_unsafe { Some(BindError::Unsafe { kernel: desc.name }) } else { None };
        Call::of(desc, mistake)
    }

    /// A call of any kernel.
    ///
    /// # Safety
    /// The arguments that are bound to this call keep the safety contract of the kernel: every access that its masks
    /// allow is valid while the launch runs, and so is all of a pointer's extent where it says one
    /// ([`RawArg::within`]).
    #[inline]
    pub unsafe fn new_unsafe(desc: &'static KernelDesc) -> Self {
        Call::of(desc, None)
    }

    #[inline]
    fn of(desc: &'static KernelDesc, mistake: Option<BindError>) -> Self {
        let (words, buffers) = (SmallVec::new_const(), SmallVec::new_const());
        Call { desc, words, buffers, params_bound: 0, mistake, borrow: PhantomData }
    }

    /// The same arguments once more, while this call waits.
    pub fn reborrow(&mut self) -> Call<'_> {
        let (words, buffers) = (self.words.clone(), self.buffers.clone());
        Call {
            desc: self.desc,
            words,
            buffers,
            params_bound: self.params_bound,
            mistake: self.mistake,
            borrow: PhantomData,
        }
    }

    /// The kernel.
    pub fn desc(&self) -> &'static KernelDesc {
        self.desc
    }

    /// That every parameter has an argument of its type. A backend asks before it uses the argument words. Errors: the
    /// first mistake.
    #[inline]
    pub fn check(&self) -> Result<(), BindError> {
        if self.mistake.is_none() && self.params_bound == self.desc.params.len() {
            return Ok(());
        }
        Err(self.why())
    }

    #[cold]
    fn why(&self) -> BindError {
        let missing = || {
            let p = &self.desc.params[self.params_bound];
            BindError::Missing { kernel: self.desc.name, param: p.name, expected: p.ty() }
        };
        self.mistake.unwrap_or_else(missing)
    }

    /// The argument words bound so far.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The memory of the arguments bound so far.
    pub fn buffers(&self) -> &[BufferUse] {
        &self.buffers
    }

    /// Whether an argument of this type may be bound next; notes the mistake if it may not.
    #[inline]
    fn takes<T: Element>(&mut self, kind: ParamKind) -> bool {
        let found = ParamType { kind, dtype: T::DTYPE };
        let takes = self.mistake.is_none() && self.desc.params.get(self.params_bound).is_some_and(|p| p.ty() == found);
        if !takes {
            self.refuse(found);
        }
        takes
    }

    #[cold]
    fn refuse(&mut self, found: ParamType) {
        let kernel = self.desc.name;
        let mistake = match self.desc.params.get(self.params_bound) {
            Some(p) => BindError::Type { kernel, param: p.name, expected: p.ty(), found },
            None => BindError::TooMany { kernel, expected: self.desc.params.len(), found },
        };
        self.mistake.get_or_insert(mistake);
    }

    #[inline]
    fn push(&mut self, v: u64) {
        self.words.push(v);
    }

    #[inline]
    fn buffer(&mut self, device: DeviceId, start: u64, bytes: u64, extent: Option<u64>, mutable: bool) {
        let param = self.params_bound as u8;
        self.buffers.push(BufferUse { param, device, start, bytes, extent, mutable });
    }

    /// Binds an array to the next parameter, a `&[T]`.
    #[inline]
    pub fn slice<T: Element>(self, a: SliceArg<'a, T>) -> Self {
        self.any_slice(a, ParamKind::Slice)
    }

    /// Binds an array to the next parameter, a `&mut [T]`.
    #[inline]
    pub fn slice_mut<T: Element>(self, a: SliceMutArg<'a, T>) -> Self {
        self.any_slice(a.0, ParamKind::SliceMut)
    }

    #[inline]
    fn any_slice<T: Element>(mut self, a: SliceArg<'a, T>, kind: ParamKind) -> Self {
        if self.takes::<T>(kind) {
            self.buffer(a.device(), a.addr(), a.len().saturating_mul(size_of::<T>()) as u64, None, kind.is_mut());
            self.push(a.addr());
            self.push(a.len() as u64);
            self.params_bound += 1;
        }
        self
    }

    /// Binds a tensor to the next parameter, a `View<T, R>`.
    #[inline]
    pub fn view<T: Element, const R: usize>(self, a: ViewArg<'a, T, R>) -> Self {
        self.any_view(a, ParamKind::View { rank: R })
    }

    /// Binds a tensor to the next parameter, a `ViewMut<T, R>`.
    #[inline]
    pub fn view_mut<T: Element, const R: usize>(self, a: ViewMutArg<'a, T, R>) -> Self {
        self.any_view(a.0, ParamKind::ViewMut { rank: R })
    }

    #[inline]
    fn any_view<T: Element, const R: usize>(mut self, a: ViewArg<'a, T, R>, kind: ParamKind) -> Self {
        if self.takes::<T>(kind) {
            self.buffer(a.device(), a.addr(), a.span().saturating_mul(size_of::<T>()) as u64, None, kind.is_mut());
            self.push(a.addr());
            a.dims().iter().for_each(|&d| self.push(d as u64));
            a.strides().iter().for_each(|&s| self.push(s as u64));
            self.params_bound += 1;
        }
        self
    }

    /// Binds a pointer to the next parameter, a `*mut T` where `mutable`. Such kernels are `unsafe fn`.
    #[inline]
    pub fn raw<T: Element>(mut self, a: RawArg<T>, mutable: bool) -> Self {
        if self.takes::<T>(if mutable { ParamKind::PtrMut } else { ParamKind::Ptr }) {
            self.buffer(a.device(), a.addr(), 0, a.extent().map(|n| n as u64), mutable);
            self.push(a.addr());
            self.params_bound += 1;
        }
        self
    }

    /// Binds a number to the next parameter, a `usize`.
    #[inline]
    pub fn size(mut self, n: impl AsSize) -> Self {
        match n.as_size() {
            Ok(n) => self.scalar(n),
            Err(value) => {
                if self.takes::<u64>(ParamKind::Scalar) {
                    self.refuse_negative(value);
                }
                self
            }
        }
    }

    #[cold]
    fn refuse_negative(&mut self, value: i32) {
        let param = self.desc.params.get(self.params_bound).map_or("", |p| p.name);
        self.mistake.get_or_insert(BindError::Negative { kernel: self.desc.name, param, value });
    }

    /// Binds a number to the next parameter, a scalar. A `usize` is bound by [`Call::size`], or as a u64.
    #[inline]
    pub fn scalar<T: Element>(mut self, v: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<u64>(), "a scalar fits a word") };
        if self.takes::<T>(ParamKind::Scalar) {
            let mut bits = 0u64;
            // SAFETY: both are at least as long as T, by the assertion above, and T has no padding, by `Element`.
            unsafe {
                core::ptr::copy_nonoverlapping(
                    (&raw const v).cast::<u8>(),
                    (&raw mut bits).cast::<u8>(),
                    size_of::<T>(),
                )
            };
            self.push(bits);
            self.params_bound += 1;
        }
        self
    }
}

#[cfg(test)]
mod tests;
