//! The names of this crate on the host.

#[doc(hidden)]
pub mod trace_file;

pub use crate::args::{
    AsSize, AsSlice, AsSliceMut, AsView, AsViewMut, DeviceId, RawArg, SliceArg, SliceMutArg, ViewArg, ViewError,
    ViewMutArg,
};
pub use crate::call::{BindError, BufferUse, Call};
pub use crate::desc::{
    Condition, ConfigDesc, CpuCode, CpuFn, Element, Emulated, GridCtx, Guard, KernelDesc, KernelParts, MapDesc, MapDim,
    Number, ParamDesc, ParamKind, ParamType, Pointees, VariantDesc, cdiv,
};
pub use crate::scalar::{F8E4M3 as f8e4m3, F8E5M2 as f8e5m2};
pub use half::{bf16, f16};

pub use tilewright_types::limits::{
    INLINE_ARGUMENT_WORDS, MAX_ARGUMENT_WORDS, MAX_BUFFERS, MAX_SHARED_BYTES_SM90, MAX_TENSOR_MAP_RANK, MAX_TENSOR_MAPS,
};
pub use tilewright_types::{DType, TRACE_SYMBOL, Test, TraceLayout, TracePhase, Width};

/// The folder of this crate's sources: `kernel-build` compiles them for the device.
pub const SOURCE_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
