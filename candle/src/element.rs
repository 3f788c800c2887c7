//! Element types of kernels and the dtypes of tensors that hold them.

use candle_core::DType;
use tilewright::{Element, bf16, f8e4m3, f16};

/// An element type of kernels that tensors hold.
///
/// candle has no signed bytes: `i8` reads and writes the bytes of `U8` tensors. `i32` also reads `U32` tensors, bit by
/// bit, so that kernels take candle's indices as they are.
///
/// # Examples
/// ```
/// use candle_core::DType;
/// use tilewright_candle::TensorElement;
///
/// assert_eq!((f32::CANDLE_DTYPE, i8::CANDLE_DTYPE), (DType::F32, DType::U8));
/// assert!(i32::reads(DType::U32) && !f32::reads(DType::F64));
/// ```
pub trait TensorElement: Element {
    /// The dtype of the tensors that hold such elements.
    const CANDLE_DTYPE: DType;

    /// Whether a kernel may read a tensor of this dtype as such elements.
    fn reads(dtype: DType) -> bool {
        dtype == Self::CANDLE_DTYPE
    }
}

macro_rules! elements { ($($t:ty => $dtype:ident),* $(,)?) => { $(
    impl TensorElement for $t {
        const CANDLE_DTYPE: DType = DType::$dtype;
    }
)* } }
elements! {
    f32 => F32, f64 => F64, f16 => F16, bf16 => BF16, f8e4m3 => F8E4M3, u8 => U8, i8 => U8, i16 => I16, u32 => U32,
    i64 => I64,
}

impl TensorElement for i32 {
    const CANDLE_DTYPE: DType = DType::I32;

    fn reads(dtype: DType) -> bool {
        matches!(dtype, DType::I32 | DType::U32)
    }
}
