//! CUDA through its driver API, found at run time: nothing here is linked, and nothing is called before the library is
//! known to be there.

pub(crate) mod api;
pub(crate) mod context;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod per_driver;
mod pool;
pub(crate) mod relaxed;
mod release;
mod shared;
pub(crate) mod sys;
pub(crate) mod tensor_map;

pub(crate) use shared::Cuda;
