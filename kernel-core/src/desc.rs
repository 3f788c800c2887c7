//! What the macro emits beside a kernel: its descriptor, and the typed call that binds arguments to it.
//!
//! Nothing here knows a GPU driver: a backend reads a [`Call`], picks a [`ConfigDesc`] and a [`VariantDesc`], and runs
//! it. Arguments travel as 64-bit *slots*, little-endian, in parameter order: a slice is (address, length), a view of
//! rank R is (address, R extents, R strides in elements), a raw pointer is (address), a scalar its own bits.

use core::marker::PhantomData;

/// Element type of a tile or a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    F32,
    F64,
    F16,
    BF16,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    F8E4M3,
    F8E5M2,
}

impl DType {
    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 | DType::Bool | DType::F8E4M3 | DType::F8E5M2 => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// The name as written in a kernel.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::Bool => "bool",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
        }
    }
}

/// A Rust type that a buffer may hold.
pub trait Element: Copy + Send + Sync + 'static {
    const DTYPE: DType;
}

macro_rules! elements { ($($t:ty => $d:ident),* $(,)?) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* } }
elements! { f32 => F32, f64 => F64, half::f16 => F16, half::bf16 => BF16, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
isize => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, usize => U64, bool => Bool,
crate::scalar::F8E4M3 => F8E4M3, crate::scalar::F8E5M2 => F8E5M2 }

/// What one program does on the CPU, arguments as slots.
pub type CpuFn = unsafe fn(&crate::cpu::Program, &[u64]);

/// The CPU meaning of one instance.
#[derive(Clone, Copy, Debug)]
pub struct CpuCode {
    /// Configurations that differ in numbers alone share it.
    pub run: CpuFn,
    /// This one's, which the function finds in [`Program::numbers`](crate::cpu::Program::numbers).
    pub numbers: &'static [u64],
}

impl CpuCode {
    /// A function that is one configuration's alone.
    pub const fn alone(run: CpuFn) -> CpuCode {
        CpuCode { run, numbers: &[] }
    }
}

/// One kernel for one choice of its type parameters.
#[derive(Debug)]
pub struct KernelDesc {
    pub name: &'static str,
    pub file: &'static str,
    pub line: u32,
    /// The type arguments, as in `f16` or `f32,i32`; empty without type parameters.
    pub types: &'static str,
    pub params: &'static [ParamDesc],
    /// Whether a launch may begin while the one before it ends: its code waits where it must, from compute capability 9.0 on.
    pub early: bool,
    /// Every configuration that was built; the first is the default.
    pub configs: &'static [ConfigDesc],
    /// The compiled entries ([`crate::bundle::Bundle`]); `None` when the crate was built without a device toolchain
    /// or without a build script that calls `kernel_build`.
    pub bundle: Option<&'static [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Slice,
    SliceMut,
    View { rank: usize },
    ViewMut { rank: usize },
    Ptr,
    PtrMut,
    Scalar,
}

impl ParamKind {
    pub const fn slots(self) -> usize {
        match self {
            ParamKind::Slice | ParamKind::SliceMut => 2,
            ParamKind::View { rank } | ParamKind::ViewMut { rank } => 1 + 2 * rank,
            ParamKind::Ptr | ParamKind::PtrMut | ParamKind::Scalar => 1,
        }
    }

    pub const fn is_mut(self) -> bool {
        matches!(self, ParamKind::SliceMut | ParamKind::ViewMut { .. } | ParamKind::PtrMut)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ParamDesc {
    pub name: &'static str,
    pub kind: ParamKind,
    pub dtype: DType,
    /// Its first slot.
    pub slot: usize,
}

/// One point of a kernel's tuning space.
#[derive(Debug)]
pub struct ConfigDesc {
    /// Stable: `BLOCK=1024,warps=4`.
    pub id: &'static str,
    pub consts: &'static [(&'static str, i64)],
    /// 32-thread warps a program runs on.
    pub warps: u32,
    /// Programs along x, y, z; a zero means that there is nothing to do.
    pub grid: fn(&GridCtx) -> [u64; 3],
    pub cpu: CpuCode,
    /// In order of preference: the first that runs on the device and whose requirements hold is launched.
    pub variants: &'static [VariantDesc],
}

