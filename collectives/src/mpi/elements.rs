//! Arithmetic that MPI does not have: 16-bit floats, and averages.

use super::library::Combine;
use crate::communicator::{Part, Reduction};
use core::ffi::{c_int, c_void};
use tilewright_core::{DType, bf16, f16};

/// A 16-bit float. Its arithmetic is in f32.
trait Half: Copy {
    fn widened(self) -> f32;
    fn rounded(x: f32) -> Self;
}

impl Half for f16 {
    fn widened(self) -> f32 {
        self.to_f32()
    }
    fn rounded(x: f32) -> f16 {
        f16::from_f32(x)
    }
}

impl Half for bf16 {
    fn widened(self) -> f32 {
        self.to_f32()
    }
    fn rounded(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
}

const SUM: u8 = 0;
const PRODUCT: u8 = 1;
const MIN: u8 = 2;
const MAX: u8 = 3;

/// The function of an MPI operation: combines `len` elements.
///
/// # Safety
/// As MPI calls it: both are arrays of as many elements of `T`. The second is written.
unsafe extern "C" fn combine<T: Half, H, const OP: u8>(
    from: *mut c_void,
    into: *mut c_void,
    len: *mut c_int,
    _: *mut H,
) {
    // SAFETY: MPI's contract.
    let len = usize::try_from(unsafe { *len }).unwrap_or(0);
    for i in 0..len {
        // SAFETY: MPI's contract. Parts of a message may begin anywhere.
        let (a, b) = unsafe { (from.cast::<T>().add(i).read_unaligned(), into.cast::<T>().add(i).read_unaligned()) };
        let (a, b) = (a.widened(), b.widened());
        let result = match OP {
            SUM => a + b,
            PRODUCT => a * b,
            MIN => a.min(b),
            _ => a.max(b),
        };
        // SAFETY: as above.
        unsafe { into.cast::<T>().add(i).write_unaligned(T::rounded(result)) };
    }
}

fn of_type<T: Half, H>() -> [Combine<H>; 4] {
    [combine::<T, H, SUM>, combine::<T, H, PRODUCT>, combine::<T, H, MIN>, combine::<T, H, MAX>]
}

/// The functions of `f16` and of `bf16`, each for sum, product, min and max.
pub(crate) fn half_functions<H>() -> [[Combine<H>; 4]; 2] {
    [of_type::<f16, H>(), of_type::<bf16, H>()]
}

/// Which of the four functions a reduction takes.
pub(crate) fn index(reduction: Reduction) -> usize {
    match reduction {
        Reduction::Sum | Reduction::Average => usize::from(SUM),
        Reduction::Product => usize::from(PRODUCT),
        Reduction::Min => usize::from(MIN),
        Reduction::Max => usize::from(MAX),
    }
}

pub(crate) fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
}

/// Divides all elements by the number of ranks, integers toward 0.
///
/// # Safety
/// Memory of the host, which nothing else uses.
pub(crate) unsafe fn divide(part: Part, by: usize) {
    macro_rules! each {
        ($t:ty, $v:ident, $divided:expr) => {{
            // SAFETY: the caller's contract, and aligned as of a slice.
            let all = unsafe { core::slice::from_raw_parts_mut(part.addr() as *mut $t, part.len()) };
            all.iter_mut().for_each(|element| {
                let $v = *element;
                *element = $divided;
            });
        }};
    }
    match part.dtype() {
        DType::F32 => each!(f32, v, v / by as f32),
        DType::F64 => each!(f64, v, v / by as f64),
        DType::F16 => each!(f16, v, f16::from_f32(v.to_f32() / by as f32)),
        DType::BF16 => each!(bf16, v, bf16::from_f32(v.to_f32() / by as f32)),
        DType::I8 => each!(i8, v, (i64::from(v) / by as i64) as i8),
        DType::I16 => each!(i16, v, (i64::from(v) / by as i64) as i16),
        DType::I32 => each!(i32, v, (i64::from(v) / by as i64) as i32),
        DType::I64 => each!(i64, v, v / by as i64),
        DType::U8 => each!(u8, v, (u64::from(v) / by as u64) as u8),
        DType::U16 => each!(u16, v, (u64::from(v) / by as u64) as u16),
        DType::U32 => each!(u32, v, (u64::from(v) / by as u64) as u32),
        DType::U64 => each!(u64, v, v / by as u64),
        // Not numbers of `Number`.
        DType::Bool | DType::F8E4M3 | DType::F8E5M2 => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::AsSliceMut;

    fn combined<T: Half>(reduction: Reduction, a: f32, b: f32) -> f32 {
        let (mut a, mut b, mut len, mut handle) = ([T::rounded(a)], [T::rounded(b)], 1, ());
        let f = of_type::<T, ()>()[index(reduction)];
        // SAFETY: arrays of one element.
        unsafe { f(a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), &mut len, &mut handle) };
        b[0].widened()
    }

    #[test]
    fn floats_of_16_bits_are_combined() {
        for (reduction, wanted) in [
            (Reduction::Sum, 5.0),
            (Reduction::Average, 5.0),
            (Reduction::Product, 6.0),
            (Reduction::Min, 2.0),
            (Reduction::Max, 3.0),
        ] {
            assert_eq!(combined::<f16>(reduction, 2.0, 3.0), wanted, "{reduction:?}");
            assert_eq!(combined::<bf16>(reduction, 2.0, 3.0), wanted, "{reduction:?}");
        }
        assert_eq!(combined::<f16>(Reduction::Sum, 65504.0, 65504.0), f32::INFINITY);
    }

    #[test]
    fn elements_are_divided() {
        fn divided<T: tilewright_core::Element>(mut x: [T; 2]) -> [T; 2] {
            let part = Part::of_mut(&x[..].as_slice_mut_arg());
            // SAFETY: the array, which is borrowed mutably.
            unsafe { divide(part, 2) };
            x
        }
        assert_eq!(divided([3.0f32, -1.0]), [1.5, -0.5]);
        assert_eq!(divided([3.0f64, -1.0]), [1.5, -0.5]);
        assert_eq!(divided([3.0, -1.0].map(f16::from_f32)), [1.5, -0.5].map(f16::from_f32));
        assert_eq!(divided([3.0, -1.0].map(bf16::from_f32)), [1.5, -0.5].map(bf16::from_f32));
        assert_eq!((divided([3i8, -3]), divided([3i32, -3]), divided([3i64, -3])), ([1, -1], [1, -1], [1, -1]));
        assert_eq!(
            (divided([3u8, 255]), divided([3u32, 4]), divided([3u64, u64::MAX])),
            ([1, 127], [1, 2], [1, u64::MAX / 2])
        );
    }
}
