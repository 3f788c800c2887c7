//! A kernel with its arguments bound.
//!
//! Arguments travel as 64-bit *slots*, little-endian, in parameter order: a slice is (address, length), a view of
//! rank R is (address, R extents, R strides in elements), a raw pointer is (address), a scalar its own bits.

use core::marker::PhantomData;

use crate::args::{Place, RawArg, SliceArg, SliceMutArg, ViewArg, ViewMutArg};
use crate::desc::{Element, KernelDesc};

/// Memory that a call touches, for the checks before a launch and for the emulator's bounds.
#[derive(Clone, Copy, Debug)]
pub struct BufferUse {
    /// Index into [`KernelDesc::params`].
    pub param: u8,
    pub place: Place,
    pub start: u64,
    /// Zero for raw pointers, which may reach anything.
    pub bytes: u64,
    /// What a raw pointer may reach, where that is known.
    pub extent: Option<u64>,
    pub mutable: bool,
}

/// Words that a call has at most: `kernel_compiler::parse` refuses kernels that take more.
pub const MAX_SLOTS: usize = 40;
const MAX_BUFFERS: usize = 12;

/// A kernel with its arguments bound: cheap, typed, not yet checked against a device. Give it to a backend.
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until a runtime launches it"]
pub struct Call<'a> {
    desc: &'static KernelDesc,
    slots: [u64; MAX_SLOTS],
    used: usize,
    buffers: [BufferUse; MAX_BUFFERS],
    buffers_used: usize,
    params_bound: usize,
    borrow: PhantomData<&'a mut ()>,
}

impl<'a> Call<'a> {
    pub fn new(desc: &'static KernelDesc) -> Self {
        let none = BufferUse { param: 0, place: Place::Unknown, start: 0, bytes: 0, extent: None, mutable: false };
        Call {
            desc,
            slots: [0; MAX_SLOTS],
            used: 0,
            buffers: [none; MAX_BUFFERS],
            buffers_used: 0,
            params_bound: 0,
            borrow: PhantomData,
        }
    }

    pub fn desc(&self) -> &'static KernelDesc {
        self.desc
    }

    pub fn slots(&self) -> &[u64] {
        &self.slots[..self.used]
    }

    pub fn buffers(&self) -> &[BufferUse] {
        &self.buffers[..self.buffers_used]
    }

    fn push(&mut self, v: u64) {
        self.slots[self.used] = v;
        self.used += 1;
    }

    fn buffer(&mut self, place: Place, start: u64, bytes: u64, mutable: bool) {
        let param = self.params_bound as u8;
        self.buffers[self.buffers_used] = BufferUse { param, place, start, bytes, extent: None, mutable };
        self.buffers_used += 1;
    }

    pub fn slice<T: Element>(mut self, a: SliceArg<'a, T>) -> Self {
        self.buffer(a.place(), a.addr(), a.len() * size_of::<T>() as u64, false);
        self.push(a.addr());
        self.push(a.len());
        self.params_bound += 1;
        self
    }

    pub fn slice_mut<T: Element>(mut self, a: SliceMutArg<'a, T>) -> Self {
        self.buffer(a.place(), a.addr(), a.len() * size_of::<T>() as u64, true);
        self.push(a.addr());
        self.push(a.len());
        self.params_bound += 1;
        self
    }

    pub fn view<T: Element, const R: usize>(self, a: ViewArg<'a, T, R>) -> Self {
        self.any_view(a, false)
    }

    pub fn view_mut<T: Element, const R: usize>(self, a: ViewMutArg<'a, T, R>) -> Self {
        self.any_view(a.0, true)
    }

    fn any_view<T: Element, const R: usize>(mut self, a: ViewArg<'a, T, R>, mutable: bool) -> Self {
        self.buffer(a.place(), a.addr(), a.span() * size_of::<T>() as u64, mutable);
        self.push(a.addr());
        a.dims().iter().for_each(|&d| self.push(d));
        a.strides().iter().for_each(|&s| self.push(s));
        self.params_bound += 1;
        self
    }

    pub fn raw<T: Element>(mut self, a: RawArg<T>, mutable: bool) -> Self {
        self.buffer(a.place(), a.addr(), 0, mutable);
        self.buffers[self.buffers_used - 1].extent = a.extent();
        self.push(a.addr());
        self.params_bound += 1;
        self
    }

    pub fn scalar<T: Element>(mut self, v: T) -> Self {
        let mut bits = 0u64;
        // SAFETY: T is a plain scalar of at most 8 bytes.
        unsafe {
            core::ptr::copy_nonoverlapping((&raw const v).cast::<u8>(), (&raw mut bits).cast::<u8>(), size_of::<T>())
        };
        self.push(bits);
        self.params_bound += 1;
        self
    }
}