/// What a grid expression may depend on.
#[derive(Clone, Copy, Debug)]
pub struct GridCtx<'a> {
    pub slots: &'a [u64],
    /// Multiprocessors of the device; on the CPU, worker threads.
    pub num_sms: u64,
}

#[derive(Debug)]
pub struct VariantDesc {
    /// Name of the entry in the bundle.
    pub entry: &'static str,
    /// The only target it is compiled for, as in `sm_90a`; otherwise all of the build's.
    pub only: Option<&'static str>,
    pub requires: &'static [Require],
    /// Tensor maps that the entry takes after its slots.
    pub maps: &'static [MapDesc],
    /// The lowered code compiled for the host; present for a covering subset of the instances by default.
    pub emulated: Option<Emulated>,
}

impl VariantDesc {
    pub fn admits(&self, slots: &[u64]) -> bool {
        self.requires.iter().all(|r| r.holds(slots))
    }
}

/// What a launch knows of a call: a constant times some slots (an address in bytes, an extent or stride in elements).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub times: u64,
    pub slots: &'static [usize],
}

impl Number {
    /// A product of slots.
    pub const fn product(slots: &'static [usize]) -> Number {
        Number { times: 1, slots }
    }

    /// The largest number where it is larger.
    #[inline]
    pub fn of(&self, slots: &[u64]) -> u64 {
        self.slots.iter().fold(self.times, |n, &s| n.saturating_mul(slots[s]))
    }
}

/// What a number must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Require {
    pub of: Number,
    pub test: Test,
}

impl Require {
    #[inline]
    pub fn holds(&self, slots: &[u64]) -> bool {
        let n = self.of.of(slots);
        match self.test {
            Test::Multiple(by) => n.is_multiple_of(by),
            Test::Equal(to) => n == to,
            Test::Within(lo, hi) => lo <= n && n <= hi,
            Test::AtMost(slot) => n <= slots[slot],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    Multiple(u64),
    Equal(u64),
    /// Both ends included.
    Within(u64, u64),
    /// At most what is in another slot.
    AtMost(usize),
}

/// How boxes of an array are copied to shared memory, or from it, in one step each (a CUDA tensor map).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapDesc {
    /// The view, slice or pointer that the array begins at, as an index into [`KernelDesc::params`].
    pub param: usize,
    /// The contiguous dimension last.
    pub dims: &'static [MapDim],
    /// Bytes of the swizzle pattern: 0 (none), 32, 64 or 128.
    pub swizzle: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapDim {
    /// Of the array: a box has zeros beyond it, and nothing is stored there.
    pub extent: Number,
    /// In elements; of the last dimension it is 1.
    pub stride: Number,
    /// Extent of a box.
    pub boxed: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Emulated {
    /// One thread of one program, given the slots and then the addresses of the tensor maps; runs only inside
    /// [`crate::emulator::launch`].
    pub run: unsafe fn(&[u64]),
    /// Of a thread block, as the shared memory.
    pub threads: u32,
    pub shared_bytes: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
}

impl ConfigDesc {
    /// The variant to launch for these arguments, of those that `runs` says can run here; none if no such one admits them.
    pub fn variant(&self, slots: &[u64], runs: impl Fn(&VariantDesc) -> bool) -> Option<usize> {
        self.variants.iter().position(|v| runs(v) && v.admits(slots))
    }
}

/// A kernel with its type parameters chosen.
pub trait Kernel {
    const DESC: &'static KernelDesc;
}

/// Where memory lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Host,
    /// CUDA device ordinal.
    Cuda(u32),
    /// A raw address the caller vouches for.
    Unknown,
}

/// Memory that a call touches, for the checks before a launch and for the emulator's bounds.
#[derive(Clone, Copy, Debug)]
pub struct BufferUse {
    /// Index into [`KernelDesc::params`].
    pub param: u8,
    pub place: Place,
    pub start: u64,
    /// Zero for raw pointers, whose extent is not known.
    pub bytes: u64,
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
        let none = BufferUse { param: 0, place: Place::Unknown, start: 0, bytes: 0, mutable: false };
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
        self.buffers[self.buffers_used] = BufferUse { param, place, start, bytes, mutable };
        self.buffers_used += 1;
    }

    pub fn slice<T: Element>(mut self, a: SliceArg<'a, T>) -> Self {
        self.buffer(a.place, a.ptr, a.len * size_of::<T>() as u64, false);
        self.push(a.ptr);
        self.push(a.len);
        self.params_bound += 1;
        self
    }

    pub fn slice_mut<T: Element>(mut self, a: SliceMutArg<'a, T>) -> Self {
        self.buffer(a.0.place, a.0.ptr, a.0.len * size_of::<T>() as u64, true);
        self.push(a.0.ptr);
        self.push(a.0.len);
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
        self.buffer(a.place, a.ptr, a.span() * size_of::<T>() as u64, mutable);
        self.push(a.ptr);
        a.dims.iter().for_each(|&d| self.push(d));
        a.strides.iter().for_each(|&s| self.push(s));
        self.params_bound += 1;
        self
    }

    pub fn raw<T: Element>(mut self, a: RawArg<T>, mutable: bool) -> Self {
        self.buffer(a.place, a.ptr, 0, mutable);
        self.push(a.ptr);
        self.params_bound += 1;
        self
    }

    pub fn scalar<T: Element>(mut self, v: T) -> Self {
        let mut bits = 0u64;
        // SAFETY: T is a plain scalar of at most 8 bytes.
        unsafe { core::ptr::copy_nonoverlapping((&raw const v).cast::<u8>(), (&raw mut bits).cast::<u8>(), size_of::<T>()) };
        self.push(bits);
        self.params_bound += 1;
        self
    }
}

/// A borrowed contiguous array, wherever it lives.
#[derive(Clone, Copy, Debug)]
pub struct SliceArg<'a, T> {
    ptr: u64,
    len: u64,
    place: Place,
    borrow: PhantomData<&'a [T]>,
}

