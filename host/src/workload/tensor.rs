//! Tensors of a recorded layout, with elements of the process's own.

use super::recorded::{ALIGNMENT, Layout, invalid};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use tilewright_core::{
    Call, DType, DeviceId, Element, ParamKind, SliceArg, SliceMutArg, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16,
};

/// Memory on a runtime's device, and the layout of a tensor in it. Floats are random from 0.5 to 1, and bytes random;
/// wider integers, which may be indices, and `bool` are 0.
///
/// # Examples
/// ```
/// use tilewright::workload::{Layout, Tensor};
/// use tilewright::{DType, Runtime};
///
/// let rt = Runtime::cpu();
/// let layout = Layout { dims: vec![3, 4], strides: vec![5, 1], offset: 4 };
/// let x = Tensor::new(&rt, DType::F32, &layout)?;
/// let view = x.view::<f32, 2>()?;
/// assert_eq!((view.dims(), view.strides(), view.addr() % 256), ([3, 4], [5, 1], 4));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub struct Tensor {
    /// At least [`ALIGNMENT`] bytes more than the tensor spans.
    memory: Buffer<u8>,
    dtype: DType,
    layout: Layout,
    /// Elements from the first to the last.
    span: usize,
}

/// Evaluates an expression with the Rust type of a dtype.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $e:expr) => {
        with_type!($dtype, $T => $e, F32 f32, F64 f64, F16 f16, BF16 bf16, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8,
            U16 u16, U32 u32, U64 u64, Bool bool, F8E4M3 f8e4m3, F8E5M2 f8e5m2)
    };
    ($dtype:expr, $T:ident => $e:expr, $($d:ident $t:ty),*) => {
        match $dtype {
            $(DType::$d => {
                type $T = $t;
                $e
            })*
        }
    };
}

impl Tensor {
    /// Errors: [`Error::InvalidArgument`] for a layout beyond the address space, or with
    /// another number of strides than extents; [`Error::OutOfMemory`].
    pub fn new(rt: &Runtime, dtype: DType, layout: &Layout) -> Result<Tensor> {
        let why = || invalid(format!("{layout:?} of {} is no layout", dtype.name()));
        let last = |sum: usize, (d, s): (&usize, &usize)| (d - 1).checked_mul(*s)?.checked_add(sum);
        let span = match layout.dims.contains(&0) {
            true => Some(0),
            false => layout.dims.iter().zip(&layout.strides).try_fold(0, last).and_then(|n| n.checked_add(1)),
        };
        let aligned = layout.offset < ALIGNMENT as usize && layout.offset.is_multiple_of(dtype.size());
        let bytes = span.and_then(|n| n.checked_mul(dtype.size())?.checked_add(2 * ALIGNMENT as usize));
        let is_layout = aligned && layout.dims.len() == layout.strides.len();
        let (span, bytes) = span.zip(bytes).filter(|_| is_layout).ok_or_else(why)?;
        let memory = match Pattern::of(dtype) {
            Some(pattern) => Buffer::from_slice(rt, &pattern.repeated(bytes)?)?,
            None => Buffer::zeros(rt, bytes)?,
        };
        Ok(Tensor { memory, dtype, layout: layout.clone(), span })
    }

    fn start(&self) -> u64 {
        self.memory.addr().next_multiple_of(ALIGNMENT) + self.layout.offset as u64
    }

    fn check<T: Element>(&self) -> Result<()> {
        match T::DTYPE == self.dtype {
            true => Ok(()),
            false => Err(invalid(format!("a tensor is of {}, not of {}", self.dtype.name(), T::DTYPE.name()))),
        }
    }

    fn sizes<const R: usize>(&self) -> Result<[[usize; R]; 2]> {
        let of = |sizes: &[usize]| <[usize; R]>::try_from(sizes);
        match (of(&self.layout.dims), of(&self.layout.strides)) {
            (Ok(dims), Ok(strides)) => Ok([dims, strides]),
            _ => Err(invalid(format!("a tensor has {} dimensions, not {R}", self.layout.dims.len()))),
        }
    }

