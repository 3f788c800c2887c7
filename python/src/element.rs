//! Element types as other libraries call them.

use tilewright_core::DType;
use tilewright_runtime::dlpack::DLDataType;

/// An element type in DLPack's numbers.
pub(crate) fn element_of(dtype: DType) -> DLDataType {
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::Bool => 6,
        DType::F8E4M3 => 10,
        DType::F8E5M2 => 12,
    };
    DLDataType { code, bits: dtype.size() as u8 * 8, lanes: 1 }
}

/// The name that NumPy, PyTorch and CuPy give to an element type.
pub(crate) fn name_of(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::Bool => "bool",
        DType::F8E4M3 => "float8_e4m3fn",
        DType::F8E5M2 => "float8_e5m2",
    }
}