/// A mutably borrowed contiguous array.
#[derive(Debug)]
pub struct SliceMutArg<'a, T>(SliceArg<'a, T>);

impl<'a, T: Element> SliceArg<'a, T> {
    /// # Safety
    /// `ptr` addresses `len` initialised elements at `place` that outlive `'a`.
    pub unsafe fn from_raw(ptr: u64, len: u64, place: Place) -> Self {
        SliceArg { ptr, len, place, borrow: PhantomData }
    }

    pub fn len(&self) -> u64 {
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

    /// As a row-major tensor of these extents; `None` unless they multiply to the length.
    pub fn view<const R: usize>(self, dims: [u64; R]) -> Option<ViewArg<'a, T, R>> {
        let mut strides = [1; R];
        for d in (0..R.saturating_sub(1)).rev() {
            strides[d] = strides[d + 1] * dims[d + 1];
        }
        (dims.iter().product::<u64>() == self.len).then_some(ViewArg { ptr: self.ptr, dims, strides, place: self.place, borrow: PhantomData })
    }

    /// As a tensor of these extents and strides (in elements); `None` where that would leave the array.
    pub fn strided<const R: usize>(self, dims: [u64; R], strides: [u64; R]) -> Option<ViewArg<'a, T, R>> {
        let v = ViewArg { ptr: self.ptr, dims, strides, place: self.place, borrow: PhantomData };
        (v.checked_span()? <= self.len).then_some(v)
    }
}

impl<'a, T: Element> SliceMutArg<'a, T> {
    /// # Safety
    /// As [`SliceArg::from_raw`], and nothing else uses the memory during `'a`.
    pub unsafe fn from_raw(ptr: u64, len: u64, place: Place) -> Self {
        SliceMutArg(unsafe { SliceArg::from_raw(ptr, len, place) })
    }

    pub fn len(&self) -> u64 {
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

    pub fn view<const R: usize>(self, dims: [u64; R]) -> Option<ViewMutArg<'a, T, R>> {
        self.0.view(dims).map(ViewMutArg)
    }

    pub fn strided<const R: usize>(self, dims: [u64; R], strides: [u64; R]) -> Option<ViewMutArg<'a, T, R>> {
        self.0.strided(dims, strides).map(ViewMutArg)
    }
}