    /// All elements from the first to the last. Errors: [`Error::InvalidArgument`] for
    /// another type.
    pub fn slice<T: Element>(&self) -> Result<SliceArg<'_, T>> {
        self.check::<T>()?;
        // SAFETY: the memory has that many elements from there on, by `Tensor::new`, which are borrowed. Every pattern
        // is a value of a type with random elements, and 0 is one of every type.
        Ok(unsafe { SliceArg::from_raw(self.start(), self.span, self.memory.device()) })
    }

    /// As [`Tensor::slice`].
    pub fn slice_mut<T: Element>(&mut self) -> Result<SliceMutArg<'_, T>> {
        self.check::<T>()?;
        // SAFETY: as above, borrowed mutably.
        Ok(unsafe { SliceMutArg::from_raw(self.start(), self.span, self.memory.device()) })
    }

    /// The tensor. Errors: [`Error::InvalidArgument`] for another type or rank.
    pub fn view<T: Element, const R: usize>(&self) -> Result<ViewArg<'_, T, R>> {
        let [dims, strides] = self.sizes()?;
        Ok(self.slice()?.strided(dims, strides)?)
    }

    /// As [`Tensor::view`].
    pub fn view_mut<T: Element, const R: usize>(&mut self) -> Result<ViewMutArg<'_, T, R>> {
        let [dims, strides] = self.sizes()?;
        Ok(self.slice_mut()?.strided(dims, strides)?)
    }

    /// Binds it to a kernel's parameter of this kind.
    pub(super) fn bind<'a>(&'a mut self, call: Call<'a>, kind: ParamKind) -> Result<Call<'a>> {
        with_type!(self.dtype, T => Ok(match kind {
            ParamKind::Slice => call.slice::<T>(self.slice()?),
            ParamKind::SliceMut => call.slice_mut::<T>(self.slice_mut()?),
            ParamKind::View { rank: 1 } => call.view::<T, 1>(self.view()?),
            ParamKind::View { rank: 2 } => call.view::<T, 2>(self.view()?),
            ParamKind::View { rank: 3 } => call.view::<T, 3>(self.view()?),
            ParamKind::View { rank: 4 } => call.view::<T, 4>(self.view()?),
            ParamKind::View { rank: 5 } => call.view::<T, 5>(self.view()?),
            ParamKind::ViewMut { rank: 1 } => call.view_mut::<T, 1>(self.view_mut()?),
            ParamKind::ViewMut { rank: 2 } => call.view_mut::<T, 2>(self.view_mut()?),
            ParamKind::ViewMut { rank: 3 } => call.view_mut::<T, 3>(self.view_mut()?),
            ParamKind::ViewMut { rank: 4 } => call.view_mut::<T, 4>(self.view_mut()?),
            ParamKind::ViewMut { rank: 5 } => call.view_mut::<T, 5>(self.view_mut()?),
            other => return Err(invalid(format!("a parameter of kind {other:?} takes no tensor"))),
        }))
    }
}

/// Binds a scalar of these bits.
pub(super) fn bind_scalar(call: Call<'_>, dtype: DType, bits: u64) -> Result<Call<'_>> {
    let bytes = bits.to_le_bytes();
    if dtype.size() < bytes.len() && bits >> (8 * dtype.size()) != 0 {
        return Err(invalid(format!("{bits:#x} is no {}", dtype.name())));
    }
    Ok(match dtype {
        DType::Bool if bits > 1 => return Err(invalid(format!("{bits} is no bool"))),
        DType::Bool => call.scalar(bits == 1),
        DType::F32 => call.scalar(f32::from_bits(bits as u32)),
        DType::F64 => call.scalar(f64::from_bits(bits)),
        DType::F16 => call.scalar(f16::from_bits(bits as u16)),
        DType::BF16 => call.scalar(bf16::from_bits(bits as u16)),
        DType::F8E4M3 => call.scalar(f8e4m3::from_bits(bits as u8)),
        DType::F8E5M2 => call.scalar(f8e5m2::from_bits(bits as u8)),
        DType::I8 => call.scalar(bits as i8),
        DType::I16 => call.scalar(bits as i16),
        DType::I32 => call.scalar(bits as i32),
        DType::I64 => call.scalar(bits as i64),
        DType::U8 => call.scalar(bits as u8),
        DType::U16 => call.scalar(bits as u16),
        DType::U32 => call.scalar(bits as u32),
        DType::U64 => call.scalar(bits),
    })
}

/// Random elements: the bits of these masks are random, those of `fixed` are set. A floating-point number has its
/// fraction from `random` and is between 0.5 and 1.
struct Pattern {
    random: u32,
    fixed: u32,
    bytes: usize,
}

impl Pattern {
    /// None for types whose elements are 0.
    fn of(dtype: DType) -> Option<Pattern> {
        let (random, fixed) = match dtype {
            DType::F32 => (0x7f_ffff, 0x3f00_0000),
            DType::F16 => (0x3ff, 0x3800),
            DType::BF16 => (0x7f, 0x3f00),
            DType::F8E4M3 => (0x07, 0x30),
            DType::F8E5M2 => (0x03, 0x38),
            DType::I8 | DType::U8 => (0xff, 0),
            _ => return None,
        };
        Some(Pattern { random, fixed, bytes: dtype.size() })
    }

    /// So many bytes, which repeat after 1 MiB.
    fn repeated(&self, count: usize) -> Result<Vec<u8>> {
        let some = self.bytes(count.min(1 << 20));
        let mut all = Vec::new();
        let bytes = count as u64;
        all.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { device: DeviceId::Host, bytes, free: None })?;
        while all.len() < count {
            all.extend_from_slice(&some[..some.len().min(count - all.len())]);
        }
        Ok(all)
    }

    fn bytes(&self, count: usize) -> Vec<u8> {
        // SplitMix64.
        let mut state = 0u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            ((z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as u32
        };
        let mut out = Vec::with_capacity(count + size_of::<u32>());
        while out.len() < count {
            out.extend_from_slice(&(next() & self.random | self.fixed).to_le_bytes()[..self.bytes]);
        }
        out.truncate(count);
        out
    }
}
