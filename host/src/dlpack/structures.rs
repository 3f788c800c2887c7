//! The structures of `dlpack.h`, version 1, with the names that it gives their fields.

use core::ffi::c_void;
use tilewright_core::DType;

/// The device of a tensor. [`DlpackTensor`](super::DlpackTensor) has an example.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLDevice {
    /// 1: CPU, 2: CUDA, 3: pinned host memory, 13: CUDA managed memory. Others are refused.
    pub device_type: i32,
    /// The ordinal, from 0 on.
    pub device_id: i32,
}

/// The element type of a tensor. [`DlpackTensor`](super::DlpackTensor) has an example.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// 0: signed integer, 1: unsigned integer, 2: IEEE float, 4: bfloat16, 6: `bool`, 10: `f8e4m3`, 12: `f8e5m2`.
    /// Others are refused.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Elements of a vector; 1 for scalars, which alone are taken.
    pub lanes: u16,
}

impl DLDataType {
    /// A scalar of an element type.
    ///
    /// # Examples
    /// ```
    /// use tilewright::DType;
    /// use tilewright::dlpack::DLDataType;
    ///
    /// assert_eq!(DLDataType::of(DType::BF16), DLDataType { code: 4, bits: 16, lanes: 1 });
    /// ```
    pub fn of(dtype: DType) -> DLDataType {
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

    /// The same type as a [`DType`], where there is one.
    ///
    /// # Examples
    /// ```
    /// use tilewright::DType;
    /// use tilewright::dlpack::DLDataType;
    ///
    /// assert_eq!(DLDataType { code: 4, bits: 16, lanes: 1 }.dtype(), Some(DType::BF16));
    /// assert_eq!(DLDataType { code: 5, bits: 64, lanes: 1 }.dtype(), None); // complex
    /// ```
    pub fn dtype(self) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| DLDataType::of(*dtype) == self)
    }
}

/// A tensor that this structure does not own. [`DlpackTensor`](super::DlpackTensor) has an example.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The address of the memory.
    pub data: *mut c_void,
    /// The device that the memory is on.
    pub device: DLDevice,
    /// The rank.
    pub ndim: i32,
    /// The element type.
    pub dtype: DLDataType,
    /// `ndim` extents.
    pub shape: *mut i64,
    /// `ndim` strides in elements; null for a row-major tensor.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// The content of a `dltensor` capsule. [`DlpackTensor`](super::DlpackTensor) has an example.
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The owner's data.
    pub manager_ctx: *mut c_void,
    /// The function that frees the tensor and this structure.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// The content of a `dltensor_versioned` capsule. [`DlpackTensor::from_versioned`](super::DlpackTensor::from_versioned)
/// has an example.
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The major version of DLPack; 1 is taken.
    pub major: u32,
    /// The minor version of DLPack.
    pub minor: u32,
    /// The owner's data.
    pub manager_ctx: *mut c_void,
    /// The function that frees the tensor and this structure.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// Bit 0: the tensor is read-only. Others are ignored.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}