/// A borrowed strided tensor of rank R.
#[derive(Clone, Copy, Debug)]
pub struct ViewArg<'a, T, const R: usize> {
    ptr: u64,
    dims: [u64; R],
    strides: [u64; R],
    place: Place,
    borrow: PhantomData<&'a [T]>,
}

/// A mutably borrowed strided tensor of rank R.
#[derive(Debug)]
pub struct ViewMutArg<'a, T, const R: usize>(ViewArg<'a, T, R>);

impl<T, const R: usize> ViewArg<'_, T, R> {
    fn checked_span(&self) -> Option<u64> {
        if self.dims.contains(&0) {
            return Some(0);
        }
        let mut last = 0u64;
        for d in 0..R {
            last = last.checked_add((self.dims[d] - 1).checked_mul(self.strides[d])?)?;
        }
        last.checked_add(1)
    }

    /// Elements from the first to one past the last.
    pub fn span(&self) -> u64 {
        self.checked_span().unwrap_or(u64::MAX)
    }

    pub fn dims(&self) -> [u64; R] {
        self.dims
    }

    /// In elements.
    pub fn strides(&self) -> [u64; R] {
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
        ViewArg { ptr: self.0.ptr, dims: self.0.dims, strides: self.0.strides, place: self.0.place, borrow: PhantomData }
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
        let len = self.dims.iter().product();
        let array = SliceArg { ptr: self.ptr, len, place: self.place, borrow: PhantomData };
        (array.view(self.dims)?.strides == self.strides).then_some(array)
    }
}

impl<T> ViewArg<'_, T, 2> {
    /// The transpose.
    pub fn flipped(self) -> Self {
        let ([rows, cols], [r, c]) = (self.dims, self.strides);
        ViewArg { dims: [cols, rows], strides: [c, r], ..self }
    }

    /// The same elements: of a single column or row, that no stride leads away from, as the first of others. Where its elements are neighbours these
    /// begin whole cache lines apart, else they are neighbours.
    pub fn regular(self) -> Self {
        let apart = |len: u64, stride: u64| if stride == 1 { len.checked_next_multiple_of(128).unwrap_or(len) } else { 1 };
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
    pub fn stacked(self, n: u64) -> Option<Self> {
        let ([matrices, rows, cols], [m, r, c]) = (self.dims, self.strides);
        // No stride leads away from a single row.
        let r = if rows == 1 { m } else { r };
        let lie_so = n == 1 || rows.checked_mul(r) == Some(m);
        let strides = [m.checked_mul(n)?, r, c];
        (n > 0 && matrices.is_multiple_of(n) && lie_so).then_some(ViewArg { dims: [matrices / n, rows.checked_mul(n)?, cols], strides, ..self })
    }
}

impl<T> ViewMutArg<'_, T, 3> {
    /// As of [`ViewArg`].
    pub fn stacked(self, n: u64) -> Option<Self> {
        self.0.stacked(n).map(ViewMutArg)
    }
}

/// An address for a raw-pointer parameter.
#[derive(Clone, Copy, Debug)]
pub struct RawArg<T> {
    pub ptr: u64,
    pub place: Place,
    element: PhantomData<*const T>,
}

impl<T> RawArg<T> {
    pub fn new(ptr: u64, place: Place) -> Self {
        RawArg { ptr, place, element: PhantomData }
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
        SliceArg { ptr: self.as_ptr() as u64, len: self.len() as u64, place: Place::Host, borrow: PhantomData }
    }
}
impl<'a, T: Element> AsSlice<'a, T> for &'a Vec<T> {
    fn as_slice_arg(self) -> SliceArg<'a, T> {
        self.as_slice().as_slice_arg()
    }
}
impl<'a, T: Element> AsSliceMut<'a, T> for &'a mut [T] {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        SliceMutArg(SliceArg { ptr: self.as_mut_ptr() as u64, len: self.len() as u64, place: Place::Host, borrow: PhantomData })
    }
}
impl<'a, T: Element> AsSliceMut<'a, T> for &'a mut Vec<T> {
    fn as_slice_mut_arg(self) -> SliceMutArg<'a, T> {
        self.as_mut_slice().as_slice_mut_arg()
    }
}
